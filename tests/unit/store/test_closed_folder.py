"""An index whose folder may not be searched for a while: it is there, and is not told as gone."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engine.errors import ProjectNotFoundError, UnavailableError
from engine.store import project
from engine.store.connection import Store
from tests.support.permissions import permissions_hold


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "home" / f"{'a' * 64}.db"
    with closing(Store(path, busy_timeout_ms=100, create=True)) as store, store.write() as handle:
        project.insert_project(handle, project_id=path.stem, root=b"/", max_file_size=1, now_ms=0)
    return path


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """Let nobody look for files in a folder while the block runs."""
    with permissions_hold():
        folder.chmod(0o000)
        try:
            yield
        finally:
            folder.chmod(0o700)


def roots(store: Store) -> list[bytes]:
    with store.read() as handle:
        return [root for (root,) in handle.execute("SELECT root FROM project")]


def test_an_open_index_is_current_and_read_again_later(path: Path) -> None:
    with closing(Store(path, busy_timeout_ms=100)) as store:
        store.release_readers()
        with closed(path.parent):
            assert store.is_current()
            with pytest.raises(UnavailableError, match="cannot be opened"):
                roots(store)
            with pytest.raises(UnavailableError, match="cannot be"), store.write():
                pass
        assert roots(store) == [b"/"]


def test_an_index_that_is_opened_then_is_there_too(path: Path) -> None:
    with closed(path.parent), pytest.raises(UnavailableError, match="cannot be opened"):
        Store(path, busy_timeout_ms=100)


def test_an_index_whose_folder_is_gone_is_gone(path: Path) -> None:
    with closing(Store(path, busy_timeout_ms=100)) as store:
        store.release_readers()
        path.parent.rename(path.parent.with_name("away"))
        path.parent.touch()
        assert not store.is_current()
        with pytest.raises(ProjectNotFoundError):
            roots(store)
