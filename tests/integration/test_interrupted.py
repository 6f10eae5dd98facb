"""A run that is cancelled keeps what it did, says so, and is completed by the next one."""

from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import Cancelled
from engine.index_records import Phase, Progress
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.oracle import check_sound, contents
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

FILES = 400


@pytest.fixture
def big_tree(tree: Path) -> Path:
    text = "\n\n".join(f"def part_{number}(value):\n    return value" for number in range(40))
    write_tree(tree, {f"p{n % 7}/m{n}.py": f"{text}\n\nNUMBER = {n}\n" for n in range(FILES)})
    return tree


class StopAfter:
    """Becomes true once so many files have an outcome, and remembers the progress told."""

    def __init__(self, done: int) -> None:
        self.done = done
        self.told: list[Progress] = []

    def tell(self, progress: Progress) -> None:
        self.told.append(progress)

    def __call__(self) -> bool:
        return bool(self.told) and self.told[-1].done >= self.done


def test_half_an_index_says_that_it_is_half(big_tree: Path, tmp_path: Path) -> None:
    config = load_config(tmp_path / "home", workers=1, batch_bytes=65536, queue_bytes=1 << 20)
    with open_catalog(config) as catalog:
        index = catalog.create(str(big_tree))
        stop = StopAfter(100)
        with pytest.raises(Cancelled, match="are kept"):
            index.index(on_progress=stop.tell, cancelled=stop)
        database = config.data_dir / f"{project_id_of(str(big_tree))}.db"
        check_sound(database)
        half = index.search(SearchRequest(query="part_3"))
        assert 0 < (half.coverage.indexed or 0) < 1
        assert not half.coverage.complete
        assert half.coverage.files < FILES
        assert half.hits

        kept = half.coverage.files
        report = index.index()
        assert report.files_unchanged == kept
        assert report.files_indexed == FILES - kept
        whole = index.search(SearchRequest(query="part_3"))
        assert (whole.coverage.indexed, whole.coverage.complete) == (1.0, True)
        fresh = open_catalog(load_config(tmp_path / "fresh", workers=1))
        with fresh:
            fresh.create(str(big_tree)).index()
        assert contents(database) == contents(tmp_path / "fresh" / database.name)


def test_progress_only_grows_and_ends_complete(big_tree: Path, catalog: Catalog) -> None:
    told: list[Progress] = []
    catalog.create(str(big_tree)).index(on_progress=told.append)
    parsing = [progress for progress in told if progress.phase is Phase.PARSING]
    assert [p.done for p in parsing] == sorted(p.done for p in parsing)
    assert {p.total for p in parsing} == {FILES}
    assert told[-1].phase is Phase.FINISHING
    assert told[-1].done == FILES
    assert [p.elapsed_ms for p in told] == sorted(p.elapsed_ms for p in told)


def test_all_bytes_are_done_when_all_files_are(tree: Path, catalog: Catalog) -> None:
    write_tree(tree, {f"same{n}.py": "def same():\n    pass\n" for n in range(5)})
    write_tree(tree, {"one.py": "VALUE = 1\n", "image.txt": b"\0\1\2" * 999, "empty.py": ""})
    told: list[Progress] = []
    catalog.create(str(tree)).index(on_progress=told.append)
    size_bytes = sum(file.stat().st_size for file in tree.iterdir())
    assert (told[-1].bytes_done, told[-1].bytes_total) == (size_bytes, size_bytes)


def test_cancelling_before_the_first_file_leaves_a_usable_project(
    big_tree: Path, catalog: Catalog
) -> None:
    index = catalog.create(str(big_tree))
    with pytest.raises(Cancelled):
        index.index(cancelled=lambda: True)
    answer = index.search(SearchRequest(query="part_3"))
    assert answer.hits == ()
    assert not answer.coverage.complete
    assert (answer.coverage.found, answer.coverage.indexed) == (None, None)  # not counted yet
    assert index.index().files_indexed == FILES
