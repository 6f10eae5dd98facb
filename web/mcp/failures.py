"""Errors as agents read them: their text has everything, and hints name tools.

Clients give a model only the text of an error, so the text is made from the whole JSON shape.
"""

import json
from collections.abc import Iterator, Mapping

from engine.errors import EngineError, FileNotIndexedError, JobNotFoundError
from web.errors import translate, translate_text
from web.schemas import as_json
from web.terminal import printable

_HINTS: dict[type[EngineError], str] = {
    FileNotIndexedError: "outline lists the indexed files of a folder",
    JobNotFoundError: "list_indexing_jobs lists jobs; finished ones expire in days",
}
_WORDS = {
    "new": r'call index_repository with path "\1"',
    "confirm": "ask the user to run `cairn index --yes` on it",
    "file": r'outline or find_impact with path "\1"',
    "folder": r'outline with path "\1"',
    "cancel": r'cancel_indexing with job_id "\1"',
    "jobs": "list_indexing_jobs",
    "repair": "verify_index with repair",
    "rebuild": "index_symbol_graph with force_clean",
    "index": "index_repository",
    "projects": "list_projects",
    "model": r"ask the user to run `\g<0>`",
}
_NOT_REPEATED = ("error", "message", "details", "status", "errors", "code")


def for_agents(error: EngineError) -> EngineError:
    """Rephrase the hint of an error for agents and return the same error."""
    error.hint = next(
        (hint for kind, hint in _HINTS.items() if isinstance(error, kind)), error.hint
    )
    return translate(error, _WORDS)


def in_tools(text: str) -> str:
    """Rewrite the commands in a hint or a note as tools."""
    return translate_text(text, _WORDS)


def error_text(shape: Mapping[str, object]) -> str:
    """Return the text of an error: code, message and hint, then each detail.

    Args:
        shape: The common JSON shape, with or without more keys.
    """
    details = shape["details"]
    facts = dict(details) if isinstance(details, Mapping) else {}
    hint = str(facts.pop("hint", ""))
    lines = [f"{shape['error']}: {shape['message']}", *([f"hint: {hint}"] if hint else [])]
    facts |= {name: value for name, value in shape.items() if name not in _NOT_REPEATED}
    known = {str(shape["error"]), str(shape["message"]), hint}
    lines += [line for line in _lines(as_json(facts), known) if line not in lines]
    return "\n".join(map(printable, dict.fromkeys(lines)))


def _lines(facts: Mapping[str, object], known: set[str]) -> Iterator[str]:
    """Yield a line for each fact that is not known yet; those inside others are like the rest."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _lines(value, known)
        elif isinstance(value, list):
            items = [text for text in map(_text, value) if text not in known]
            yield from [f"{name}:", *(f"- {text}" for text in items)] if items else ()
        elif value is not None and _text(value) not in known:
            yield f"{name}: {_text(value)}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
