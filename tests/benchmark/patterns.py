"""Measure searches by pattern: typical ones on a large project, evil ones on a small one.

    python tests/benchmark/patterns.py --root ROOT [--small SMALL] [--home HOME] [--rounds 5]

ROOT is a folder with some 100 MB of source, SMALL one of some megabytes (default: this
repository); both are indexed unless HOME has them already. Prints wall and processor time of each
pattern, p50 and p95 over all rounds, and the slowest evil pattern: first in a process that knows
nothing, as a command does, then in one that knows the texts, as a server does. Run it on an idle
machine: when other work takes one of two cores, wall time becomes the processor time of both
threads.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import InvalidQueryError
from engine.project import Project
from engine.search_records import Mode, SearchRequest
from tests.benchmark.index_all import source_bytes
from tests.unit.search.test_patterns import EVIL

HERE = Path(__file__).resolve().parent
TYPICAL = {
    "name": "getOrDefault",
    "literal text": '"assertThat("',
    "any case": "deadlock",
    "whole word": r"\bassign\b",
    "alternation": "TODO|FIXME|XXX",
    "definition": r"class \w+Handler\b",
    "character runs": r"[A-Z][a-z]+[A-Z]\w+Exception",
    "dot star": "public .* throws .*Exception",
    "digits": r"\d{4}-\d{2}-\d{2}",
    "string": '"[^"]*timeout[^"]*"',
    "rare": r"exponential\w*Backoff",
    "common": "return",
    "nowhere": "zzqqyy",
    "nowhere, no literal": r"[xyz]\d[xyz]\d[xyz]\d{9}",
    "over lines": r"try \{\n\s*\w+\.close",
    "filtered": "session lang:ruby -path:test",
    "words and pattern": "/retry|backoff/ connection",
}

#: Told apart: nobody asks for the first, and the second has to look at text after text.
DEMANDING = {
    "everywhere": "e",
    "over many lines": r"(?s)import .*throws .*Exception",
}


def main() -> None:
    """Index what is not indexed yet, then search."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--small", type=Path, default=HERE.parents[1])
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=int, default=2000, help="search_timeout, in ms")
    arguments = parser.parse_args()
    home = arguments.home or Path(tempfile.mkdtemp(prefix="cairn-bench-"))
    try:
        with Catalog(load_config(home, search_timeout=arguments.timeout)) as catalog:
            large, small = (indexed(catalog, root) for root in (arguments.root, arguments.small))
            for index in (large, small):
                size = source_bytes(home, index.project_id) / 1e6
                print(f"{index.root}: {size:.1f} MB in {index.status().files:,} files")
            print("in a process that knows nothing")
            measure_typical(large, arguments.rounds)
            measure_evil(small)
            print(f"the texts are known after {known(large):.1f} s")
            measure_typical(large, arguments.rounds)
    finally:
        if not arguments.home:
            shutil.rmtree(home)


def indexed(catalog: Catalog, root: Path) -> Project:
    """Open a project, indexed once."""
    index = catalog.create(str(root))
    if index.status().last_indexed_at is None:
        index.index()
    return index


def known(index: Project) -> float:
    """Do what a server does beside its first questions; give the seconds that texts took."""
    index.warm()
    index.update_ngram_filter(lambda: False)
    index.search(SearchRequest(query=TYPICAL["name"], mode=Mode.REGEX))
    started = time.perf_counter()
    index.update_ngram_filter(lambda: False)
    return time.perf_counter() - started


def measure_typical(index: Project, rounds: int) -> None:
    """Print the times of each pattern, and p50 and p95 over all typical ones."""
    walls: list[float] = []
    medians: list[float] = []
    for name, query in (TYPICAL | DEMANDING).items():
        mode = Mode.KEYWORD if query.startswith("/") else Mode.REGEX
        times = [timed(index, query, mode) for _ in range(rounds + 1)][1:]
        answer = index.search(SearchRequest(query=query, mode=mode))
        wall, processor = (sorted(each) for each in zip(*times, strict=True))
        if name in TYPICAL:
            walls += wall
            medians.append(statistics.median(wall))
        total = f"{answer.total:,}{'+' if answer.truncated else ''} places"
        print(
            f"{name:<20} {query:<38} {wall[0]:5.0f} ms, median {statistics.median(wall):5.0f},"
            f" processor {processor[0]:5.0f}  {total} {' '.join(answer.notes)}"
        )
    for label, figures in (("all rounds", walls), ("medians", medians)):
        ordered = sorted(figures)
        p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
        print(f"{label}: p50 {statistics.median(ordered):.0f} ms, p95 {p95:.0f} ms")


def measure_evil(index: Project) -> None:
    """Print what each evil pattern comes to, and the slowest of them."""
    slowest = 0.0
    for pattern in EVIL:
        times = []
        refused = ""
        for _ in range(3):
            started = time.perf_counter()
            try:
                index.search(SearchRequest(query=pattern[:4096], mode=Mode.REGEX))
            except InvalidQueryError as error:
                refused = f", refused: {error.message}"
            times.append((time.perf_counter() - started) * 1000)
        shown = pattern[:38].encode("ascii", "replace").decode()
        print(f"evil  {shown:<38} {min(times):5.0f} ms{refused}")
        slowest = max(slowest, min(times))
    print(f"evil: {len(EVIL)} patterns, slowest {slowest:.0f} ms")


def timed(index: Project, query: str, mode: Mode) -> tuple[float, float]:
    """Search once; give wall and processor time, in milliseconds."""
    wall, processor = time.perf_counter(), time.process_time()
    index.search(SearchRequest(query=query, mode=mode))
    return (time.perf_counter() - wall) * 1000, (time.process_time() - processor) * 1000


if __name__ == "__main__":
    main()
