"""All that is measured, once: name, scope, labels, meaning, and the bounds of histograms.

No label holds a path, a query or anything else that a user writes: each has few values, which are
named in the code.
"""

from collections.abc import Sequence
from enum import Enum

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
