"""A disk without room: said at once and in words, searched all the while, completed afterwards."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.errors import DiskFullError
from engine.search_records import Mode, SearchRequest
from tests.support.command import ROOT, Command
from tests.support.faults.disk import small_disk, takes_a_row
from tests.support.faults.stage import OPERATIONS, Operation, Stage, source
from tests.support.faults.vfs import faulty
from tests.support.oracle import check_sound, contents
from tests.support.trees import write_tree

_QUESTION = SearchRequest(query="open session", mode=Mode.KEYWORD)
_GROWING = tuple(
    operation
    for operation in OPERATIONS
    if operation.name in ("changes", "forced", "model switch", "built-in model")
)
_LARGEST_FILE = 330_000
_LIMITED = f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({_LARGEST_FILE}, {_LARGEST_FILE}))
from web.cli.main import main
main()
"""


@pytest.fixture
def large(tmp_path: Path) -> Stage:
    """A stage with a tree of 400 files, whose index takes 0.9 MB, and as much while it is made."""
    stage = Stage(folder=tmp_path)
    write_tree(stage.tree, {f"module{number}.py": source(number) for number in range(400)})
    return stage


def answers(stage: Stage, catalog: Catalog) -> int:
    """Give the number of places that a search of the tree finds."""
    return len(catalog.open(str(stage.tree)).search(_QUESTION).hits)


@contextmanager
def full() -> Iterator[None]:
    """Expect to hear that there is no room."""
    with pytest.raises(DiskFullError, match="no room") as caught:
        yield
    assert caught.value.code == "unavailable"
    assert "free some disk space" in caught.value.hint


@pytest.mark.parametrize("operation", _GROWING, ids=lambda operation: operation.name)
def test_files_that_cannot_grow(tmp_path: Path, operation: Operation) -> None:
    stage = Stage(folder=tmp_path)
    operation.prepare(stage)
    stage.restore()
    with faulty() as vfs, stage.catalog(model=operation.model) as catalog:
        assert answers(stage, catalog)
        vfs.disk.has_room = False
        for _ in range(2):
            with full():
                operation.act(stage, catalog)
            assert answers(stage, catalog)
        with stage.catalog(model=operation.model) as other:
            assert answers(stage, other)
        vfs.disk.has_room = True
        operation.act(stage, catalog)
    check_sound(stage.database)
    assert contents(stage.database) == stage.fresh_contents(operation.model)


def test_a_copy_that_has_no_room_names_its_own_file(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    _GROWING[0].prepare(stage)
    stage.restore()
    target = tmp_path / "copy.db"
    with faulty() as vfs, stage.catalog() as catalog:
        vfs.disk.has_room = False
        with pytest.raises(DiskFullError, match="no room to write the copy") as caught:
            catalog.doctor(str(stage.tree)).back_up(target)
        assert caught.value.details["file"] == str(target)
        assert not target.exists()
        vfs.disk.has_room = True
        catalog.doctor(str(stage.tree)).back_up(target)
    assert target.stat().st_size


def test_a_row_has_room_after_a_batch_that_had_none(tmp_path: Path) -> None:
    """A batch that is given up leaves the WAL as long as it came; its place is written again."""
    stage = Stage(folder=tmp_path)
    _GROWING[0].prepare(stage)
    stage.restore()
    with faulty() as vfs, stage.catalog() as catalog:
        store = catalog.open(str(stage.tree))._store
        with store.write() as handle:
            handle.execute("UPDATE project SET indexed_at_ms = indexed_at_ms")
        vfs.disk.has_room = False
        assert not takes_a_row(store)  # an empty disk quota from the start
        vfs.disk.has_room = True
        with suppress(ZeroDivisionError), store.write() as handle:
            handle.execute("PRAGMA cache_size = 10")  # pages go to the WAL before the commit
            handle.execute("CREATE TABLE big AS SELECT zeroblob(200000) AS x")
            raise ZeroDivisionError
        vfs.disk.has_room = False
        assert takes_a_row(store)


def test_a_database_that_may_not_have_more_pages(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    _GROWING[0].prepare(stage)
    stage.restore()
    with stage.catalog() as catalog:
        store = catalog.open(str(stage.tree))._store
        with store.write() as handle:
            handle.execute(f"PRAGMA max_page_count = {handle.pragma('page_count')}")
        with full():
            _GROWING[1].act(stage, catalog)
        assert takes_a_row(store)
        assert answers(stage, catalog)
        with store.write() as handle:
            handle.execute("PRAGMA max_page_count = 1000000")
        _GROWING[0].act(stage, catalog)
    check_sound(stage.database)
    assert contents(stage.database) == stage.fresh_contents()


def test_files_that_may_not_be_larger(large: Stage) -> None:
    command = Command(home=large.home, folder=large.tree)
    limited = subprocess.run(
        [sys.executable, "-c", _LIMITED, "index", "--quiet"],
        cwd=large.tree,
        env=command.environment
        | {"CAIRN_BATCH_BYTES": "65536", "CAIRN_STORAGE_PATIENCE": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert limited.returncode == 5, limited
    assert "no room to write the index" in limited.stderr
    assert "limit on the size of files" in limited.stderr
    assert "Traceback" not in limited.stderr
    assert command("search", "open session").code == 0
    assert command("index", "--quiet").code == 0
    check_sound(large.database)
    assert contents(large.database) == large.fresh_contents("static")


@pytest.mark.parametrize("kib", [1000, 4500])
def test_a_disk_that_is_full(large: Stage, kib: int) -> None:
    """Of 1,000 KiB a batch is refused, of 4,500 the checkpoint at the end."""
    with small_disk(large.home, kib) as disk:
        with large.catalog() as catalog:
            with full():
                catalog.create(str(large.tree)).index()
            assert answers(large, catalog)
            if kib == 4500:
                disk.fill()  # what the lock file took, which is deleted by now
            row = takes_a_row(catalog.open(str(large.tree))._store)
            assert row == (kib == 1000)
            disk.fill()
            assert answers(large, catalog)
        disk.fill()
        with large.catalog() as catalog:  # with no file open any more
            assert answers(large, catalog)
        disk.resize(64_000)
        with large.catalog() as catalog:
            catalog.create(str(large.tree)).index()
        check_sound(large.database)
        assert contents(large.database) == large.fresh_contents()


def test_a_disk_that_others_have_filled(large: Stage) -> None:
    """Not even the file that readers share can be made: what is there is read as it is."""
    with small_disk(large.home, 8000) as disk:
        with large.catalog() as catalog:
            catalog.create(str(large.tree)).index()
        disk.fill()
        with large.catalog() as catalog:
            assert answers(large, catalog)
            with full():
                catalog.create(str(large.tree)).index()
            disk.free()
            write_tree(large.tree, {"added.py": "def open_session_late():\n    return 1\n"})
            catalog.create(str(large.tree)).index()
            found = catalog.open(str(large.tree)).search(SearchRequest(query="late"))
            assert found.hits[0].path == "added.py"
        check_sound(large.database)
        assert contents(large.database) == large.fresh_contents()


def test_a_small_project_needs_little_room(large: Stage) -> None:
    """Its index, and as much while it is made; not what a large one would need."""
    command = Command(home=large.home, folder=large.tree)
    with small_disk(large.home, 20_000):
        indexed = command("index", "--quiet")
        assert indexed.code == 0, indexed
        check_sound(large.database)
        assert contents(large.database) == large.fresh_contents("static")


def test_without_room_a_folder_is_still_asked_about_first(large: Stage) -> None:
    """Neither the files of the whole home directory nor those of the system are estimated."""
    variables = {"HOME": str(large.tree)}
    command = Command(home=large.home, folder=large.tree, variables=variables)
    with small_disk(large.home, 1000) as disk:
        unconfirmed = command("index", "--quiet")
        assert unconfirmed.code == 2, unconfirmed
        assert "is a whole home directory" in unconfirmed.err
        assert "--yes" in unconfirmed.err
        refused = command("index", "--quiet", "--yes", str(disk.folder))
        assert refused.code == 2, refused
        assert "is in the data directory" in refused.err
        confirmed = command("index", "--quiet", "--yes")
        assert confirmed.code == 5, confirmed
        assert "the index needs about" in confirmed.err
        assert list(disk.folder.rglob("*.db")) == []


def test_a_new_folder_without_room_is_refused_and_leaves_nothing(large: Stage) -> None:
    command = Command(home=large.home, folder=large.tree)
    with small_disk(large.home, 1000) as disk:
        refused = command("index", "--quiet")
        assert refused.code == 5, refused
        assert re.search(r"needs about [1-9]\.\d MB, but only [\d.]+ [kM]B is free", refused.err)
        assert "nothing was changed" in refused.err
        assert [each for each in large.home.rglob("*") if each.suffix in (".db", ".lock")] == []
        disk.resize(20_000)
        assert command("index", "--quiet").code == 0
        check_sound(large.database)
