"""What to do about an error, in the words of the tools that an agent has."""

from engine.errors import EngineError, FileNotIndexedError, JobNotFoundError
from web.hints import translate

_HINTS: dict[type[EngineError], str] = {
    FileNotIndexedError: "the resource symbols://list names the indexed files",
    JobNotFoundError: "list_indexing_jobs lists those there are; ended ones are kept for some days",
}
_WORDS = {
    "new": r'call index_repository with path "\1"',
    "cancel": r'cancel_indexing with job_id "\1"',
    "jobs": "list_indexing_jobs",
    "repair": "verify_index with repair",
    "index": "index_repository",
}


def for_agents(error: EngineError) -> EngineError:
    """Give an error the hint that helps an agent; the same error."""
    error.hint = next(
        (hint for kind, hint in _HINTS.items() if isinstance(error, kind)), error.hint
    )
    return translate(error, _WORDS)
