"""Compare the speed of this version with that of a commit, on this machine and in turn.

    python tests/benchmark/compare.py COMMIT ROOT… [--rounds 5] [--out FILE]

Each ROOT is indexed cold, indexed without a change, searched by a process of its own and searched
again and again in one process, by both versions in turn: A B A B …, after one round that does not
count. Each starts with a new data directory, without the history of commits, and when no job is
running. Prints the medians in milliseconds and their ratio with its range over the rounds; what the
machine does beside it falls on both. The commit's files are unpacked into a temporary folder. It
gets a virtual environment of its own when its ``requirements.lock`` is not this one's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.locks import holder_of, runner_lock_file
from tests.benchmark.run import machine

HERE = Path(__file__).resolve().parents[2]
_LOCK = "requirements.lock"
_QUERY = "open the session of a client"
_COMMAND = "from web.cli.main import main; main()"
#: Prints the median of a query that was asked before, in milliseconds.
_WARM = """
import statistics, sys, time
from engine import Catalog, SearchRequest, load_config
with Catalog(load_config()) as catalog:
    project, times = catalog.open(sys.argv[1]), []
    for _ in range(120):
        started = time.perf_counter()
        project.search(SearchRequest(query=sys.argv[2]))
        times.append(time.perf_counter() - started)
print(statistics.median(times[20:]) * 1000)
"""

Times = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the program."""

    source: Path
    python: str

    def measure(self, root: str) -> dict[str, float]:
        """Return what each measurement takes once, in milliseconds, in a new data directory."""
        with tempfile.TemporaryDirectory(prefix="cairn-bench-") as name:
            home = Path(name)
            times = {
                "index, cold": self._timed(home, "index", root),
                "index, no change": self._timed(home, "index", root),
                "one-shot search": self._timed(home, "search", _QUERY, "--project", root),
                "warm search": float(self._run(home, _WARM, root, _QUERY)),
            }
            _wait_for_runner(home)
            return times

    def _timed(self, home: Path, *arguments: str) -> float:
        _wait_for_runner(home)
        started = time.perf_counter()
        self._run(home, _COMMAND, *arguments, "--json")
        return (time.perf_counter() - started) * 1000

    def _run(self, home: Path, code: str, *arguments: str) -> str:
        """Run code of this version in a process of its own and return what it prints."""
        return subprocess.run(
            [self.python, "-c", code, *arguments],
            cwd=self.source,
            env={
                **os.environ,
                "CAIRN_HOME": str(home),
                "CAIRN_HISTORY_COMMITS": "0",
                "PYTHONDONTWRITEBYTECODE": "",  # the base has not been compiled yet
                "PYTHONPATH": str(self.source),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
            text=True,
        ).stdout


def _wait_for_runner(home: Path) -> None:
    """Wait until no process runs jobs, which it may do for a moment after a command has ended."""
    while holder_of(runner_lock_file(home)) is not None:
        time.sleep(0.01)


def main() -> None:
    """Compare on each root and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("roots", nargs="+", type=Path, metavar="ROOT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write all times as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-bench-") as name:
        folder = Path(name)
        versions = (
            _version_of(arguments.commit, folder),
            Version(HERE, sys.executable),
        )
        results = {
            str(root): _compare(versions, str(root.resolve()), arguments.rounds)
            for root in arguments.roots
        }
    _report(arguments.commit, results)
    if arguments.out:
        written = {"machine": machine(), "base": arguments.commit, "times": results}
        arguments.out.write_text(json.dumps(written, indent=1) + "\n")


def _version_of(commit: str, folder: Path) -> Version:
    """Unpack a commit, and make a virtual environment unless the one that runs fits it."""
    source = folder / "base"
    source.mkdir()
    packed = folder / "base.tar"
    subprocess.run(["git", "archive", f"--output={packed}", commit], cwd=HERE, check=True)
    subprocess.run(["tar", "-xf", packed, "-C", source], check=True)
    python = sys.executable
    if (source / _LOCK).read_bytes() != (HERE / _LOCK).read_bytes():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        python = str(folder / "venv" / "bin" / "python")
        wanted = ("--require-hashes", "--requirement", source / _LOCK)
        subprocess.run([python, "-m", "pip", "install", "-qq", *wanted], check=True)
    return Version(source, python)


def _compare(versions: Sequence[Version], root: str, rounds: int) -> tuple[Times, ...]:
    """Measure both versions in turn; the first round only fills caches of files and code."""
    times: tuple[Times, ...] = tuple({} for _ in versions)
    for number in range(rounds + 1):
        for version, taken in zip(versions, times, strict=True):
            for what, milliseconds in version.measure(root).items():
                if number:
                    taken.setdefault(what, []).append(milliseconds)
    return times


def _report(commit: str, results: dict[str, tuple[Times, ...]]) -> None:
    print(f"| tree | what, median ms | {commit} | now | now ÷ {commit} (range) |")
    print("|---|---|---|---|---|")
    for root, (before, now) in results.items():
        for what, old in before.items():
            ratios = [b / a for a, b in zip(old, now[what], strict=True)]
            print(
                f"| {Path(root).name} | {what} | {statistics.median(old):,.1f}"
                f" | {statistics.median(now[what]):,.1f} | {statistics.median(ratios):.2f}"
                f" ({min(ratios):.2f}–{max(ratios):.2f}) |"
            )


if __name__ == "__main__":
    main()
