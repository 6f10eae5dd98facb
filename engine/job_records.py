"""The frozen records of jobs that cross borders between rooms. Times are ISO 8601, UTC."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto

from engine.records import Phase


class JobState(StrEnum):
    """Where a job is in its life; ``jobs.states`` has the legal ways between them."""

    PENDING = "pending"  # waits for its turn
    RUNNING = "running"
    BLOCKED = "blocked"  # waits for something outside, such as an embedding server
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


#: States in which a job still is to do something, and of which a project has one at most.
ACTIVE = (JobState.PENDING, JobState.RUNNING, JobState.BLOCKED)
#: States that nothing leads out of.
TERMINAL = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)


class JobOrigin(StrEnum):
    """Who wanted a job."""

    REQUEST = "request"  # a person or an agent
    WATCH = "watch"  # the watcher


class EventType(StrEnum):
    """What happened to a job."""

    CREATED = "created"
    STARTED = "started"
    PROGRESS = "progress"
    CHECKPOINT = "checkpoint"
    PAUSED = "paused"  # running → blocked
    RESUMED = "resumed"  # blocked → running, or taken over from a runner that died
    CANCEL_REQUESTED = "cancel_requested"
    FLAGGED = "flagged"  # active for longer than the retention period
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class CheckpointKind(StrEnum):
    """What a job can go on from."""

    FILE_LIST = "file_list"  # the files to do, written before the first is read
    POSITION = "position"  # the last file that is done
    EMBEDDING = "embedding"  # a batch of vectors is done


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as every face shows it; ``cairn jobs show --json`` prints exactly these keys."""

    job_id: str
    kind: str  # index
    status: JobState
    origin: JobOrigin
    project_id: str
    path: str  # the project's root
    parameters: Mapping[str, object]
    position: int | None  # among the pending jobs of all projects, 1 is next; None unless pending
    phase: Phase | None
    done: int  # of the phase: files, or chunks while embedding
    total: int | None
    files_done: int  # never falls, also over restarts
    files_total: int | None
    chunks_done: int
    chunks_total: int | None
    current_file: str | None
    rate: float | None  # files a second, or chunks while embedding
    elapsed_seconds: float  # since it first started
    eta_seconds: float | None
    estimated_seconds: float | None  # said when it was created
    waiting: str | None  # why it waits, in words
    attempt: int  # tries so far; more than 1 after a restart
    cancel_requested: bool
    flagged: bool  # active for more than the retention period: somebody should look
    created_at: str
    started_at: str | None
    finished_at: str | None
    heartbeat_at: str | None
    result: Mapping[str, object] | None  # of a completed job: the keys of ``IndexReport``
    error: Mapping[str, object] | None  # of a failed job: ``error``, ``message``, ``details``
    counts: Mapping[str, int] = field(default_factory=dict)  # what it did so far
    log: str | None  # the operation log, a path


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """Something that happened to a job."""

    job_id: str
    sequence: int  # 1, 2, 3 … without gaps
    type: EventType
    timestamp: str
    context: Mapping[str, object]  # ``repository``, ``files_processed``, ``phase`` and more


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHistory:
    """What happened to a job, as much of it as a page shows."""

    numbers: Mapping[EventType, int]  # of all its events
    events: tuple[JobEvent, ...]  # of the types that were asked for, in order
    earlier: int | None  # the sequence before which there are more; None: these are the first
    course: tuple[JobEvent, ...]  # changes of state, and some of what it told of its progress


class Waits(Enum):
    """Whether who asks for a job waits for its end."""

    NEVER = auto()
    IF_SHORT = auto()  # if it is estimated to be short
    ALWAYS = auto()  # whatever the estimate, so none is made


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """What became of a request."""

    job_id: str
    status: JobState
    duplicate: bool  # the same request was active already: this is its job
    estimated_seconds: float | None
    waits: bool  # the estimate is short enough for the caller to wait


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list; ``None`` lets all through."""

    status: JobState | None = None
    target: str | None = None  # a project's root or a folder in it
    created_after: str | None = None  # ISO 8601
    created_before: str | None = None
    origin: JobOrigin | None = None
    limit: int = 50  # 1 to 1,000
    cursor: str | None = None  # of an earlier page


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """Some jobs, the newest first."""

    jobs: tuple[Job, ...]
    total: int  # that match
    next_cursor: str | None
    errors: tuple[str, ...] = ()  # projects that could not be read, in sentences
