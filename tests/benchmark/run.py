"""Measure the engine: indexing, incremental indexing, queries, start-up and answer quality.

    python tests/benchmark/run.py --trees TREES --bench BENCH [--large ROOT]… [--out FILE]
        [--modes keyword,hybrid]

TREES holds one folder a repository, BENCH the benchmark's ``repos.json`` and ``annotations/``, by
which ``quality.py`` measures answers, ROOT a project of about 10,000 chunks or more, whose query
latency ``large.py`` measures with questions of its own. Prints tables; ``--out`` writes everything
as JSON, with the machine and the versions. Run it on an idle machine.
"""

import argparse
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
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmark.large import latency_text, measure_large
from tests.benchmark.quality import measure, print_quality, read_repositories, variants_of

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

    repositories = read_repositories(arguments.bench, arguments.trees)
    roots = [repository.root for repository in repositories]
    home = arguments.home or Path(tempfile.mkdtemp(prefix="cairn-bench-"))
    results: dict[str, Any] = {"machine": machine()}
    try:
        results["index"] = measure_index(roots, home, arguments.rounds)
        results["start-up"] = measure_start_up(home, roots[0])
        variants = variants_of(arguments.modes)
        results["quality"] = {each.name: measure(repositories, home, each) for each in variants}
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
                [sys.executable, "-m", "web.cli.main", *words],
                env=environment,
                cwd=HERE.parents[1],
                stdout=subprocess.DEVNULL,
                check=True,
            )
            times.append((time.perf_counter() - started) * 1000)
        figures[name] = statistics.median(times)
    return figures


def report(results: dict[str, Any], worst: int) -> None:
    """Print the figures as tables."""
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
    for root, figures in results["large"].items():
        lines.append((Path(root).name, f"{figures['chunks']:,} chunks, hybrid queries"))
        lines += [("", f"{name}: {latency_text(figures[name])}") for name in ("first", "again")]
    for label, text in lines:
        print(f"{label:<18} {text}")
    print()
    print_quality(results["quality"], worst)


def _index_all(roots: list[Path], home: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(HERE / "index_all.py"), str(home), *map(str, roots)],
        capture_output=True,
        check=True,
        text=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
