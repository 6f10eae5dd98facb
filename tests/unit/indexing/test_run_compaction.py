"""A file full of gaps is written anew, and never at the cost of what it holds."""

from pathlib import Path

import apsw
import pytest

from engine.config import Config, load_config
from engine.indexing import run as compaction
from engine.store import repair
from engine.store.connection import Store
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents
from tests.support.trees import write_tree

_FILES = 120


def source(number: int) -> str:
    return "".join(
        f"def part_{number}_{each}(value):\n    return value * {number} + {each}\n\n"
        for each in range(20)
    )


@pytest.fixture
def file(config: Config, tree: Path) -> Path:
    """The index of a tree from which a third of all files went since, one here and one there."""
    write_tree(tree, {f"module{number}.py": source(number) for number in range(_FILES)})
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        index.index()
    for number in range(0, _FILES, 3):
        (tree / f"module{number}.py").unlink()
    return config.data_dir / f"{index.project_id}.db"


def run(config: Config, tree: Path) -> None:
    with open_catalog(config) as catalog:
        catalog.create(str(tree)).index()


def test_it_is_as_small_as_a_fresh_one(
    config: Config, tree: Path, file: Path, tmp_path: Path
) -> None:
    before = file.stat().st_size
    run(config, tree)
    fresh = load_config(tmp_path / "fresh")
    run(fresh, tree)
    [other] = fresh.data_dir.glob("*.db")
    assert file.stat().st_size < min(before, 1.3 * other.stat().st_size)
    assert contents(file) == contents(other)
    check_sound(file)


def test_a_large_file_is_left_alone(
    config: Config, tree: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "_MAX_BYTES", 0)
    before = file.stat().st_size
    run(config, tree)
    assert file.stat().st_size >= before
    check_sound(file)


def test_what_another_process_writes_is_waited_for_and_then_left_alone(
    config: Config, tree: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as first:
        first.setattr(compaction, "_MAX_BYTES", 0)
        run(config, tree)
    other = apsw.Connection(str(file))
    other.execute("BEGIN IMMEDIATE")
    store = Store(file, busy_timeout_ms=100)
    try:
        compaction.compact_if_wasteful(store)
        other.execute("ROLLBACK")
        before, size = contents(file), file.stat().st_size
        compaction.compact_if_wasteful(store)
        assert file.stat().st_size < size
    finally:
        store.close()
        other.close()
    assert contents(file) == before
    check_sound(file)


def test_a_fresh_file_is_remembered_as_such(file: Path) -> None:
    store = Store(file, busy_timeout_ms=100)
    try:
        with store.read() as handle:
            assert repair.read_last_usage(handle) == repair.measure_usage(handle)
    finally:
        store.close()


@pytest.mark.parametrize(
    ("pages", "chunks", "is_roomier"),
    [
        (100, 1000, False),
        (104, 1000, False),
        (106, 1000, True),
        (100, 940, True),
        (500, 5000, False),
    ],
)
def test_room_is_counted_by_the_chunk(pages: int, chunks: int, is_roomier: bool) -> None:
    assert (
        repair.FileUsage(pages, chunks).has_more_pages_than(repair.FileUsage(100, 1000), 0.05)
        is is_roomier
    )


def test_an_empty_file_is_no_roomier_than_another() -> None:
    assert not repair.FileUsage(100, 0).has_more_pages_than(repair.FileUsage(100, 0), 0.05)
