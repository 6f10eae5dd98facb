"""Time and size of the history, and how well questions find their commits.

    python tests/benchmark/history.py FOLDER [--baselines]

FOLDER has the clones that history_questions.jsonl names, with their whole history. Each question
was written from the log, before anything was searched, and has one commit. The baselines read the
same words: `git log --grep` and `git log -S` list the commits that have the most of them, the
newest first. Prints one JSON object.
"""

import argparse
import json
import math
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

from engine.catalog import Catalog
from engine.config import load_config
from engine.history_records import HistoryRequest
from engine.search.lexical import lexical_of
from engine.search.query import parse_query

_QUESTIONS = Path(__file__).with_name("history_questions.jsonl")
#: The weights were chosen on these; the others were not looked at before.
_TUNED_ON = ("click", "fzf", "gin")
_SHOWN = 10


def figures(ranks: Sequence[int | None]) -> dict[str, float]:
    """Give NDCG@10 and the share found in the first three; ranks count from 1, None: not found."""
    return {
        "ndcg_10": round(mean(1 / math.log2(rank + 1) if rank else 0.0 for rank in ranks), 3),
        "first_3": round(mean(bool(rank and rank <= 3) for rank in ranks), 3),
    }


def rank_of(commit: str, found: Sequence[str]) -> int | None:
    return next((at for at, name in enumerate(found[:_SHOWN], 1) if name.startswith(commit)), None)


def by_git(root: Path, question: str, option: Callable[[str], list[str]]) -> list[str]:
    """List the commits that have the most words of a question, the newest first."""
    order: dict[str, int] = {}
    number: Counter[str] = Counter()
    for word in lexical_of(parse_query(question)).words:
        command = ["git", "-C", str(root), "log", "--format=%ct %H", *option(word)]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            at, name = line.split()
            order[name] = int(at)
            number[name] += 1
    return sorted(order, key=lambda name: (-number[name], -order[name]))


def read(home: Path, root: Path) -> dict[str, object]:
    """Index a folder and read its history; give times, and sizes of the closed file."""
    config = load_config(home)
    with Catalog(config) as catalog:
        project = catalog.create(str(root))
        file = home / f"{project.project_id}.db"
        started = time.perf_counter()
        project.index()
        index_s = time.perf_counter() - started
    index_bytes = file.stat().st_size
    with Catalog(config) as catalog:
        started = time.perf_counter()
        report = catalog.open(str(root)).read_history()
        history_s = time.perf_counter() - started
    return {
        "commits": report.commits,
        "index_s": round(index_s, 2),
        "history_s": round(history_s, 2),
        "index_bytes": index_bytes,
        "history_bytes": file.stat().st_size - index_bytes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--baselines", action="store_true")
    parser.add_argument("--show", action="store_true", help="print each question with its rank")
    given = parser.parse_args()
    questions = [json.loads(line) for line in _QUESTIONS.read_text("utf-8").splitlines()]
    home = Path(tempfile.mkdtemp(prefix="history-"))
    ranks: dict[str, dict[str, list[int | None]]] = {}
    trees: dict[str, dict[str, object]] = {}
    times_ms: list[float] = []
    try:
        for name in dict.fromkeys(each["tree"] for each in questions):
            trees[name] = read(home, given.folder / name)
        with Catalog(load_config(home)) as catalog:
            for name in trees:
                project = catalog.open(str(given.folder / name))
                project.history.search(HistoryRequest(query="warm up"))
            for each in questions:
                root = given.folder / each["tree"]
                history = catalog.open(str(root)).history
                answer = history.search(HistoryRequest(query=each["question"], limit=_SHOWN))
                times_ms.append(answer.took_ms)
                lists = {
                    "hybrid": [hit.commit for hit in answer.commits],
                    "words": [
                        hit.commit
                        for hit in history.search(
                            HistoryRequest(query=each["question"]), by_meaning=False
                        ).commits
                    ],
                }
                if given.baselines:
                    lists["grep"] = by_git(
                        root, each["question"], lambda word: ["-i", f"--grep={word}"]
                    )
                    lists["pickaxe"] = by_git(root, each["question"], lambda word: [f"-S{word}"])
                half = "tuned" if each["tree"] in _TUNED_ON else "unseen"
                for way, found in lists.items():
                    rank = rank_of(each["commit"], found)
                    for part in (half, "all"):
                        ranks.setdefault(way, {}).setdefault(part, []).append(rank)
                    if given.show:
                        print(way, rank, each["tree"], each["question"])
    finally:
        shutil.rmtree(home)
    times_ms.sort()
    quality = {
        way: {part: figures(each) for part, each in halves.items()} for way, halves in ranks.items()
    }
    query_ms = {"p50": round(times_ms[len(times_ms) // 2], 1), "max": round(times_ms[-1], 1)}
    print(json.dumps({"trees": trees, "quality": quality, "query_ms": query_ms}))


if __name__ == "__main__":
    main()
