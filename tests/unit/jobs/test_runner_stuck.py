"""Jobs that the runner cannot start: whose error is told, and for how long."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.errors import EngineError, UnavailableError
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject
from engine.jobs.ledger import Ledger
from engine.jobs.progress import Expected
from engine.jobs.runner import Runner, RunnerDependencies
from tests.support.jobs import until
from tests.support.ledger import PROJECT_ID, RESULT, FakeClock, ledger_in

_OTHER_ID = PROJECT_ID[::-1]


def runner_over(folder: Path, open_project: Callable[[Path], OpenProject]) -> Runner:
    return Runner(
        RunnerDependencies(
            data_dir=folder,
            most_running=1,
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
