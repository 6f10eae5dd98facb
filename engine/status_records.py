"""The frozen records of the state of a project, and of a server; times are ISO 8601, UTC."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.browse_records import LanguageShare
from engine.job_records import Job
from engine.records import Coverage, ProjectSummary
from engine.settings import Origin
from engine.watch_records import WatchStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatus:
    """The state of a project; ``cairn status --json`` prints exactly these keys."""

    project_id: str
    path: str
    branch: str
    files: int
    symbols: int
    chunks: int
    embeddings: int
    skips: dict[str, int] = field(default_factory=dict)  # reason: count
    coverage: Coverage
    model: str | None
    fingerprint: str
    size_bytes: int  # of the database file and its WAL
    last_indexed_at: str | None  # ISO 8601, UTC
    jobs: tuple[Job, ...] = ()  # those active, and the newest one when it failed
    watch: WatchStatus | None = None  # None: nobody watches the project


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPulse:
    """What goes on in a project."""

    project_id: str
    path: str
    jobs: tuple[Job, ...]  # some, the newest first
    failed: Job | None = None  # the last one that failed, unless one was completed since
    watch: WatchStatus | None  # None: nobody watches the project
    is_damaged: bool = False  # its last check said so, and it was not emptied since


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectView:
    """A project in a list of all, with what it holds."""

    summary: ProjectSummary
    status: ProjectStatus | None = None  # None: it cannot be read
    languages: tuple[LanguageShare, ...] = ()  # the largest first
    is_root_there: bool = True
    is_damaged: bool = False  # it can be read, but its last check found damage


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUse:
    """What a data directory takes, in bytes."""

    indexes: int  # databases with their logs of changes
    logs: int
    models: int
    others: int  # backups among them
    free: int  # on its disk, for this user
    total: int  # of its disk

    @property
    def used(self) -> int:
        """All that it takes."""
        return self.indexes + self.logs + self.models + self.others


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """What this process takes, in bytes."""

    held: int | None  # None where the system does not tell
    peak: int
    limit: int | None  # the tightest that is known; None: nothing limits it


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInForce:
    """The model that the settings choose, as far as it can be told without opening it."""

    name: str
    source: str  # built in, this machine, or the URL of a server
    problem: str | None = None  # why the setting cannot be read
    identity: str | None = None  # vectors of different ones are never compared
    dimension: int | None = None  # numbers in a vector; None until an index has some
    indexes: int = 0  # that its vectors answer for


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerState:
    """Who runs jobs."""

    pid: int | None  # None: nobody does now
    since: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInForce:
    """A setting, its value, and where that comes from."""

    name: str
    value: str  # in digits, such as 1,048,576; without what may be a password
    unit: str
    default: str
    number: int | None  # the value; None: it is a text
    default_number: int | None
    origin: Origin
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedProblem:
    """Something that went wrong in a server, as its log has it."""

    at: str  # the last time; empty when the log does not tell it
    event: str
    level: str  # error or warning
    message: str
    project: str | None  # its root
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCondition:
    """How a server and its data directory are."""

    versions: Mapping[str, str]  # by what they are of
    data_dir: str
    data_dir_origin: Origin
    disk: DiskUse
    memory: MemoryUse
    model: ModelInForce
    runner: RunnerState
    jobs: Mapping[str, int]  # all that are kept, by state
    unreadable: int  # indexes that cannot be read
    settings: tuple[SettingInForce, ...]
    problems: tuple[LoggedProblem, ...]  # the newest first
