"""Disks that are really full: a small one that is mounted, and a limit on the size of files."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engine.errors import DiskFullError
from engine.store.connection import Store

_BLOCK = 4096


class SmallDisk:
    """A file system in memory, of a size that can be changed.

    Args:
        folder: Where it is mounted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def resize(self, kib: int) -> None:
        """Give it another size."""
        _run("mount", "-o", f"remount,size={kib}k", str(self.folder))

    def fill(self) -> None:
        """Take all the room that is left."""
        with suppress(OSError), self._filler.open("ab", buffering=0) as file:
            while file.write(bytes(_BLOCK)) == _BLOCK:
                pass

    def free(self) -> None:
        """Give back what ``fill`` took."""
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[SmallDisk]:
    """Mount a file system of so many KiB; where that is not allowed, the test is skipped."""
    folder.mkdir()
    size = f"size={kib}k,mode=700"
    if _run("mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)):
        pytest.skip("no file system can be mounted here: a disk that is really full is not tried")
    try:
        yield SmallDisk(folder)
    finally:
        _run("umount", "--lazy", str(folder))


def takes_a_row(store: Store) -> bool:
    """Try a small durable transaction, as one that tells of a job; say whether there is room."""
    try:
        with store.write(durable=True) as handle:
            handle.execute("UPDATE project SET indexed_at_ms = indexed_at_ms")
    except DiskFullError:
        return False
    return True


def _run(*command: str) -> int:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode
    except FileNotFoundError:
        return -1
