"""Cancels a run at a chosen moment, and looks at how soon it ends and at what it leaves."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import Config
from engine.embedding.load import OpenEmbedder, open_embedder
from engine.errors import Cancelled
from engine.index_records import Phase, Progress
from engine.indexing.fork_server import ForkServer
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents

#: What is promised.
MOST_S = 5.0
_LOOK_S = 0.005


class Moment:
    """Begins to be true when a condition first holds, and stays so. Give it as ``cancelled``.

    The condition is looked at when the run asks and at each report, and all the time besides, so
    that no report is missed and the measured time begins when the run could have known.

    Args:
        condition: Sees what the run told so far.
        delay_s: How long after that it begins to be true.
    """

    def __init__(
        self, condition: Callable[[list[Progress]], bool], *, delay_s: float = 0.0
    ) -> None:
        self._condition = condition
        self._delay_s = delay_s
        self._lock = threading.Lock()
        self._met_at: float | None = None
        self.told: list[Progress] = []

    def __call__(self) -> bool:
        return self.age_s() >= 0

    def tell(self, progress: Progress) -> None:
        """Take a report of the run."""
        self.told.append(progress)
        self.age_s()

    def age_s(self) -> float:
        """Give how long it is true already; negative before."""
        with self._lock:
            if self._met_at is None and self._condition(self.told):
                self._met_at = time.monotonic()
            return -1.0 if self._met_at is None else time.monotonic() - self._met_at - self._delay_s


def in_phase(phase: Phase, done: int = 0) -> Callable[[list[Progress]], bool]:
    """Give the condition that a run is in a phase, with so much of it done."""
    return lambda told: bool(told) and told[-1].phase is phase and told[-1].done >= done


def stop_a_run(
    config: Config,
    tree: Path,
    moment: Moment,
    *,
    opens: OpenEmbedder = open_embedder,
    forks: ForkServer | None = None,
) -> float:
    """Index until the moment comes; how many seconds after it the run has ended.

    The index is sound then. Without a fork server of its own the run shares one.
    """
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_S) and moment.age_s() < 0:
            pass

    looker = threading.Thread(target=look)
    looker.start()
    try:
        with open_catalog(config, open_embedder=opens, forks=forks) as catalog:
            with pytest.raises(Cancelled):
                catalog.create(str(tree)).index(on_progress=moment.tell, cancelled=moment)
            raised_s = moment.age_s()
        closed_s = moment.age_s()
    finally:
        is_over.set()
        looker.join()
    print(f"ended {raised_s:.2f} s after the stop, all closed after {closed_s:.2f} s")
    check_sound(database_of(config, tree))
    return closed_s


def check_resumed(config: Config, tree: Path, *, opens: OpenEmbedder = open_embedder) -> None:
    """Fail unless the next run completes the index, to what a fresh one holds."""
    fresh = replace(config, data_dir=config.data_dir / "fresh")
    for each in (config, fresh):
        with open_catalog(each, open_embedder=opens) as catalog:
            index = catalog.create(str(tree))
            report = index.index()
            assert report.notes == ()
            coverage = index.status().coverage
            assert (coverage.indexed, coverage.complete) == (1.0, True)
    check_sound(database_of(config, tree))
    assert contents(database_of(config, tree)) == contents(database_of(fresh, tree))


def database_of(config: Config, tree: Path) -> Path:
    """Give the database file of a project."""
    return config.data_dir / f"{project_id_of(str(tree))}.db"
