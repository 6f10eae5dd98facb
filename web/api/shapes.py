"""Shapes that several resources return, with the same keys as the command line's JSON."""

from typing import Annotated, TypeVar

from litestar.openapi.spec import Example
from litestar.params import PathParameter
from msgspec import UNSET, Meta, Struct, UnsetType

from web.schemas import as_json, converted

Shape = TypeVar("Shape", bound=Struct)

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Line = Annotated[int, Meta(ge=1, description="counted from 1")]


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
Time = Annotated[str, Meta(description="ISO 8601, UTC", examples=["2025-10-17T09:00:00.000Z"])]


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all answers; an undeclared key is a bug and is never sent."""


class ErrorAnswer(Answer, frozen=True):
    """An error."""

    error: Annotated[str, Meta(description="a stable code", examples=["validation_error"])]
    message: Annotated[str, Meta(examples=["path does not exist: /nowhere"])]
    details: Annotated[
        dict[str, object],
        Meta(description="facts, e.g. `field` and `hint`", examples=[{"field": "path"}]),
    ]


class Coverage(Answer, frozen=True):
    """How much of the project an answer covers."""

    files: Count
    indexed: Annotated[Share, Meta(description="share of the files of the last complete scan")]
    embedded: Annotated[Share, Meta(description="share of the chunks that have vectors")]
    complete: Annotated[bool, Meta(description="false during a run, or after an unfinished one")]


class Match(Answer, frozen=True):
    """A part of a line that a pattern matches."""

    line: Line
    start: Annotated[Count, Meta(description="number of characters before it in the line")]
    end: Annotated[Count, Meta(description="exclusive")]


class Hit(Answer, frozen=True):
    """A place that matches the query."""

    project: Annotated[str, Meta(description="the root", examples=["/home/me/src/app"])]
    path: Annotated[str, Meta(examples=["app/session.py"])]
    line_start: Line
    line_end: Line
    language: Annotated[str, Meta(examples=["python"])]
    symbol: Annotated[str | None, Meta(examples=["SessionStore.open_session"])]
    kind: Annotated[str | None, Meta(examples=["method"])]
    signature: str | None
    score: Annotated[float, Meta(description="higher is better, within one answer")]
    why: Annotated[list[str], Meta(description="what made it match", examples=[["words 0.88"]])]
    fresh: Annotated[
        bool | None,
        Meta(description="false: the file has changed since; null: not on the current branch"),
    ]
    snippet: str
    matches: list[Match] | UnsetType = UNSET
    snippet_line: Line | UnsetType = UNSET
    explain: dict[str, object] | UnsetType = UNSET


class ProjectFailure(Answer, frozen=True):
    """A project that could not be searched while others could."""

    project: str
    error: str
    message: str


class SearchResult(Answer, frozen=True):
    """A ranked answer."""

    query: str
    mode: Annotated[str, Meta(examples=["hybrid"])]
    took_ms: Annotated[float, Meta(ge=0)]
    total: Annotated[Count, Meta(description="candidates that were ranked")]
    truncated: Annotated[bool, Meta(description="whether there are more hits")]
    coverage: Coverage
    hits: list[Hit]
    errors: list[ProjectFailure] | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET
    missing: (
        Annotated[
            list[str], Meta(description="names in the query that occur in no indexed text or path")
        ]
        | UnsetType
    ) = UNSET
    next_cursor: Annotated[
        str | None, Meta(description="for the next page, within the first 100 hits")
    ] = None


class JobView(Answer, frozen=True):
    """A job."""

    job_id: Annotated[str, Meta(examples=["72a5ad47-a4bc-841d-80f1-c5e0876992c0"])]
    kind: Annotated[str, Meta(examples=["index"])]
    status: Annotated[
        str,
        Meta(
            description="pending, running, blocked, completed, failed or cancelled",
            examples=["running"],
        ),
    ]
    origin: Annotated[str, Meta(description="request or watch", examples=["request"])]
    project_id: str
    path: Annotated[str, Meta(description="the project's root")]
    parameters: dict[str, object]
    position: Annotated[int | None, Meta(description="in the queue; 1 is next")]
    phase: Annotated[str | None, Meta(examples=["parsing"])]
    done: Count
    total: int | None
    files_done: Count
    files_total: int | None
    chunks_done: Count
    chunks_total: int | None
    current_file: str | None
    rate: Annotated[float | None, Meta(description="files per second; chunks while embedding")]
    elapsed_seconds: float
    eta_seconds: float | None
    estimated_seconds: float | None
    waiting: Annotated[str | None, Meta(description="why it waits, in words")]
    attempt: Count
    cancel_requested: bool
    flagged: Annotated[bool, Meta(description="active for too long: needs attention")]
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    heartbeat_at: Time | None
    result: Annotated[dict[str, object] | None, Meta(description="of a completed job")]
    error: Annotated[dict[str, object] | None, Meta(description="of a failed job")]
    counts: dict[str, int]
    log: Annotated[str | None, Meta(description="the path of its log")]


class NewJob(Answer, frozen=True):
    """A submitted job."""

    job_id: str
    status: str
    duplicate: Annotated[bool, Meta(description="whether an identical job was already active")]
    estimated_seconds: float | None
    waits: Annotated[bool, Meta(description="whether it is expected to be short")]


class WatchView(Answer, frozen=True):
    """A project's watcher."""

    state: Annotated[
        str, Meta(description="starting, watching, polling, waiting", examples=["watching"])
    ]
    reason: str
    since: str
    pid: int
    folders: Count
    pending: Count
    last_event_at: Time | None
    last_reconcile_at: Time | None
    poll_interval_ms: int | None


def shaped(value: object, shape: type[Shape]) -> Shape:
    """Convert a record of the engine to a shape; always valid UTF-8, whatever file names are.

    Raises:
        msgspec.ValidationError: The record does not fit the shape, which is a bug.
    """
    return converted(as_json(value), shape)
