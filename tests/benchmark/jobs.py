"""Measure how soon jobs are made, shown, listed and cancelled while three of them run.

    python tests/benchmark/jobs.py [--trees 6 --files 15000 --calls 200]

Trees of small files are made first, and a data directory with 30 projects that each had 200 jobs.
The jobs run in a process of their own, as those in the background do; this process asks. Prints
JSON, in milliseconds. Run it on an idle machine.
"""

import argparse
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import JobConflictError
from engine.jobs.ledger import new_job_id
from engine.roots import project_id_of
from engine.state_records import TERMINAL, JobFilter, JobState
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import NewJob

OLD_PROJECTS = 30
OLD_JOBS = 200
EVENTS = 8
RUNNING = 3
BEGUN_MS = 1_700_000_000_000


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=int, default=6)
    parser.add_argument("--files", type=int, default=15_000)
    parser.add_argument("--calls", type=int, default=200)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cairn-jobs-"))
    try:
        trees = [make_tree(folder / f"tree{n}", arguments.files, n) for n in range(arguments.trees)]
        home = folder / "home"
        for number in range(OLD_PROJECTS):
            make_history(home, f"/old/{number}", number)
        print(json.dumps(measure(home, trees, arguments.calls), indent=1))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(home: Path, trees: list[Path], calls: int) -> dict[str, Any]:
    """Ask for a job a tree, and then for everything, while those run that can."""
    figures: dict[str, Any] = {}
    with Catalog(load_config(home)) as catalog:
        figures["list, nothing runs"] = timed(lambda _: catalog.jobs.list(), calls)
        ids: list[str] = []
        figures["create, nothing runs"] = timed(
            lambda n: ids.append(catalog.jobs.submit(str(trees[n])).job_id), RUNNING
        )
        catalog.jobs.start_detached()
        wait(lambda: count_running(catalog) == RUNNING)
        figures["create, three run"] = timed(
            lambda n: ids.append(catalog.jobs.submit(str(trees[RUNNING + n])).job_id),
            len(trees) - RUNNING,
        )
        figures["status"] = timed(lambda n: catalog.jobs.show(ids[n % RUNNING]), calls)
        figures["status, pending"] = timed(lambda _: catalog.jobs.show(ids[-1]), calls)
        figures["list"] = timed(lambda _: catalog.jobs.list(), calls)
        running = JobFilter(status=JobState.RUNNING)
        figures["list, filtered"] = timed(lambda _: catalog.jobs.list(running), calls)
        whole = JobFilter(limit=1000)
        figures["list, 1,000 jobs"] = timed(lambda _: catalog.jobs.list(whole), calls // 10)
        figures["events"] = timed(lambda n: catalog.jobs.events(ids[n % RUNNING]), calls)
        figures["jobs that still ran at the end"] = count_running(catalog)
        figures |= cancel_all(catalog, ids)
    return figures


def cancel_all(catalog: Catalog, ids: list[str]) -> dict[str, Any]:
    """Cancel jobs, the last first, so that those that run are stopped one by one."""
    acknowledged: list[float] = []
    ended: list[float] = []
    for job_id in reversed(ids):
        started_s = time.perf_counter()
        try:
            catalog.jobs.cancel(job_id)
        except JobConflictError:
            continue  # it had ended
        acknowledged.append(time.perf_counter() - started_s)
        wait(lambda each=job_id: catalog.jobs.show(each).status in TERMINAL)  # type: ignore[misc]
        ended.append(time.perf_counter() - started_s)
        assert catalog.jobs.show(job_id).status is JobState.CANCELLED
    return {"cancel, acknowledged": summary(acknowledged), "cancel, ended": summary(ended)}


def timed(act: Callable[[int], object], calls: int) -> dict[str, float]:
    """Do something so often, with its number, and sum up how long each took."""
    taken = []
    for number in range(calls):
        started_s = time.perf_counter()
        act(number)
        taken.append(time.perf_counter() - started_s)
    return summary(taken)


def summary(seconds: list[float]) -> dict[str, float]:
    """Give the median, the 95th percentile and the largest, in milliseconds."""
    ordered = sorted(seconds)
    return {
        "n": len(ordered),
        "p50": round(1000 * statistics.median(ordered), 1),
        "p95": round(1000 * ordered[math.ceil(0.95 * len(ordered)) - 1], 1),
        "max": round(1000 * ordered[-1], 1),
    }


def count_running(catalog: Catalog) -> int:
    return len(catalog.jobs.list(JobFilter(status=JobState.RUNNING)).jobs)


def wait(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def make_tree(root: Path, files: int, seed: int) -> Path:
    """Write Python files of some 2 kB, no two alike."""
    body = "\n\n".join(f"def part_{n}(value):\n    return value + {n}" for n in range(40))
    for number in range(files):
        file = root / f"p{number // 100}" / f"m{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{body}\n\nNUMBER = {seed}, {number}\n")
    return root


def make_history(home: Path, root: str, number: int) -> None:
    """Write a project that had many jobs."""
    project_id = project_id_of(root)
    store = Store(home / f"{project_id}.db", busy_timeout_ms=5000, create=True)
    with store.write() as handle:
        project.insert_project(
            handle, project_id=project_id, root=root.encode(), max_file_size=1, now_ms=BEGUN_MS
        )
        for each in range(OLD_JOBS):
            at_ms = BEGUN_MS + 1000 * (each * OLD_PROJECTS + number)
            new = NewJob(new_job_id(project_id), "index", "request", "{}", at_ms, 1000)
            row = jobs.insert_job(handle, new)
            for _ in range(EVENTS):
                jobs.append_event(handle, row.id, "progress", at_ms=at_ms, context={"n": each})
            ended = {"state": "completed", "finished_at_ms": at_ms + 1, "result": '{"files": 1}'}
            jobs.update_job(handle, row.id, ended)
    store.close()


if __name__ == "__main__":
    main()
