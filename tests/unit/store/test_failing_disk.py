"""What the store makes of a disk that fails."""

import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import apsw
import pytest

from engine.errors import (
    DiskFullError,
    EngineError,
    IndexCorruptError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.store import connection, project
from engine.store.connection import Store
from engine.store.migrate import newest
from engine.store.opening import translated
from tests.support.faults.vfs import Disk, Fault, FaultVFS, faulty
from tests.support.old_index import make_first_version


@pytest.fixture
def vfs() -> Iterator[FaultVFS]:
    with faulty(Disk()) as vfs:
        yield vfs


@pytest.fixture
def store(vfs: FaultVFS, tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "project.db", busy_timeout_ms=100, create=True)
    with store.write() as handle:
        project.insert_project(
            handle, project_id="a" * 64, root=b"/root", max_file_size=1, now_ms=0
        )
    yield store
    vfs.arm(None)
    store.close()


def changes(store: Store) -> int | None:
    with store.read() as handle:
        return project.count_changes(handle)


def write(store: Store, *, durable: bool = False) -> None:
    with store.write(durable=durable) as handle:
        project.finish_project(handle, now_ms=1)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (apsw.SQLITE_FULL, DiskFullError),
        (apsw.SQLITE_IOERR_WRITE, DiskFullError),  # a quota, or the limit on the size of files
        (apsw.SQLITE_IOERR_SHMSIZE, DiskFullError),
        (apsw.SQLITE_IOERR_READ, UnavailableError),
        (apsw.SQLITE_IOERR, UnavailableError),
        (apsw.SQLITE_CORRUPT_VTAB, IndexCorruptError),
        (apsw.SQLITE_CANTOPEN, UnavailableError),
        (apsw.SQLITE_ERROR, EngineError),
    ],
)
def test_each_failure_has_its_error(code: int, kind: type[EngineError], tmp_path: Path) -> None:
    with pytest.raises(kind) as caught, translated(tmp_path / "project.db"):
        raise apsw.exception_for(code)
    assert type(caught.value) is kind
    assert caught.value.code == kind.code


@pytest.mark.parametrize("code", [apsw.SQLITE_IOERR_READ, apsw.SQLITE_CORRUPT])
@pytest.mark.parametrize("way", [Store.read, Store.write])
def test_when_the_file_is_deleted_meanwhile_the_disk_is_not_blamed(
    way: Callable[[Store], AbstractContextManager[object]], code: int, store: Store
) -> None:
    def act() -> None:
        with way(store):
            store.path.unlink()
            raise apsw.exception_for(code)

    with pytest.raises(ProjectNotFoundError, match="gone"):
        act()


def test_a_commit_whose_checkpoint_fails_is_a_commit(
    vfs: FaultVFS, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = changes(store)
    assert before
    monkeypatch.setattr(connection, "_WAL_LIMIT_BYTES", 0)
    vfs.arm(Fault("sync", apsw.SQLITE_IOERR_FSYNC, 1, is_sticky=True))
    write(store)
    assert vfs.hits == 1
    assert changes(store) == before + 1
    vfs.arm(None)
    write(store)
    assert changes(store) == before + 2


def test_a_reader_that_read_nonsense_is_opened_anew(vfs: FaultVFS, store: Store) -> None:
    store.checkpoint()
    store.close()
    vfs.arm(Fault("read", apsw.SQLITE_IOERR_SHORT_READ, 1, is_sticky=True))
    with pytest.raises(EngineError):
        changes(store)
    vfs.arm(None)
    assert changes(store)


def test_what_could_not_be_synced_is_kept_or_not_but_never_in_part(
    vfs: FaultVFS, store: Store
) -> None:
    before = changes(store)
    assert before
    vfs.arm(Fault("sync", apsw.SQLITE_IOERR_FSYNC, 1))
    with pytest.raises(UnavailableError, match="cannot be read or written"):
        write(store, durable=True)
    found = changes(store)
    assert found in (before, before + 1)
    write(store, durable=True)
    assert changes(store) == found + 1


def test_after_a_sync_that_failed_all_pages_are_looked_at(vfs: FaultVFS, store: Store) -> None:
    with store.write() as handle:
        handle.execute("CREATE TABLE big AS SELECT randomblob(9000) AS x")
        page = handle.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'big'").get
    store.checkpoint()
    vfs.arm(Fault("sync", apsw.SQLITE_IOERR_FSYNC, 1))
    with pytest.raises(UnavailableError):
        write(store, durable=True)
    with store.path.open("r+b") as file:  # the system has dropped a page
        file.seek((page - 1) * 4096)
        file.write(bytes(4096))
    with pytest.raises(IndexCorruptError, match="damaged"):
        write(store)


def test_a_backup_that_fails_leaves_nothing(vfs: FaultVFS, tmp_path: Path) -> None:
    file = tmp_path / "home" / f"{'a' * 64}.db"
    make_first_version(file, tmp_path)
    backup = file.with_suffix(".v1.db")
    vfs.disk.has_room = False
    with pytest.raises(DiskFullError):
        Store(file, busy_timeout_ms=100)
    assert [each.name for each in file.parent.glob("*.v1*")] == []
    vfs.disk.has_room = True
    Store(file, busy_timeout_ms=100).close()
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    for each, version in ((backup, 1), (file, newest())):
        handle = apsw.Connection(str(each))
        assert handle.pragma("user_version") == version
        assert handle.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        handle.close()
