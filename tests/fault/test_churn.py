"""A tree that changes all the time, with people asking: the index stays as small as a fresh one."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.config import load_config
from engine.index_records import IndexOptions
from tests.support.catalogs import open_catalog
from tests.support.churn import Churn, Cost, Sampler, vector_room
from tests.support.command import ROOT, Command
from tests.support.jobs import until
from tests.support.killing import processes_of
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience

_MOST_WAL = 64 << 20
_MOST_ROOM = 1.5  # of the blocks that vectors need at least
_MOST_SIZE = 1.3  # of a fresh index
_MOST_GROWTH = 1.0  # MiB a minute
_WARM_S = 300.0  # until then memory grows: caches fill
_SETTLED_S = 60.0
#: Asks without a pause, so that there is hardly a moment without a reader.
_READER = """
import sys
sys.path.insert(0, sys.argv[1])
from engine import Catalog, SearchRequest, load_config
with Catalog(load_config()) as catalog:
    index = catalog.open(sys.argv[2])
    for number in range(1 << 60):
        word = ("account", "delete", "merge", "token", "request")[number % 5]
        assert index.search(SearchRequest(query=f"{word} {number % 97}")).total >= 0
        if number % 50 == 0:
            print(number, flush=True)
"""


@contextmanager
def reading(command: Command, root: Path) -> Iterator[None]:
    """Search from another process until the block ends; it must not fail meanwhile."""
    reader = subprocess.Popen(
        [sys.executable, "-c", _READER, str(ROOT), str(root)],
        env=command.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield
        assert reader.poll() is None
    finally:
        reader.kill()
        _, errors = reader.communicate()
    assert b"Traceback" not in errors, errors.decode()


def churn(tmp_path: Path, seconds: float, *, files: int, a_second: float) -> tuple[int, Cost]:
    """Watch a tree that changes, then compare its index with a fresh one; changes, and the cost."""
    root = tmp_path / "tree"
    root.mkdir()
    tree = Churn(root, files=files)
    command = Command(home=tmp_path / "home", folder=root)
    assert command("index", "--quiet").code == 0
    [file] = (tmp_path / "home").glob("*.db")
    with command.start("watch", stdout=subprocess.DEVNULL) as watch:
        with Sampler(file, watch.pid) as cost, reading(command, root), reading(command, root):
            done = tree.run(seconds, a_second=a_second)
        fresh = fresh_index(root, tmp_path / "fresh")
        wanted = contents(fresh)["files"]
        until(lambda: contents(file)["files"] == wanted, within_s=_SETTLED_S)
        watch.send_signal(signal.SIGINT)
        _, errors = watch.communicate(timeout=patience(30))
    assert b"Traceback" not in errors, errors.decode()
    # A run does not compact a file in use, as it was during the last one: the next one does.
    assert command("index", "--quiet").code == 0
    until(lambda: not processes_of(command.home))
    check_sound(file)
    print(
        f"{done:,} changes: WAL at most {cost.wal_bytes / (1 << 20):.1f} MiB,"
        f" {vector_room(file):.2f} of the blocks that vectors need,"
        f" {file.stat().st_size / fresh.stat().st_size:.2f} of a fresh file"
    )
    assert cost.wal_bytes <= _MOST_WAL
    assert vector_room(file) <= _MOST_ROOM
    assert file.stat().st_size <= _MOST_SIZE * fresh.stat().st_size
    return done, cost


def fresh_index(root: Path, home: Path) -> Path:
    """Index a tree elsewhere, and give the file."""
    with open_catalog(load_config(home, workers=1)) as catalog:
        index = catalog.create(str(root))
        index.index(IndexOptions())
        return home / f"{index.project_id}.db"


def test_a_tree_that_never_rests_leaves_no_waste(tmp_path: Path) -> None:
    _, cost = churn(tmp_path, 8.0, files=150, a_second=60)
    assert cost.wal_bytes > 0


@pytest.mark.soak
def test_half_an_hour_of_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done, cost = churn(tmp_path, 1800.0, files=1500, a_second=40)
    growth = cost.growth(_WARM_S)
    with capsys.disabled():
        print(
            f"\n{done:,} changes in half an hour: memory {cost.memory[-1][1]:.0f} MiB,"
            f" {growth:+.2f} MiB a minute"
        )
    assert growth < _MOST_GROWTH
