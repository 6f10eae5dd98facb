"""Compare what is said before a run, and during it, with what it takes.

    python tests/benchmark/estimates.py ROOT…

Each tree is indexed, indexed again without a change, and again with 100 changed files, which are
put back. What is said first comes from the usual rates of a machine that has measured nothing, what
is said "learned" from those that the runs before have left. Run it on an idle machine.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from engine.catalog import Catalog
from engine.config import load_config
from engine.jobs.pace import Pace, Rates, Stopwatch, usual_rates
from engine.records import IndexOptions, Progress
from engine.roots import project_id_of
from engine.scheduler.estimate import Survey, estimate, survey
from engine.store.connection import Store

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))


CHANGED_FILES = 100


class Row(NamedTuple):
    """One run: what was said and what was true, in seconds."""

    root: str
    run: str
    files: int
    changed: int
    exact: bool
    survey_s: float
    said: float
    learned: float
    truth: float
    half: float | None  # of the truth: the remaining time that was told at half of it


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", nargs="+", type=Path)
    arguments = parser.parse_args()
    print(
        "| tree | run | files | to read | survey | said | factor | learned | factor | truth"
        " | told at half |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    home = Path(tempfile.mkdtemp(prefix="cairn-estimates-"))
    try:
        rates = usual_rates(load_config(home).worker_count)
        for root in arguments.roots:
            rates = measure(root.resolve(), home, rates)
    finally:
        shutil.rmtree(home)


def measure(root: Path, home: Path, rates: Rates) -> Rates:
    """Measure one tree, and give what was learned."""
    rates = run(root, home, rates, "first")
    rates = run(root, home, rates, "no change")
    with changed(root):
        rates = run(root, home, rates, f"{CHANGED_FILES} changed")
    run(root, home, rates, "put back")
    return rates


def run(root: Path, home: Path, rates: Rates, name: str) -> Rates:
    """Survey, estimate, index and compare, in a process that has parsed nothing yet."""
    config = load_config(home)
    with Catalog(config) as catalog:
        index = catalog.create(str(root))
        began = time.perf_counter()
        found = look(home, root, config.model)
        survey_s = time.perf_counter() - began
        said = estimate(found, usual_rates(config.worker_count), config.model).seconds
        learned = estimate(found, rates, config.model).seconds
        watch = Stopwatch(0)
        pace = Pace(rates.outlook(config.model, seconds=learned))
        told: list[tuple[float, int | None]] = []
        began = time.perf_counter()

        def hear(progress: Progress) -> None:
            now_ms = int((time.perf_counter() - began) * 1000)
            watch.observe(now_ms, progress)
            pace.note(progress, time.monotonic())
            told.append((now_ms / 1000, pace.remaining_ms))

        report = index.index(on_progress=hear)
        truth = time.perf_counter() - began
    counts = {
        "files": report.files_indexed + report.files_unchanged + report.files_skipped,
        "changed_files": report.files_indexed,
        "reused_files": round(report.files_indexed * report.cache_hit_rate),
        "chunks": report.chunks,
    }
    half = next((left for at, left in told if at >= truth / 2 and left is not None), None)
    half_share = None if half is None else half / 1000 / (truth / 2)
    show(
        Row(
            root.name,
            name,
            found.files,
            found.changed_files,
            found.is_exact,
            survey_s,
            said,
            learned,
            truth,
            half_share,
        )
    )
    return rates.learn(watch.measured(int(truth * 1000), counts, config.model))


def look(home: Path, root: Path, model: str) -> Survey:
    """Survey a project through a connection of its own."""
    store = Store(home / f"{project_id_of(str(root))}.db", busy_timeout_ms=1000)
    try:
        return survey(store, str(root), IndexOptions(), model)
    finally:
        store.close()


def show(row: Row) -> None:
    """Print a row of the table."""
    about = "" if row.exact else "about "
    half = "" if row.half is None else f"{row.half:.2f} × the rest"
    print(
        f"| {row.root} | {row.run} | {about}{row.files:,} | {about}{row.changed:,}"
        f" | {row.survey_s * 1000:.0f} ms | {row.said:.2f} s | {row.said / row.truth:.2f}"
        f" | {row.learned:.2f} s | {row.learned / row.truth:.2f} | {row.truth:.2f} s | {half} |",
        flush=True,
    )


@contextmanager
def changed(root: Path) -> Iterator[None]:
    """Give 100 files of a tree, spread over it, another line for a while."""
    suffixes = {".py", ".c", ".h", ".go", ".rb", ".java", ".ts", ".js", ".rs", ".md"}
    found = sorted(
        path
        for path in root.rglob("*")
        if path.suffix in suffixes and path.is_file() and not path.is_symlink()
    )
    chosen = found[:: max(1, len(found) // CHANGED_FILES)][:CHANGED_FILES]
    for path in chosen:
        with path.open("ab") as file:
            file.write(b"\n")
    try:
        yield
    finally:
        for path in chosen:
            os.truncate(path, path.stat().st_size - 1)


if __name__ == "__main__":
    main()
