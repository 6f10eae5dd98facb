"""What users of jobs are promised, told as they would: ask, go on working, look, come back."""

import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.index_records import Phase
from engine.locks import runner_lock_file, take_lock
from engine.scheduler.estimate import Rates, save_rates
from engine.search_records import SearchRequest
from engine.state_records import TERMINAL, EventType, Job, JobFilter, JobState
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.halting import halt_at
from tests.support.jobs import catalog_in, until, wait_for, without_log
from tests.support.mcp_clients import ask, called
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow

_BODY = "\n\n".join(f"def part_{number}(value):\n    return value" for number in range(500))


def many(root: Path, files: int, text: str = "") -> Path:
    return write_tree(
        root, {f"p{n % 9}/m{n}.py": f"{text}\n\nNUMBER = {n}\n" for n in range(files)}
    )


@pytest.mark.soak  # which holds the promised second itself
def test_who_asks_for_a_large_tree_is_answered_within_a_second(tmp_path: Path) -> None:
    root = many(tmp_path / "tree", 15_000)
    with catalog_in(tmp_path / "home") as catalog:
        catalog.jobs.run_here()
        started_s = time.monotonic()
        submitted = catalog.jobs.submit(str(root))
        assert time.monotonic() - started_s < patience(1)  # what is promised
        assert submitted.estimated_seconds is not None
        # The rest of the program goes on meanwhile.
        assert catalog.jobs.show(submitted.job_id).status in (JobState.PENDING, JobState.RUNNING)
        catalog.jobs.cancel(submitted.job_id)
        wait_for(catalog, submitted.job_id, JobState.CANCELLED)


@pytest.mark.parametrize(("seconds", "status"), [(59, "completed"), (61, "pending")])
def test_the_estimate_decides_who_waits(seconds: int, status: str, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": f"# {'a' * 39_997}\n"})  # weighs 42,000
    with catalog_in(tmp_path / "home") as catalog:
        catalog.create(str(root))
        save_rates(tmp_path / "home", Rates(42_000 / (seconds - 0.5), {}))  # and 0.5 s to start

        async def body(client: Client) -> None:
            report = await called(client, "index_repository", path=str(root))
            job_id = report["job_id"]
            while report["status"] == "running":  # a call waits 25 s, which may be too short
                report = await called(client, "index_repository", path=str(root))
            assert report["status"] == status  # nobody runs jobs but who waits for one
            job = await called(client, "get_indexing_status", job_id=job_id)
            assert job["estimated_seconds"] == pytest.approx(seconds, abs=0.5)

        ask(catalog, body)


def test_a_finished_job_sums_up_what_it_did(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {**SAMPLE, "picture.png": b"\x89PNG\0\0"})
    with catalog_in(tmp_path / "home") as catalog:
        job = catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id)
        assert job.result is not None
        status = catalog.open(str(root)).status()
        assert job.result["files_indexed"] == job.files_done == status.files == len(SAMPLE)
        assert job.result["files_skipped"] == 1
        assert job.result["chunks"] == status.chunks == job.counts["chunks"]
        assert job.result["embeddings_generated"] == status.embeddings
        assert isinstance(job.result["duration_ms"], int)
        assert job.elapsed_seconds > 0
        last = catalog.jobs.events(job.job_id)[-1]
        assert (last.type, last.context["result"]) == (EventType.COMPLETED, job.result)


def test_how_far_a_job_is_can_be_watched(tmp_path: Path) -> None:
    root = many(tmp_path / "tree", 160)
    model = FakeEmbedder("a", delay_s=2)  # the time that is left is told after three seconds
    seen: list[Job] = []
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        job = catalog.jobs.follow(job_id, on_change=seen.append)
        assert job.status is JobState.COMPLETED
        assert (job.done, job.total) == (job.chunks_done, job.chunks_total)
        assert (job.files_done, job.files_total) == (160, 160)
        assert job.chunks_done == job.chunks_total == 160
    for earlier, later in itertools.pairwise(seen):
        assert earlier.files_done <= later.files_done
        assert earlier.chunks_done <= later.chunks_done
        # It ends a moment before its end is written, and runs for those who ask in between.
        assert earlier.elapsed_seconds <= later.elapsed_seconds or later.status in TERMINAL
    embedding = [each for each in seen if each.phase is Phase.EMBEDDING and each.eta_seconds]
    assert embedding[-1].eta_seconds is not None
    assert embedding[0].eta_seconds is not None
    assert min(each.eta_seconds or 0 for each in embedding[1:]) < embedding[0].eta_seconds
    assert {each.current_file for each in embedding if each.current_file}


def test_several_jobs_can_be_told_apart(tmp_path: Path) -> None:
    roots = [many(tmp_path / f"tree_{n}", 40 + 20 * n) for n in range(3)]
    model = FakeEmbedder("a", delay_s=0.1)
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        ids = [catalog.jobs.submit(str(root)).job_id for root in roots]
        catalog.jobs.run_here()
        until(lambda: all(catalog.jobs.show(each).files_total for each in ids))
        listed = {job.job_id: job for job in catalog.jobs.list(JobFilter()).jobs}
        assert [listed[each].path for each in ids] == [str(root) for root in roots]
        assert [listed[each].files_total for each in ids] == [40, 60, 80]
        model.delay_s = 0
        for each in ids:
            catalog.jobs.follow(each)


def median_s(ask: Callable[[], object], times: int = 21) -> float:
    taken = []  # seconds of work, whatever else the machine does
    for _ in range(times):
        started_s = time.thread_time()
        ask()
        taken.append(time.thread_time() - started_s)
    return statistics.median(taken)


def test_answers_come_in_the_time_that_is_promised(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        job_id = catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id).job_id
        assert median_s(lambda: catalog.jobs.show(job_id)) < patience(0.1)
        assert median_s(lambda: catalog.jobs.list(JobFilter(target=str(root)))) < patience(0.2)


def everything_of(catalog: Catalog, ids: list[str]) -> list[object]:
    """Give all that can be asked of jobs that have ended."""
    shown = [without_log(catalog.jobs.show(each)) for each in ids]
    listed = [without_log(job) for job in catalog.jobs.list().jobs]
    return [shown, listed, [catalog.jobs.events(each) for each in ids]]


def test_all_answers_are_the_same_after_a_restart(tmp_path: Path) -> None:
    root, away = write_tree(tmp_path / "tree", SAMPLE), many(tmp_path / "away", 3)
    waiting = many(tmp_path / "waiting", 3)
    home = tmp_path / "home"
    with catalog_in(home) as catalog:
        ids = [catalog.jobs.submit(str(root)).job_id, catalog.jobs.submit(str(away)).job_id]
        catalog.jobs.cancel(ids[1], reason="not this one")
        catalog.jobs.follow(ids[0])
        ids.append(catalog.jobs.submit(str(away)).job_id)
        away.rename(tmp_path / "gone")
        catalog.jobs.follow(ids[2])
        before = everything_of(catalog, ids)
        states = [catalog.jobs.show(each).status for each in ids]
        assert states == [JobState.COMPLETED, JobState.CANCELLED, JobState.FAILED]
    with catalog_in(home) as catalog:
        assert everything_of(catalog, ids) == before
        pending = catalog.jobs.submit(str(waiting)).job_id
    with catalog_in(home) as catalog:
        assert catalog.jobs.show(pending).status is JobState.PENDING
        assert catalog.jobs.follow(pending).status is JobState.COMPLETED
        assert catalog.jobs.show(ids[2]).status is JobState.FAILED  # it is not tried again


def test_a_job_works_from_the_files_that_were_there_when_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = many(tmp_path / "tree", 120, _BODY)
    # So little is read ahead that most files are read after the list was made.
    with catalog_in(tmp_path / "home", batch_bytes=65_536, queue_bytes=1 << 20) as catalog:
        catalog.jobs.run_here()
        halt = halt_at(catalog, monkeypatch, 1)
        job_id = catalog.jobs.submit(str(root)).job_id
        halt.await_reached()
        write_tree(root, {"a_new_one.py": "def a_new_one():\n    return 1\n"})
        (root / "p8/m116.py").unlink()
        halt.go_on()
        job = catalog.jobs.follow(job_id)
        assert job.status is JobState.COMPLETED
        assert (job.files_done, job.files_total) == (120, 120)
        index = catalog.open(str(root))
        assert index.status().files == 119
        assert not index.search(SearchRequest(query='"a_new_one"')).hits
        again = catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id)
        assert again.result is not None
        assert again.result["files_indexed"] == 1
        assert index.search(SearchRequest(query='"a_new_one"')).hits


def test_a_pending_job_is_run_by_a_runner_that_finds_the_lock_taken_for_a_moment(
    tmp_path: Path,
) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    home = tmp_path / "home"
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        lock = take_lock(runner_lock_file(home))
        assert lock
        with lock:
            catalog.jobs.start_detached()
            time.sleep(1.5)  # longer than it takes to start
        wait_for(catalog, job_id, JobState.COMPLETED)
        until(lambda: catalog.jobs.show(job_id).log is not None)


@pytest.mark.parametrize("runs", [False, True])
def test_a_first_request_makes_what_is_not_there_yet(runs: bool, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "new" / "home") as catalog:
        if runs:
            assert catalog.jobs.run_here()
        job = catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id)
        assert job.status is JobState.COMPLETED
