"""What is done beside jobs: old ones are forgotten, and what happens is written for programs."""

import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.cancellation import CancelToken, never
from engine.clock import now_ms
from engine.config import load_config
from engine.jobs.ledger import Ledger
from engine.jobs.progress import Expected
from engine.jobs.runner import Runner, RunnerDependencies
from engine.state_records import EventType, JobState
from engine.store import jobs
from engine.store.jobs import JobRow
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.holding import held
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.killing import processes_of
from tests.support.ledger import DAY_MS, RESULT, FakeClock, claimed, context_of, ledger_in
from tests.support.logs import logged
from tests.support.trees import SAMPLE, write_tree


def test_a_runner_forgets_old_jobs_when_it_starts(tmp_path: Path) -> None:
    clock = FakeClock()
    kept_days = load_config(tmp_path).job_retention
    with ledger_in(tmp_path, clock) as ledger:
        for days in (kept_days + 1, kept_days - 1):
            clock.now_ms = now_ms() - days * DAY_MS
            ledger.request_cancel(ledger.enqueue({}).row.uuid)
    with catalog_in(tmp_path) as catalog:
        assert catalog.jobs.list().total == 2
        assert catalog.jobs.run_here()
        until(lambda: catalog.jobs.list().total == 1)


def test_a_job_that_cannot_be_read_keeps_no_other_project_from_forgetting(tmp_path: Path) -> None:
    clock = FakeClock()
    with ledger_in(tmp_path, clock, "0" * 64) as ledger:
        row = claimed(ledger)
        ledger.complete(row, RESULT, {})
        with ledger.store.write(bookkeeping=True) as handle:
            jobs.update_job(handle, row.id, {"result": "{oops", "finished_at_ms": now_ms()})
    with ledger_in(tmp_path, clock, "1" * 64) as ledger:
        ledger.request_cancel(ledger.enqueue({"only": ["a.py"]}).row.uuid)
        with catalog_in(tmp_path) as catalog:
            assert catalog.jobs.run_here()
            until(lambda: not jobs_in(ledger))


def jobs_in(ledger: Ledger) -> list[JobRow]:
    with ledger.store.read() as handle:
        return jobs.search_jobs(handle, jobs.JobSearch(), 10)


def runner_that_keeps_house(data_dir: Path, daily: Callable[[CancelToken], None]) -> Runner:
    return Runner(
        RunnerDependencies(
            data_dir=data_dir,
            most_running=1,
            open_project=lambda _: pytest.fail("there is no project"),
            is_back=lambda *_: True,
            patience_s=lambda _: 1.0,
            expected=lambda _: Expected(),
            on_end=lambda *_: None,
            on_cancel=lambda *_: None,
            log=lambda *_: None,
            daily=daily,
        )
    )


def test_a_runner_that_stops_waits_for_its_housekeeping(tmp_path: Path) -> None:
    """It would write to databases after they are closed, or beside that of the next runner."""
    is_running, is_over = threading.Event(), threading.Event()

    def daily(cancelled: CancelToken) -> None:
        is_running.set()
        until(cancelled)
        time.sleep(1.5)  # it has begun with a project
        is_over.set()

    runner = runner_that_keeps_house(tmp_path, daily)
    runner.run(until_idle=lambda: False, cancelled=is_running.is_set)
    assert is_over.is_set()


def test_housekeeping_waits_little_for_a_project_that_is_locked(tmp_path: Path) -> None:
    with ledger_in(tmp_path, FakeClock()) as ledger:
        ledger.request_cancel(ledger.enqueue({"only": ["a.py"]}).row.uuid)
        with (
            catalog_in(tmp_path, busy_timeout=600_000) as catalog,
            held("database", ledger.store.path),
        ):
            catalog.jobs._keeper.run_housekeeping(never)
        assert jobs_in(ledger)


def test_a_runner_keeps_house_every_24_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead_s = 0.0
    times: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + ahead_s)
    monkeypatch.setattr("engine.jobs.runner.time", clock)
    runner = runner_that_keeps_house(tmp_path, lambda _: times.append(ahead_s))
    hours = iter((0, 1, 12, 23.9, 24.1, 25, 48, 48.3))

    def stop() -> bool:
        nonlocal ahead_s
        runner.wake()
        for thread in threading.enumerate():
            if thread.name == "housekeeping":
                thread.join()
        hour = next(hours, None)
        ahead_s = 3600 * (hour or 0)
        return hour is None

    runner.run(until_idle=lambda: False, cancelled=stop)
    assert times == [0, 24.1 * 3600, 48.3 * 3600]


def test_what_failing_runners_say_does_not_grow_without_end(tmp_path: Path) -> None:
    errors = tmp_path / "logs/runner-errors.log"
    errors.parent.mkdir()
    errors.write_text("no module\n" * 200_000)
    with catalog_in(tmp_path) as catalog:
        catalog.jobs.start_detached()
    until(lambda: not processes_of(tmp_path))
    assert errors.stat().st_size == 0
    assert errors.with_name("runner-errors.log.1").stat().st_size == 2_000_000


def test_a_hundred_jobs_take_less_than_a_megabyte(tmp_path: Path) -> None:
    clock = FakeClock()
    with ledger_in(tmp_path, clock) as ledger:
        empty = ledger.store.path.stat().st_size
        for _ in range(100):
            row = claimed(ledger)
            with context_of(ledger, row, clock) as context:
                context.record_files([f"src/module_{number}.py" for number in range(1000)], 10**6)
                for _ in range(20):
                    clock.now_ms += 10_000
                    context.tally.done += 50
                    with ledger.store.with_hook(context), ledger.store.write():
                        pass
                ledger.complete(row, RESULT, context.committed_progress())
    assert 0 < ledger.store.path.stat().st_size - empty < 1_000_000


def test_what_happens_to_jobs_is_written_for_programs(tmp_path: Path) -> None:
    roots = [write_tree(tmp_path / name, SAMPLE) for name in ("whole", "stopped", "gone")]
    model = FakeEmbedder("a", fail_after=0)
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        ids = [catalog.jobs.submit(str(each)).job_id for each in roots]
        roots[2].rename(tmp_path / "elsewhere")
        assert catalog.jobs.run_here()
        wait_for(catalog, ids[0], JobState.BLOCKED)
        wait_for(catalog, ids[1], JobState.BLOCKED)
        wait_for(catalog, ids[2], JobState.FAILED)
        catalog.jobs.cancel(ids[1])
        wait_for(catalog, ids[1], JobState.CANCELLED)
        model.fail_after = None
        wait_for(catalog, ids[0], JobState.COMPLETED)
        happened = [[event.type for event in catalog.jobs.events(each)] for each in ids]
    lines = logged(tmp_path / "home", "runner.log")
    for job_id, root, types in zip(ids, roots, happened, strict=True):
        told = [line for line in lines if line.get("job_id") == job_id]
        assert [line["event"] for line in told] == types
        for line in told:
            assert line["project"] == str(root)
            assert datetime.fromisoformat(line["timestamp"]).tzname() == "UTC"
            assert isinstance(line["files_processed"], int)
            assert "phase" in line
    assert {*happened[0], *happened[1], *happened[2]} >= {
        EventType.CREATED,
        EventType.STARTED,
        EventType.PAUSED,
        EventType.RESUMED,
        EventType.COMPLETED,
        EventType.FAILED,
        EventType.CANCELLED,
    }
    [failed] = [line for line in lines if line.get("event") == EventType.FAILED]
    assert failed["error"]["message"]
