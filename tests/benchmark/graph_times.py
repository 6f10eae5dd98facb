"""Measure how long questions about the code graph take, warm in one process.

    python tests/benchmark/graph_times.py REPO… [--names 200] [--seed 18] [--home HOME]
        [--answers FILE]

Each checkout is indexed unless HOME has it. Names are drawn with a fixed seed, evenly over the
definitions, and over the functions and methods whose names some text refers to. All are asked for
their references, the functions for their callers to depth 3, the definitions for their panel on
the file page. Processor time is told, and wall time behind it, since others may use the cores.
With ``--answers`` the answers are written, a line of JSON each, to compare two versions by.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from engine.catalog import Catalog
from engine.config import load_config
from engine.project import Project
from engine.reference_records import CallRequest, MapRequest, ReferenceRequest
from engine.store import references, symbols
from engine.store.compression import unpack_hashes
from engine.syntax.references import name_hash

_DEPTH = 3
_KINDS = (
    *("class", "constant", "constructor", "enum", "field", "function", "interface", "macro"),
    *("method", "property", "struct", "trait", "type", "variable"),
)
_CALLABLES = frozenset({"function", "method"})
_QUANTILES = (50, 90, 99)


class Time(NamedTuple):
    """What a question took, in seconds."""

    processor: float
    wall: float


class Bench:
    """Asks one project.

    Args:
        project: The project.
        answers: Where answers are written; None for nowhere.
    """

    def __init__(self, project: Project, answers: Path | None) -> None:
        self._project = project
        self._answers = answers

    def names(self, count: int, seed: int) -> tuple[list[str], list[str]]:
        """Return drawn names of definitions, and of functions that texts refer to."""
        store = self._project._store
        with store.read() as handle:
            rows = symbols.read_definitions(handle, _KINDS)
            branch = self._project._searcher.branch(handle, None, "")
            packed = [each for _, each in references.read_names(handle, branch.id)]
        flat = b"".join(map(unpack_hashes, packed))
        used = frozenset(np.unique(np.frombuffer(flat, "<u4")).tolist())
        every = [name for _, _, name, _, _ in rows]
        called = [
            name for _, _, name, kind, _ in rows if kind in _CALLABLES and name_hash(name) in used
        ]
        drawn = random.Random(seed)
        return (
            drawn.sample(every, min(count, len(every))),
            drawn.sample(called, min(count, len(called))),
        )

    def ask(self, title: str, names: Sequence[str], question: Callable[[str], Any]) -> None:
        """Ask a question of each name, and print what that took."""
        _print(title, [self._timed(f"{title} {name}", partial(question, name)) for name in names])

    def ask_once(self, title: str, question: Callable[[], Any]) -> None:
        """Ask a question, and print what it took."""
        _print(title, [self._timed(title, question)])

    def _timed(self, title: str, question: Callable[[], Any]) -> Time:
        started, wall = time.process_time(), time.perf_counter()
        answer = question()
        taken = Time(time.process_time() - started, time.perf_counter() - wall)
        if self._answers:
            with self._answers.open("a", encoding="utf-8") as file:
                print(
                    f"{self._project.root}: {title}",
                    json.dumps(asdict(answer), default=str),
                    file=file,
                )
        return taken


def main() -> None:
    """Measure each repository and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="+", metavar="REPO")
    parser.add_argument("--names", type=int, default=200, help="drawn of each kind")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    parser.add_argument("--answers", type=Path, help="write the answers to this file")
    arguments = parser.parse_args()
    home = arguments.home or Path(tempfile.mkdtemp(prefix="cairn-bench-"))
    with Catalog(load_config(home)) as catalog:
        for each in arguments.repositories:
            project = catalog.create(str(Path(each).resolve()))
            if project.status().last_indexed_at is None:
                project.index()
            _measure(project, arguments)


def _measure(project: Project, arguments: argparse.Namespace) -> None:
    bench = Bench(project, arguments.answers)
    drawn, called = bench.names(arguments.names, arguments.seed)
    print(f"{project.root}: {project.status().chunks:,} chunks")
    for title in ("first map", "second map"):
        bench.ask_once(title, lambda: project.code_map.draw(MapRequest()))

    def references_of(name: str) -> Any:
        return project.references.find(ReferenceRequest(name=name, limit=1000))

    def callers_of(name: str) -> Any:
        return project.references.callers(CallRequest(name=name, depth=_DEPTH, limit=1000))

    def panel_of(name: str) -> Any:
        first = project.symbols(name, limit=1)[0]
        return project.places.relations(first.path, first.qualified_name, first.line_start)

    bench.ask("references of definitions", drawn, references_of)
    bench.ask("references of functions", called, references_of)
    bench.ask("callers of functions", called, callers_of)
    bench.ask("panel of functions", called, panel_of)


def _print(title: str, times: Sequence[Time]) -> None:
    """Print the quantiles of some times."""
    both = np.percentile(np.array(times), _QUANTILES, axis=0) * 1000
    told = (
        f"p{quantile} {processor:,.1f} ({wall:,.1f})"
        for quantile, (processor, wall) in zip(_QUANTILES, both, strict=True)
    )
    print(f"{title}, {len(times)}, processor ms (wall ms): {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
