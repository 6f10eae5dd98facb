"""Stops a job of this process between two of its transactions, for what is to meet it there.

Who waits for such a moment by looking, and then acts, may come after the job's end.
"""

import threading
from collections.abc import Callable

import pytest

from engine.catalog import Catalog
from engine.state_records import JobFilter, JobState
from tests.support.patience import patience


class Halt:
    """Stops a job, in its own thread, after the first transaction at whose end something is so.

    Args:
        monkeypatch: Ends it with the test.
        is_place: Asked after each transaction of each job; the first one that it is true for stops.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, is_place: Callable[[], bool]) -> None:
        self._is_place = is_place
        self._is_reached = threading.Event()
        self._goes_on = threading.Event()
        monkeypatch.setattr("engine.jobs.context.fault_point", self._at)

    def await_reached(self) -> None:
        """Wait until a job stands still."""
        assert self._is_reached.wait(patience(60))

    def go_on(self) -> None:
        """Let it go on."""
        self._goes_on.set()

    def _at(self, name: str, _detail: str = "") -> None:
        if name == "job batch committed" and not self._is_reached.is_set() and self._is_place():
            self._is_reached.set()
            assert self._goes_on.wait(patience(60))


def halt_at(catalog: Catalog, monkeypatch: pytest.MonkeyPatch, files: int) -> Halt:
    """Stop the running job of a catalog as soon as so many files are done."""
    running = JobFilter(status=JobState.RUNNING)
    return Halt(
        monkeypatch,
        lambda: any(job.files_done >= files for job in catalog.jobs.list(running).jobs),
    )
