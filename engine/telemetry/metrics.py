"""All that is measured, once: name, scope, labels, meaning, and the bounds of histograms.

No label holds a path, a query or anything else that a user writes: each has few values, which are
named in the code.

Takes in counts, times and spans, and hands them to whoever listens.

The listener belongs to the process, as in telemetry libraries: a measure is taken deep in the
engine, and whoever wants it stands at the top. While nobody listens, a call looks at a global
variable: some 0.1 µs, and nothing is made.

On whose behalf something is done: which face was asked, by which request.

It goes with the context of the caller, into tasks and into the threads that are handed one. A
thread that begins by itself, such as the runner's, acts on nobody's behalf.
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


class Measure(Enum):
    """One measure, by its name in ``/metrics``."""

    SEARCH_DURATION = (
        "cairn_search_duration_seconds",
        _HERE,
        ("mode", "face"),
        "questions that were answered, by mode (also related and symbols) and face",
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
        """The type as Prometheus calls it: a counter, a histogram, or a gauge, read when asked."""
        if self.buckets:
            return "histogram"
        return "counter" if self.shown_name.endswith("_total") else "gauge"


_SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Origin(NamedTuple):
    """Who asked."""

    face: str = "library"  # http or mcp, where a face says so
    request_id: str | None = None


_NOBODY: Final = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=_NOBODY)


def origin() -> Origin:
    """Give on whose behalf this is done."""
    return _origin.get()


@contextmanager
def on_behalf_of(face: str, request_id: str | None = None) -> Iterator[None]:
    """Act for a caller.

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
    """Say whether a text can stand for a request in logs: a short word of plain characters."""
    return _SANE.fullmatch(text) is not None


class Meter(Protocol):
    """Listens to numbers; for any thread."""

    def count(self, measure: Measure, amount: float, labels: tuple[str, ...]) -> None:
        """Add to a counter; the labels are in the order of the measure's."""

    def time(self, measure: Measure, seconds: float, labels: tuple[str, ...]) -> None:
        """Take in how long something took."""


class Span(Protocol):
    """Something that goes on, while it does."""

    def tell(self, **facts: str | float | bool | None) -> None:
        """Add what is known of it by now; None is left out."""

    def name(self, name: str) -> None:
        """Call it otherwise."""

    def fail(self, code: str) -> None:
        """Say that it went wrong, by an error code: messages can quote what was asked."""


class Tracer(Protocol):
    """Listens to spans."""

    def span(self, name: str) -> AbstractContextManager[Span]:
        """Begin something that ends with the context; inside another one, it is a part of it."""


class _Unheard:
    """A span that nobody hears of."""

    __slots__ = ()

    def __enter__(self) -> "_Unheard":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def tell(self, **facts: str | float | bool | None) -> None:
        """Forget it."""

    def name(self, name: str) -> None:
        """Forget it."""

    def fail(self, code: str) -> None:
        """Forget it."""


_UNHEARD: Final = _Unheard()
_meter: Meter | None = None
_tracer: Tracer | None = None
#: Whether a question is being answered: one that is put to several projects is one.
_is_asking: ContextVar[bool] = ContextVar("is_asking", default=False)


@contextmanager
def heard_by(meter: Meter) -> Iterator[None]:
    """Let a meter hear the numbers of this process."""
    global _meter  # noqa: PLW0603 - see above
    before, _meter = _meter, meter
    try:
        yield
    finally:
        _meter = before


@contextmanager
def traced_by(tracer: Tracer) -> Iterator[None]:
    """Let somebody hear the spans of this process."""
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


def took(measure: Measure, seconds: float, *labels: str) -> None:
    """Record how long something took."""
    if _meter is not None:
        _meter.time(measure, seconds, labels)


def span(name: str) -> AbstractContextManager[Span]:
    """Begin something that ends with the context."""
    return _UNHEARD if _tracer is None else _tracer.span(name)


class Stages:
    """Spans that follow each other, such as the phases of a job; for one thread."""

    def __init__(self) -> None:
        self._now = ExitStack()

    def enter(self, name: str) -> None:
        """Begin the next one."""
        self.leave()
        self._now.enter_context(span(name))

    def leave(self) -> None:
        """End the last one."""
        self._now.close()


@contextmanager
def _asked(mode: str) -> Iterator[Span]:
    token = _is_asking.set(True)
    started_s = time.perf_counter()
    face = origin().face
    try:
        with span("search") as shown:
            yield shown
    except BaseException as error:
        count(Measure.SEARCH_ERRORS, str(getattr(error, "code", "internal_error")), face)
        raise
    else:
        took(Measure.SEARCH_DURATION, time.perf_counter() - started_s, mode, face)
    finally:
        _is_asking.reset(token)


def asking(mode: str) -> AbstractContextManager[Span]:
    """Measure a question that is answered within the context, unless it is a part of another one.

    Args:
        mode: Of the search, or ``related`` or ``symbols``.
    """
    if not (_meter or _tracer) or _is_asking.get():
        return _UNHEARD
    return _asked(mode)
