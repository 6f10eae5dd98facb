"""The job that reads the history: after the files, out of their way, and resumable."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import Catalog
from engine.errors import JobConflictError
from engine.history_records import HistoryRequest
from engine.index_records import Phase
from engine.state_records import Job, JobFilter, JobKind, JobOrigin, JobState
from engine.store.connection import Store
from tests.support.embedders import Fakes, HeldEmbedder
from tests.support.git_history import GitTree, sample_history
from tests.support.git_trees import run_git
from tests.support.halting import Halt
from tests.support.jobs import catalog_in, until
from tests.support.killing import RunnerProcess, runner_of
from tests.support.patience import patience
from tests.support.trees import write_tree

_MANY = 700  # commits: several batches


def jobs_of(catalog: Catalog) -> list[Job]:
    """Give all jobs, the oldest first."""
    return list(catalog.jobs.list(JobFilter(limit=1000)).jobs[::-1])


def kinds(catalog: Catalog) -> list[str]:
    return [job.kind for job in jobs_of(catalog)]


def submit_and_wait(catalog: Catalog, root: Path, origin: JobOrigin = JobOrigin.REQUEST) -> Job:
    job = catalog.jobs.follow(catalog.jobs.submit(str(root), origin=origin).job_id)
    assert job.status is JobState.COMPLETED
    return job


def wait_until_idle(catalog: Catalog) -> list[Job]:
    until(lambda: all(job.finished_at for job in jobs_of(catalog)))
    return jobs_of(catalog)


def commits_of(catalog: Catalog, root: Path) -> int:
    return catalog.open(str(root)).history.search(HistoryRequest()).coverage.commits


def wait_for_more(catalog: Catalog, job_id: str, done: int, runner: RunnerProcess) -> None:
    """Wait until a job has done more, or has ended with its runner."""
    until(lambda: catalog.jobs.show(job_id).files_done > done or not runner.is_alive())


@pytest.fixture
def git(tmp_path: Path) -> GitTree:
    return sample_history(tmp_path / "tree", tmp_path)


@pytest.fixture
def long_history(tmp_path: Path) -> GitTree:
    """A repository with many commits, made at once."""
    git = GitTree(tmp_path / "tree", tmp_path)
    write_tree(git.root, {"kept.py": "def kept():\n    return 1\n"})
    stream = []
    for number in range(_MANY):
        text = "".join(f"value_{line} = {line * number}\n" for line in range(200))
        stream.append(
            f"commit refs/heads/main\nmark :{number + 1}\n"
            f"committer A <a@example.org> {1_600_000_000 + number} +0000\n"
            f"data <<END\nchange {number}\nEND\n"
            + (f"from :{number}\n" if number else "")
            + f"M 100644 inline many.py\ndata {len(text)}\n{text}\n"
        )
    git.feed("fast-import", "--quiet", given="".join(stream).encode())
    git.git("checkout", "-q", "-f", "main")
    return git


def test_reading_the_history_is_a_job_after_the_first(git: GitTree, tmp_path: Path) -> None:
    with catalog_in(tmp_path / "home") as catalog:
        submit_and_wait(catalog, git.root)
        until(lambda: len(jobs_of(catalog)) == 2)
        first, second = wait_until_idle(catalog)
        assert (first.kind, second.kind) == (JobKind.INDEX, JobKind.HISTORY)
        assert second.status is JobState.COMPLETED
        assert (second.files_done, second.files_total, second.phase) == (5, 5, Phase.HISTORY)
        assert second.result is not None
        assert (second.result["commits"], second.result["commits_added"]) == (5, 5)
        assert commits_of(catalog, git.root) == 5
        until(lambda: jobs_of(catalog)[1].log is not None)
        log = Path(str(jobs_of(catalog)[1].log)).read_text()
    assert "HISTORY START" in log
    assert "To be read: 5 commits\n" in log
    assert "Commits added: 5" in log


def test_there_is_no_such_job_when_nothing_has_changed(git: GitTree, tmp_path: Path) -> None:
    with catalog_in(tmp_path / "home") as catalog:
        submit_and_wait(catalog, git.root)
        until(lambda: len(jobs_of(catalog)) == 2)
        wait_until_idle(catalog)
        submit_and_wait(catalog, git.root)
        submit_and_wait(catalog, git.root, JobOrigin.WATCH)
        wait_until_idle(catalog)
        assert kinds(catalog) == ["index", "history", "index", "index"]
        git.commit("One more")
        submit_and_wait(catalog, git.root, JobOrigin.WATCH)
        until(lambda: commits_of(catalog, git.root) == 6)


@pytest.mark.parametrize("has_git", [True, False])
def test_without_a_history_there_is_no_such_job(tmp_path: Path, has_git: bool) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": "x = 1\n"})
    if has_git:
        sample_history(root, tmp_path)
    with catalog_in(tmp_path / "home", history_commits=0 if has_git else 5000) as catalog:
        submit_and_wait(catalog, root)
        submit_and_wait(catalog, root)
        wait_until_idle(catalog)
        assert kinds(catalog) == ["index", "index"]


def test_a_request_to_index_goes_first(long_history: GitTree, tmp_path: Path) -> None:
    root = long_history.root
    with catalog_in(tmp_path / "home") as catalog:
        submit_and_wait(catalog, root)
        until(lambda: kinds(catalog) == ["index", "history"])
        until(lambda: jobs_of(catalog)[1].files_done > 0)
        submit_and_wait(catalog, root)
        until(lambda: commits_of(catalog, root) == _MANY)
        found = wait_until_idle(catalog)
        if found[1].status is JobState.CANCELLED:  # it was not done by then
            assert [job.kind for job in found] == ["index", "history", "index", "history"]
            assert found[3].files_done == _MANY - found[1].files_done
        assert found[-1].result is not None


def test_a_history_that_has_just_ended_is_in_nobodys_way(
    git: GitTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(git.root)
    with catalog_in(tmp_path / "home") as catalog:
        catalog.create(root).index()
        catalog.jobs.submit_history(root)
        cancel = catalog.jobs.cancel

        def cancel_late(job_id: str, **why: Any) -> Job:
            assert catalog.jobs.follow(job_id).status is JobState.COMPLETED
            return cancel(job_id, **why)

        monkeypatch.setattr(catalog.jobs, "cancel", cancel_late)
        submitted = catalog.jobs.submit(root)
        assert not submitted.duplicate
        assert catalog.jobs.follow(submitted.job_id).status is JobState.COMPLETED


def test_a_history_that_a_user_stopped_comes_with_the_next_request(
    long_history: GitTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = long_history.root
    with catalog_in(tmp_path / "home") as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        halt = Halt(monkeypatch, lambda: any(job.files_done for job in jobs_of(catalog)[1:]))
        assert catalog.jobs.run_here()
        halt.await_reached()
        catalog.jobs.cancel(jobs_of(catalog)[1].job_id)
        halt.go_on()
        until(lambda: jobs_of(catalog)[1].status is JobState.CANCELLED)
        assert job_id == jobs_of(catalog)[0].job_id
        kept = commits_of(catalog, root)
        assert 0 < kept < _MANY
        submit_and_wait(catalog, root, JobOrigin.WATCH)
        wait_until_idle(catalog)
        assert len(jobs_of(catalog)) == 3
        submit_and_wait(catalog, root)
        until(lambda: len(jobs_of(catalog)) == 5)
        last = wait_until_idle(catalog)[-1]
        assert last.result is not None
        assert last.result["commits_added"] == _MANY - kept


def test_a_stopped_history_can_be_retried(git: GitTree, tmp_path: Path) -> None:
    with catalog_in(tmp_path / "home") as catalog:
        catalog.create(str(git.root)).index()
        submitted = catalog.jobs.submit_history(str(git.root))
        assert catalog.jobs.submit_history(str(git.root)).duplicate
        catalog.jobs.cancel(submitted.job_id)
        retried = catalog.jobs.retry(submitted.job_id)
        job = catalog.jobs.follow(retried.job_id)
        assert (job.kind, job.status) == (JobKind.HISTORY, JobState.COMPLETED)
        assert commits_of(catalog, git.root) == 5


def test_a_history_waits_for_files_that_are_being_indexed(git: GitTree, tmp_path: Path) -> None:
    with catalog_in(tmp_path / "home") as catalog:
        catalog.create(str(git.root)).index()
        index = catalog.jobs.submit(str(git.root))
        with pytest.raises(JobConflictError):
            catalog.jobs.submit_history(str(git.root))
        catalog.jobs.follow(index.job_id)


def test_histories_leave_a_slot_to_others(long_history: GitTree, tmp_path: Path) -> None:
    roots = [long_history.root, tmp_path / "second"]
    shutil.copytree(roots[0], roots[1])
    with catalog_in(tmp_path / "home", jobs=2) as catalog:
        for root in roots:
            catalog.create(str(root)).index()
        ids = [catalog.jobs.submit_history(str(root)).job_id for root in roots]
        jobs = [catalog.jobs.follow(job_id) for job_id in ids]
        first, second = sorted(jobs, key=lambda job: str(job.started_at))
    assert (first.status, second.status) == (JobState.COMPLETED, JobState.COMPLETED)
    assert str(second.started_at) >= str(first.finished_at)


def test_a_history_leaves_a_slot_beside_a_job_that_indexes(git: GitTree, tmp_path: Path) -> None:
    slow = write_tree(tmp_path / "slow", {"a.py": '"""This is held back."""\n'})
    other = write_tree(tmp_path / "other", {"b.py": "x = 1\n"})
    model = HeldEmbedder()
    with catalog_in(tmp_path / "home", opens=Fakes(model), model="fake:a", jobs=2) as catalog:
        catalog.create(str(git.root)).index()
        assert catalog.jobs.run_here()
        first = catalog.jobs.submit(str(slow)).job_id
        assert model.is_holding.wait(patience(60.0))
        history = catalog.jobs.submit_history(str(git.root)).job_id
        submit_and_wait(catalog, other)
        assert catalog.jobs.show(history).status is JobState.PENDING
        model.is_free.set()
        jobs = [catalog.jobs.follow(job_id) for job_id in (first, history)]
    assert [job.status for job in jobs] == [JobState.COMPLETED] * 2
    assert str(jobs[1].started_at) >= str(jobs[0].finished_at)


@pytest.mark.slow
def test_a_killed_runner_loses_no_commit_and_doubles_none(
    long_history: GitTree, tmp_path: Path
) -> None:
    root, home = long_history.root, tmp_path / "home"
    with catalog_in(home) as catalog:
        index = catalog.create(str(root))
        index.index()
        job_id = catalog.jobs.submit_history(str(root)).job_id
        done = 0
        for _ in range(4):
            with runner_of(home) as runner:
                wait_for_more(catalog, job_id, done, runner)
                runner.kill()
            job = catalog.jobs.show(job_id)
            assert job.files_done >= done
            done = job.files_done
        with runner_of(home) as runner:
            assert runner.wait() == 0
        job = catalog.jobs.show(job_id)
        assert job.status is JobState.COMPLETED
        assert (job.files_done, job.files_total) == (_MANY, _MANY)
        assert commits_of(catalog, root) == _MANY
        file = home / f"{index.project_id}.db"
        with closing(Store(file, busy_timeout_ms=5000)) as store, store.read() as handle:
            words = handle.execute("SELECT count(*) FROM commit_terms_docsize").get
            vectors = handle.execute("SELECT count(*) FROM commit_vectors").get
        assert (words, vectors) == (_MANY, _MANY)
        assert job.result is not None
        assert job.result["commits"] == _MANY


def test_a_clone_that_was_made_deeper_is_read_again(git: GitTree, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    run_git(tmp_path, tmp_path, "clone", "-q", "--depth", "2", git.root.as_uri(), str(clone))
    both = [("index", JobState.COMPLETED), ("history", JobState.COMPLETED)]
    with catalog_in(tmp_path / "home") as catalog:
        submit_and_wait(catalog, clone)
        until(lambda: [(job.kind, job.status) for job in jobs_of(catalog)] == both)
        assert not catalog.open(str(clone)).is_history_due()
        assert commits_of(catalog, clone) == 2
        run_git(clone, tmp_path, "fetch", "-q", "--unshallow")
        submit_and_wait(catalog, clone)
        until(lambda: [(job.kind, job.status) for job in jobs_of(catalog)] == both * 2)
        assert commits_of(catalog, clone) == 5
        assert catalog.open(str(clone)).history.search(HistoryRequest()).notes == ()
