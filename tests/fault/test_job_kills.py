"""SIGKILL of a runner at any moment loses and doubles nothing, whatever its jobs were doing."""

import random
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.roots import project_id_of
from engine.state_records import JobState
from tests.support.job_oracle import Samples, StoredJob, check_jobs
from tests.support.jobs import catalog_in
from tests.support.killing import let_run, runner_of, some_time
from tests.support.oracle import check_sound, contents

_FILES = 100
_SMALL_BATCHES = "65536"  # many transactions, so that kills meet all of them
_RESUMED_WITHIN_S = 10.0


def generate(root: Path, seed: int) -> None:
    """Write a tree of Python files; a second call changes, adds and deletes some."""
    random_ = random.Random(f"{root.name} {seed}")
    for number in range(_FILES):
        file = root / f"package{number % 7}" / f"module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(
            f"def function_{number}_{part}(value):\n"
            f'    """Compute {random_.choice(("sums", "products"))} of part {part}."""\n'
            f"    return value * {random_.randrange(5)}\n\n"
            for part in range(random_.randrange(1, 40))
        )
        chance = random_.random()
        if seed and chance < 0.3:
            continue
        if chance < 0.4:
            file.unlink(missing_ok=True)
        else:
            file.write_text(body)


class Ground:
    """Projects to index and a data directory.

    Args:
        folder: Of the test's own.
        projects: How many.
    """

    def __init__(self, folder: Path, projects: int) -> None:
        self.home = folder / "home"
        self.fresh = folder / "fresh"
        self.roots = [folder / f"tree_{number}" for number in range(projects)]
        self.samples = Samples()
        self._dead: set[str | None] = set()

    def database(self, root: Path) -> Path:
        """Give the database of a project."""
        return self.home / f"{project_id_of(str(root))}.db"

    def submit(self, catalog: Catalog) -> list[str]:
        """Ask for all projects; the ids of their jobs."""
        return [catalog.jobs.submit(str(root)).job_id for root in self.roots]

    def check(self) -> list[StoredJob]:
        """Fail unless all databases and the histories of their jobs are sound; gives the jobs."""
        found = []
        for root in self.roots:
            check_sound(self.database(root))
            self.samples.take(self.database(root))
            found += check_jobs(self.database(root))
        return found

    def running(self) -> int:
        """Count the jobs that a runner which is to be killed now has begun."""
        jobs = [job for root in self.roots for job in self.samples.take(self.database(root))]
        living = [
            job for job in jobs if job.state is JobState.RUNNING and job.runner not in self._dead
        ]
        self._dead |= {job.runner for job in jobs}
        return len(living)

    def complete(self, catalog: Catalog) -> None:
        """Let a runner do what is left and then all that the trees hold by now."""
        for _ in range(2):
            with runner_of(self.home) as runner:
                assert runner.wait() == 0
            self.submit(catalog)
        with runner_of(self.home) as runner:
            assert runner.wait() == 0

    def check_equals_fresh(self) -> None:
        """Fail unless all jobs ended well and each index equals one made from nothing."""
        for job in self.check():
            assert job.state in (JobState.COMPLETED, JobState.CANCELLED, JobState.FAILED)
        with catalog_in(self.fresh) as catalog:
            for root in self.roots:
                catalog.create(str(root)).index()
                fresh = self.fresh / self.database(root).name
                assert contents(self.database(root)) == contents(fresh)


def kill_often(folder: Path, kills: int, most_ms: int) -> str:
    """Kill as many runners while jobs run, complete the work, and compare; a line of counts."""
    ground = Ground(folder, 3)
    random_ = random.Random(5)
    killed = tries = with_three = 0
    with catalog_in(ground.home) as catalog:
        while killed < kills:
            if tries % 3 == 0:
                for root in ground.roots:
                    generate(root, tries)
            tries += 1
            ground.submit(catalog)
            with runner_of(ground.home, CAIRN_BATCH_BYTES=_SMALL_BATCHES) as runner:
                let_run(runner, some_time(random_, most_ms=most_ms))
                with_three += ground.running() == 3
                killed += runner.kill()
            ground.check()
        ground.complete(catalog)
    ground.check_equals_fresh()
    jobs = ground.check()
    attempts = sum(job.attempt for job in jobs)
    return (
        f"{killed} kills of a runner in {tries} tries, {with_three} while 3 jobs ran: {len(jobs)}"
        f" jobs in {attempts} attempts, {ground.samples.number} looks at them;"
        " 0 files lost, 0 doubled, 0 processes left"
    )


def test_twenty_kills(tmp_path: Path) -> None:
    print(kill_often(tmp_path, 20, 2000))


@pytest.mark.soak
def test_two_hundred_kills(tmp_path: Path) -> None:
    print(kill_often(tmp_path, 200, 3000))
