"""Whether ``cairn impact --changed`` names the tests that people changed with the code.

    python tests/benchmark/impact.py [--commits 10] [--verbose] REPOSITORY…

Of each repository's history, commits are taken that change code and tests that were there before.
In a clone of its own the parent is checked out and indexed, the changes of the code, not those of
the tests, are applied to the work tree, and impact is asked for what is changed. Recall is the
share of the changed test files that it names, precision the share of the named ones that were
changed: a test that was not changed can still be one that the change breaks, so that the number
of named files says more. The baseline names the tests in the folders of the changed code and
those called like it. "In 5" counts the first five files alone. Each commit weighs the same.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.project import Project
from engine.reference_records import MAX_REFERENCES, Certainty, ImpactAnswer, ImpactRequest
from engine.search.features import is_test
from engine.syntax.languages import language_of
from engine.syntax.references import has_references

_MOST_COMMITS = 3000  # of the history that are looked at
_MOST_CODE_FILES = 12  # of a commit: larger ones are renames and reformatting
_FIRST = 5
_FIXTURES = "conftest"


class Commit(NamedTuple):
    """A commit with its code and the tests that it modifies."""

    name: str
    code: list[tuple[str, str]]  # status and path
    tests: set[str]


class Score(NamedTuple):
    """How well some files match the changed tests."""

    recall: float
    precision: float
    named: int
    recall_in_first: float


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=10, help="of each repository")
    parser.add_argument("--depth", type=int, default=ImpactRequest().depth)
    parser.add_argument("--verbose", action="store_true", help="print each commit's misses")
    options = parser.parse_args()
    print("| repository | commits | way | recall | precision | files named | of | recall in 5 |")
    print("|---|---|---|---|---|---|---|---|")
    every: dict[str, list[Score]] = {}
    for repository in options.repositories:
        scores, number = measure(repository.resolve(), options)
        for way, found in scores.items():
            print(_row(repository.name, found, way, number), flush=True)
            every.setdefault(way, []).extend(found)
    for way, found in every.items():
        print(_row("all", found, way, 0))


def measure(repository: Path, options: argparse.Namespace) -> tuple[dict[str, list[Score]], float]:
    """Measure one repository; return the scores, and how many test files there are."""
    scores: dict[str, list[Score]] = {}
    numbers = []
    with tempfile.TemporaryDirectory(prefix="cairn-impact-") as folder:
        clone = Path(folder) / repository.name
        _run(repository, "clone", "-q", "--no-local", str(repository), str(clone))
        with Catalog(load_config(Path(folder) / "home", workers=2)) as catalog:
            project = catalog.create(str(clone))
            for commit in _spread(list(commits_of(clone)), options.commits):
                ways, number = ways_of(project, clone, commit, options)
                numbers.append(number)
                for way, named in ways.items():
                    scores.setdefault(way, []).append(score(named, commit.tests))
    return scores, sum(numbers) / max(1, len(numbers))


def commits_of(clone: Path) -> Iterator[Commit]:
    """Yield the commits that change code, and tests that were there before."""
    log = _run(
        clone, "log", "--no-merges", "--no-renames", "--name-status", "-z",
        f"-n{_MOST_COMMITS}", "--format=%x01%H",
    )  # fmt: skip
    for entry in log.split("\x01")[1:]:
        name, *rest = [part for part in entry.replace("\n", "\0").split("\0") if part]
        changed = list(zip(rest[::2], rest[1::2], strict=True))
        relevant = [(status, path) for status, path in changed if _is_code(path)]
        code = [each for each in relevant if not is_test(each[1])]
        tests = [each for each in relevant if is_test(each[1]) and _FIXTURES not in each[1]]
        has_old_tests = bool(tests) and all(status == "M" for status, _ in tests)
        if 0 < len(code) <= _MOST_CODE_FILES and has_old_tests:
            yield Commit(name, code, {path for _, path in tests})


def _is_code(path: str) -> bool:
    language = language_of(path)
    return language is not None and has_references(language)


def _spread(found: Sequence[Commit], number: int) -> Sequence[Commit]:
    """Return some of the commits, evenly spread."""
    step = max(1, len(found) // number)
    return found[::step][:number]


def ways_of(
    project: Project, clone: Path, commit: Commit, options: argparse.Namespace
) -> tuple[dict[str, list[str]], int]:
    """Return the test files that each way names for a commit, and how many there are."""
    _run(clone, "checkout", "-qf", f"{commit.name}^")
    _run(clone, "clean", "-qfdx")
    project.index()
    for status, path in commit.code:
        if status == "D":
            (clone / path).unlink()
        else:
            _run(clone, "checkout", "-q", commit.name, "--", path)
    project.index()
    answer = project.impact(ImpactRequest(changed=True, depth=options.depth, limit=MAX_REFERENCES))
    there = [path for path in _run(clone, "ls-files", "-z").split("\0") if is_test(path)]
    there = [path for path in there if _is_code(path) and _FIXTURES not in path]
    ways = {
        "impact": list(answer.test_files),
        "impact, without uses by name": files_without_names(answer),
        "same folder or name": alike([path for _, path in commit.code], there),
    }
    if options.verbose:
        _explain(commit, answer, ways["impact"])
    return ways, len(there)


def files_without_names(answer: ImpactAnswer) -> list[str]:
    """Return the files of the tests that are not found by name alone."""
    sure = {each.path for each in answer.tests if each.certainty is not Certainty.NAME}
    return [path for path in answer.test_files if path in sure]


def alike(code: Sequence[str], tests: Sequence[str]) -> list[str]:
    """Return the tests that are called like changed code, then those in its folders."""
    stems = {_stem(path) for path in code}
    called = [path for path in tests if _stem(path) in stems]
    folders = {os.path.dirname(path) for path in code}
    beside = [path for path in tests if os.path.dirname(path) in folders]
    return list(dict.fromkeys([*called, *beside]))


def _stem(path: str) -> str:
    name = os.path.basename(path).partition(".")[0]
    return re.sub(r"^test_|_test$", "", name)


def score(named: Sequence[str], changed: set[str]) -> Score:
    """Score the named files, the most likely first, against the changed ones."""
    hits = len(changed & set(named))
    first = len(changed & set(named[:_FIRST])) / min(len(changed), _FIRST)
    precision = hits / len(named) if named else 0.0
    return Score(hits / len(changed), precision, len(named), first)


def _explain(commit: Commit, answer: ImpactAnswer, named: Sequence[str]) -> None:
    missed = sorted(commit.tests - set(named))
    changed = [f"{each.name} {each.change}" for each in answer.definitions[:12]]
    print(
        f"# {commit.name[:10]} named {len(named)}, missed {missed}\n#   {', '.join(changed)}",
        *(f"#   note: {note}" for note in answer.notes),
        sep="\n",
        file=sys.stderr,
    )


def _row(name: str, scores: Sequence[Score], way: str, number: float) -> str:
    means = [sum(each) / len(scores) for each in zip(*scores, strict=True)]
    of = f"{number:.0f}" if number else ""
    return (
        f"| {name} | {len(scores)} | {way} | {means[0]:.2f} | {means[1]:.2f} | {means[2]:.1f}"
        f" | {of} | {means[3]:.2f} |"
    )


def _run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


if __name__ == "__main__":
    main()
