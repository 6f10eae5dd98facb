"""The frozen records of the state of projects, jobs, watchers and servers, and of the doctor.

Times are ISO 8601, UTC; the doctor's are milliseconds.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, StrEnum, auto
from typing import Annotated

from engine.config import Origin
from engine.index_records import Phase
from engine.record_class import record
from engine.records import Coverage, HistoryExtent, LanguageShare


@record
class ProjectSummary:
    """A project of the data directory, in short."""

    project_id: str
    path: Annotated[str, "the root; empty when the index cannot be opened"]
    files: int
    size_bytes: Annotated[int, "of the database"]
    last_indexed_at: str | None  # ISO 8601, UTC
    error: Annotated[str | None, "why it cannot be opened"] = None
    folder_exists: Annotated[bool, "false: it was deleted, moved, emptied or unmounted"] = True


class WatchState(StrEnum):
    """The state of a watcher."""

    STARTING = "starting"
    WATCHING = "watching"  # the system reports changes
    POLLING = "polling"  # the system cannot report changes, so folders are compared periodically
    WAITING = "waiting"  # the root is missing, emptied or cannot be read; the index is kept
    BLOCKED = "blocked"  # changes cannot be indexed, for example while the database is locked
    STOPPED = "stopped"


@record
class WatchStatus:
    """The state of a project's watcher."""

    state: WatchState
    reason: Annotated[str, "why it is not watching, or what failed last, with what comes next"] = ""
    file: Annotated[str, "of the index that the reason is about, if it is about one"] = ""
    since: Annotated[str, "of the state"] = ""
    pid: Annotated[int, "of the process that watches"] = 0
    folders: Annotated[int, "that are watched"] = 0
    pending: Annotated[
        int, "changed paths that wait for a run; at least one for a whole project"
    ] = 0
    last_event_at: str | None = None
    last_reconcile_at: str | None = None  # when the whole tree was last compared with the index
    poll_interval_ms: Annotated[int | None, "while polling"] = None
    paused: Annotated[bool, "a user cancelled indexing; changes wait until one asks again"] = False


class JobState(StrEnum):
    """The state of a job; ``jobs.ledger`` has the legal transitions."""

    PENDING = "pending"  # waits for its turn
    RUNNING = "running"
    BLOCKED = "blocked"  # waits for something outside, such as an embedding server
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


#: States of unfinished jobs; a project has at most one such job.
ACTIVE = (JobState.PENDING, JobState.RUNNING, JobState.BLOCKED)
#: Final states.
TERMINAL = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)


class JobKind(StrEnum):
    """The work of a job."""

    INDEX = "index"
    HISTORY = "history"  # reading commits; gives way to the other


class JobOrigin(StrEnum):
    """The origin of a job."""

    REQUEST = "request"  # a person or an agent
    WATCH = "watch"  # the watcher


class MakesWay(StrEnum):
    """For what this program cancels a job whose work a later job continues."""

    REQUEST = "request"  # of a user, which goes first
    CHANGES = "changes"  # newer ones, which go first
    WATCHER = "watcher"  # it ends; the next one indexes what differs then


#: Why a job waits that was stopped with its watcher: nothing continues it but another watcher, or
#: a run that somebody asks for.
STOPPED_WITH_WATCHER = "stopped with its watcher; the next one indexes what is left"


class EventType(StrEnum):
    """The type of an event of a job."""

    CREATED = "created"
    STARTED = "started"
    PROGRESS = "progress"
    CHECKPOINT = "checkpoint"
    PAUSED = "paused"  # running → blocked
    RESUMED = "resumed"  # blocked → running, or taken over from a dead runner
    CANCEL_REQUESTED = "cancel_requested"
    FLAGGED = "flagged"  # active for longer than the retention period
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CheckpointKind(StrEnum):
    """The kind of a checkpoint, from which a job can resume."""

    FILE_LIST = "file_list"  # the files to process, written before the first is read
    POSITION = "position"  # the last file that is done
    EMBEDDING = "embedding"  # a batch of vectors is done


@record
class Job:
    """A job as every interface shows it; ``cairn jobs show --json`` prints exactly these keys."""

    job_id: str
    kind: str  # index or history
    status: JobState
    origin: JobOrigin
    project_id: str
    path: Annotated[str, "the project's root"]
    parameters: Mapping[str, object]
    position: Annotated[int | None, "in the queue of all projects while pending; 1 is next"]
    phase: Phase | None
    done: Annotated[int, "of the phase: files, or chunks while embedding"]
    total: int | None
    files_done: Annotated[int, "never falls, also over restarts"]
    files_total: int | None
    bytes_done: Annotated[int, "of the files done"] = 0
    bytes_total: Annotated[int | None, "of the files to read"] = None
    chunks_done: int
    chunks_total: int | None
    current_file: str | None
    rate: Annotated[float | None, "files per second; chunks while embedding"]
    elapsed_seconds: Annotated[float, "since it first started"]
    eta_seconds: float | None
    estimated_seconds: Annotated[float | None, "when it was created"]
    waiting: Annotated[str | None, "why it waits, or for what it gave way to a later job"]
    attempt: Annotated[int, "tries so far; more than 1 after a restart"]
    cancel_requested: bool
    flagged: Annotated[bool, "active for longer than the retention period: needs attention"]
    created_at: str
    started_at: str | None
    finished_at: str | None
    heartbeat_at: str | None
    #: The keys are those of ``IndexReport``.
    result: Annotated[Mapping[str, object] | None, "of a completed job"]
    error: Annotated[Mapping[str, object] | None, "of a failed job: error, message, details"]
    counts: Annotated[Mapping[str, int], "what it did so far"] = field(default_factory=dict)
    log: Annotated[str | None, "the path of its log"]


@record
class JobEvent:
    """An event in the history of a job."""

    job_id: str
    sequence: Annotated[int, "1, 2, 3 … without gaps"]
    type: EventType
    timestamp: str
    context: Annotated[Mapping[str, object], "repository, files_processed, phase and more"]


@record
class JobHistory:
    """The part of a job's history that a page shows."""

    numbers: Mapping[EventType, int]  # of all its events
    events: tuple[JobEvent, ...]  # of the requested types, in order
    earlier: int | None  # the sequence before which there are more; None: these are the first
    course: tuple[JobEvent, ...]  # changes of state, and a sample of the progress events


class WaitMode(Enum):
    """Whether the caller waits for the end of the job."""

    NEVER = auto()
    IF_SHORT = auto()  # if it is estimated to be short
    ALWAYS = auto()  # whatever the estimate, so none is made


@record
class SubmittedJob:
    """The job of a request."""

    job_id: str
    status: JobState
    duplicate: Annotated[bool, "whether an identical job was already active: this is it"]
    attempt: Annotated[int, "tries so far: 0 before it first runs"]
    estimated_seconds: float | None
    waits: Annotated[bool, "whether it is expected to be short"]
    warnings: Annotated[tuple[str, ...], "what speaks against indexing this folder"] = ()

    @property
    def had_begun(self) -> bool:
        """Whether the job may have looked at the folder before the request.

        One that was pending or blocked then looks at it afterwards.
        """
        return self.duplicate and self.status is JobState.RUNNING

    def may_lack_changes(self, job: Job) -> bool:
        """Return whether the job may lack changes made just before the request.

        Not after another runner has taken it over, which looks at the folder again.

        Args:
            job: The job as it is now.
        """
        return self.had_begun and self.attempt == job.attempt


@record
class JobFilter:
    """A filter of the list of jobs; ``None`` matches all."""

    status: JobState | None = None
    target: str | None = None  # a project's root or a folder in it
    created_after: str | None = None  # ISO 8601
    created_before: str | None = None
    origin: JobOrigin | None = None
    limit: int = 50  # 1 to 1,000
    cursor: str | None = None  # of an earlier page


@record
class JobPage:
    """Some jobs, the newest first."""

    jobs: tuple[Job, ...]
    total: Annotated[int, "on all pages"]
    next_cursor: str | None
    errors: Annotated[tuple[str, ...], "projects whose jobs could not be read, in sentences"] = ()


@record
class ProjectStatus:
    """The state of a project; ``cairn status --json`` prints exactly these keys."""

    project_id: str
    path: str
    branch: Annotated[str, "empty outside version control"]
    files: int
    symbols: int
    chunks: int
    embeddings: int
    skips: Annotated[Mapping[str, int], "skipped files by reason"] = field(default_factory=dict)
    coverage: Coverage
    model: str | None
    fingerprint: str
    size_bytes: Annotated[int, "of the database file and its WAL"]
    last_indexed_at: str | None  # ISO 8601, UTC
    jobs: Annotated[tuple[Job, ...], "those active, and the newest one when it failed"] = ()
    watch: WatchStatus | None = None  # None: nobody watches the project
    folder_exists: Annotated[bool, "false: it was deleted, moved, emptied or unmounted"] = True
    branches: Annotated[tuple[str, ...], "that branch: can name, the one searched by default first"]
    commits: Annotated[int, "of the history that can be found"]
    history: Annotated[HistoryExtent, "all commits, only the newest ones, or those read so far"]


@record
class ProjectActivity:
    """The current activity of a project."""

    project_id: str
    path: str
    jobs: tuple[Job, ...]  # some, the newest first
    failed: Job | None = None  # the last one that failed, unless one was completed since
    watch: WatchStatus | None  # None: nobody watches the project
    is_damaged: bool = False  # its last check found damage, and it was not emptied since


@record
class ProjectView:
    """A project in the list of all, with its contents."""

    summary: ProjectSummary
    error_code: str = ""  # of the error for which it cannot be opened
    status: ProjectStatus | None = None  # None: it cannot be read
    languages: tuple[LanguageShare, ...] = ()  # the largest first
    is_damaged: bool = False  # it can be read, but its last check found damage


MAX_CONTEXT_NAME_CHARS = 40
#: What the name of a context may be, in words.
CONTEXT_NAME_RULE = (
    f"1 to {MAX_CONTEXT_NAME_CHARS} letters, digits, dots, hyphens and underscores,"
    " the first a letter or digit"
)


@record
class ContextProject:
    """A project in a context."""

    project_id: str
    path: str
    gone: Annotated[bool, "its index is gone, so it is not searched"] = False


@record
class ProjectContext:
    """A named set of projects."""

    name: str
    projects: tuple[ContextProject, ...]  # by path


@record
class ContextChange:
    """A change of a context; None and empty tuples change nothing."""

    name: str | None = None
    projects: tuple[ContextProject, ...] | None = None  # in place of all that it has
    add: tuple[ContextProject, ...] = ()
    drop: tuple[str, ...] = ()  # ids


@record
class DiskUse:
    """The disk use of a data directory, in bytes."""

    indexes: int  # databases with their logs of changes
    logs: int
    models: int
    others: int  # backups among them
    free: int  # on its disk, for this user
    total: int  # of its disk

    @property
    def used(self) -> int:
        """The sum."""
        return self.indexes + self.logs + self.models + self.others


@record
class MemoryUse:
    """The memory use of this process, in bytes."""

    held: int | None  # None if the system does not report it
    peak: int
    limit: int | None  # the lowest known one; None: unlimited


@record
class EffectiveModel:
    """The model that the settings choose, as far as it is known without opening it."""

    name: str
    source: str  # built in, this machine, or the URL of a server
    problem: str | None = None  # why the setting cannot be read
    identity: str | None = None  # vectors of different ones are never compared
    dimension: int | None = None  # numbers in a vector; None until an index has some
    indexes: int = 0  # that use its vectors


@record
class RunnerState:
    """The process that runs jobs."""

    pid: int | None  # None: there is none
    since: str | None


@record
class EffectiveSetting:
    """A setting, its value, and where that comes from."""

    name: str
    value: str  # with digits, such as 1,048,576; possible passwords are redacted
    unit: str
    default: str
    number: int | None  # the value; None: it is a text
    default_number: int | None
    origin: Origin
    help: str


@record
class LoggedProblem:
    """A problem in the log of a server."""

    at: str  # the last time; empty if the log has none
    event: str
    level: str  # error or warning
    message: str
    project: str | None  # its root
    times: int = 1


@record
class ServerStatus:
    """The status of a server and its data directory."""

    versions: Mapping[str, str]  # by component
    data_dir: str
    data_dir_origin: Origin
    disk: DiskUse
    memory: MemoryUse
    model: EffectiveModel
    runner: RunnerState
    jobs: Mapping[str, int]  # all that are kept, by state
    damaged: int  # indexes that cannot be opened
    newer: int  # indexes made by a newer version
    settings: tuple[EffectiveSetting, ...]
    problems: tuple[LoggedProblem, ...]  # the newest first
