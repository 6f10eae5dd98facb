"""Never more jobs run than may, whoever is killed and however many are asked for at once."""

import os
import random
import statistics
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest

from engine.catalog import Catalog
from engine.clock import now_ms
from engine.roots import project_id_of
from engine.state_records import TERMINAL, JobFilter, JobState
from tests.support.job_oracle import StoredJob, check_jobs
from tests.support.jobs import catalog_in, until
from tests.support.killing import ROOT, let_run, runner_of, some_time
from tests.support.oracle import check_sound
from tests.support.patience import patience
from tests.support.trees import write_tree

_MOST = 3
_PROJECTS = 10
_PROCESSES = 5  # that ask, each for all projects
_EVERY_S = 0.02
_STARTS_WITHIN_MS = 1000 if os.environ.get("HOLD_PROMISES") else 5000  # if it stands still
_ENDS = (*TERMINAL, "paused")
_ASKS = """
import sys
sys.path.insert(0, sys.argv[1])
from engine.catalog import Catalog
from engine.config import load_config
with Catalog(load_config()) as catalog:
    print("ready", flush=True)
    sys.stdin.readline()
    for root in sys.argv[2:]:
        print(catalog.jobs.submit(root).job_id, flush=True)
"""
_RUNNING = "SELECT uuid, attempt, runner FROM jobs WHERE state = 'running'"
_Row = tuple[str, int, str]


class Sampler(threading.Thread):
    """Looks at all databases all the time: how many jobs does one runner run?

    Databases are read one after the other, so a job counts when it runs at two looks in a row:
    then it has run at the moment between them.
    """

    def __init__(self, files: list[Path]) -> None:
        super().__init__()
        self._files = files
        self._is_over = threading.Event()
        self.looks = 0
        self.most = 0

    def run(self) -> None:
        """Look until told to stop."""
        with ExitStack() as undo:
            handles = []
            for file in self._files:
                handles.append(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY))
                undo.callback(handles[-1].close)
                handles[-1].set_busy_timeout(int(patience(1000)))
            while not self._is_over.wait(_EVERY_S):
                both = self._look(handles) & self._look(handles)
                runners = [runner for _, _, runner in both]
                self.most = max([self.most, *(runners.count(each) for each in runners)])
                self.looks += 1

    def stop(self) -> None:
        """End it."""
        self._is_over.set()
        self.join()

    def _look(self, handles: list[apsw.Connection]) -> set[_Row]:
        return {row for handle in handles for row in handle.execute(_RUNNING)}


def ask_at_once(home: Path, roots: list[Path]) -> list[set[str]]:
    """Let several processes ask for all projects at the same time; the ids each was given."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _ASKS, str(ROOT), *random.sample(list(map(str, roots)), 10)],
            env={**os.environ, "CAIRN_HOME": str(home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(_PROCESSES)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=patience(60))[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * _PROCESSES
    return [set(answer.split()) for answer in answers]


def waits_of(jobs: list[StoredJob], began_ms: int, ended_ms: int) -> list[int]:
    """Follow one runner's life by the events of that time.

    Returns:
        How many milliseconds after a slot was free the next job began, each time one had to wait.
    """
    steps = []
    for job in jobs:
        for event in job.events:
            if began_ms <= event.at_ms <= ended_ms:
                is_claim = "attempt" in event.context
                if is_claim or event.type in _ENDS:
                    steps.append((event.at_ms, is_claim, job.uuid, job.created_at_ms))
    running: set[str] = set()
    waits_ms = []
    freed_ms: list[int] = []  # of slots that nobody has taken since
    for at_ms, is_claim, uuid, created_ms in sorted(steps):  # of the same time, ends first
        if is_claim:
            running.add(uuid)
            assert len(running) <= _MOST, f"{len(running)} jobs run"
            if freed_ms:
                waits_ms.append(at_ms - max(freed_ms.pop(0), created_ms))
        elif uuid in running:
            if len(running) == _MOST:
                freed_ms.append(at_ms)
            running.discard(uuid)
    return waits_ms


def check_that_most_run(home: Path, catalog: Catalog, sampler: Sampler) -> None:
    """Fail unless so many run as may, and the others wait in the order they were asked for in."""
    with runner_of(home, CAIRN_FAULT="hang:parse") as runner:
        until(lambda: len(catalog.jobs.list(JobFilter(status=JobState.RUNNING)).jobs) == _MOST)
        pending = catalog.jobs.list(JobFilter(status=JobState.PENDING)).jobs
        assert len(pending) == _PROJECTS - _MOST
        oldest_first = sorted(pending, key=lambda job: (job.created_at, job.position))
        assert [job.position for job in oldest_first] == list(range(1, len(pending) + 1))
        until(lambda: sampler.most >= _MOST)
        runner.kill()


def kill_while_asked(folder: Path, kills: int) -> str:
    """Ask for many jobs at once, kill runners meanwhile; a line of counts and times."""
    home = folder / "home"
    text = "".join(f"def part_{n}(value):\n    return value + {n}\n\n\n" for n in range(30))
    files = {f"m{n}.py": f"NUMBER = {n}\n{text}" for n in range(100)}
    roots = [write_tree(folder / f"tree_{n}", files) for n in range(_PROJECTS)]
    databases = [home / f"{project_id_of(str(root))}.db" for root in roots]
    random_ = random.Random(11)
    waits_ms: list[int] = []
    jobs: list[StoredJob] = []
    asked = 0
    with catalog_in(home) as catalog:
        for root in roots:
            catalog.create(str(root))
        sampler = Sampler(databases)
        sampler.start()
        try:
            for number in range(kills + 1):
                is_last = number == kills
                if number % 10 == 0:
                    given = ask_at_once(home, roots)
                    asked += sum(map(len, given))
                    assert all(each == given[0] for each in given)
                if number == 0:
                    check_that_most_run(home, catalog, sampler)
                began_ms = now_ms()
                with runner_of(home) as runner:
                    if is_last:
                        assert runner.wait(patience(120)) == 0
                    else:
                        let_run(runner, some_time(random_, 300, 2500))
                        runner.kill()
                jobs = [job for file in databases for job in check_jobs(file)]
                waits_ms += waits_of(jobs, began_ms, now_ms())
        finally:
            sampler.stop()
        assert all(job.state is JobState.COMPLETED for job in jobs)
    for file in databases:
        check_sound(file)
    assert sampler.most == _MOST
    assert max(waits_ms) <= patience(_STARTS_WITHIN_MS)
    return (
        f"{kills} kills, {asked} requests from {_PROCESSES} processes at once: {len(jobs)} jobs,"
        f" never more than {sampler.most} running in {sampler.looks} looks; {len(waits_ms)} began"
        f" after a slot was free, p50 {statistics.median(waits_ms):,.0f} ms,"
        f" at most {max(waits_ms):,} ms"
    )


def test_five_kills(tmp_path: Path) -> None:
    print(kill_while_asked(tmp_path, 5))


@pytest.mark.soak
def test_a_hundred_kills(tmp_path: Path) -> None:
    print(kill_while_asked(tmp_path, 100))
