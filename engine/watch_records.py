"""The frozen record of what a watcher does. Times are ISO 8601, UTC."""

from dataclasses import dataclass
from enum import StrEnum

#: How the reason of a watcher begins that hears of changes and leaves them: somebody has stopped
#: the indexing of its project.
INDEXING_CANCELLED = "indexing was cancelled"


class WatchState(StrEnum):
    """What a watcher does now."""

    STARTING = "starting"
    WATCHING = "watching"  # the system tells of changes
    POLLING = "polling"  # it cannot, so the watcher looks now and then
    WAITING = "waiting"  # the root is away, or cannot be read; what is indexed stays
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStatus:
    """The state of a project's watcher."""

    state: WatchState
    reason: str = ""  # why it is not watching, or what failed last, with what to do
    since: str = ""  # of the state
    pid: int = 0  # of the process that watches
    folders: int = 0  # that are watched
    pending: int = 0  # paths that wait for a run; a whole project counts as one
    last_event_at: str | None = None
    last_reconcile_at: str | None = None  # when the whole tree was last compared with the index
    poll_interval_ms: int | None = None  # while polling
