"""The work of common commands is counted, not timed: what grows fails on every machine.

Each figure of ``MEASURED`` is what the command did when it was last changed (Python 3.11, SQLite of
``requirements.lock``); load changes none of them. A failure tells the new figure: write it there
if the change is worth it. Amounts may grow by a quarter and modules by three before a test fails,
so that small changes need no new figure, and other versions of SQLite and Python do not matter.
Where 0 is measured, 0 is asked for.

A job shares its connections for reading with other threads: which of them it gets, and what that
one still has in its cache, is chance. So indexing is counted several times, and of the pages read
the least counts.
"""

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.search_records import SearchRequest
from tests.support.command import ROOT, Command
from tests.support.patience import patience
from tests.support.trees import write_tree
from tests.support.work_done import WorkDone

pytestmark = pytest.mark.slow

_FILES = 60
#: How often indexing is counted.
_TIMES = 4
_QUERY = "open the session of a user"

MEASURED = {
    "help": {"modules of its own": 3},
    "first index": {
        "modules of its own": 113,
        "SQL statements": 932,
        "steps of SQL": 36_094,
        "pages read of the index": 48,
        "files of the tree opened": 60,
        "files parsed": 60,
        "processes started": 1,
    },
    "index without a change": {
        "modules of its own": 113,
        "SQL statements": 115,
        "steps of SQL": 3703,
        "pages read of the index": 58,
        "files of the tree opened": 0,
        "files parsed": 0,
        "processes started": 0,
    },
    "search": {
        "modules of its own": 97,
        "SQL statements": 49,
        "steps of SQL": 13_503,
        "pages read of the index": 49,
        "files of the tree opened": 0,
        "files parsed": 0,
        "processes started": 0,
    },
    "references": {
        "modules of its own": 129,
        "SQL statements": 22,
        "steps of SQL": 778,
        "pages read of the index": 36,
        "files of the tree opened": 0,
        "files parsed": 0,
        "processes started": 0,
    },
    "the same query again": {"calls of Python functions": 1431},
    "another query": {"calls of Python functions": 2105},
}

_HEAVY = ("fastembed", "jinja2", "litestar", "mcp", "onnxruntime", "rich", "uvicorn")
_NOT_TO_INDEX = (
    *("engine.history", "engine.references", "engine.search"),
    *("importlib.metadata", "numpy", "tree_sitter"),
)
#: What the process of a command must not import, with all that is in it.
UNNEEDED = {
    "help": (*_HEAVY, "apsw", "engine", "numpy", "tree_sitter"),
    "first index": (*_HEAVY, *_NOT_TO_INDEX),
    "index without a change": (*_HEAVY, *_NOT_TO_INDEX),
    "search": (*_HEAVY, "engine.indexing", "engine.references", "numpy", "tree_sitter"),
    "references": (*_HEAVY, "engine.indexing", "numpy"),
}

#: The modules that a command has imported without need, and how much it has done of what.
Work = tuple[list[str], dict[str, int]]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Work]]:
    """Run every command in order, those that index several times, each with a fresh index.

    Returns:
        The last folder with a tree and a data directory; the work of each command.
    """
    works: dict[str, list[Work]] = {}
    folders = [tmp_path_factory.mktemp("work") for _ in range(_TIMES)]
    for folder in folders:
        root = str(write_tree(folder / "tree", _sources()))
        for name in ("first index", "index without a change"):
            work = _work_of(name, folder, ["index", root, "--json"])
            works.setdefault(name, []).append(work)
    folder = folders[-1]
    root = str(folder / "tree")
    lines = {
        "help": ["--help"],
        "search": ["search", _QUERY, "--project", root, "--json"],
        "references": ["refs", "open_session_0", "--project", root, "--json"],
    }
    works |= {name: [_work_of(name, folder, line)] for name, line in lines.items()}
    return folder, {name: _together(of_command) for name, of_command in works.items()}


@pytest.mark.parametrize("command", UNNEEDED)
def test_a_command_does_no_more_than_it_did(
    indexed: tuple[Path, dict[str, Work]], command: str
) -> None:
    unneeded, done = indexed[1][command]
    assert not unneeded, f"{command} imports what it does not need: {', '.join(unneeded)}"
    _check(command, done)


@pytest.mark.parametrize("query", ["the same query again", "another query"])
def test_a_warm_search_calls_no_more_functions_than_it_did(
    indexed: tuple[Path, dict[str, Work]], query: str
) -> None:
    folder, _ = indexed
    with Catalog(load_config(folder / "home", workers=1)) as catalog:
        project = catalog.open(str(folder / "tree"))
        for _ in range(4):
            project.search(SearchRequest(query=_QUERY))
        asked = _QUERY if query == "the same query again" else "close table 7 of the store"
        calls = _calls_of(lambda: project.search(SearchRequest(query=asked)))
    _check(query, {"calls of Python functions": calls})


def _sources() -> dict[str, str]:
    """Give a tree of which nothing is drawn by chance."""
    topics = ("session", "table", "router", "config", "user", "parser")
    sources = {
        f"{topic}s/part_{number}.py": f'"""Keeps {topic} {number} of the store."""\n\n\n'
        + "".join(
            f"def {verb}_{topic}_{number}(store, key):\n"
            f'    """{verb.title()} {topic} {number} of a user."""\n'
            f"    return store.{verb}(key, {number})\n\n\n"
            for verb in ("open", "close", "find", "count")
        )
        for number in range(_FILES)
        for topic in [topics[number % len(topics)]]
    }
    return {**sources, "users/same.py": sources["sessions/part_0.py"]}


def _work_of(name: str, folder: Path, line: list[str]) -> Work:
    """Run a command line and give what it has imported without need, and what it has done."""
    counts, notes = folder / "counts.json", folder / "parsed.txt"
    notes.write_text("")
    faults = {"CAIRN_FAULT": "note:inspect", "CAIRN_NOTES": str(notes), "CAIRN_WORKERS": "1"}
    command = Command(home=folder / "home", folder=ROOT, variables=faults)
    subprocess.run(
        [sys.executable, "-m", "tests.support.work_done", str(counts), *line],
        cwd=ROOT,
        env=command.environment,
        stdout=subprocess.DEVNULL,
        timeout=patience(60),
        check=True,
    )
    work = WorkDone(**json.loads(counts.read_text("utf-8")))
    sources = {Path(path).name for path in _sources()}
    return [each for each in work.modules if _is_in(each, UNNEEDED[name])], {
        "modules of its own": len(work.own_modules()),
        "SQL statements": work.statements,
        "steps of SQL": work.sql_steps,
        "pages read of the index": work.pages_read,
        "files of the tree opened": sum(Path(each).name in sources for each in work.opened),
        "files parsed": len(notes.read_text().splitlines()),
        "processes started": work.processes,
    }


def _together(works: list[Work]) -> Work:
    """Return what the runs of one command did at most; of pages read, the least."""
    unneeded = {module for modules, _ in works for module in modules}
    done = {what: max(each[what] for _, each in works) for what in works[0][1]}
    pages = "pages read of the index"
    return sorted(unneeded), {**done, pages: min(each[pages] for _, each in works)}


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _check(name: str, done: dict[str, int]) -> None:
    """Fail with what has grown by more than it may, from what to what."""
    done_nothing = [what for what, before in MEASURED[name].items() if before and not done[what]]
    assert done_nothing == [], "nothing is counted any more"
    grown = [
        f"{name}: {what} grew from {before:,} to {done[what]:,}, more than {limit:,}"
        for what, before in MEASURED[name].items()
        for limit in [_limit(what, before)]
        if done[what] > limit
    ]
    if grown:
        pytest.fail("\n".join(grown), pytrace=False)


def _limit(what: str, measured: int) -> int:
    if what == "modules of its own":
        return measured + 3
    return measured * 5 // 4


def _calls_of(action: Callable[[], object]) -> int:
    """Count the calls of Python functions by an action; garbage is collected before it."""
    calls = 0

    def happened(_frame: FrameType, event: str, _value: object) -> None:
        nonlocal calls
        calls += event == "call"

    gc.collect()
    gc.disable()
    sys.setprofile(happened)
    try:
        action()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls
