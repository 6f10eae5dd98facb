"""Indexing as durable jobs: asked for, run, looked at, stopped and tried again."""

import threading
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.errors import (
    EmbedderUnavailableError,
    InvalidInputError,
    JobConflictError,
    JobNotFoundError,
)
from engine.index_records import IndexOptions
from engine.search_records import SearchRequest
from engine.state_records import EventType, JobFilter, JobOrigin, JobState, WaitMode
from tests.support.embedders import FakeEmbedder, Fakes, HeldEmbedder
from tests.support.halting import Halt
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree


def held_tree(root: Path, files: int = 60) -> Path:
    """Write a tree that ``HeldEmbedder`` does not come to the end of."""
    parts = {f"part_{n}.py": f"def job_{n}(value):\n    return value + {n}\n" for n in range(files)}
    return write_tree(root, {**parts, "held.py": '"""What is held back."""\n'})


def types_of(catalog: Catalog, job_id: str) -> list[EventType]:
    return [event.type for event in catalog.jobs.events(job_id)]


def test_a_job_runs_to_its_end_and_tells_what_it_did(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        submitted = catalog.jobs.submit(str(root))
        assert submitted.status is JobState.PENDING
        job = catalog.jobs.follow(submitted.job_id)
        assert job.status is JobState.COMPLETED
        assert job.result is not None
        assert job.result["files_indexed"] == job.files_done == job.files_total == len(SAMPLE)
        assert job.result["project_id"] == job.project_id
        assert job.started_at
        assert job.finished_at
        told = [each for each in types_of(catalog, job.job_id) if each is not EventType.PROGRESS]
        assert told == [  # it tells its progress only if it takes a while
            EventType.CREATED,
            EventType.STARTED,
            EventType.CHECKPOINT,
            EventType.COMPLETED,
        ]
        assert catalog.search([str(root)], SearchRequest(query="open session")).hits
        assert job.job_id.replace("-", "")[:12] == job.project_id[:12]


def test_the_same_request_gives_the_same_job_and_another_is_a_conflict(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        first = catalog.jobs.submit(str(root))
        again = catalog.jobs.submit(str(root))
        assert (again.job_id, again.duplicate) == (first.job_id, True)
        with pytest.raises(JobConflictError) as conflict:
            catalog.jobs.submit(str(root), IndexOptions(include_patterns=("*.py",)))
        assert conflict.value.details["job_id"] == first.job_id
        catalog.jobs.follow(first.job_id)
        other = catalog.jobs.submit(str(root), IndexOptions(include_patterns=("*.py",)))
        assert not other.duplicate
        catalog.jobs.follow(other.job_id)


def test_what_cannot_be_done_leaves_no_row(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        for path, options in (
            (tmp_path / "away", IndexOptions()),
            (root / "README.md", IndexOptions()),
            (root, IndexOptions(include_patterns=("[",))),
            (root, IndexOptions(max_file_size=1 << 40)),
        ):
            with pytest.raises(InvalidInputError):
                catalog.jobs.submit(str(path), options)
        assert catalog.jobs.list().jobs == ()


def test_a_model_that_is_away_fails_who_waits_and_holds_up_who_does_not(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    model = FakeEmbedder("a", fail_after=0)
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        with pytest.raises(EmbedderUnavailableError) as error:
            catalog.jobs.submit(str(root), waits=WaitMode.ALWAYS)
        assert error.value.details["diagnostics"]
        job_id = catalog.jobs.submit(str(root)).job_id
        assert catalog.jobs.run_here()
        job = wait_for(catalog, job_id, JobState.BLOCKED)
        assert job.waiting
        assert "fake:a is away" in job.waiting
        assert catalog.search([str(root)], SearchRequest(query="open session")).hits  # by words
        model.fail_after = None
        job = wait_for(catalog, job_id, JobState.COMPLETED)
        assert job.result is not None
        assert job.result["files_indexed"] == len(SAMPLE)
        assert job.result["embeddings_generated"]
        seen = types_of(catalog, job_id)
        assert EventType.PAUSED in seen
        assert EventType.RESUMED in seen


def test_three_run_at_once_and_the_fourth_waits_its_turn(tmp_path: Path) -> None:
    roots = [held_tree(tmp_path / f"tree_{n}") for n in range(4)]
    model = HeldEmbedder()
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        ids = [catalog.jobs.submit(str(root)).job_id for root in roots]
        assert catalog.jobs.show(ids[3]).position == 4
        catalog.jobs.run_here()
        until(lambda: len(catalog.jobs.list(JobFilter(status=JobState.RUNNING)).jobs) == 3)
        fourth = catalog.jobs.show(ids[3])
        assert (fourth.status, fourth.position) == (JobState.PENDING, 1)
        model.is_free.set()
        for job_id in ids:
            assert catalog.jobs.follow(job_id).status is JobState.COMPLETED


def test_cancelling_keeps_what_is_done_and_retrying_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = held_tree(tmp_path / "tree", 199)
    model = FakeEmbedder("a")
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        halt = Halt(monkeypatch, lambda: catalog.jobs.show(job_id).chunks_done > 0)
        catalog.jobs.run_here()
        halt.await_reached()
        assert catalog.jobs.cancel(job_id).cancel_requested
        halt.go_on()
        job = wait_for(catalog, job_id, JobState.CANCELLED)
        assert job.files_done == 200
        events = catalog.jobs.events(job_id)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert events[-1].type is EventType.CANCELLED
        with pytest.raises(JobConflictError):
            catalog.jobs.cancel(job_id)
        again = catalog.jobs.retry(job_id)
        assert again.job_id != job_id
        assert catalog.jobs.follow(again.job_id).status is JobState.COMPLETED
        with pytest.raises(JobConflictError):
            catalog.jobs.retry(again.job_id)
        database = tmp_path / "home" / f"{job.project_id}.db"
        check_sound(database)
    with catalog_in(tmp_path / "fresh", opens=Fakes(model), model="fake:a") as catalog:
        catalog.create(str(root)).index()
    assert contents(database) == contents(tmp_path / "fresh" / database.name)


def test_a_pending_job_is_cancelled_at_once(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        assert catalog.jobs.cancel(job_id).status is JobState.CANCELLED


def test_a_request_goes_before_the_watchers_job(tmp_path: Path) -> None:
    root = held_tree(tmp_path / "tree")
    model = HeldEmbedder()
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        catalog.create(str(root))
        watch = catalog.jobs.submit(str(root), origin=JobOrigin.WATCH)
        catalog.jobs.run_here()
        assert model.is_holding.wait(patience(60))
        request = catalog.jobs.submit(str(root))
        assert request.job_id != watch.job_id
        assert catalog.jobs.show(watch.job_id).status is JobState.CANCELLED
        model.is_free.set()
        assert catalog.jobs.follow(request.job_id).status is JobState.COMPLETED


def test_jobs_are_listed_by_page_and_filter(tmp_path: Path) -> None:
    roots = [write_tree(tmp_path / f"tree_{n}", SAMPLE) for n in range(3)]
    with catalog_in(tmp_path / "home") as catalog:
        ids = []
        for root in roots:
            for _ in range(2):
                ids.append(catalog.jobs.submit(str(root)).job_id)
                catalog.jobs.follow(ids[-1])
        page = catalog.jobs.list(JobFilter(limit=4))
        assert page.total == 6
        rest = catalog.jobs.list(JobFilter(limit=4, cursor=page.next_cursor))
        assert [job.job_id for job in (*page.jobs, *rest.jobs)] == ids[::-1]
        assert rest.next_cursor is None
        of_one = catalog.jobs.list(JobFilter(target=str(roots[1]))).jobs
        assert [job.job_id for job in of_one] == [ids[3], ids[2]]
        assert catalog.jobs.list(JobFilter(status=JobState.FAILED)).total == 0
        after = page.jobs[1].created_at
        assert [job.job_id for job in catalog.jobs.list(JobFilter(created_after=after)).jobs] == [
            ids[5]
        ]
        for wrong in (JobFilter(limit=0), JobFilter(cursor="?"), JobFilter(created_after="soon")):
            with pytest.raises(InvalidInputError):
                catalog.jobs.list(wrong)
        with pytest.raises(JobNotFoundError):
            catalog.jobs.show("12345678-1234-8234-8234-123456789012")
        with pytest.raises(JobNotFoundError):
            catalog.jobs.show("nothing")


def test_many_equal_requests_at_once_make_one_job(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        ids: set[str] = set()
        threads = [
            threading.Thread(target=lambda: ids.add(catalog.jobs.submit(str(root)).job_id))
            for _ in range(50)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ids) == 1
        assert catalog.jobs.list().total == 1


def test_a_root_that_is_gone_fails_the_job_and_keeps_the_index(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(tmp_path / "home") as catalog:
        catalog.jobs.follow(catalog.jobs.submit(str(root)).job_id)
    with catalog_in(tmp_path / "home") as catalog:  # which runs nothing before it follows a job
        job_id = catalog.jobs.submit(str(root)).job_id
        root.rename(tmp_path / "elsewhere")
        job = catalog.jobs.follow(job_id)
        assert job.status is JobState.FAILED
        assert job.error is not None
        assert str(root) in str(
            job.error["message"]
        )  # which part of the run misses it first varies
        assert catalog.search([str(root)], SearchRequest(query="open session")).hits
