"""Latency of queries in one large project, as a warm process answers them.

    python tests/benchmark/large.py ROOT… [--mode keyword] [--home HOME] [--exclude GLOB]…

A project has no questions written for it, so they are made of its own symbols: names; first
sentences of their docs, as people would ask; and both mixed. Each question is asked when its words
are new to the process (``first``), and again when words and texts are kept (``again``, the median
of three).
"""

import argparse
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.index_records import IndexOptions
from engine.project import Project
from engine.search_records import Mode, SearchRequest
from engine.store.connection import Store

Told = tuple[str, list[str]]

EACH = 80  # questions of a kind
ROUNDS = 3
_LEAST_WORDS = 5
_MOST_WORDS = 9


def main() -> None:
    """Measure the folders named, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("roots", type=Path, nargs="+", metavar="ROOT")
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    parser.add_argument("--mode", type=Mode, default=Mode.HYBRID)
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder:
        for root in arguments.roots:
            figures = measure_large(
                root,
                arguments.home or Path(folder),
                tuple(arguments.exclude) or None,
                mode=arguments.mode,
            )
            print(f"{root.name}: {figures['chunks']:,} chunks, {figures['questions']} questions")
            for name in ("first", "again"):
                print(f"  {name}  {latency_text(figures[name])}")


def measure_large(
    root: Path,
    home: Path,
    exclude: tuple[str, ...] | None = None,
    *,
    mode: Mode = Mode.HYBRID,
) -> dict[str, Any]:
    """Index a folder and time questions of its own."""
    with Catalog(load_config(home)) as catalog:
        index = catalog.create(str(root))
        index.index(IndexOptions(exclude_patterns=exclude))
        questions = questions_of(home / f"{index.project_id}.db")
        chunks = index.status().chunks
        for warm_up in ("warm up", "read the file", "open a connection"):
            index.search(SearchRequest(query=warm_up, mode=mode))
        first = [_ask(index, question, mode) for question in questions]
        rounds = [[_ask(index, question, mode) for question in questions] for _ in range(ROUNDS)]
    again = [statistics.median(times) for times in zip(*rounds, strict=True)]
    return {
        "chunks": chunks,
        "questions": len(questions),
        "first": percentiles(first),
        "again": percentiles(again),
    }


def questions_of(database: Path) -> list[str]:
    """Make questions of the symbols of a project, the same ones each time."""
    store = Store(database, busy_timeout_ms=1000)
    with store.read() as handle:
        symbols = handle.execute(
            """SELECT name, doc FROM symbols WHERE length(name) > 4 AND kind IN
                 ('class', 'struct', 'interface', 'trait', 'enum', 'function', 'method')
               ORDER BY id"""
        ).fetchall()
    store.close()
    told = [(str(name), _sentence(str(doc))) for name, doc in symbols]
    explained = [(name, words) for name, words in told if len(words) >= _LEAST_WORDS]
    chosen = random.Random(7)
    questions = [name for name, _ in _some(chosen, told)]
    questions += ["how does " + " ".join(words).lower() for _, words in _some(chosen, explained)]
    questions += [f"{name} {' '.join(words[2:6])}" for name, words in _some(chosen, explained)]
    chosen.shuffle(questions)
    return questions


def percentiles(times_ms: list[float]) -> dict[str, float]:
    """Give p50, p90 and p99."""
    ordered = sorted(times_ms)
    return {f"p{share}_ms": ordered[int(len(ordered) * share / 100)] for share in (50, 90, 99)}


def latency_text(figures: dict[str, float]) -> str:
    """Give percentiles as text."""
    return ", ".join(f"{name[:-3]} {value:.2f} ms" for name, value in figures.items())


def _some(chosen: random.Random, rows: list[Told]) -> list[Told]:
    return chosen.sample(rows, min(EACH, len(rows)))


def _sentence(doc: str) -> list[str]:
    return re.findall(r"[A-Za-z][a-z]+", re.split(r"[.\n]", doc.strip())[0])[:_MOST_WORDS]


def _ask(index: Project, question: str, mode: Mode) -> float:
    started = time.perf_counter()
    index.search(SearchRequest(query=question, mode=mode))
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
