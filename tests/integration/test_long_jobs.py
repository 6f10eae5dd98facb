"""A job that goes on for more than a day is not given up, and tells how long it takes."""

from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.index_records import Phase, Progress
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject
from engine.jobs.progress import Expected
from engine.jobs.runner import Runner, RunnerDependencies
from engine.jobs.view import job_of
from engine.state_records import JobState
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.ledger import RESULT, FakeClock, ledger_in
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

HOUR_MS = 3_600_000
HOURS = 30


def progress(done: int) -> Progress:
    return Progress(
        phase=Phase.PARSING,
        done=done,
        total=HOURS,
        current_path=f"{done}.py",
        bytes_done=done,
        bytes_total=HOURS,
        elapsed_ms=0,
    )


def test_a_job_of_thirty_hours_is_shown_with_its_time_and_comes_to_its_end(tmp_path: Path) -> None:
    clock = FakeClock()
    elapsed_s: list[float] = []
    with ledger_in(tmp_path, clock) as ledger:

        def work(job: JobContext) -> dict[str, object]:
            job.record_files([f"{number}.py" for number in range(HOURS)], HOURS)
            for number in range(1, HOURS + 1):
                clock.now_ms += HOUR_MS
                job.tally.done = number
                job.report(progress(number))
                with ledger.store.with_hook(job), ledger.store.write():
                    pass
                shown = job_of(
                    ledger.find(job.row.uuid),
                    project_id=ledger.project_id,
                    root="/tree",
                    now_ms=clock(),
                    position=None,
                    log=None,
                )
                assert (shown.status, shown.waiting) == (JobState.RUNNING, None)
                assert shown.files_done == number
                elapsed_s.append(shown.elapsed_seconds)
            return dict(RESULT)

        row = ledger.enqueue({}).row
        around = RunnerDependencies(
            data_dir=tmp_path,
            most_running=1,
            open_project=lambda _: OpenProject("/tree", ledger, {"index": work}),
            is_back=lambda *_: True,
            patience_s=_unlimited,
            expected=lambda _: Expected(),
            on_end=lambda *_: None,
            on_cancel=lambda *_: None,
            log=lambda *_: None,
            daily=lambda _: None,
            clock=clock,
        )
        Runner(around).run(until_idle=lambda: True, cancelled=lambda: False)
        assert (ledger.find(row.uuid).state, ledger.find(row.uuid).error) == ("completed", None)
    assert elapsed_s == [number * 3600.0 for number in range(1, HOURS + 1)]


def _unlimited(_: EngineError) -> float:
    return float("inf")


def test_a_file_that_parses_for_a_minute_is_no_job_that_is_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = write_tree(tmp_path / "tree", {"a.py": "first = 1\n", "slow.py": "slow = 1\n"})
    monkeypatch.setenv("CAIRN_FAULT", "hang:parse:slow.py")
    with catalog_in(tmp_path / "home", parse_timeout=600_000) as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        until(lambda: bool(catalog.jobs.show(job_id).waiting), within_s=15)
        job = catalog.jobs.show(job_id)
        assert job.status is JobState.RUNNING
        assert job.waiting
        assert job.waiting.startswith("processing a file that takes long, for ")
        until(lambda: catalog.jobs.show(job_id).heartbeat_at != job.heartbeat_at)
        later = catalog.jobs.show(job_id)
        assert later.elapsed_seconds > job.elapsed_seconds
        assert (later.status, later.attempt) == (JobState.RUNNING, 1)
        catalog.jobs.cancel(job_id)
        wait_for(catalog, job_id, JobState.CANCELLED)
