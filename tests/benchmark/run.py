"""Measure the engine: indexing, incremental indexing, queries, start-up and answer quality.

    python tests/benchmark/run.py --trees TREES --bench BENCH [--large ROOT]… [--out FILE]
        [--modes keyword,hybrid]

TREES holds one folder a repository, BENCH the benchmark's ``repos.json``, ``annotations/`` and
``bench.py`` (its scorer is used as it is), ROOT a project of about 10,000 chunks or more, whose
query latency ``large.py`` measures with questions of its own. Prints a table; ``--out`` writes
everything as JSON, with the machine and the versions. Run it on an idle machine.
"""

import argparse
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.records import Mode, SearchRequest
from tests.benchmark.large import latency_text, measure_large

HERE = Path(__file__).resolve().parent
ONE_SHOT_RUNS = 15


def main() -> None:
    """Run every measurement that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--modes", default="keyword")
    parser.add_argument("--rounds", type=int, default=3, help="cold index runs; the median counts")
    parser.add_argument("--worst", type=int, default=0, help="print the worst queries")
    parser.add_argument("--large", type=Path, action="append", default=[], metavar="ROOT")
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    arguments = parser.parse_args()

    bench = _load(arguments.bench / "bench.py")
    repositories = bench.load(arguments.bench)
    roots = {r["name"]: arguments.trees / r["name"] / r["root"] for r in repositories}
    home = arguments.home or Path(tempfile.mkdtemp(prefix="cairn-bench-"))
    results: dict[str, Any] = {"machine": machine()}
    try:
        results["index"] = measure_index(list(roots.values()), home, arguments.rounds)
        results["start-up"] = measure_start_up(home, next(iter(roots.values())))
        for mode in arguments.modes.split(","):
            results[mode] = measure_answers(bench, repositories, roots, home, Mode(mode))
        results["large"] = {str(root): measure_large(root, home) for root in arguments.large}
    finally:
        if not arguments.home:
            shutil.rmtree(home)
    report(results, arguments.worst)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


def machine() -> dict[str, object]:
    """Describe where the figures come from."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("apsw", "tree-sitter", "codecairn")},
    }


def measure_index(roots: list[Path], home: Path, rounds: int) -> dict[str, Any]:
    """Index all trees cold, then again without a change; each run in a process of its own."""
    cold = []
    for _ in range(max(1, rounds)):
        shutil.rmtree(home, ignore_errors=True)
        cold.append(_index_all(roots, home))
    cold.sort(key=lambda run: run["seconds"])
    again = sorted((_index_all(roots, home) for _ in range(3)), key=lambda run: run["seconds"])
    size = sum(file.stat().st_size for file in home.glob("*.db"))
    return {
        "cold": cold[len(cold) // 2],
        "cold_seconds": [run["seconds"] for run in cold],
        "unchanged": again[1],
        "index_bytes": size,
    }


def measure_start_up(home: Path, root: Path) -> dict[str, float]:
    """Time whole processes: the help page and one search."""
    environment = {**os.environ, "CAIRN_HOME": str(home)}
    commands = {
        "help_ms": ["--help"],
        "one_shot_search_ms": ["search", "client session", "--project", str(root), "--json"],
    }
    figures = {}
    for name, words in commands.items():
        times = []
        for _ in range(ONE_SHOT_RUNS):
            started = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "web.cli", *words],
                env=environment,
                cwd=HERE.parents[1],
                stdout=subprocess.DEVNULL,
                check=True,
            )
            times.append((time.perf_counter() - started) * 1000)
        figures[name] = statistics.median(times)
    return figures


def measure_answers(
    bench: ModuleType,
    repositories: list[dict[str, Any]],
    roots: dict[str, Path],
    home: Path,
    mode: Mode,
) -> dict[str, Any]:
    """Answer every query of the benchmark: quality, and latency of a warm process."""
    rows = []
    times = []
    with Catalog(load_config(home)) as catalog:
        for repository in repositories:
            index = catalog.open(str(roots[repository["name"]]))
            prefix = f"{repository['root']}/" if repository["root"] else ""
            index.search(SearchRequest(query="warm up", mode=mode))
            for query in repository["queries"]:
                request = SearchRequest(query=_literal(query["query"]), mode=mode)
                started = time.perf_counter()
                answer = index.search(request)
                times.append((time.perf_counter() - started) * 1000)
                hits = [
                    {
                        "path": prefix + hit.path,
                        "line_start": hit.line_start,
                        "line_end": hit.line_end,
                    }
                    for hit in answer.hits
                ]
                ndcg, recall = bench.score_query(hits, query)
                rows.append(
                    {
                        "repo": repository["name"],
                        "language": repository["language"],
                        "category": query["category"],
                        "query": query["query"],
                        "ndcg": ndcg,
                        "recall": recall,
                    }
                )
    times.sort()
    return {
        "ndcg10": _mean_of_means(rows, "repo"),
        "by_category": _means(rows, "category"),
        "by_language": _means(rows, "language"),
        "by_repo": _means(rows, "repo"),
        "recall10": statistics.fmean(row["recall"] for row in rows),
        "queries": len(rows),
        "p50_ms": times[len(times) // 2],
        "p99_ms": times[int(len(times) * 0.99)],
        "rows": rows,
    }


def report(results: dict[str, Any], worst: int) -> None:
    """Print the figures as a table."""
    index = results["index"]
    cold, again = index["cold"], index["unchanged"]
    megabytes = cold["source_bytes"] / 1e6
    lines = [
        ("cold index", f"{cold['seconds']:.2f} s of {cold['files']} files, {megabytes:.1f} MB"),
        ("", f"{megabytes / cold['seconds']:.1f} MB/s"),
        ("", f"{cold['files'] / cold['seconds']:.0f} files/s"),
        ("peak memory", f"{cold['main_mib']:.0f} MiB main, {cold['worker_mib']:.0f} MiB a worker"),
        ("index size", f"{index['index_bytes'] / cold['source_bytes']:.2f} × source"),
        (
            "no change",
            f"{again['files'] / again['seconds']:.0f} files/s ({again['seconds']:.2f} s)",
        ),
        ("cairn --help", f"{results['start-up']['help_ms']:.0f} ms"),
        ("one-shot search", f"{results['start-up']['one_shot_search_ms']:.0f} ms"),
    ]
    for name, figures in results.items():
        if isinstance(figures, dict) and "ndcg10" in figures:
            categories = ", ".join(f"{k} {v:.4f}" for k, v in figures["by_category"].items())
            lines.append((f"{name} NDCG@10", f"{figures['ndcg10']:.4f} ({categories})"))
            lines.append(("", f"p50 {figures['p50_ms']:.2f} ms, p99 {figures['p99_ms']:.2f} ms"))
            lowest = sorted(figures["rows"], key=lambda row: row["ndcg"])[:worst]
            lines += [("", f"{r['ndcg']:.2f} {r['repo']}: {r['query']}") for r in lowest]
    for root, figures in results["large"].items():
        lines.append((Path(root).name, f"{figures['chunks']:,} chunks, keyword queries"))
        lines += [("", f"{name}: {latency_text(figures[name])}") for name in ("first", "again")]
    for label, text in lines:
        print(f"{label:<18} {text}")


def _index_all(roots: list[Path], home: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(HERE / "index_all.py"), str(home), *map(str, roots)],
        capture_output=True,
        check=True,
        text=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _literal(query: str) -> str:
    """Quote what the query language would read as an operator."""
    return query.replace('"', " ")


def _means(rows: list[dict[str, Any]], key: str) -> dict[str, float]:
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row["ndcg"])
    return {name: statistics.fmean(values) for name, values in sorted(groups.items())}


def _mean_of_means(rows: list[dict[str, Any]], key: str) -> float:
    return statistics.fmean(_means(rows, key).values())


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
