"""Measure how well annotated queries are answered, in several modes and with parts switched off.

    python tests/benchmark/quality.py --trees TREES --bench BENCH [--home HOME]
        [--modes keyword,hybrid] [--without path,crowding|all] [--worst N] [--out FILE]

TREES holds one folder a repository, BENCH ``repos.json`` and ``annotations/``. HOME keeps the
indexes; without it they are made anew. Each mode is measured as it is and then without each part
that ``--without`` names (see ``PARTS``). The first row is compared with all others. Overall quality
is the mean over repositories.
"""

import argparse
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.evaluation.evaluate import interval_of, percentiles_of, result_of
from engine.evaluation.golden import GoldenQuery, QueryResult, Target
from engine.project import Project
from engine.search import weights
from engine.search_records import Mode, SearchRequest

LIMIT = 10
_WARM_UPS = ("warm up", "read the file")

#: Switches a part of the search off while it is entered.
Part = Callable[[], AbstractContextManager[None]]


def _no_factors(*_: object, **__: object) -> tuple[()]:
    return ()


@contextmanager
def changed(module: str, **values: object) -> Iterator[None]:
    """Give names of a module other values while the block runs.

    Raises:
        AttributeError: The module has no such name.
    """
    place = importlib.import_module(module)
    before = {name: getattr(place, name) for name in values}
    for name, value in values.items():
        setattr(place, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(place, name, value)


_SETS = ("WORD_WEIGHTS", "MEANING_WEIGHTS", "NAME_BY_BOTH", "PROSE_BY_BOTH")


@contextmanager
def weighed(**numbers: float) -> Iterator[None]:
    """Give numbers of ``search.weights`` other values in all its sets while the block runs."""
    sets = {name: getattr(weights, name)._replace(**numbers) for name in _SETS}
    with changed("engine.search.weights", **sets):
        yield


PARTS: dict[str, Part] = {
    "words": partial(weighed, words=0.0),
    "meaning": partial(weighed, meaning=0.0, file_meaning=0.0),
    "meaning of the file": partial(weighed, file_meaning=0.0),
    "words of the file": partial(weighed, file_words=0.0),
    "near the root": partial(weighed, shallow=0.0),
    "coherence": partial(weighed, coherence=0.0),
    "path": partial(weighed, path=0.0),
    "history": partial(weighed, history=0.0),
    "definition": partial(weighed, definition=0.0, mention=0.0, word_definition=0.0),
    "crowding": partial(weighed, crowding=1.0),
    "tests and the like": partial(changed, "engine.search.features", path_factors=_no_factors),
}


class Repository(NamedTuple):
    """A tree with its queries."""

    name: str
    language: str
    root: Path  # what is indexed
    prefix: str  # of paths in ``root``, as targets have it
    queries: Sequence[GoldenQuery]


class Row(NamedTuple):
    """How one query of a repository was answered."""

    repository: str
    language: str
    result: QueryResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way to search."""

    mode: Mode
    without: str = ""  # a name of PARTS

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.mode.value} without {self.without}" if self.without else self.mode.value


def main() -> None:
    """Measure every variant that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    parser.add_argument("--modes", default="keyword")
    parser.add_argument("--without", default="", help=f"{', '.join(PARTS)}; all: each of them")
    parser.add_argument("--worst", type=int, default=0, help="print the worst queries")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    repositories = read_repositories(arguments.bench, arguments.trees)
    variants = variants_of(arguments.modes, arguments.without)
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as folder:
        home = arguments.home or Path(folder)
        index_all(repositories, home)
        figures = {each.name: measure(repositories, home, each) for each in variants}
    print_quality(figures, arguments.worst)
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


def variants_of(modes: str, without: str = "") -> list[Variant]:
    """Give each mode as it is, then each without each part."""
    parts = list(PARTS) if without == "all" else [name for name in without.split(",") if name]
    unknown = set(parts) - set(PARTS)
    if unknown:
        sys.exit(f"unknown parts: {', '.join(unknown)}; known: {', '.join(PARTS)}")
    return [
        Variant(mode=Mode(mode), without=part) for mode in modes.split(",") for part in ("", *parts)
    ]


def read_repositories(bench: Path, trees: Path) -> list[Repository]:
    """Read the benchmark's repositories with their queries."""
    return [
        Repository(
            name=each["name"],
            language=each["language"],
            root=trees / each["name"] / each["root"],
            prefix=f"{each['root']}/" if each["root"] else "",
            queries=[
                golden_query_of(annotated)
                for annotated in json.loads(
                    (bench / "annotations" / f"{each['name']}.json").read_text()
                )
            ],
        )
        for each in json.loads((bench / "repos.json").read_text())
    ]


def golden_query_of(annotated: Mapping[str, Any]) -> GoldenQuery:
    """Give an annotated query as a golden one; all its targets weigh the same.

    Its quotes would be read as those of phrases.
    """
    places = [*annotated["relevant"], *annotated.get("secondary", ())]
    return GoldenQuery(
        query=annotated["query"].replace('"', " "),
        relevant=tuple(map(_target_of, places)),
        category=annotated["category"],
    )


def _target_of(place: str | Mapping[str, Any]) -> Target:
    if isinstance(place, str):
        return Target(path=place)
    first, last = place.get("start_line") or 1, place.get("end_line") or None
    return Target(path=place["path"], line_start=first, line_end=last)


def index_all(repositories: Sequence[Repository], home: Path) -> None:
    """Bring the index of every repository up to date."""
    with Catalog(load_config(home)) as catalog:
        for repository in repositories:
            catalog.create(str(repository.root)).index()


def measure(repositories: Sequence[Repository], home: Path, variant: Variant) -> dict[str, Any]:
    """Answer every query once: quality, and latency of a warm process."""
    rows: list[Row] = []
    switch = PARTS[variant.without] if variant.without else nullcontext
    with switch(), Catalog(load_config(home)) as catalog:
        for repository in repositories:
            index = catalog.open(str(repository.root))
            for text in _WARM_UPS:
                index.search(SearchRequest(query=text, mode=variant.mode))
            rows += [
                _answered(index, repository, each, variant.mode) for each in repository.queries
            ]
    times = percentiles_of(row.result.took_ms for row in rows)
    by_repository = means(rows, lambda row: row.repository)
    return {
        "ndcg10": statistics.fmean(by_repository.values()),
        "recall10": statistics.fmean(row.result.recall for row in rows),
        "mrr10": statistics.fmean(row.result.reciprocal_rank for row in rows),
        "by_category": means(rows, lambda row: row.result.category),
        "by_language": means(rows, lambda row: row.language),
        "by_repo": by_repository,
        "queries": len(rows),
        **asdict(times),
        "rows": [
            {"repo": row.repository, "language": row.language, **_told(row.result)} for row in rows
        ],
    }


class _Lines(NamedTuple):
    path: str
    line_start: int
    line_end: int


def _answered(index: Project, repository: Repository, query: GoldenQuery, mode: Mode) -> Row:
    started = time.perf_counter()
    answer = index.search(SearchRequest(query=query.query, mode=mode, limit=LIMIT))
    took_ms = (time.perf_counter() - started) * 1000
    hits = [_Lines(repository.prefix + h.path, h.line_start, h.line_end) for h in answer.hits]
    result = result_of(query, mode, hits, LIMIT, took_ms)
    return Row(repository.name, repository.language, result)


def _told(result: QueryResult) -> dict[str, Any]:
    kept = ("category", "query", "ndcg", "recall", "ranks", "took_ms")
    return {name: value for name, value in asdict(result).items() if name in kept}


def means(rows: Sequence[Row], group_of: Callable[[Row], str]) -> dict[str, float]:
    """Give the mean NDCG of each group."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row.result.ndcg)
    return {name: statistics.fmean(values) for name, values in sorted(groups.items())}


def print_quality(figures: Mapping[str, Mapping[str, Any]], worst: int = 0) -> None:
    """Print a row a variant, languages by variant, comparisons, and the worst queries of each."""
    first, *others = figures
    categories = list(figures[first]["by_category"])
    heads = ["NDCG@10", *categories, "recall", "MRR", "p50 ms", "p99 ms"]
    table = {
        name: [
            f"{each['ndcg10']:.4f}",
            *(f"{each['by_category'][category]:.4f}" for category in categories),
            f"{each['recall10']:.4f}",
            f"{each['mrr10']:.4f}",
            f"{each['p50_ms']:.2f}",
            f"{each['p99_ms']:.2f}",
        ]
        for name, each in figures.items()
    }
    _print_table("", heads, table)
    languages = {
        language: [f"{each['by_language'][language]:.4f}" for each in figures.values()]
        for language in figures[first]["by_language"]
    }
    _print_table("NDCG@10", list(figures), languages)
    for name in others:
        print(_comparison_text(first, figures[first], name, figures[name]))
    for name, each in figures.items():
        for row in sorted(each["rows"], key=lambda row: row["ndcg"])[:worst]:
            print(f"{name}  {row['ndcg']:.2f}  {row['repo']}: {row['query']}")


def _comparison_text(
    name: str, figures: Mapping[str, Any], other: str, others: Mapping[str, Any]
) -> str:
    """Compare two variants over queries (a mean over repositories has no pairs)."""
    pairs = zip(figures["rows"], others["rows"], strict=True)
    differences = [one["ndcg"] - against["ndcg"] for one, against in pairs]
    low, high = interval_of(differences)
    wins, losses = (sum(sign * each > 1e-9 for each in differences) for sign in (1, -1))
    return (
        f"{name} against {other}: {statistics.fmean(differences):+.4f} over queries, "
        f"95 % interval {low:+.4f} to {high:+.4f}, {wins} better, {losses} worse"
    )


def _print_table(corner: str, heads: Sequence[str], rows: Mapping[str, Sequence[str]]) -> None:
    width = max(map(len, (corner, *rows)))
    widths = [max(8, len(head)) for head in heads]
    for name, cells in {corner: heads, **rows}.items():
        padded = (cell.rjust(each) for cell, each in zip(cells, widths, strict=True))
        print(f"{name:<{width}}  {'  '.join(padded)}")
    print()


if __name__ == "__main__":
    main()
