"""All measures, the origin of a request, and the functions that record counts, times and spans.

A measure is defined once: name, scope, labels, help, and the buckets of histograms. No label holds
a path, a query or other user input: each has few values, which are named in the code.

The recorder belongs to the process, as in telemetry libraries: measures are taken deep in the
engine, and recorded at the top. Without a recorder a call only looks at a global variable, which
takes some 0.1 µs.

The origin (face and request id) follows the caller's context into tasks and worker threads. A
thread that starts by itself, for example the runner's, has none.
"""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Final, NamedTuple, Protocol

_HERE, _ALL = "this process", "all processes"  # the latter read from the databases
_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_REQUEST = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
_LONG = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)

#: Questions that are measured like searches; the modes of a search count as they are named.
OTHER_QUESTIONS = (
    "related",
    "symbols",
    "references",
    "calls",
    "impact",
    "map",
    "inheritance",
    "unused",
    "imports",
    "history",
)

_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Measure(Enum):
    """One measure, by its name in ``/metrics``."""

    SEARCH_DURATION = (
        "cairn_search_duration_seconds",
        _HERE,
        ("mode", "face"),
        "questions that were answered, by mode (also " + ", ".join(OTHER_QUESTIONS) + ") and face",
        _QUICK,
    )
    SEARCH_ERRORS = (
        "cairn_search_errors_total",
        _HERE,
        ("code", "face"),
        "questions that were not answered, by error code",
    )
    REQUEST_DURATION = (
        "cairn_http_request_duration_seconds",
        _HERE,
        ("route", "method", "status"),
        "requests, by the template of their route (none: no route, or refused before it)",
        _REQUEST,
    )
    TOOL_DURATION = (
        "cairn_mcp_tool_duration_seconds",
        _HERE,
        ("tool", "outcome"),
        "calls of MCP tools, by tool and outcome (ok or an error code)",
        _REQUEST,
    )
    JOB_DURATION = (
        "cairn_job_duration_seconds",
        _ALL,
        ("state", "origin"),
        "jobs that have ended, by end state and who wanted them, from first start to end",
        _LONG,
    )
    JOBS = "cairn_jobs", _ALL, ("state",), "jobs that are kept, by state: ended ones some days"
    JOBS_FLAGGED = "cairn_jobs_flagged", _ALL, (), "active jobs that somebody should look at"
    OLDEST_JOB = (
        "cairn_oldest_running_job_age_seconds",
        _ALL,
        (),
        "since the first start of the oldest running job; 0 when none runs",
    )
    FILES = (
        "cairn_files_total",
        _ALL,
        ("outcome",),
        "files that jobs looked at: indexed, failed, and of jobs that completed unchanged and "
        "skipped",
    )
    CHUNKS = "cairn_chunks_total", _ALL, (), "chunks that jobs stored"
    SYMBOLS = "cairn_symbols_total", _ALL, (), "symbols that jobs stored"
    EMBEDDINGS = "cairn_embeddings_total", _ALL, (), "vectors that jobs made"
    PROJECTS = "cairn_projects", _ALL, ("readable",), "projects, by whether they can be read"
    INDEXED_FILES = "cairn_indexed_files", _ALL, (), "files in the indexes, on all branches"
    INDEXED_CHUNKS = "cairn_indexed_chunks", _ALL, (), "chunks in the indexes"
    SKIPPED_FILES = (
        "cairn_skipped_files",
        _ALL,
        ("reason",),
        "files and folders that are not indexed, by reason, on all branches",
    )
    DATABASE_SIZE = (
        "cairn_database_size_bytes",
        _ALL,
        ("project",),
        "the database file; the 50 largest by project id, the others as one",
    )
    WAL_SIZE = "cairn_wal_size_bytes", _ALL, ("project",), "its write-ahead log, in the same way"
    WATCHERS = "cairn_watchers", _ALL, ("state",), "projects that are watched, by state"
    WATCHED_FOLDERS = "cairn_watched_folders", _ALL, (), "folders that the system watches for us"
    WATCH_PENDING = "cairn_watch_pending_paths", _ALL, (), "changed paths that wait for a run"
    WATCH_EVENTS = "cairn_watch_events_total", _HERE, (), "events that watchers here have heard"
    WATCH_RECONCILES = (
        "cairn_watch_reconciles_total",
        _HERE,
        ("outcome",),
        "comparisons of a whole project with its index, by outcome (done or failed)",
    )
    PEAK_MEMORY = (
        "cairn_process_peak_memory_bytes",
        _HERE,
        (),
        "most memory this process has held",
    )
    UPTIME = "cairn_uptime_seconds", _HERE, (), "since this process began to measure"
    BUILD = "cairn_build_info", _HERE, ("version",), "always 1"

    def __init__(
        self,
        shown_name: str,
        scope: str,
        labels: tuple[str, ...],
        help_: str,
        buckets: Sequence[float] = (),
    ) -> None:
        self.shown_name = shown_name
        self.scope = scope
        self.labels = labels
        self.help = help_
        self.buckets = buckets

    @property
    def kind(self) -> str:
        """The type as Prometheus calls it: a counter, a histogram, or a gauge, read on request."""
        if self.buckets:
            return "histogram"
        return "counter" if self.shown_name.endswith("_total") else "gauge"


class Origin(NamedTuple):
    """The origin of a request."""

    face: str = "library"  # the interface that the request came through, such as http or mcp
    request_id: str | None = None


_NO_REQUEST: Final = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=_NO_REQUEST)


def origin() -> Origin:
    """Return the origin of the current work."""
    return _origin.get()


@contextmanager
def on_behalf_of(face: str, request_id: str | None = None) -> Iterator[None]:
    """Set the origin of the work within the context.

    Args:
        face: Which one was asked.
        request_id: Of the request; None keeps the one that is known.
    """
    token = _origin.set(Origin(face, request_id or _origin.get().request_id))
    try:
        yield
    finally:
        _origin.reset(token)


def is_request_id(text: str) -> bool:
    """Return whether a text is fit to be a request id in logs: short, plain characters."""
    return _REQUEST_ID.fullmatch(text) is not None


class Meter(Protocol):
    """Records numbers; for any thread."""

    def count(self, measure: Measure, amount: float, labels: tuple[str, ...]) -> None:
        """Add to a counter; the labels are in the order of the measure's."""

    def time(self, measure: Measure, seconds: float, labels: tuple[str, ...]) -> None:
        """Record a duration."""


class Span(Protocol):
    """An operation in progress."""

    def set_attributes(self, **facts: str | float | bool | None) -> None:
        """Add attributes; None is left out."""

    def update_name(self, name: str) -> None:
        """Rename it."""

    def set_error(self, code: str) -> None:
        """Mark it as failed by an error code: messages can quote user input."""


class Tracer(Protocol):
    """Records spans."""

    def span(self, name: str) -> AbstractContextManager[Span]:
        """Start a span that ends with the context, as a child of the one around it."""


class _NoSpan:
    """A span that is not recorded."""

    __slots__ = ()

    def __enter__(self) -> "_NoSpan":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set_attributes(self, **facts: str | float | bool | None) -> None:
        """Do nothing."""

    def update_name(self, name: str) -> None:
        """Do nothing."""

    def set_error(self, code: str) -> None:
        """Do nothing."""


_NO_SPAN: Final = _NoSpan()
_meter: Meter | None = None
_tracer: Tracer | None = None
#: Whether a search is in progress: a search of several projects counts as one.
_is_searching: ContextVar[bool] = ContextVar("is_searching", default=False)


@contextmanager
def record_metrics_to(meter: Meter) -> Iterator[None]:
    """Record the numbers of this process with a meter."""
    global _meter  # noqa: PLW0603 - see above
    before, _meter = _meter, meter
    try:
        yield
    finally:
        _meter = before


@contextmanager
def record_spans_to(tracer: Tracer) -> Iterator[None]:
    """Record the spans of this process with a tracer."""
    global _tracer  # noqa: PLW0603 - see above
    before, _tracer = _tracer, tracer
    try:
        yield
    finally:
        _tracer = before


def count(measure: Measure, *labels: str, amount: float = 1) -> None:
    """Add to a counter."""
    if _meter is not None:
        _meter.count(measure, amount, labels)


def observe_duration(measure: Measure, seconds: float, *labels: str) -> None:
    """Record a duration."""
    if _meter is not None:
        _meter.time(measure, seconds, labels)


def span(name: str) -> AbstractContextManager[Span]:
    """Start a span that ends with the context."""
    return _NO_SPAN if _tracer is None else _tracer.span(name)


class Stages:
    """Consecutive spans, for example the phases of a job; for one thread."""

    def __init__(self) -> None:
        self._now = ExitStack()

    def enter(self, name: str) -> None:
        """Start the next one, ending the last."""
        self.leave()
        self._now.enter_context(span(name))

    def leave(self) -> None:
        """End the last one."""
        self._now.close()


@contextmanager
def _measured(mode: str) -> Iterator[Span]:
    token = _is_searching.set(True)
    started_s = time.perf_counter()
    face = origin().face
    try:
        with span("search") as shown:
            yield shown
    except BaseException as error:
        code = getattr(error, "code", "internal_error")
        if code:
            count(Measure.SEARCH_ERRORS, str(code), face)
        raise
    else:
        observe_duration(Measure.SEARCH_DURATION, time.perf_counter() - started_s, mode, face)
    finally:
        _is_searching.reset(token)


def measured_search(mode: str) -> AbstractContextManager[Span]:
    """Measure the search within the context, unless it is part of another one.

    Args:
        mode: Of the search, or one of ``OTHER_QUESTIONS``.
    """
    if not (_meter or _tracer) or _is_searching.get():
        return _NO_SPAN
    return _measured(mode)
