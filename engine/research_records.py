"""Records of a question's best passages over files, by what each is for the question."""

from enum import StrEnum
from typing import Annotated

from engine.parameters import Parameter
from engine.record_class import record
from engine.records import WHEN_ANY, Coverage
from engine.search_records import MAX_QUERY_CHARS, Hit, ProjectError

#: A search for it gets filters too.
MAX_QUESTION_CHARS = MAX_QUERY_CHARS - 256


class Role(StrEnum):
    """What a passage is for a question, in the order of reading."""

    DEFINITION = "definition"  # code that defines what is asked about
    USE = "use"  # code that uses these definitions, examples, settings
    TEST = "test"
    DOCUMENTATION = "documentation"


@record
class ResearchRequest:
    """A question whose best passages are looked for."""

    query: Annotated[
        str,
        Parameter(
            "a question, a name or words, with filters as in a search",
            max_length=MAX_QUESTION_CHARS,
        ),
    ]
    branch: Annotated[
        str | None,
        Parameter("this branch as it was last indexed (default: the one checked out)"),
    ] = None
    hashes: bool = False  # hits have those of their files


@record
class Passage:
    """Lines of a file that help to answer a question; ``hit`` has the place and its code."""

    role: Role
    hit: Hit
    reasons: Annotated[tuple[str, ...], "why it is here, in words"]
    also: Annotated[tuple[str, ...], WHEN_ANY, "places that have the same text"] = ()


@record
class ResearchAnswer:
    """The best passages for a question; ``cairn research --json`` prints exactly these keys."""

    query: str
    took_ms: float
    passages: Annotated[tuple[Passage, ...], "by role, of each the best first"]
    words: Annotated[tuple[str, ...], "of the question, that the passages have"] = ()
    coverage: Coverage
    errors: Annotated[tuple[ProjectError, ...], WHEN_ANY] = ()
    notes: Annotated[tuple[str, ...], WHEN_ANY, "what to know about the answer, in sentences"] = ()
    missing: Annotated[
        tuple[str, ...], WHEN_ANY, "names in the query that occur in no indexed text or path"
    ] = ()
