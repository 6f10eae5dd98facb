"""Jobs that the runner cannot start: whose error is told, and for how long."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.errors import Cancelled, EngineError, IndexCorruptError, UnavailableError
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject
from engine.jobs.ledger import Ledger
from engine.jobs.progress import Expected
from engine.jobs.runner import Runner, RunnerDependencies
from engine.jobs.watchlist import ActiveJob
from engine.store.jobs import EventRow, JobRow
from tests.support.jobs import until
from tests.support.ledger import PROJECT_ID, RESULT, FakeClock, ledger_in

_OTHER_ID = PROJECT_ID[::-1]


def runner_over(
    folder: Path, open_project: Callable[[Path], OpenProject], *, most_running: int = 1
) -> Runner:
    return Runner(
        RunnerDependencies(
            data_dir=folder,
            most_running=most_running,
            open_project=open_project,
            is_back=lambda *_: True,
            patience_s=lambda _: float("inf"),
            expected=lambda _: Expected(),
            on_end=lambda *_: None,
            on_cancel=lambda *_: None,
            log=lambda *_: None,
            daily=lambda _: None,
        )
    )


@contextmanager
def running(runner: Runner) -> Iterator[None]:
    is_over = threading.Event()
    thread = threading.Thread(
        target=runner.run, kwargs={"until_idle": lambda: False, "cancelled": is_over.is_set}
    )
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_the_error_of_a_job_that_was_cancelled_meanwhile_is_not_raised(
    tmp_path: Path, ledger: Ledger
) -> None:
    row = ledger.enqueue({}).row
    tries = []

    def refuse(_: Path) -> OpenProject:
        tries.append(1)
        if len(tries) == 3:
            ledger.request_cancel(row.uuid)
        raise UnavailableError("the index cannot be written")

    runner_over(tmp_path, refuse).run(until_idle=lambda: True, cancelled=lambda: False)
    assert len(tries) == 3
    assert ledger.find(row.uuid).state == "cancelled"


def test_a_job_that_failed_to_start_and_waits_for_a_slot_now_is_not_told_as_failed(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.jobs.runner._STUCK_S", 0.0)
    error: EngineError | None = UnavailableError("the index cannot be written")
    may_end = threading.Event()

    def work(_: JobContext) -> dict[str, object]:
        may_end.wait()
        return dict(RESULT)

    def open_project(file: Path) -> OpenProject:
        if file == ledger.store.path and error:
            raise error
        opened = ledger if file == ledger.store.path else other
        return OpenProject("/tree", opened, {"index": work})

    with ledger_in(tmp_path, FakeClock(), _OTHER_ID) as other:
        first = ledger.enqueue({}).row
        runner = runner_over(tmp_path, open_project)
        with running(runner):
            try:
                until(lambda: runner.unwritten_end(first.uuid) is error)
                second = other.enqueue({}).row
                runner.wake()
                until(lambda: other.find(second.uuid).state == "running")
                until(lambda: runner.unwritten_end(first.uuid) is None, within_s=5)
                error = None
            finally:
                may_end.set()
            until(lambda: ledger.find(first.uuid).state == "completed")


def _cancelled(context: JobContext) -> dict[str, object]:
    context.cancel()
    raise Cancelled


class _Damaged(Ledger):
    """A ledger in whose database jobs can begin, but not end as cancelled."""

    def cancel(self, *_: Any, **__: Any) -> None:
        """Fail."""
        raise IndexCorruptError("database disk image is malformed")


class _Unsure(Ledger):
    """A ledger whose first claim is made and told as failed, after some time."""

    takes_s = 0.0
    claims = 0

    def claim(self, *args: Any, **more: Any) -> JobRow | None:
        """Claim a job; fail the first time."""
        taken = super().claim(*args, **more)
        self.claims += 1
        if self.claims == 1:
            time.sleep(self.takes_s)
            raise UnavailableError("disk I/O error")
        return taken


class _SlowRunner(Runner):
    """A runner whose jobs end before it knows that they have begun."""

    def _start(self, found: ActiveJob, patience_s: float) -> None:
        super()._start(found, patience_s)
        until(lambda: not self._executions)


def _opened(
    ledger: Ledger, work: Callable[[JobContext], dict[str, object]]
) -> Callable[[Path], OpenProject]:
    return lambda _: OpenProject("/tree", ledger, {"index": work})


def _damaged(folder: Path, ledger: Ledger) -> Runner:
    damaged = _Damaged(ledger.store, ledger.project_id)
    return _SlowRunner(runner_over(folder, _opened(damaged, _cancelled))._dependencies)


def _look(runner: Runner) -> None:
    runner._find_jobs()
    runner._start_pending()


def test_a_job_that_fails_at_once_is_told_and_left_alone_for_a_while(
    tmp_path: Path, ledger: Ledger
) -> None:
    row = ledger.enqueue({}).row
    runner = _damaged(tmp_path, ledger)
    _look(runner)
    assert isinstance(runner.unwritten_end(row.uuid), IndexCorruptError)
    _look(runner)
    assert ledger.find(row.uuid).attempt == 1


def test_a_job_that_never_ends_is_tried_again_less_and_less_often(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.jobs.runner._RETRY_S", 0.01)
    monkeypatch.setattr("engine.jobs.runner._LONGEST_RETRY_S", 0.04)
    row = ledger.enqueue({}).row
    runner = _damaged(tmp_path, ledger)
    pauses_s = []
    for attempt in range(1, 5):

        def is_tried(attempt: int = attempt) -> bool:
            _look(runner)
            return ledger.find(row.uuid).attempt == attempt

        until(is_tried)
        pauses_s.append(runner._stuck[ledger.store.path].pause_s)
    assert pauses_s == [0.01, 0.02, 0.04, 0.04]


def test_a_runner_that_ends_when_idle_tries_a_claimed_job_again_first(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.jobs.runner._STUCK_S", 0.5)
    monkeypatch.setattr("engine.jobs.runner._RETRY_S", 0.1)
    row = ledger.enqueue({}).row
    unsure = _Unsure(ledger.store, ledger.project_id)
    unsure.takes_s = 1.0
    runner = runner_over(tmp_path, _opened(unsure, lambda _: dict(RESULT)))
    runner.run(
        until_idle=lambda: True,
        cancelled=lambda: ledger.find(row.uuid).finished_at_ms is not None,
    )
    ended = ledger.find(row.uuid)
    assert (ended.state, ended.attempt) == ("completed", 2)


def test_the_log_has_the_events_of_a_claim_that_was_told_as_failed(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.jobs.runner._RETRY_S", 0.0)
    logged: list[str] = []

    def log(_project: OpenProject, _row: JobRow, event: EventRow) -> None:
        logged.append(event.type)

    row = ledger.enqueue({}).row
    unsure = _Unsure(ledger.store, ledger.project_id)
    dependencies = runner_over(tmp_path, _opened(unsure, lambda _: dict(RESULT)))._dependencies
    runner = Runner(dependencies._replace(log=log))
    with running(runner):
        until(lambda: ledger.find(row.uuid).finished_at_ms is not None)
    assert logged == ["created", "started", "resumed", "completed"]


def test_the_log_has_each_event_of_a_job_that_is_begun_again_once(
    tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.jobs.runner._RETRY_S", 0.0)
    logged: list[int] = []
    row = ledger.enqueue({}).row

    def work(context: JobContext) -> dict[str, object]:
        if context.row.attempt == 2:
            return dict(RESULT)
        until(lambda: len(logged) > 1)
        return _cancelled(context)

    def log(_project: OpenProject, _row: JobRow, event: EventRow) -> None:
        logged.append(event.sequence)

    damaged = _Damaged(ledger.store, ledger.project_id)
    dependencies = runner_over(tmp_path, _opened(damaged, work))._dependencies
    with running(Runner(dependencies._replace(log=log))):
        until(lambda: ledger.find(row.uuid).finished_at_ms is not None)
    assert logged == list(range(1, len(logged) + 1))
    assert ledger.find(row.uuid).attempt == 2


def test_a_runner_ends_when_a_newer_version_has_written_to_a_database(
    tmp_path: Path, ledger: Ledger
) -> None:
    """It cannot see the jobs there, and that version may wait to be the runner."""
    row = ledger.enqueue({}).row

    def work(_: JobContext) -> dict[str, object]:
        with ledger.store.write() as handle:
            handle.pragma("user_version", 9999)
        return dict(RESULT)

    runner_over(tmp_path, _opened(ledger, work)).run(
        until_idle=lambda: False, cancelled=lambda: False
    )
    assert ledger.find(row.uuid).state == "completed"
