"""The thread of a process that runs jobs: when it cannot be started, and when it fails."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import Config
from engine.errors import UnavailableError
from engine.jobs.execution import OpenProject
from engine.jobs.ledger import Ledger
from engine.locks import holder_of, runner_lock_file
from engine.scheduler.runner_host import RunnerHost
from engine.state_records import JobState
from tests.support.jobs import until
from tests.support.ledger import RESULT, FakeClock, ledger_in
from tests.unit.jobs.test_runner_stuck import runner_over


def _host(config: Config, open_project: Callable[[Path], OpenProject]) -> RunnerHost:
    return RunnerHost(config, runner_over(config.data_dir, open_project)._dependencies)


def _refuse(_: Path) -> OpenProject:
    raise UnavailableError("nothing is to be opened")


def _opened(ledger: Ledger) -> Callable[[Path], OpenProject]:
    return lambda _: OpenProject("/tree", ledger, {"index": lambda _: dict(RESULT)})


def test_without_another_thread_nobody_is_the_runner(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = _host(config, _refuse)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(UnavailableError, match="no thread can be started to run jobs"):
            host.become()
    assert holder_of(runner_lock_file(config.data_dir)) is None
    assert host.become()
    assert not host.close()


def test_who_would_run_jobs_beside_the_runner_of_its_process_does_not_end_it(
    config: Config,
) -> None:
    with ledger_in(config.data_dir, FakeClock()) as ledger:
        host = _host(config, _opened(ledger))
        assert host.become()
        assert not host.work(until_idle=lambda: True, cancelled=lambda: True)
        row = ledger.enqueue({}).row
        until(lambda: ledger.find(row.uuid).state == JobState.COMPLETED)
        assert not host.close()
    assert holder_of(runner_lock_file(config.data_dir)) is None


def test_a_runner_that_fails_says_where(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    host = _host(config, _refuse)

    def fail(_: object) -> None:
        raise ValueError("nobody foresaw this")

    with monkeypatch.context() as patch:
        patch.setattr("engine.jobs.runner.Runner._find_jobs", fail)
        assert host.become()
        until(lambda: holder_of(runner_lock_file(config.data_dir)) is None)
    with pytest.raises(UnavailableError, match="ValueError: nobody foresaw this") as told:
        host.become()
    assert isinstance(told.value.__cause__, ValueError)
    assert told.value.hint
    assert "in fail" in str(told.value.details["traceback"])
    assert host.become()
    host.close()
