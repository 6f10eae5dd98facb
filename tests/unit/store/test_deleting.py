"""Files that are deleted, and made again, while other connections to them are opened and closed."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.errors import ProjectNotFoundError
from engine.store import project
from engine.store.connection import Store
from engine.store.deleting import delete_database, delete_unused
from tests.support.faults.vfs import Disk, FaultVFS, faulty
from tests.support.jobs import until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / f"{'a' * 64}.db"


@pytest.fixture
def slow() -> Iterator[FaultVFS]:
    """A disk each sync of which takes a second."""
    with faulty(Disk(sync_s=1.0)) as vfs:
        yield vfs


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
    path: Path, slow: FaultVFS
) -> None:
    """The last connection of a file deletes the log by its name, after it has synced the file."""
    old = made(path, root=b"/old", vfs=slow.name)
    slow.arm(None)
    closer = threading.Thread(target=old.close)
    closer.start()
    until(lambda: slow.counts["sync"] > 0)
    delete_database(path)
    with closing(made(path, root=b"/new")):
        closer.join()
        assert Path(f"{path}-wal").exists()
        assert root_in(path) == b"/new"
    assert root_in(path) == b"/new"


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
