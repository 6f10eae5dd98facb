"""A tree that changes while it is read gives what was there, or a skip; never a foreign text."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.config import Config, load_config
from engine.index_records import IndexOptions
from engine.records import Skip, SkipReason
from engine.roots import project_id_of
from engine.source.reader import Content, TreeReader
from tests.support.catalogs import open_catalog
from tests.support.entries import make
from tests.support.oracle import check_sound
from tests.support.patience import patience
from tests.support.traces import traces_of

_PATIENCE_S = patience(20)
_SWAPPED = 50  # files of a tree
_FOREIGN = "foreignbrwtplkmgvxzhdfj"


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


def index_while_swapping(folder: Path, config: Config, runs: int) -> Counter[str]:
    """Index a tree over and over while its files and folders are swapped for links out of it.

    Returns:
        How often a swapped file had which outcome.
    """
    root = folder / "tree"
    make(folder, "outside/file.py", f"{_FOREIGN} = 1\n".encode())
    swaps = []
    for number in range(_SWAPPED):
        here = root / f"s{number}"
        make(root, f"s{number}/sub/file.py", f"own_{number} = 1\n".encode())
        is_folder = number % 2 == 0
        (here / "link").symlink_to(folder / ("outside" if is_folder else "outside/file.py"))
        if is_folder:
            swaps.append((here / "sub", here / "link"))
        else:
            (here / "link").rename(here / "sub/link.py")
            swaps.append((here / "sub/file.py", here / "sub/link.py"))

    def swap_all() -> None:
        for path, link in swaps:
            path.rename(path.with_name("away"))
            link.rename(path)
        for path, link in swaps:
            path.rename(link)
            path.with_name("away").rename(path)

    outcomes: Counter[str] = Counter()
    with open_catalog(config) as catalog, repeating(swap_all):
        index = catalog.create(str(root))
        for _ in range(runs):
            index.index(IndexOptions(force=True))
            for number in range(_SWAPPED):
                said = index.why(f"s{number}/sub/file.py")
                outcomes[said.reason or said.outcome] += 1
    check_sound(config.data_dir / f"{project_id_of(str(root))}.db")
    assert traces_of([_FOREIGN], config.data_dir) == []
    return outcomes


def test_no_swap_brings_a_foreign_text_into_the_index(tmp_path: Path, config: Config) -> None:
    outcomes = index_while_swapping(tmp_path, config, runs=8)
    assert outcomes["indexed"] > 0
    assert outcomes.keys() - {"indexed"}, "no swap was met"
    print(f"{outcomes.total()} races: {dict(outcomes)}, 0 foreign texts")


@pytest.mark.soak
def test_ten_thousand_swaps(tmp_path: Path) -> None:
    config = load_config(tmp_path / "home", workers=2)
    outcomes = index_while_swapping(tmp_path, config, runs=10_000 // _SWAPPED)
    assert outcomes.total() >= 10_000
    print(f"{outcomes.total()} races: {dict(outcomes)}, 0 foreign texts")
