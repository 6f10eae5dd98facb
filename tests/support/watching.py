"""A watcher over a real project, whose runs happen in this process, as jobs or without."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.cancellation import CancelToken
from engine.catalog import Catalog
from engine.config import Config
from engine.errors import Cancelled
from engine.index_records import IndexOptions
from engine.project import Project
from engine.state_records import WatchState, WatchStatus
from engine.watch.watcher import Watcher
from tests.support.patience import patience

_PATIENCE_S = 30.0


class Runs:
    """Does what a watcher asks for, and keeps a list of it.

    Args:
        index: The project.
    """

    def __init__(self, index: Project) -> None:
        self._index = index
        self.asked: list[tuple[str, ...] | None] = []
        self.fails = 0  # so many of the next runs do not come to their end
        self._lock = threading.Lock()

    def __call__(self, only: tuple[str, ...] | None, cancelled: CancelToken) -> bool:
        with self._lock:
            self.asked.append(only)
            if self.fails:
                self.fails -= 1
                return False
        try:
            self._index.index(IndexOptions(only=only or ()), cancelled=cancelled)
        except Cancelled:
            return False
        return True


class Watching:
    """A watcher that runs, and all that it told."""

    def __init__(self, index: Project, config: Config) -> None:
        self.told: list[WatchStatus] = []
        self.runs = Runs(index)
        self.watcher = Watcher(index.for_watcher(), self.runs, config, on_change=self.told.append)

    def await_state(self, state: WatchState) -> WatchStatus:
        """Wait until the watcher is in a state."""
        await_true(lambda: self.watcher.status.state is state)
        return self.watcher.status


@contextmanager
def watching(index: Project, config: Config) -> Iterator[Watching]:
    """Watch while the block runs; the first comparison is over when it begins."""
    found = Watching(index, config)
    found.watcher.start()
    try:
        await_true(lambda: found.watcher.status.last_reconcile_at is not None)
        yield found
    finally:
        found.watcher.stop()


@contextmanager
def watching_by_jobs(catalog: Catalog, root: str) -> Iterator[Watcher]:
    """Watch while the block runs, as ``cairn watch`` does: each run is a job of this process."""
    watcher = catalog.watch(root)
    try:
        await_true(lambda: watcher.status.last_reconcile_at is not None)
        yield watcher
    finally:
        watcher.stop()


def await_true(condition: Callable[[], bool], *, patience_s: float = _PATIENCE_S) -> float:
    """Wait until something holds, and give how many seconds that took; fail when it never does."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < patience(patience_s), "it does not become true"
        time.sleep(0.02)
    return time.monotonic() - started
