"""A runner that is stopped in its tracks, and one that takes over meanwhile.

What can happen: the kernel's lock belongs to the open file of a process and stays while that is
stopped (SIGSTOP, a suspended container, a debugger). So a frozen runner is still the runner and
nobody takes over; its jobs wait with it. A second runner needs another lock: one on a new file of
the same name, after somebody has deleted or replaced the lock file, or on a file system whose locks
do not reach over machines. Then the second claims the jobs of the first, and the first, once it
wakes up, holds tokens of the past: nothing that it writes may have an effect, and it must not take
the jobs back, or the two would take them from each other for ever. What it had begun to write when
it was stopped keeps SQLite's lock; until it wakes up or dies the others wait.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.state_records import EventType, JobState
from tests.support.command import ROOT
from tests.support.freezing import freeze, is_locked
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.ledger import everything
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience
from tests.support.trees import write_tree

FILES = 200
_CODE = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tests.support.jobs import catalog_in
with catalog_in(Path(sys.argv[1]), batch_bytes=65536) as catalog:
    assert catalog.jobs.work(until_idle=lambda: True, cancelled=lambda: False)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree whose last file can be made to hang its parser."""
    files = {f"p{n % 9}/m{n}.py": f"def part_{n}(value):\n    return {n}\n" for n in range(FILES)}
    return write_tree(tmp_path / "tree", {**files, "zz/zz.py": "x = 1\n"})


@contextmanager
def job_in_runner(
    catalog: Catalog, tree: Path, fault: str
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Submit a job and run it in a process of its own; give its id and the process.

    The job is there first: a runner that finds none for a while ends.
    """
    job_id = catalog.jobs.submit(str(tree)).job_id
    with subprocess.Popen(
        [sys.executable, "-c", _CODE, str(catalog.data_dir)],
        env={**os.environ, "CAIRN_FAULT": fault},
    ) as process:
        try:
            yield job_id, process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


def check_complete(home: Path, tree: Path, name: str, folder: Path) -> None:
    """Fail unless the index is sound and what a fresh one would be."""
    check_sound(home / name)
    with catalog_in(folder / "fresh") as catalog:
        catalog.create(str(tree)).index()
    assert contents(home / name) == contents(folder / "fresh" / name)


def test_a_frozen_runner_still_is_the_runner(tree: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with (
        catalog_in(home) as catalog,
        job_in_runner(catalog, tree, "hang:parse:zz/zz.py") as (job_id, process),
    ):
        until(lambda: catalog.jobs.show(job_id).files_done > 0)
        freeze(process, home)
        assert not catalog.jobs.run_here()
        job = catalog.jobs.cancel(job_id)  # heard when it wakes up
        assert (job.status, job.cancel_requested) == (JobState.RUNNING, True)
        process.send_signal(signal.SIGCONT)
        job = wait_for(catalog, job_id, JobState.CANCELLED)
        assert job.attempt == 1


@pytest.mark.parametrize("locks", ["locks/runner.lock", "locks/*.lock"])
def test_one_that_lost_its_lock_file_writes_nothing_once_it_wakes_up(
    locks: str, tree: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with (
        catalog_in(home) as catalog,
        job_in_runner(catalog, tree, "hang:parse:zz/zz.py") as (job_id, process),
    ):
        until(lambda: catalog.jobs.show(job_id).files_done > 0)
        freeze(process, home)
        for file in home.glob(locks):
            file.unlink()
        assert catalog.jobs.run_here()
        name = f"{catalog.jobs.show(job_id).project_id}.db"
        if locks == "locks/runner.lock":  # the lock of the project still is the frozen one's
            job = wait_for(catalog, job_id, JobState.BLOCKED)
            assert f"process {process.pid}" in (job.waiting or "")
            process.send_signal(signal.SIGCONT)
            job = wait_for(catalog, job_id, JobState.COMPLETED)
            assert process.wait(patience(30)) == 0
        else:
            job = wait_for(catalog, job_id, JobState.COMPLETED)
            until(lambda: catalog.jobs.show(job_id).log is not None)
            before = everything(home / name)
            process.send_signal(signal.SIGCONT)
            assert process.wait(patience(30)) == 0
            assert everything(home / name) == before
        assert (job.attempt, job.files_done, job.files_total) == (2, FILES + 1, FILES + 1)
        kinds = [event.type for event in catalog.jobs.events(job_id)]
        assert kinds.count(EventType.COMPLETED) == 1
        assert kinds[-1] is EventType.COMPLETED
    check_complete(home, tree, name, tmp_path)


def test_one_that_stopped_inside_a_transaction_is_waited_for(tree: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with (
        catalog_in(home, busy_timeout=100) as catalog,
        job_in_runner(catalog, tree, "hang:job batch filled@3") as (job_id, process),
    ):
        until(lambda: is_locked(home, for_ms=patience(300)))
        (home / "locks/runner.lock").unlink()
        assert catalog.jobs.run_here()
        assert catalog.jobs.follow(job_id, timeout_s=1).attempt == 1
        process.kill()
        job = catalog.jobs.follow(job_id)
        assert (job.status, job.attempt) == (JobState.COMPLETED, 2)
    check_complete(home, tree, f"{job.project_id}.db", tmp_path)


def test_two_that_both_have_a_lock_do_not_take_jobs_from_each_other(
    tree: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with (
        catalog_in(home) as catalog,
        job_in_runner(catalog, tree, "hang:parse:zz/zz.py") as (job_id, process),
    ):
        until(lambda: catalog.jobs.show(job_id).files_done > 0)
        for file in home.glob("locks/*.lock"):
            file.unlink()
        assert catalog.jobs.run_here()
        job = wait_for(catalog, job_id, JobState.COMPLETED)
        assert job.attempt == 2
        assert process.wait(patience(30)) == 0  # it has seen that it is not the runner any more
    check_complete(home, tree, f"{job.project_id}.db", tmp_path)
