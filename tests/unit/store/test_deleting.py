"""Files that are deleted, and made again, while other connections to them are opened and closed."""

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.errors import IndexBusyError, ProjectNotFoundError
from engine.store import opening, project
from engine.store.connection import Store
from engine.store.deleting import delete_database, delete_unused
from tests.support.faults.vfs import Disk, faulty
from tests.support.jobs import until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{'a' * 64}.db"


def made(path: Path, *, root: bytes, vfs: str = "") -> Store:
    store = Store(path, busy_timeout_ms=20_000, create=True, vfs=vfs)
    with store.write() as handle:
        project.insert_project(handle, project_id=path.stem, root=root, max_file_size=1, now_ms=0)
    return store


def root_in(path: Path) -> bytes:
    """Read it with a connection of its own, as another process does."""
    with closing(Store(path, busy_timeout_ms=1000, vfs="")) as store, store.read() as handle:
        return bytes(handle.execute("SELECT root FROM project").get)


def test_whoever_closes_slowly_leaves_the_log_of_the_next_file_of_that_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last connection of a file deletes the log by its name, after it has synced the file.

    So nobody may delete the file, and make a new one of that name, in between.
    """
    may_sync = threading.Event()
    with faulty(Disk()) as vfs:
        old = made(path, root=b"/old", vfs=vfs.name)
        vfs.disk.may_sync = may_sync
        vfs.arm(None)
        closer = threading.Thread(target=old.close)
        closer.start()
        try:
            until(lambda: vfs.counts["sync"] > 0)
            with monkeypatch.context() as patch:
                patch.setattr("engine.store.deleting._DELETE_MS", 0)
                with pytest.raises(IndexBusyError):
                    delete_database(path)
            assert path.exists()
        finally:
            may_sync.set()
            closer.join()
    delete_database(path)
    with closing(made(path, root=b"/new")):
        assert Path(f"{path}-wal").exists()
        assert root_in(path) == b"/new"
    assert root_in(path) == b"/new"


def test_closing_waits_once_for_whoever_deletes_however_many_connections_are_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []
    real_lock = opening._lock

    def lock(*arguments: Any) -> None:
        waits.append(arguments)
        real_lock(*arguments)

    store = made(path, root=b"/here")

    def read() -> None:
        with store.read():
            is_read.wait()
        has_read.wait()

    is_read, has_read = threading.Barrier(6), threading.Barrier(6)
    readers = [threading.Thread(target=read) for _ in range(5)]
    for reader in readers:
        reader.start()
    is_read.wait()
    has_read.wait()
    for reader in readers:
        reader.join()
    assert len(store._readers._opened) == 5
    with monkeypatch.context() as patch:
        patch.setattr(opening, "_lock", lock)
        store.close()
    assert len(waits) == 1
    assert root_in(path) == b"/here"


def test_an_unused_file_is_deleted_unless_it_is_open(path: Path) -> None:
    with closing(Store(path, busy_timeout_ms=100, create=True)):
        delete_unused(path)
        assert path.exists()
    delete_unused(path)
    assert not path.exists()


def test_a_used_file_is_kept(path: Path) -> None:
    made(path, root=b"/here").close()
    delete_unused(path)
    assert root_in(path) == b"/here"
    delete_database(path)
    with pytest.raises(ProjectNotFoundError):
        root_in(path)
