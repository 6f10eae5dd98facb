"""Whether past commits help to find the files of a task.

    python tests/benchmark/history_files.py CLONE LATER

CLONE is a work tree that stands at an older commit, LATER a newer one in the same repository. The
tasks are the subjects of commits between the two that changed one to three source files which
CLONE has. One that is worded like an earlier commit, as backports are, is left out. Files are
ranked by the search alone, and with a share of the files of the commits that answer the same words.
Prints a JSON object.
"""

import argparse
import json
import math
import random
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from engine.catalog import Catalog
from engine.config import load_config
from engine.history_records import HistoryRequest
from engine.project import Project
from engine.search_records import SearchRequest

_SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)  # of the best file by commits, in that of the best hit
_MOST_TASKS = 60
_SOURCE = re.compile(r"\.(c|cc|cpp|cs|go|h|java|js|jsx|kt|php|py|rb|rs|scala|sh|swift|ts|tsx)$")
_ASIDE = re.compile(
    r"(^|/)(tests?|specs?|docs?|examples?|fixtures?|vendor)(/|$)|[._-]test\.|/test_"
)
_DULL = re.compile(r"\b(bump|typos?|release|version|changelog|lint|merge|revert|upgrade)", re.I)
_MARKS = re.compile(r"\[[^\]]*\]|\(?#\d+\)?|^\w+(\([^)]*\))?!?:\s*")


class Task(NamedTuple):
    subject: str
    files: frozenset[str]


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode(
        "utf-8", "replace"
    )


def words_of(subject: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", _MARKS.sub("", subject).lower()))


def is_source(path: str) -> bool:
    return bool(_SOURCE.search(path)) and not _ASIDE.search(path)


def tasks_of(root: Path, later: str, here: frozenset[str]) -> list[Task]:
    """Give tasks in a random order that is always the same."""
    earlier = [words_of(line) for line in git(root, "log", "--format=%s").splitlines()]
    earlier = [words for words in earlier if len(words) > 2]
    wanted = ["--no-merges", "--name-only", "--diff-filter=M", "--format=%x01%s"]
    found = []
    for entry in git(root, "log", f"HEAD..{later}", *wanted).split("\x01")[1:]:
        subject, *paths = filter(None, entry.split("\n"))
        files = frozenset(filter(is_source, paths))
        words = words_of(subject)
        if not 1 <= len(files) <= 3 or not files <= here or _DULL.search(subject) or len(words) < 4:
            continue
        if all(len(words & old) < 0.7 * min(len(words), len(old)) for old in earlier):
            found.append(Task(_MARKS.sub("", subject).strip(), files))
    random.Random(7).shuffle(found)
    return found[:_MOST_TASKS]


def ndcg(ranked: list[str], wanted: frozenset[str]) -> float:
    gained = sum(1 / math.log2(at + 2) for at, path in enumerate(ranked[:10]) if path in wanted)
    return gained / sum(1 / math.log2(at + 2) for at in range(len(wanted)))


def by_commits(project: Project, question: str, here: frozenset[str]) -> dict[str, float]:
    """Give the files of the commits that answer a question; the best one has 1."""
    found: dict[str, float] = defaultdict(float)
    commits = project.history.search(HistoryRequest(query=question, limit=30)).commits
    for place, commit in enumerate(commits):
        files = [each.path for each in commit.files if each.path in here and is_source(each.path)]
        for path in files:
            found[path] += commit.score / math.sqrt(len(files)) / (place + 3)
    best = max(found.values(), default=1.0)
    return {path: score / best for path, score in found.items()}


def ranked(hits: Mapping[str, float], commits: Mapping[str, float], share: float) -> list[str]:
    totals = {
        path: hits.get(path, 0.0) + share / 3 * commits.get(path, 0.0)
        for path in hits.keys() | commits.keys()
    }
    return sorted(totals, key=lambda path: (-totals[path], path))


def interval_95(differences: list[float]) -> list[float]:
    """Give the 95 % interval of the mean by bootstrap."""
    if not differences:
        return [0.0, 0.0]
    draw = random.Random(1)
    size = len(differences)
    means = sorted(mean(draw.choices(differences, k=size)) for _ in range(2000))
    return [round(means[49], 4), round(means[1950], 4)]


def figures(root: Path, later: str) -> dict[str, object]:
    here = frozenset(git(root, "ls-files").splitlines())
    tasks = tasks_of(root, later, here)
    found: dict[float, list[float]] = {share: [] for share in _SHARES}
    with tempfile.TemporaryDirectory() as home, Catalog(load_config(Path(home))) as catalog:
        project = catalog.create(str(root))
        project.index()
        requests = [SearchRequest(query=task.subject, limit=50, context=False) for task in tasks]
        answers = [project.search(request) for request in requests]  # history is a part of ranking
        project.read_history()
        for task, answer in zip(tasks, answers, strict=True):
            paths = dict.fromkeys(hit.path for hit in answer.hits)
            hits = {path: 1 / (place + 3) for place, path in enumerate(paths)}
            commits = by_commits(project, task.subject, here)
            for share, values in found.items():
                values.append(ndcg(ranked(hits, commits, share), task.files))
    return {
        "tasks": len(tasks),
        "ndcg_10": {str(share): round(mean(found[share] or [0.0]), 4) for share in _SHARES},
        "gain_95": {
            str(share): interval_95([a - b for a, b in zip(values, found[0.0], strict=True)])
            for share, values in found.items()
            if share
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("later")
    options = parser.parse_args()
    print(json.dumps(figures(options.clone.resolve(), options.later), indent=2))


if __name__ == "__main__":
    main()
