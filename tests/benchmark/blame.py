"""How far blame agrees with git, and what both take.

    python tests/benchmark/blame.py HOME CLONE [--files 60] [--seed 1]

CLONE was indexed in the data directory HOME, with all of its history (settings history_commits and
history_days). Some of its files are chosen at random. Prints one JSON object: lines, those with
another commit, and seconds of processor time.
"""

import argparse
import json
import random
import resource
import subprocess
import time
from pathlib import Path

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError
from engine.history_records import Blame

_BYTES = range(1500, 400_000)  # of a file


def told_by_git(root: Path, path: str) -> list[str]:
    said = subprocess.run(
        ["git", "blame", "--line-porcelain", "--", path], cwd=root, capture_output=True, check=True
    ).stdout.split(b"\n")
    heads = [line for at, line in enumerate(said) if at == 0 or said[at - 1].startswith(b"\t")]
    return [line.split()[0].decode() for line in heads if line]


def told_by_us(found: Blame) -> list[str]:
    return [
        run.commit.commit if run.commit else run.origin
        for run in found.runs
        for _ in range(run.line_start, run.line_end + 1)
    ]


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def files_of(root: Path, seed: int) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    paths = [path for path in listed.stdout.decode().split("\0") if (root / path).is_file()]
    paths = [path for path in paths if (root / path).stat().st_size in _BYTES]
    random.Random(seed).shuffle(paths)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    root = given.clone.resolve()
    files = lines = others = 0
    ours_s, before_s = 0.0, children_s()
    with Catalog(load_config(given.home)) as catalog:
        project = catalog.open(str(root))
        for path in files_of(root, given.seed):
            if files == given.files:
                break
            try:
                content = project.browse.content(path)
            except EngineError:  # it is not indexed
                continue
            began_s = time.process_time()
            found = told_by_us(project.history.blame(path, content))
            ours_s += time.process_time() - began_s
            wanted = told_by_git(root, path)
            files += 1
            lines += len(wanted)
            others += sum(one != other for one, other in zip(found, wanted, strict=False))
    git_s = children_s() - before_s
    figures = {"files": files, "lines": lines, "others": others}
    print(json.dumps({**figures, "ours_s": round(ours_s, 2), "git_s": round(git_s, 2)}))


if __name__ == "__main__":
    main()
