"""The end of a cancelled job that cannot be written at once, and heartbeats meanwhile."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from engine.errors import EngineError, IndexBusyError, IndexCorruptError
from engine.jobs.cancel_notes import CancelRequest, note_request
from engine.jobs.execution import JobExecution, OpenProject, Resources, as_noted, is_ending
from engine.jobs.ledger import Ledger
from engine.state_records import EventType, JobState
from engine.store.jobs import JobRow
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


class _Failing(Ledger):
    """A ledger that cannot write that a job has failed, for these reasons one after the other."""

    def __init__(self, like: Ledger, reasons: list[Exception]) -> None:
        super().__init__(like.store, like.project_id)
        self._reasons = reasons

    def fail(self, *args: Any, **more: Any) -> None:
        """Fail, in the end each time for the last reason."""
        raise self._reasons.pop(0) if len(self._reasons) > 1 else self._reasons[0]


def _failing_execution(work: Work, *reasons: Exception) -> JobExecution:
    ledger = _Failing(work.ledger, list(reasons))

    def act(_context: object) -> dict[str, object]:
        raise RuntimeError("nobody foresaw this")

    project = OpenProject("/tree", ledger, {"index": act})
    return JobExecution(ledger.store.path, project, work.context, Slot())


def test_a_failed_job_of_a_damaged_database_ends_its_thread_and_is_told(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.jobs.execution._DAMAGE_PATIENCE_S", 0.2)
    busy, damaged = IndexBusyError("locked"), IndexCorruptError("malformed")
    execution = _failing_execution(work, damaged, busy, damaged)
    with (
        suspended_if_it_hangs(work),
        pytest.raises(IndexCorruptError, match="malformed"),
    ):
        execution.run(_RESOURCES)
    execution._note.close()
    assert work.row.state == JobState.RUNNING
    told = as_noted(work.row, work.ledger.store.path)
    assert told.state == JobState.FAILED
    assert "malformed" in str(told.error)
    claimed = work.ledger.claim(work.row, "another")
    assert claimed
    assert as_noted(claimed, work.ledger.store.path).state == JobState.RUNNING


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


class _Late(Ledger):
    """A ledger for whose database a cancellation is noted when the job last looked for one."""

    def __init__(self, like: Ledger) -> None:
        super().__init__(like.store, like.project_id)
        self.endings: list[bool] = []  # whether it was too late, before and after the last look

    def complete(self, *args: Any, **more: Any) -> None:
        """Note a cancellation, then complete the job."""
        super().complete(*self._with_note(*args), **more)

    def fail(self, *args: Any, **more: Any) -> None:
        """Note a cancellation, then fail the job."""
        super().fail(*self._with_note(*args), **more)

    def _with_note(self, row: JobRow, *args: Any) -> Sequence[Any]:
        *others, last_look = args
        note_request(self.store.path, row.uuid, CancelRequest("not needed", None))

        def look() -> CancelRequest | None:
            self.endings.append(is_ending(self.store.path, row.uuid))
            found: CancelRequest | None = last_look()
            self.endings.append(is_ending(self.store.path, row.uuid))
            return found

        return [row, *others, look]


@pytest.mark.parametrize("fails", [False, True])
def test_a_cancellation_that_is_noted_while_the_end_waits_for_its_turn_counts(
    work: Work, *, fails: bool
) -> None:
    ledger = _Late(work.ledger)

    def act(_context: object) -> dict[str, object]:
        if fails:
            raise RuntimeError("nobody foresaw this")
        return {}

    project = OpenProject("/tree", ledger, {"index": act})
    execution = JobExecution(ledger.store.path, project, work.context, Slot())
    execution.run(_RESOURCES)
    execution._note.close()
    assert work.row.state == JobState.CANCELLED
    assert [each["reason"] for each in work.events(EventType.CANCEL_REQUESTED)] == ["not needed"]
    assert ledger.endings == [False, True]
    assert not is_ending(ledger.store.path, work.row.uuid)
