"""Measure a large tree: cold index, memory, size, a run without a change, and a small change.

    python tests/benchmark/scale.py ROOT [--copies TARGET --files N --mean BYTES]

Without ``--copies`` ROOT itself is indexed; 15 of its files are changed for a while and put back.
With it a tree of N files with so many bytes on average is made first in TARGET: files of ROOT, and
when they run out copies of them under other names, each with a line of its own so that no two have
the same content. Run it on an idle machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CODE = "import sys; from web.cli.main import main; sys.argv[0] = 'cairn'; main()"
CHANGED_FILES = 15
SAMPLE_S = 0.25


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--copies", type=Path)
    parser.add_argument("--files", type=int, default=266_000)
    parser.add_argument("--mean", type=int, default=5_000)
    arguments = parser.parse_args()
    root: Path = arguments.root
    if arguments.copies:
        root = arguments.copies
        if not root.exists():
            make_tree(arguments.root, root, arguments.files, arguments.mean)
    home = Path(tempfile.mkdtemp(prefix="cairn-scale-"))
    try:
        print(json.dumps(measure(root, home), indent=1))
    finally:
        shutil.rmtree(home)


def measure(root: Path, home: Path) -> dict[str, Any]:
    """Run the command line on a tree, each run in a process of its own."""
    cold = run_index(root, home)
    status = cairn(home, "status", str(root))
    source = source_bytes(root, home)
    again = [run_index(root, home) for _ in range(3)]
    changed = changed_files(root)
    for path in changed:
        with path.open("ab") as file:
            file.write(b"\n")
    try:
        touched = run_index(root, home)
    finally:
        for path in changed:
            os.truncate(path, path.stat().st_size - 1)
    files = status["files"]
    best = min(each["seconds"] for each in again)
    return {
        "files": files,
        "skipped": cold["report"]["files_skipped"],
        "failed": cold["report"]["files_failed"],
        "source_mb": source / 1e6,
        "symbols": status["symbols"],
        "chunks": status["chunks"],
        "cold_s": cold["seconds"],
        "cold_mb_a_s": source / 1e6 / cold["seconds"],
        "cold_files_a_s": files / cold["seconds"],
        "cpu_s": cold["cpu_s"],
        "peak_mib": cold["peak_mib"],
        "peak_of_each_mib": cold["peak_of_each_mib"],
        "index_mb": status["size_bytes"] / 1e6,
        "index_of_source": status["size_bytes"] / source,
        "no_change_s": best,
        "no_change_files_a_s": (files + cold["report"]["files_skipped"]) / best,
        "no_change_peak_mib": again[0]["peak_mib"],
        "changed_files": len(changed),
        "changed_indexed": touched["report"]["files_indexed"],
        "changed_s": touched["seconds"],
    }


def run_index(root: Path, home: Path) -> dict[str, Any]:
    """Index, and watch the memory of all processes meanwhile.

    Memory is the proportional set size, in which a page that two processes share counts once.
    """
    before = os.times()
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, "index", str(root), "--json", "--quiet"],
        env=os.environ | {"CAIRN_HOME": str(home), "PYTHONPATH": str(HERE.parents[1])},
        stdout=subprocess.PIPE,
    )
    peak: list[list[int]] = [[]]
    watcher = threading.Thread(target=_watch, args=(process, peak))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - started
    watcher.join()
    after = os.times()
    return {
        "seconds": seconds,
        "cpu_s": after.children_user
        + after.children_system
        - before.children_user
        - before.children_system,
        "peak_mib": sum(peak[0]) / 1024,
        "peak_of_each_mib": [kib // 1024 for kib in peak[0]],
        "report": json.loads(output),
    }


def _watch(process: subprocess.Popen[bytes], peak: list[list[int]]) -> None:
    while process.poll() is None:
        now = [_pss_kib(pid) for pid in _family(process.pid)]
        if sum(now) > sum(peak[0]):
            peak[0] = now
        time.sleep(SAMPLE_S)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                yield from _family(int(child))
        except OSError:
            continue


def _pss_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def cairn(home: Path, *arguments: str) -> dict[str, Any]:
    """Run a command and read what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments, "--json"],
        env=os.environ | {"CAIRN_HOME": str(home), "PYTHONPATH": str(HERE.parents[1])},
        stdout=subprocess.PIPE,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def source_bytes(root: Path, home: Path) -> int:
    """Give the size of all indexed files."""
    sys.path.insert(0, str(HERE.parents[1]))
    from engine.roots import project_id_of, resolve
    from engine.store import files
    from engine.store.connection import Store

    store = Store(home / f"{project_id_of(resolve(str(root)))}.db", busy_timeout_ms=1000)
    try:
        with store.read() as handle:
            return files.total_bytes(handle)
    finally:
        store.close()


def changed_files(root: Path) -> list[Path]:
    """Choose files that are spread over the tree."""
    found = sorted(
        each for each in root.rglob("*.[ch]") if each.is_file() and not each.is_symlink()
    )
    found = found or sorted(each for each in root.rglob("*.py") if each.is_file())
    step = max(1, len(found) // CHANGED_FILES)
    return found[::step][:CHANGED_FILES]


def make_tree(source: Path, target: Path, count: int, mean: int) -> None:
    """Make a tree of so many files that have so many bytes on average, from real ones."""
    budget = count * mean
    written = number = round_ = 0
    while number < count:
        for path in _texts(source):
            data = path.read_bytes()
            # Small files make up for a large one: the mean is kept as the tree grows.
            if written + len(data) > (number + 1000) * mean:
                continue
            name = target / f"copy{round_}" / path.relative_to(source)
            name.parent.mkdir(parents=True, exist_ok=True)
            name.write_bytes(data + (f"\n// copy {round_}\n".encode() if round_ else b""))
            written += len(data)
            number += 1
            if number == count or written > budget:
                return
        round_ += 1


def _texts(source: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


if __name__ == "__main__":
    main()
