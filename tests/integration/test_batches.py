"""A run commits as it goes, also where there is nothing to parse."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

FILES = 400
_SMALLEST_BATCH_BYTES = 65_536  # of 512 for each file
_CALLS_BETWEEN_LOOKS = 20


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    config = load_config(tmp_path / "home", workers=1, batch_bytes=_SMALLEST_BATCH_BYTES)
    with open_catalog(config) as catalog:
        yield catalog


class Looks:
    """Never cancels a run, and looks at what it has committed so far."""

    def __init__(self, look: Callable[[], int], *, every: int = _CALLS_BETWEEN_LOOKS) -> None:
        self._look = look
        self._every = every
        self._calls = 0
        self.seen: set[int] = set()

    def __call__(self) -> bool:
        self._calls += 1
        if not self._calls % self._every:
            self.seen.add(self._look())
        return False


def test_files_whose_contents_are_known_are_committed_as_they_are_read(
    catalog: Catalog, tree: Path
) -> None:
    write_tree(tree, {f"first/m{n}.py": f"NUMBER = {n}\n" for n in range(FILES)})
    index = catalog.create(str(tree))
    index.index()
    write_tree(tree, {f"second/m{n}.py": f"NUMBER = {n}\n" for n in range(FILES)})
    looks = Looks(lambda: index.status().files)
    report = index.index(cancelled=looks)
    assert report.cache_hit_rate == 1.0
    assert index.status().files == 2 * FILES
    assert len(looks.seen - {FILES, 2 * FILES}) > 1


def test_files_that_are_skipped_once_they_are_read_are_committed_as_they_are_read(
    catalog: Catalog, tree: Path
) -> None:
    for number in range(FILES):
        (tree / f"m{number}.py").write_bytes(b"\0\1\2" * number)
    index = catalog.create(str(tree))
    looks = Looks(lambda: index.status().skips.get("binary", 0))
    index.index(cancelled=looks)
    binary = index.status().skips["binary"]
    assert binary == FILES - 1  # the first one is empty
    assert len(looks.seen - {0, binary}) > 1


def test_skipped_files_that_are_gone_are_committed_as_they_are_removed(
    catalog: Catalog, tree: Path
) -> None:
    write_tree(tree, {"kept.py": "x = 1\n", **{f"m{n}.bin": b"\0\1\2" for n in range(FILES)}})
    index = catalog.create(str(tree))
    index.index()
    assert index.status().skips["binary"] == FILES
    for number in range(FILES):
        (tree / f"m{number}.bin").unlink()
    looks = Looks(lambda: index.status().skips.get("binary", 0), every=1)
    index.index(cancelled=looks)
    assert index.status().skips == {}
    assert len(looks.seen - {0, FILES}) > 1
