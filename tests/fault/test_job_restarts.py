"""After a restart every job that had begun or waits runs again soon, in the order of before."""

import os
import random
import signal
import statistics
from contextlib import closing
from pathlib import Path

import pytest

from engine.clock import now_ms
from engine.errors import EmbedderUnavailableError
from engine.jobs.ledger import Ledger
from engine.roots import project_id_of
from engine.state_records import EventType, JobState
from engine.store.connection import Store
from tests.support.job_oracle import check_jobs
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.killing import end_all, processes_of, runner_of
from tests.support.oracle import check_sound
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

_WITHIN_MS = 10_000
_AWAY = EmbedderUnavailableError("the model is away")


class Left:
    """Jobs as a runner that was killed has left them, in databases of their own.

    Args:
        folder: Of the test's own.
        random_: Chooses times.
    """

    def __init__(self, folder: Path, random_: random.Random) -> None:
        self.home = folder / "home"
        self.random = random_
        self.roots = [write_tree(folder / f"tree_{n}", SAMPLE) for n in range(7)]
        with catalog_in(self.home, model="none") as catalog:
            for root in self.roots:
                catalog.create(str(root))

    def database(self, root: Path) -> Path:
        """Give the database of a project."""
        return self.home / f"{project_id_of(str(root))}.db"

    def make(self, root: Path, state: JobState) -> tuple[int, str]:
        """Write a job in a state at some time of the last hour.

        Returns:
            Its place in the order in which jobs run again, and its id.
        """
        at_ms = now_ms() - self.random.randrange(60_000, 3_600_000)

        def clock() -> int:
            return at_ms + self.random.randrange(50_000)

        with closing(Store(self.database(root), busy_timeout_ms=int(patience(5000)))) as store:
            ledger = Ledger(store, project_id_of(str(root)), clock)
            row, _ = ledger.enqueue({})
            if state is JobState.PENDING:
                return 1 << 60 | row.created_at_ms, row.uuid
            claimed = ledger.claim(row, "one that is gone")
            assert claimed
            if state is JobState.BLOCKED:
                ledger.block(claimed, "it is away", _AWAY.as_json())
            if state is JobState.FAILED:
                ledger.fail(claimed, {"error": "no_room", "message": "no room"}, {})
            assert claimed.started_at_ms
            return claimed.started_at_ms, row.uuid


def restart(left: Left) -> list[int]:
    """Start a runner over jobs in all states; how many milliseconds until each runs again."""
    states = [JobState.RUNNING, JobState.BLOCKED, JobState.PENDING] * 2
    left.random.shuffle(states)
    order = sorted(
        (*left.make(root, state), root) for root, state in zip(left.roots, states, strict=False)
    )
    _, failed_id = left.make(left.roots[-1], JobState.FAILED)
    began_ms = now_ms()
    with runner_of(left.home, CAIRN_MODEL="none") as runner:
        assert runner.wait() == 0
    claims_ms = []
    for _, job_id, root in order:
        job = {job.uuid: job for job in check_jobs(left.database(root))}[job_id]
        assert job.state is JobState.COMPLETED
        claims_ms += [e.at_ms for e in job.events if "attempt" in e.context][-1:]
    assert claims_ms == sorted(claims_ms), "they run again in another order"
    failed = {job.uuid: job for job in check_jobs(left.database(left.roots[-1]))}[failed_id]
    assert failed.state is JobState.FAILED
    assert failed.events[-1].type is EventType.FAILED
    waits_ms = [max(0, at_ms - began_ms) for at_ms in claims_ms]
    assert max(waits_ms) <= patience(_WITHIN_MS)
    return waits_ms


def restart_often(folder: Path, restarts: int) -> str:
    """Restart so often; a line of times."""
    left = Left(folder, random.Random(3))
    waits_ms = sorted(wait_ms for _ in range(restarts) for wait_ms in restart(left))
    for root in left.roots:
        check_sound(left.database(root))
    p95_ms = waits_ms[int(0.95 * len(waits_ms))]
    return (
        f"{restarts} restarts, {len(waits_ms)} jobs running, blocked or pending: each runs again"
        f" after p50 {statistics.median(waits_ms):,.0f} ms, p95 {p95_ms:,} ms,"
        f" at most {waits_ms[-1]:,} ms, in the order of before"
    )


def test_ten_restarts(tmp_path: Path) -> None:
    print(restart_often(tmp_path, 10))


@pytest.mark.soak
def test_fifty_restarts(tmp_path: Path) -> None:
    print(restart_often(tmp_path, 50))


_FILES = {f"m{n}.py": f"def job_{n}(value):\n    return value + {n}\n" * 50 for n in range(300)}
_HANGS = "hang:parse:z.py"  # so that a job does not end
_HANGING = {**_FILES, "z.py": "def last(): pass\n"}


def test_a_runner_that_is_told_to_end_writes_what_it_has(tmp_path: Path) -> None:
    home = tmp_path / "home"
    root = write_tree(tmp_path / "tree", _HANGING)
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        with runner_of(home, CAIRN_FAULT=_HANGS) as runner:
            until(lambda: catalog.jobs.show(job_id).files_done > 0)
            runner.send(signal.SIGTERM)
            assert runner.wait() == 0
        job = catalog.jobs.show(job_id)
        assert job.status is JobState.RUNNING
        assert 0 < job.files_done == catalog.open(str(root)).status().files
        job = catalog.jobs.follow(job_id)
        assert (job.status, job.attempt, job.files_done) == (JobState.COMPLETED, 2, len(_HANGING))
    check_jobs(home / f"{project_id_of(str(root))}.db")


def test_a_detached_runner_is_killed_and_another_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    root = write_tree(tmp_path / "tree", _HANGING)
    monkeypatch.setenv("CAIRN_FAULT", _HANGS)
    with catalog_in(home, batch_bytes=65536) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        for _ in range(2):
            catalog.jobs.start_detached()  # the second one ends at once
        until(lambda: catalog.jobs.show(job_id).files_done > 0)
        until(lambda: len(processes_of(home)) == 3)  # the first, its fork server and its parser
        os.kill(int((home / "locks/runner.lock").read_text()), signal.SIGKILL)
        until(lambda: not processes_of(home))
        assert catalog.jobs.show(job_id).status is JobState.RUNNING
        monkeypatch.delenv("CAIRN_FAULT")
        catalog.jobs.start_detached()
        job = wait_for(catalog, job_id, JobState.COMPLETED)
        assert (job.attempt, job.files_done) == (2, len(_HANGING))
    end_all(home)
