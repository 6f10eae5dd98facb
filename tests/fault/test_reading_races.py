"""A tree that changes while it is read gives what was there, or a skip; never a foreign text."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.records import Skip, SkipReason
from engine.source.reader import Content, TreeReader
from tests.support.entries import make

_PATIENCE_S = 20


@contextmanager
def repeating(work: Callable[[], object]) -> Iterator[None]:
    """Do something over and over in another thread."""
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.is_set():
            work()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_no_race_with_a_swapped_folder_reads_a_foreign_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    entry = make(root, "sub/file.py", b"own")
    make(tmp_path, "outside/file.py", b"foreign")
    (root / "link").symlink_to(tmp_path / "outside")
    # The walked inode lets a read use the folder kept open, another one sends it to the root.
    entries = (entry, entry._replace(stat=entry.stat._replace(inode=0)))

    def swap() -> None:
        (root / "sub").rename(root / "away")
        (root / "link").rename(root / "sub")
        (root / "sub").rename(root / "link")
        (root / "away").rename(root / "sub")

    outcomes: set[object] = set()
    reads = 0
    deadline = time.monotonic() + _PATIENCE_S
    with repeating(swap), TreeReader(str(root)) as reader:
        while time.monotonic() < deadline and (reads < 10_000 or len(outcomes) < 2):
            for each in entries:
                found = reader.read(each, 1000)
                outcomes.add(found.data if isinstance(found, Content) else found.reason)
                reads += 1
    assert outcomes == {b"own", SkipReason.VANISHED}


def test_a_growing_file_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    entry = make(tmp_path, "log.txt", b"")
    skips: list[Skip] = []
    deadline = time.monotonic() + _PATIENCE_S
    with (
        (tmp_path / "log.txt").open("ab", buffering=0) as file,
        repeating(lambda: file.write(b"0123456789" * 50)),
        TreeReader(str(tmp_path)) as reader,
    ):
        while not skips and time.monotonic() < deadline:
            found = reader.read(entry, 1 << 30)
            if isinstance(found, Skip):
                skips.append(found)
            else:
                assert len(found.data) == found.stat.size_bytes
    detail = "changed while it was read, twice"
    assert skips == [Skip("log.txt", SkipReason.CHANGING, detail)]
