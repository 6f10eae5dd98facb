"""Break the program on purpose, a little at a time, and see that a test notices.

``tests/mutations.toml`` has the ways to break it: a requirement of ``tests/seeds.toml``, a text of
a file and what replaces it, and the test that has to fail then. Each is done in a copy of the
working tree, alone, and only that test runs.

    python -m tests.mutations [PART OF A REQUIREMENT OR TEST …]

A line for each: killed (the test failed, as it should), survived (it did not), or stale (the text
is no longer there, or the test fails for another reason or comes to no end: it could not be tried).
The exit code is 1 unless all were killed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).resolve().parents[1]
_TABLE: Final = _ROOT / "tests/mutations.toml"
_TIMEOUT_S: Final = 300
_PASSED, _FAILED = 0, 1  # exit codes of pytest; others mean that no test was judged


class Mutation(NamedTuple):
    """One way to break a requirement."""

    requirement: str
    file: str
    old: str  # stands in the file once
    new: str
    test: str

    @classmethod
    def all(cls) -> Iterator["Mutation"]:
        """Yield the table."""
        for requirement, row in tomllib.loads(_TABLE.read_text("utf-8")).items():
            yield cls(requirement, **row)


def _copy_tree(to: Path) -> None:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.split("\0"):
        if name and (_ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_ROOT / name, to / name)


def _run_test(tree: Path, test: str) -> int | None:
    """Return pytest's exit code; None after a timeout."""
    command = [sys.executable, "-m", "pytest", "-qq", "-x", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    every_tier = ["-m", "slow or not slow"]
    try:
        return subprocess.run(
            [*command, *every_tier, test],
            cwd=tree,
            env=environment,
            timeout=_TIMEOUT_S,
            check=False,
            capture_output=True,
        ).returncode
    except subprocess.TimeoutExpired:
        return None


def _write(place: Path, text: str) -> None:
    """Write a file with a time of change of its own, by which Python knows what it compiled."""
    before_s = place.stat().st_mtime
    place.write_text(text, "utf-8")
    os.utime(place, (before_s + 2, before_s + 2))


def outcome_of(mutation: Mutation, tree: Path) -> str:
    """Return whether the test of a mutation notices it, and leave the tree as it was."""
    place = tree / mutation.file
    text = place.read_text("utf-8")
    if text.count(mutation.old) != 1 or not (tree / mutation.test.split("::")[0]).is_file():
        return "stale"
    _write(place, text.replace(mutation.old, mutation.new))
    try:
        code = _run_test(tree, mutation.test)
    finally:
        _write(place, text)
    if code == _FAILED:
        return "killed"
    return "survived" if code == _PASSED else "stale"


def main() -> int:
    """Try the mutations that are asked for, by default all."""
    words = sys.argv[1:]
    counts = Counter[str]()
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Path(folder)
        _copy_tree(tree)
        for mutation in Mutation.all():
            if words and not any(
                word in f"{mutation.requirement} {mutation.test}" for word in words
            ):
                continue
            outcome = outcome_of(mutation, tree)
            counts[outcome] += 1
            print(f"{outcome:9}{mutation.requirement:22}{mutation.test}", flush=True)
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()) or "none")
    return 0 if set(counts) == {"killed"} else 1


if __name__ == "__main__":
    sys.exit(main())
