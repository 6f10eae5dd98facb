"""All that is measured, once: name, kind, unit, meaning, and the labels with their bounds.

No label holds a path, a query or anything else that a user writes: each has few values, which are
named in the code. Names are those of Prometheus without the ending that kind and unit give them.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class Kind(StrEnum):
    """How a measure behaves."""

    COUNTER = "counter"  # only grows, from the start of the process
    HISTOGRAM = "histogram"  # how many times took how long
    GAUGE = "gauge"  # is looked up when somebody asks


class Scope(StrEnum):
    """Whose doings a measure tells of."""

    PROCESS = "this process"
    ALL = "all processes"  # read from the databases, whoever ran it


class Measure(NamedTuple):
    """One measure."""

    name: str
    kind: Kind
    unit: str  # s, By, or empty for a number of things
    scope: Scope
    labels: tuple[str, ...]
    help: str
    buckets: Sequence[float] = ()

    @property
    def shown_name(self) -> str:
        """The name in ``/metrics``."""
        unit = {"s": "_seconds", "By": "_bytes"}.get(self.unit, "")
        return f"{self.name}{unit}{'_total' if self.kind is Kind.COUNTER else ''}"


_QUICK: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_REQUEST: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
_LONG: Final = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)

_COUNTER, _HISTOGRAM, _GAUGE = Kind.COUNTER, Kind.HISTOGRAM, Kind.GAUGE
_HERE, _ALL = Scope.PROCESS, Scope.ALL

SEARCH_DURATION = Measure(
    "cairn_search_duration",
    _HISTOGRAM,
    "s",
    _HERE,
    ("mode", "face"),
    "questions that were answered, by mode (also related and symbols) and face",
    _QUICK,
)
SEARCH_ERRORS = Measure(
    "cairn_search_errors",
    _COUNTER,
    "",
    _HERE,
    ("code", "face"),
    "questions that were not answered, by error code",
)
REQUEST_DURATION = Measure(
    "cairn_http_request_duration",
    _HISTOGRAM,
    "s",
    _HERE,
    ("route", "method", "status"),
    "requests, by the template of their route (none: no route, or refused before it)",
    _REQUEST,
)
TOOL_DURATION = Measure(
    "cairn_mcp_tool_duration",
    _HISTOGRAM,
    "s",
    _HERE,
    ("tool", "outcome"),
    "calls of MCP tools, by tool and outcome (ok or an error code)",
    _REQUEST,
)
WATCH_EVENTS = Measure(
    "cairn_watch_events", _COUNTER, "", _HERE, (), "events that watchers here have heard"
)
WATCH_RECONCILES = Measure(
    "cairn_watch_reconciles",
    _COUNTER,
    "",
    _HERE,
    ("outcome",),
    "comparisons of a whole project with its index, by outcome (done or failed)",
)
JOB_DURATION = Measure(
    "cairn_job_duration",
    _HISTOGRAM,
    "s",
    _ALL,
    ("state", "origin"),
    "jobs that have ended, by end state and who wanted them, from first start to end",
    _LONG,
)
FILES = Measure(
    "cairn_files",
    _COUNTER,
    "",
    _ALL,
    ("outcome",),
    "files that jobs looked at: indexed, failed, and of jobs that completed unchanged and skipped",
)
CHUNKS = Measure("cairn_chunks", _COUNTER, "", _ALL, (), "chunks that jobs stored")
SYMBOLS = Measure("cairn_symbols", _COUNTER, "", _ALL, (), "symbols that jobs stored")
EMBEDDINGS = Measure("cairn_embeddings", _COUNTER, "", _ALL, (), "vectors that jobs made")
PROJECTS = Measure(
    "cairn_projects", _GAUGE, "", _ALL, ("readable",), "projects, by whether they can be read"
)
JOBS = Measure(
    "cairn_jobs", _GAUGE, "", _ALL, ("state",), "jobs that are kept, by state: ended ones some days"
)
JOBS_FLAGGED = Measure(
    "cairn_jobs_flagged", _GAUGE, "", _ALL, (), "active jobs that somebody should look at"
)
OLDEST_JOB = Measure(
    "cairn_oldest_running_job_age",
    _GAUGE,
    "s",
    _ALL,
    (),
    "since the first start of the oldest running job; 0 when none runs",
)
INDEXED_FILES = Measure(
    "cairn_indexed_files", _GAUGE, "", _ALL, (), "files in the indexes, on all branches"
)
INDEXED_CHUNKS = Measure("cairn_indexed_chunks", _GAUGE, "", _ALL, (), "chunks in the indexes")
SKIPPED_FILES = Measure(
    "cairn_skipped_files",
    _GAUGE,
    "",
    _ALL,
    ("reason",),
    "files and folders that are not indexed, by reason, on all branches",
)
DATABASE_SIZE = Measure(
    "cairn_database_size",
    _GAUGE,
    "By",
    _ALL,
    ("project",),
    "the database file; the 50 largest by project id, the others as one",
)
WAL_SIZE = Measure(
    "cairn_wal_size", _GAUGE, "By", _ALL, ("project",), "its write-ahead log, in the same way"
)
WATCHERS = Measure(
    "cairn_watchers", _GAUGE, "", _ALL, ("state",), "projects that are watched, by state"
)
WATCHED_FOLDERS = Measure(
    "cairn_watched_folders", _GAUGE, "", _ALL, (), "folders that the system watches for us"
)
WATCH_PENDING = Measure(
    "cairn_watch_pending_paths", _GAUGE, "", _ALL, (), "changed paths that wait for a run"
)
PEAK_MEMORY = Measure(
    "cairn_process_peak_memory", _GAUGE, "By", _HERE, (), "most memory this process has held"
)
UPTIME = Measure("cairn_uptime", _GAUGE, "s", _HERE, (), "since this process began to measure")
BUILD = Measure("cairn_build_info", _GAUGE, "", _HERE, ("version",), "always 1")

#: All of them, in the order of the documentation.
MEASURES: Final = (
    SEARCH_DURATION,
    SEARCH_ERRORS,
    REQUEST_DURATION,
    TOOL_DURATION,
    JOB_DURATION,
    JOBS,
    JOBS_FLAGGED,
    OLDEST_JOB,
    FILES,
    CHUNKS,
    SYMBOLS,
    EMBEDDINGS,
    PROJECTS,
    INDEXED_FILES,
    INDEXED_CHUNKS,
    SKIPPED_FILES,
    DATABASE_SIZE,
    WAL_SIZE,
    WATCHERS,
    WATCHED_FOLDERS,
    WATCH_PENDING,
    WATCH_EVENTS,
    WATCH_RECONCILES,
    PEAK_MEMORY,
    UPTIME,
    BUILD,
)
