"""What several resources ask for, and what they answer with.

Answers are records of the engine, written as they are. What no record has as a whole is another
``@record``, here or beside its handler.
"""

from typing import Annotated, Any

from litestar import Response
from litestar.openapi.spec import Example
from litestar.params import PathParameter, QueryParameter
from litestar.serialization import default_serializer
from litestar.types import Serializer
from msgspec import Meta

from engine.record_class import record
from engine.records import MIN_TOKENS, WHEN_ANY
from engine.search_records import SearchAnswer
from web.budget import Cuttable, record_within
from web.schemas import as_json


def _id(description: str, pattern: str, example: str) -> PathParameter:
    """Describe an id in a path; a malformed one is simply not found."""
    return PathParameter(
        description=description,
        schema_extra={"pattern": pattern},
        examples=[Example(value=example)],
    )


_UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
ProjectId = Annotated[
    str,
    _id(
        "the SHA-256 of the resolved root's path",
        "^[0-9a-f]{64}$",
        "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b",
    ),
]
JobId = Annotated[str, _id("the id of the job", _UUID, "72a5ad47-a4bc-841d-80f1-c5e0876992c0")]
MemoryId = Annotated[
    str, _id("the id of the memory", _UUID, "0b1f6a5e-3c1d-4d7c-9a55-6f2f0f8f7c11")
]


_MOST_PROJECTS = 100
_PROJECTS = (
    "ids, names, or absolute paths of roots or folders in them; none means all that are served:"
    " every project, unless cairn serve was given some"
)
Projects = Annotated[
    list[str],
    Meta(max_length=_MOST_PROJECTS, description=_PROJECTS, examples=[["/home/me/src/app"]]),
]
ProjectsAsked = Annotated[
    list[str] | None, QueryParameter(max_items=_MOST_PROJECTS, description=_PROJECTS)
]


Budget = Annotated[
    int | None,
    QueryParameter(
        name="max_tokens",
        description="budget for the whole answer, which then lists less: one token per 3.5 bytes",
        ge=MIN_TOKENS,
    ),
]


@record
class ErrorAnswer:
    """An error."""

    error: Annotated[str, "a stable code"]
    message: str
    details: Annotated[dict[str, object], "facts, e.g. `field` and `hint`"]


@record
class SearchResult(SearchAnswer):
    """A ranked answer, and where it goes on."""

    next_cursor: Annotated[str | None, "for the next page, within the first 100 hits"] = None
    project: Annotated[
        str | None, WHEN_ANY, "within a budget: of all hits, which do not repeat it"
    ] = None


def within(answer: Cuttable, max_tokens: int | None) -> "RecordResponse":
    """Return the response with an answer of the code graph, within a budget if there is one."""
    return RecordResponse(answer if max_tokens is None else record_within(answer, max_tokens))


class RecordResponse(Response[Any]):
    """An answer whose content is a record; always valid UTF-8, whatever file names are."""

    def render(
        self, content: Any, media_type: str, enc_hook: Serializer = default_serializer
    ) -> bytes:
        """Encode the content."""
        return super().render(as_json(content), media_type, enc_hook)
