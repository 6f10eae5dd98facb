"""A job that has to wait, and begins again in the same process, counts every file once."""

from pathlib import Path

import apsw
import pytest

from engine.roots import project_id_of
from engine.state_records import Job, JobState
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.git_trees import run_git
from tests.support.halting import Halt
from tests.support.job_oracle import Samples, check_jobs
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.trees import settle, write_tree

FILES = 200
PARTS = "\n\n".join(f"def part_{number}(value):\n    return value" for number in range(30))
TREE = {f"p{n % 7}/m{n}.py": f"{PARTS}\n\nNUMBER = {n}\n" for n in range(FILES)}


def check_counted_once(job: Job) -> None:
    assert job.status is JobState.COMPLETED
    assert job.result is not None
    assert (job.files_done, job.files_total) == (FILES, FILES)
    wanted = {"files_indexed": FILES, "files_unchanged": 0, "files_skipped": 0, "files_failed": 0}
    assert {name: job.result[name] for name in wanted} == wanted


def test_waiting_for_the_model(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", TREE)
    settle(root)
    database = tmp_path / "home" / f"{project_id_of(str(root))}.db"
    model = FakeEmbedder("a", fail_after=5)
    samples = Samples()
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a") as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        catalog.jobs.run_here()
        wait_for(catalog, job_id, JobState.BLOCKED)
        model.fail_after = None
        until(lambda: samples.take(database)[0].state is JobState.COMPLETED)
        check_counted_once(catalog.jobs.show(job_id))
    check_jobs(database)


def test_waiting_for_a_database_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree(tmp_path / "tree", TREE)
    settle(root)
    database = tmp_path / "home" / f"{project_id_of(str(root))}.db"
    samples = Samples()
    with catalog_in(tmp_path / "home", busy_timeout=50, batch_bytes=65536) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        halt = Halt(monkeypatch, lambda: 0 < samples.take(database)[0].files_done < FILES)
        catalog.jobs.run_here()
        halt.await_reached()
        other = apsw.Connection(str(database))
        other.set_busy_timeout(5000)
        other.execute("BEGIN IMMEDIATE")
        halt.go_on()
        queue = catalog._indexes.pool()._queue
        until(lambda: queue._waiting == {} and not queue._running)
        wait_for(catalog, job_id, JobState.BLOCKED)
        other.execute("ROLLBACK")
        other.close()
        until(lambda: samples.take(database)[0].state is JobState.COMPLETED)
        check_counted_once(catalog.jobs.show(job_id))
    check_jobs(database)


def test_another_branch_that_is_checked_out_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree(tmp_path / "tree", TREE)
    settle(root)
    for arguments in (("init", "-q", "-b", "one"), ("add", "-A"), ("commit", "-q", "-m", "all")):
        run_git(root, tmp_path, *arguments)
    run_git(root, tmp_path, "branch", "two")
    database = tmp_path / "home" / f"{project_id_of(str(root))}.db"
    samples = Samples()
    with catalog_in(tmp_path / "home", batch_bytes=65536) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        halt = Halt(monkeypatch, lambda: 0 < samples.take(database)[0].files_done < FILES)
        catalog.jobs.run_here()
        halt.await_reached()
        run_git(root, tmp_path, "checkout", "-q", "two")
        halt.go_on()
        until(lambda: samples.take(database)[0].state is JobState.COMPLETED)
        job = catalog.jobs.show(job_id)
        assert job.result is not None
        assert job.files_done == job.files_total == 2 * FILES
    check_jobs(database)
