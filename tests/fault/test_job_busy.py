"""A job waits for a database or a project that another process holds, and goes on by itself."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from engine.state_records import EventType, JobFilter, JobState
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.holding import held
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience
from tests.support.trees import write_tree

FILES = 200
#: After the lock is free again.
GOES_ON_S = 10
#: What a request takes while another process starts, so that the job does not end before.
_UNTIL_HELD_S = patience(1)
_QUESTION = SearchRequest(query="session_77", mode=Mode.KEYWORD)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    texts = {f"m{n}.py": f"def session_{n}(value):\n    return value + {n}\n" for n in range(FILES)}
    return write_tree(tmp_path / "tree", texts)


def check_equal_to_fresh(folder: Path, tree: Path, model: FakeEmbedder) -> None:
    name = f"{project_id_of(str(tree))}.db"
    check_sound(folder / "home" / name)
    with catalog_in(folder / "fresh", opens=Fakes(model), model="fake:a") as other:
        other.create(str(tree)).index()
    assert contents(folder / "home" / name) == contents(folder / "fresh" / name)


def types_of(catalog: Catalog, job_id: str) -> list[EventType]:
    return [event.type for event in catalog.jobs.events(job_id)]


def test_a_database_that_another_process_writes_to(tree: Path, tmp_path: Path) -> None:
    model = FakeEmbedder("a", delay_s=0.1)
    database = tmp_path / "home" / f"{project_id_of(str(tree))}.db"
    with catalog_in(
        tmp_path / "home", opens=Fakes(model), model="fake:a", busy_timeout=300
    ) as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.run_here()
        until(lambda: catalog.jobs.show(job_id).chunks_done > 0)
        model.delay_s = _UNTIL_HELD_S
        with held("database", database):
            model.delay_s = 0
            job = wait_for(catalog, job_id, JobState.BLOCKED)
            assert job.waiting == "database busy: the index is locked by another process"
            assert catalog.search([str(tree)], _QUESTION).hits
            with catalog_in(tmp_path / "home") as other:  # another process sees it too
                assert other.jobs.show(job_id).status is JobState.BLOCKED
                for target in (None, str(tree)):
                    blocked = JobFilter(status=JobState.BLOCKED, target=target)
                    page = other.jobs.list(blocked)
                    assert ([each.job_id for each in page.jobs], page.total) == ([job_id], 1)
                    running = other.jobs.list(replace(blocked, status=JobState.RUNNING))
                    assert (running.jobs, running.total) == ((), 0)
                assert (counts := other.observer("1").status().jobs)["blocked"] == 1
                assert counts["running"] == 0
        wait_for(catalog, job_id, JobState.RUNNING, JobState.COMPLETED, within_s=GOES_ON_S)
        wait_for(catalog, job_id, JobState.COMPLETED)
        types = types_of(catalog, job_id)
        assert types.count(EventType.PAUSED) == types.count(EventType.RESUMED) <= 3
    check_equal_to_fresh(tmp_path, tree, model)


def test_a_project_that_another_process_indexes_or_clears(tree: Path, tmp_path: Path) -> None:
    model = FakeEmbedder("a")
    lock = tmp_path / "home" / "locks" / f"{project_id_of(str(tree))}.lock"
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        with held("project", lock):
            catalog.jobs.run_here()
            job = wait_for(catalog, job_id, JobState.BLOCKED)
            assert job.waiting
            assert job.waiting.startswith("project busy: the project is being indexed by process ")
            until(lambda: types_of(catalog, job_id).count(EventType.PAUSED) == 1)
            time.sleep(5)
            assert len(types_of(catalog, job_id)) <= 3  # looking for it fills no history
        wait_for(catalog, job_id, JobState.RUNNING, JobState.COMPLETED, within_s=GOES_ON_S)
        wait_for(catalog, job_id, JobState.COMPLETED)
    check_equal_to_fresh(tmp_path, tree, model)


def test_a_job_that_waits_for_a_project_is_cancelled_in_time(tree: Path, tmp_path: Path) -> None:
    lock = tmp_path / "home" / "locks" / f"{project_id_of(str(tree))}.lock"
    with catalog_in(tmp_path / "home", model="none") as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        with held("project", lock):
            catalog.jobs.run_here()
            wait_for(catalog, job_id, JobState.BLOCKED)
            catalog.jobs.cancel(job_id)
            wait_for(catalog, job_id, JobState.CANCELLED)


@pytest.mark.parametrize("options", [IndexOptions(), IndexOptions(force_clean=True)])
def test_a_job_is_cancelled_while_another_process_writes(
    options: IndexOptions, tree: Path, tmp_path: Path
) -> None:
    """All see at once that it has ended; the database says so as soon as it can be written."""
    model = FakeEmbedder("a", delay_s=0.1)
    database = tmp_path / "home" / f"{project_id_of(str(tree))}.db"
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        job_id = catalog.jobs.submit(str(tree), options).job_id
        catalog.jobs.run_here()
        until(lambda: catalog.jobs.show(job_id).chunks_done > 0)
        model.delay_s = _UNTIL_HELD_S
        with held("database", database):
            model.delay_s = 0.1
            started_s = time.monotonic()
            assert catalog.jobs.cancel(job_id, reason="changed my mind").cancel_requested
            wait_for(catalog, job_id, JobState.CANCELLED)
            print(f"cancelled after {time.monotonic() - started_s:.2f} s")
            made = model.requests
            with catalog_in(tmp_path / "home") as other:
                assert other.jobs.show(job_id).status is JobState.CANCELLED
                assert other.jobs.list().jobs[0].status is JobState.CANCELLED
            time.sleep(1)
            assert model.requests == made  # nothing works on it any more
        until(lambda: types_of(catalog, job_id)[-1] is EventType.CANCELLED)
        last = catalog.jobs.events(job_id)[-1]
        assert last.context["reason"] == "changed my mind"
        assert types_of(catalog, job_id).count(EventType.CANCEL_REQUESTED) == 1
        until(lambda: not list((tmp_path / "home/locks").glob("*.cancel")))
        model.delay_s = 0
        again = catalog.jobs.retry(job_id)
        assert catalog.jobs.follow(again.job_id).status is JobState.COMPLETED
    check_equal_to_fresh(tmp_path, tree, model)


def test_a_job_that_nobody_runs_is_cancelled_while_another_process_writes(
    tree: Path, tmp_path: Path
) -> None:
    database = tmp_path / "home" / f"{project_id_of(str(tree))}.db"
    with catalog_in(tmp_path / "home", model="none") as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        with held("database", database):
            assert catalog.jobs.cancel(job_id, reason="no").status is JobState.CANCELLED
        catalog.jobs.run_here()
        until(lambda: types_of(catalog, job_id)[-1] is EventType.CANCELLED)
        assert catalog.jobs.events(job_id)[-1].context["reason"] == "no"
        assert EventType.STARTED not in types_of(catalog, job_id)
        until(lambda: not list((tmp_path / "home/locks").glob("*.cancel")))
        check_sound(database)
