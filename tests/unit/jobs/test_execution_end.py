"""The end of a cancelled job that cannot be written at once, and heartbeats meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import pytest

from engine.errors import EngineError, IndexBusyError, IndexCorruptError
from engine.jobs.execution import JobExecution, OpenProject, Resources
from engine.jobs.ledger import Ledger
from engine.state_records import JobState
from tests.support.patience import patience
from tests.support.work import Work

_RESOURCES = Resources(lambda *_: True, lambda _: 60.0)


class Slot:
    """The one slot; whatever waits for it goes on when it is given back."""

    def __init__(self, other: apsw.Connection | None = None) -> None:
        self._other = other
        self.states: list[bool] = []

    def release_slot(self, _execution: JobExecution) -> None:
        """End what keeps the job from being written."""
        self.states.append(self._other is None or self._other.in_transaction)
        if self._other and self._other.in_transaction:
            self._other.execute("ROLLBACK")

    def acquire_slot(self, _execution: JobExecution) -> bool:
        """Fail: a cancelled job needs none."""
        raise AssertionError


@contextmanager
def suspended_if_it_hangs(work: Work) -> Iterator[None]:
    timer = threading.Timer(patience(15), work.context.suspend)
    timer.start()
    try:
        yield
        assert not work.context.is_suspended
    finally:
        timer.cancel()


def execution_of(work: Work, slot: Slot, before: str = "") -> JobExecution:
    ledger = work.ledger

    def act(_context: object) -> dict[str, object]:
        if before:
            with ledger.store.write(bookkeeping=True) as handle:
                handle.execute(before)
        work.context.cancel()
        raise IndexBusyError("locked")

    project = OpenProject("/tree", ledger, {"index": act})
    return JobExecution(ledger.store.path, project, work.context, slot)


def test_a_cancelled_job_gives_its_slot_back_before_its_end_can_be_written(work: Work) -> None:
    other = apsw.Connection(str(work.ledger.store.path))
    other.execute("BEGIN IMMEDIATE")
    slot = Slot(other)
    with suspended_if_it_hangs(work):
        execution_of(work, slot).run(_RESOURCES)
    other.close()
    assert slot.states[0]
    assert work.ledger.find(work.context.row.uuid).state == JobState.CANCELLED


def test_a_cancelled_job_of_a_damaged_database_ends_its_thread(work: Work) -> None:
    slot = Slot()
    with suspended_if_it_hangs(work), pytest.raises(IndexCorruptError):
        execution_of(work, slot, "DROP TABLE job_events").run(_RESOURCES)
    assert slot.states
    assert work.ledger.find(work.context.row.uuid).state == JobState.RUNNING


def test_a_heartbeat_does_not_wait_for_a_long_transaction(ledger: Ledger, work: Work) -> None:
    failed: list[EngineError] = []

    def beat() -> None:
        with pytest.raises(IndexBusyError) as error:
            work.context.beat()
        failed.append(error.value)

    with ledger.store.write(bookkeeping=True):
        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        thread.join(patience(15))
        assert failed
    thread.join()
