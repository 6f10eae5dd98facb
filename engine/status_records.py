"""The frozen records of a project's state, which tell of its jobs too."""

from dataclasses import dataclass, field

from engine.job_records import Job
from engine.records import Coverage
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
    watch: WatchStatus | None  # None: nobody watches the project
