"""Compare what is said of jobs, before and while they run, with what they take.

    python tests/benchmark/estimates.py ROOT…

Each tree is indexed, indexed again without a change, then from a few files, by force, anew, after
it was emptied, and at last in one more try of a job that was stopped halfway. "Said" comes from a
machine that has measured nothing, "learned" from what the runs before have left. "Idle" is the
processor time by the number of cores: what the run would take if nothing else used the machine.
"""

import argparse
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.scheduler.estimate import count_work, estimate, load_rates
from engine.state_records import Job
from engine.store.connection import Store

SOME_FILES = 20


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="+", type=Path)
    print(
        "| tree | run | files | to parse | counted in | said | learned | truth | idle"
        " | left at half |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    home = Path(tempfile.mkdtemp(prefix="cairn-estimates-"))
    try:
        for root in parser.parse_args().roots:
            measure(home, root.resolve())
    finally:
        shutil.rmtree(home)


def measure(home: Path, root: Path) -> None:
    """Measure one tree."""
    run(home, root, "first")
    run(home, root, "no change")
    found = [str(path) for path in root.rglob("*.py")][:SOME_FILES]
    run(home, root, "some files", IndexOptions(only=tuple(found)))
    run(home, root, "force", IndexOptions(force=True))
    run(home, root, "force_clean", IndexOptions(force_clean=True))
    empty(home, root)
    run(
        home,
        root,
        "stopped at half",
        stops=lambda job: 2 * job.files_done >= (job.files_total or 9),
    )
    run(home, root, "the rest")
    empty(home, root)
    run(home, root, "emptied")


def empty(home: Path, root: Path) -> None:
    """Drop the contents of a project."""
    with Catalog(load_config(home)) as catalog:
        catalog.open(str(root)).clear()


def run(
    home: Path,
    root: Path,
    name: str,
    options: IndexOptions | None = None,
    stops: Callable[[Job], bool] = lambda _: False,
) -> None:
    """Estimate, index as a job, and print a row of the table."""
    config, options = load_config(home), options or IndexOptions()
    told: list[Job] = []
    used_s = processor_s()
    with Catalog(config) as catalog:
        catalog.create(str(root))
        store = Store(home / f"{project_id_of(str(root))}.db", busy_timeout_ms=1000)
        began_s = time.perf_counter()
        work = count_work(store, str(root), options, config)
        counted_s = time.perf_counter() - began_s
        store.close()
        usual = load_rates(home / "nothing was measured here", config.worker_count)
        said, learned = (
            estimate(work, rates, config.model).seconds
            for rates in (usual, load_rates(home, config.worker_count))
        )
        job = catalog.jobs.follow(
            catalog.jobs.submit(str(root), options).job_id,
            on_change=told.append,
            cancelled=lambda: stops(told[-1]),
        )
    truth = job.elapsed_seconds
    idle = (processor_s() - used_s) / config.worker_count
    half = next((each for each in told if each.elapsed_seconds >= truth / 2), job)
    left = f"{half.eta_seconds:.1f} s" if half.eta_seconds else ""
    about = "" if work.is_exact else "about "
    print(
        f"| {root.name} | {name} | {about}{work.files:,} | {about}{work.parse_files:,}"
        f" | {counted_s * 1000:.0f} ms | {said:.2f} s | {learned:.2f} s | {truth:.2f} s"
        f" | {idle:.2f} s | {left} |",
        flush=True,
    )


def processor_s() -> float:
    """Give the processor time that this process and those that it started have used."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


if __name__ == "__main__":
    main()
