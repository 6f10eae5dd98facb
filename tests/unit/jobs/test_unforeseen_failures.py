"""What nobody foresaw in a thread of the runner: the job says how it ended, the others go on."""

import json
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from engine.errors import (
    Cancelled,
    DiskFullError,
    EngineError,
    IndexCorruptError,
    UnavailableError,
)
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject, as_noted
from engine.jobs.ledger import Ledger
from engine.jobs.progress import Expected
from engine.jobs.runner import Runner
from engine.locks import note_cancel
from engine.state_records import JobState
from engine.store.jobs import JobRow
from tests.support.jobs import until
from tests.support.ledger import PROJECT_ID, RESULT, FakeClock, contexts, ledger_in
from tests.support.patience import patience
from tests.support.permissions import permissions_hold
from tests.unit.jobs.test_runner_stuck import runner_over, running

_OTHER_ID = PROJECT_ID[::-1]


def _work(_: JobContext) -> dict[str, object]:
    return dict(RESULT)


def _broken(*_: object) -> bool:
    raise RuntimeError("nobody foresaw this")


def _open(ledger: Ledger, work: Callable[[JobContext], dict[str, object]]) -> OpenProject:
    return OpenProject("/tree", ledger, {"index": work})


def _has_ended(ledger: Ledger, job_id: str) -> bool:
    return ledger.find(job_id).finished_at_ms is not None


def _with(runner: Runner, **changes: Any) -> Runner:
    return Runner(runner._dependencies._replace(**changes))


def test_a_probe_that_fails_ends_the_job(tmp_path: Path, ledger: Ledger) -> None:
    def work(_: JobContext) -> dict[str, object]:
        raise DiskFullError("no room")

    row = ledger.enqueue({}).row
    runner = _with(runner_over(tmp_path, lambda _: _open(ledger, work)), is_back=_broken)
    with running(runner):
        until(lambda: _has_ended(ledger, row.uuid))
    ended = ledger.find(row.uuid)
    assert ended.state == JobState.FAILED
    error = json.loads(ended.error or "{}")
    assert error["message"] == "RuntimeError: nobody foresaw this"
    assert "traceback" in error["details"]


def test_an_end_that_nobody_can_write_is_told_to_who_waits(tmp_path: Path, ledger: Ledger) -> None:
    class Broken(Ledger):
        def complete(self, *_: Any, **__: Any) -> None:
            _broken()

        def fail(self, *_: Any, **__: Any) -> None:
            _broken()

    row = ledger.enqueue({}).row
    broken = Broken(ledger.store, ledger.project_id)
    runner = runner_over(tmp_path, lambda _: _open(broken, _work))
    with running(runner):
        until(lambda: runner.unwritten_end(row.uuid) is not None)
        error = runner.unwritten_end(row.uuid)
    assert isinstance(error, EngineError)
    assert error.message == "RuntimeError: nobody foresaw this"


def test_damage_that_keeps_an_end_from_being_written_is_not_waited_for(
    tmp_path: Path, ledger: Ledger
) -> None:
    class Damaged(Ledger):
        def complete(self, *_: Any, **__: Any) -> None:
            raise IndexCorruptError("database disk image is malformed")

    row = ledger.enqueue({}).row
    damaged = Damaged(ledger.store, ledger.project_id)
    with running(runner_over(tmp_path, lambda _: _open(damaged, _work))):
        until(lambda: _has_ended(ledger, row.uuid))
    ended = ledger.find(row.uuid)
    assert (ended.state, ended.attempt) == (JobState.FAILED, 1)
    assert json.loads(ended.error or "{}")["error"] == IndexCorruptError.code
    assert "paused" not in [name for name, _ in contexts(ledger, row)]


class _Repairable(Ledger):
    """A ledger that fails to write the end of a job, until it is repaired."""

    is_repaired = False

    def complete(self, *args: Any, **more: Any) -> None:
        """Fail, and make the job fail."""
        _broken()

    def fail(self, *args: Any, **more: Any) -> None:
        """Fail once it is repaired."""
        if not self.is_repaired:
            _broken()
        super().fail(*args, **more)


def test_an_end_that_could_not_be_written_is_written_later(tmp_path: Path, ledger: Ledger) -> None:
    row = ledger.enqueue({}).row
    broken = _Repairable(ledger.store, ledger.project_id)
    runner = runner_over(tmp_path, lambda _: _open(broken, _work))
    with running(runner):
        until(lambda: runner.unwritten_end(row.uuid) is not None)
        broken.is_repaired = True
        until(lambda: _has_ended(ledger, row.uuid))
    ended = ledger.find(row.uuid)
    assert ended.state == JobState.FAILED
    assert json.loads(ended.error or "{}")["message"] == "RuntimeError: nobody foresaw this"


def test_a_job_whose_end_cannot_be_written_can_be_cancelled(tmp_path: Path, ledger: Ledger) -> None:
    row = ledger.enqueue({}).row
    broken = _Repairable(ledger.store, ledger.project_id)
    runner = runner_over(tmp_path, lambda _: _open(broken, _work))
    with running(runner):
        until(lambda: runner.unwritten_end(row.uuid) is not None)
        ledger.request_cancel(row.uuid)
        runner.wake()
        until(lambda: _has_ended(ledger, row.uuid))
    assert ledger.find(row.uuid).state == JobState.CANCELLED


@pytest.mark.parametrize("failure", [RuntimeError("nobody foresaw this"), UnavailableError("away")])
def test_a_cancellation_that_could_not_be_written_is_written_later(
    tmp_path: Path, ledger: Ledger, failure: Exception
) -> None:
    tries: list[Path] = []
    is_repaired = threading.Event()

    class Broken(Ledger):
        def cancel(self, *args: Any, **more: Any) -> None:
            tries.append(tmp_path)
            if not is_repaired.is_set():
                raise failure
            super().cancel(*args, **more)

    def work(context: JobContext) -> dict[str, object]:
        assert context.wait(patience(30))
        raise Cancelled

    row = ledger.enqueue({}).row
    broken = Broken(ledger.store, ledger.project_id)
    runner = runner_over(tmp_path, lambda _: _open(broken, work))
    with running(runner):
        until(lambda: ledger.find(row.uuid).state == JobState.RUNNING)
        ledger.request_cancel(row.uuid)
        runner.wake()
        until(lambda: len(tries) > 2)
        told = as_noted(ledger.find(row.uuid), ledger.store.path)
        is_repaired.set()
        until(lambda: _has_ended(ledger, row.uuid))
    assert told.state == JobState.CANCELLED
    assert ledger.find(row.uuid).state == JobState.CANCELLED


def test_work_that_sees_the_cancellation_first_is_not_begun_again(
    tmp_path: Path, ledger: Ledger
) -> None:
    row = ledger.enqueue({}).row

    def work(_: JobContext) -> dict[str, object]:
        ledger.request_cancel(row.uuid)
        raise Cancelled

    with running(runner_over(tmp_path, lambda _: _open(ledger, work))):
        until(lambda: _has_ended(ledger, row.uuid))
    ended = ledger.find(row.uuid)
    assert (ended.state, ended.attempt) == (JobState.CANCELLED, 1)


def test_a_job_that_ended_elsewhere_is_not_cancelled_for_ever(
    tmp_path: Path, ledger: Ledger
) -> None:
    may_stop = threading.Event()

    def work(context: JobContext) -> dict[str, object]:
        assert context.wait(patience(30))
        may_stop.wait()
        raise Cancelled

    row = ledger.enqueue({}).row
    runner = runner_over(tmp_path, lambda _: _open(ledger, work))
    with running(runner):
        until(lambda: ledger.find(row.uuid).state == JobState.RUNNING)
        note_cancel(ledger.store.path, row.uuid, "enough")
        runner.wake()
        until(lambda: runner._executions[row.uuid].context.is_cancelled)
        ledger.request_cancel(row.uuid, is_orphan=True)
        may_stop.set()
        until(lambda: not runner._executions)
    assert ledger.find(row.uuid).state == JobState.CANCELLED


def test_a_job_is_run_although_its_claim_was_told_as_failed(tmp_path: Path, ledger: Ledger) -> None:
    tries: list[JobRow] = []

    class Unsure(Ledger):
        def claim(self, *args: Any, **more: Any) -> JobRow | None:
            taken = super().claim(*args, **more)
            assert taken
            tries.append(taken)
            if len(tries) == 1:  # as a disk that fails to sync what it keeps all the same
                raise UnavailableError("disk I/O error")
            return taken

    row = ledger.enqueue({}).row
    unsure = Unsure(ledger.store, ledger.project_id)
    with running(runner_over(tmp_path, lambda _: _open(unsure, _work))):
        until(lambda: _has_ended(ledger, row.uuid))
    ended = ledger.find(row.uuid)
    assert (ended.state, ended.attempt) == (JobState.COMPLETED, 2)


def test_what_is_expected_of_a_job_is_known_before_it_is_claimed(
    tmp_path: Path, ledger: Ledger
) -> None:
    states: list[str] = []

    def expected(row: JobRow) -> Expected:
        states.append(ledger.find(row.uuid).state)
        if len(states) == 1:
            _broken()
        return Expected()

    row = ledger.enqueue({}).row
    runner = _with(runner_over(tmp_path, lambda _: _open(ledger, _work)), expected=expected)
    with running(runner):
        until(lambda: _has_ended(ledger, row.uuid))
    ended = ledger.find(row.uuid)
    assert (ended.state, ended.attempt) == (JobState.COMPLETED, 1)
    assert states == [JobState.PENDING, JobState.PENDING]


def test_a_project_that_cannot_be_opened_costs_the_others_nothing(
    tmp_path: Path, ledger: Ledger
) -> None:
    with ledger_in(tmp_path, FakeClock(), _OTHER_ID) as other:

        def open_project(file: Path) -> OpenProject:
            if file == ledger.store.path:
                _broken()
            return _open(other, _work)

        first = ledger.enqueue({}).row
        second = other.enqueue({}).row
        runner = runner_over(tmp_path, open_project)
        with running(runner):
            until(lambda: _has_ended(other, second.uuid))
            until(lambda: runner.unwritten_end(first.uuid) is not None, within_s=30)
    assert other.find(second.uuid).state == JobState.COMPLETED
    assert ledger.find(first.uuid).state == JobState.PENDING


def test_a_log_that_cannot_be_written_stops_no_heartbeat(tmp_path: Path, ledger: Ledger) -> None:
    may_end = threading.Event()

    def work(_: JobContext) -> dict[str, object]:
        may_end.wait()
        return dict(RESULT)

    row = ledger.enqueue({}).row
    tries: list[object] = []

    def log(*found: object) -> None:
        tries.append(found)
        if not may_end.is_set():
            _broken()

    runner = _with(runner_over(tmp_path, lambda _: _open(ledger, work)), log=log)
    with running(runner):
        try:
            until(lambda: ledger.find(row.uuid).started_at_ms is not None)
            until(lambda: len(tries) > 0)
            before = ledger.find(row.uuid).heartbeat_at_ms
            until(lambda: ledger.find(row.uuid).heartbeat_at_ms != before)
        finally:
            may_end.set()
        until(lambda: _has_ended(ledger, row.uuid))


def test_a_system_without_another_thread_starts_the_job_later(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start
    has_threads = threading.Event()

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "job" and not has_threads.is_set():
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("engine.jobs.runner._STUCK_S", 0.0)
    row = ledger.enqueue({}).row
    runner = runner_over(tmp_path, lambda _: _open(ledger, _work))

    def is_told() -> bool:
        error = runner.unwritten_end(row.uuid)
        return error is not None and "can't start new thread" in error.message

    with running(runner):
        until(is_told)
        assert ledger.find(row.uuid).state == JobState.PENDING
        has_threads.set()
        until(lambda: _has_ended(ledger, row.uuid))
    assert ledger.find(row.uuid).state == JobState.COMPLETED


def test_a_data_directory_that_is_closed_for_a_while_ends_no_job(
    tmp_path: Path, ledger: Ledger
) -> None:
    may_end, has_begun = threading.Event(), threading.Event()

    def work(_: JobContext) -> dict[str, object]:
        has_begun.set()
        may_end.wait()
        return dict(RESULT)

    row = ledger.enqueue({}).row
    runner = runner_over(tmp_path, lambda _: _open(ledger, work))
    looks = count()
    with permissions_hold():
        thread = threading.Thread(
            target=runner.run,
            kwargs={"until_idle": lambda: True, "cancelled": lambda: next(looks) < 0},
        )
        thread.start()
        assert has_begun.wait(patience(15))
        tmp_path.chmod(0)
        try:
            seen = next(looks)
            until(lambda: next(looks) > 2 * seen + 20)
        finally:
            tmp_path.chmod(0o700)
            may_end.set()
        thread.join()
    assert ledger.find(row.uuid).state == JobState.COMPLETED
