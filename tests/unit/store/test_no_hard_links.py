"""Disks whose file systems have no hard links, such as exFAT: copies are kept there as well."""

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.store import project, repair
from engine.store.connection import Store


@pytest.fixture(params=[errno.EPERM, errno.EOPNOTSUPP], autouse=True)
def no_links(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Refuse links as such a file system does."""

    def link(_source: object, target: object, **_options: object) -> None:
        if os.path.lexists(str(target)):
            raise FileExistsError(errno.EEXIST, "File exists", target)
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(os, "link", link)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / f"{'ab' * 32}.db", busy_timeout_ms=100, create=True)) as store:
        project.make_project(store, b"/r", 1, now_ms=1)
        yield store


def roots_in(file: Path) -> bytes | None:
    with closing(Store(file, busy_timeout_ms=100)) as copy, copy.read() as handle:
        row = project.read_project(handle)
    return row.root if row else None


def test_a_backup_is_whole_and_never_overwrites(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "disk" / "copy.db"
    target.parent.mkdir()
    size_bytes = repair.copy(store, target)
    assert roots_in(target) == b"/r"
    assert target.stat().st_size == size_bytes
    assert target.stat().st_mode & 0o777 == 0o600
    before = target.read_bytes()
    with pytest.raises(FileExistsError):
        repair.copy(store, target)
    assert target.read_bytes() == before
    assert [each.name for each in target.parent.iterdir()] == ["copy.db"]


def test_a_damaged_file_is_kept(store: Store, tmp_path: Path) -> None:
    store.close()
    made = tmp_path / "made"
    made.write_bytes(store.path.read_bytes())
    store.path.write_bytes(b"damaged")
    aside = repair.replace_database(made, store.path, keeps=True)
    assert aside
    assert aside.read_bytes() == b"damaged"
    assert aside.stat().st_mode & 0o777 == 0o600
    assert roots_in(store.path) == b"/r"
