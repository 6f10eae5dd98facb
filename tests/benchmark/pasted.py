"""Ask what people paste, and count what is refused, breaks, or finds nothing though it is there.

    python tests/benchmark/pasted.py MIRRORS OWNER/NAME… [--per 200] [--home HOME] [--seed 3]

MIRRORS holds a bare git repository OWNER+NAME/repo for each. The newest tree of each is indexed
(kept in HOME) and asked, by hybrid and by keyword: a third each of subjects of commits, first
paragraphs of their messages, and strings of the source that look like messages or code, of up to
some hundred characters. An answer is empty if it has no hit although a word of three or more
letters of the question is in the index; /patterns/ without a match are counted apart. Prints the
counts and what failed as JSON.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError
from engine.project import Project
from engine.search.lexical import quoted
from engine.search.query import parse_query
from engine.search_records import MAX_QUERY_CHARS, Mode, SearchRequest
from engine.store import fulltext
from engine.store.connection import Store
from engine.syntax.terms import words_of

MODES = (Mode.HYBRID, Mode.KEYWORD)
COMMITS = 3000
MIN_LETTERS = 3
FINE = ("answered", "nothing there", "pattern without a match")
_STRING = re.compile(
    rb'"""(.{20,4000}?)"""' rb'|"((?:[^"\\\n]|\\.){12,600})"' rb"|'((?:[^'\\\n]|\\.){12,600})'",
    re.S,
)
_MOST_BYTES = 1 << 20  # of a file that is looked through for strings


def main() -> None:
    """Index, ask and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mirrors", type=Path, metavar="MIRRORS")
    parser.add_argument("repositories", nargs="+", metavar="OWNER/NAME")
    parser.add_argument("--per", type=int, default=200, help="questions for each repository")
    parser.add_argument("--home", type=Path, help="keep the trees and indexes in this folder")
    parser.add_argument("--seed", type=int, default=3)
    arguments = parser.parse_args()
    home = arguments.home or Path(tempfile.mkdtemp(prefix="cairn-pasted-"))
    counts: Counter[str] = Counter()
    failures: list[dict[str, str]] = []
    try:
        with Catalog(load_config(home / "data")) as catalog:
            for name in arguments.repositories:
                folder = name.replace("/", "+", 1)
                mirror, root = arguments.mirrors / folder / "repo", home / "trees" / folder
                if not root.exists():
                    export(mirror, root)
                index = catalog.create(str(root))
                index.index()
                asked = questions_of(mirror, root, arguments.per, arguments.seed)
                counts["questions"] += len(asked)
                store = Store(home / "data" / f"{index.project_id}.db", busy_timeout_ms=1000)
                try:
                    for question in asked:
                        for mode in MODES:
                            outcome = outcome_of(index, store, question, mode)
                            counts[outcome.partition(":")[0]] += 1
                            if outcome not in FINE:
                                failures.append(
                                    {"in": name, "mode": mode, "is": outcome, "asked": question}
                                )
                finally:
                    store.close()
    finally:
        if not arguments.home:
            shutil.rmtree(home)
    print(json.dumps({"counts": counts, "failures": failures}, indent=1, ensure_ascii=False))


def outcome_of(index: Project, store: Store, question: str, mode: Mode) -> str:
    """Ask, and give what came of it."""
    try:
        answer = index.search(SearchRequest(query=question, mode=mode))
    except EngineError as error:
        return f"refused: {error.message}"
    except Exception:  # what breaks is counted
        return f"traceback: {traceback.format_exc(limit=-3)}"
    if answer.hits:
        return "answered"
    if parse_query(question).patterns:
        return "pattern without a match"
    with store.read() as handle:
        there = [
            word
            for word in dict.fromkeys(words_of(question))
            if word.isalpha()
            and len(word) >= MIN_LETTERS
            and (
                fulltext.is_in_chunks(handle, quoted(word))
                or fulltext.is_in_paths(handle, quoted(word))
            )
        ]
    return f"empty: {' '.join(there)}" if there else "nothing there"


def questions_of(mirror: Path, root: Path, number: int, seed: int) -> list[str]:
    """Choose what to paste: subjects, paragraphs and strings in turn."""
    log = _git(mirror, "log", "-n", str(COMMITS), "--no-merges", "--format=%s%x00%b%x01")
    commits = [
        entry.strip().partition("\0") for entry in log.decode("utf-8", "replace").split("\x01")
    ]
    paragraphs = [re.split(r"\n\s*\n", body.strip())[0] for _, _, body in commits]
    kinds = ([subject for subject, _, _ in commits], paragraphs, _strings_of(root))
    chosen: list[str] = []
    for kind in kinds:
        texts = sorted({text[:MAX_QUERY_CHARS] for text in kind if text.strip()})
        random.Random(seed).shuffle(texts)
        chosen += texts[: -(-number // len(kinds))]
    return chosen[:number]


def _strings_of(root: Path) -> Iterable[str]:
    """Yield strings of the source that have a blank or a sign, as messages and code have."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            for found in _STRING.finditer(path.read_bytes()):
                text = next(filter(None, found.groups())).decode("utf-8", "replace")
                if not text.isalnum():
                    yield text


def export(mirror: Path, target: Path) -> None:
    """Write the newest tree, without symbolic links and contents that the mirror lacks."""
    entries = [
        line.split(b"\t", 1)
        for line in _git(mirror, "ls-tree", "-r", "-z", "HEAD").split(b"\0")
        if b" blob " in line and not line.startswith(b"120000")
    ]
    wanted = b"".join(meta.split()[2] + b"\n" for meta, _ in entries)
    read = memoryview(_git(mirror, "cat-file", "--batch", given=wanted))
    at = 0
    for _, path in entries:
        end = bytes(read[at : at + 200]).index(b"\n") + at
        head = bytes(read[at:end]).split()
        at = end + 1
        if head[1] == b"missing":
            continue
        size = int(head[2])
        file = Path(os.fsdecode(os.path.join(os.fsencode(target), path)))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(read[at : at + size])
        at += size + 1


def _git(mirror: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Run git on a mirror; contents that it lacks are not fetched."""
    command: Sequence[str | Path] = ("git", "--git-dir", mirror, *arguments)
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    done = subprocess.run(command, input=given, capture_output=True, check=True, env=environment)
    return done.stdout


if __name__ == "__main__":
    main()
