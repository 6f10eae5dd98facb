"""A project from above: its folders, its map, its file; by the engine alone."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest

from engine.browse_records import FolderShare, MeaningMap
from engine.config import Config
from engine.index_records import IndexOptions
from engine.project import Project
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_TREE: dict[str, str | bytes] = {
    ".gitignore": "out/\n",
    "README.md": "# a project\n\nwith words\n",
    "app/main/java/one.py": "def one():\n    return 1\n",
    "app/main/java/two.py": "def two():\n    return 2\n" * 40,
    "app/main/java/deep/er/and/deeper/three.py": "def three():\n    return 3\n",
    "docs/logo.png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "docs/guide.md": "# guide\n\nhow to begin\n",
    "out/made.py": "x = 1\n",
    os.fsdecode(b"odd\xff/name.py"): "def odd():\n    return 4\n",
}


@pytest.fixture
def index(config: Config, tree: Path) -> Iterator[Project]:
    write_tree(tree, _TREE)
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        index.index()
        yield index


def _file(config: Config, index: Project) -> Path:
    return config.data_dir / f"{index.project_id}.db"


def _named(folder: FolderShare) -> dict[str, tuple[int, int]]:
    return {each.name: (each.files, each.skipped) for each in folder.folders}


def test_folders_are_added_up_and_the_only_way_down_is_one(index: Project, tree: Path) -> None:
    view = index.browse.overview.folder()
    assert _named(view.folder) == {
        "app/main/java": (3, 0),
        "docs": (1, 1),
        "odd\ufffd": (1, 0),
        "out": (0, 1),
    }
    assert view.folder.folders[0].size_bytes == sum(
        len(str(text)) for path, text in _TREE.items() if path.startswith("app/")
    )
    assert [each.path for each in view.files] == ["README.md", ".gitignore"]
    assert view.folder.files == 7
    assert [each.share for each in view.folder.folders] == [1.0, 1.0, 0.5, 0.0]
    [deep] = view.folder.folders[0].folders
    assert (deep.path, deep.files) == ("app/main/java/deep", 1)  # the last level holds the rest


def test_a_folder_is_looked_into(index: Project, tree: Path) -> None:
    overview = index.browse.overview
    view = overview.folder("app/main/java")
    assert [each.path for each in view.files] == ["app/main/java/two.py", "app/main/java/one.py"]
    assert _named(view.folder) == {"deep/er/and/deeper": (1, 0)}
    assert overview.folder(str(tree / "docs")).folder.files == 1
    assert overview.folder("odd\ufffd").folder.files == 1
    nothing = overview.folder("nowhere").folder
    assert (nothing.files, nothing.size_bytes, nothing.folders) == (0, 0, ())


def test_what_is_kept_goes_with_the_next_change(index: Project, tree: Path) -> None:
    overview = index.browse.overview
    before = overview.folder()
    assert overview.folder() is before
    write_tree(tree, {"app/more.py": "y = 2\n"})
    index.index()
    assert overview.folder().folder.files == before.folder.files + 1


def test_files_lie_where_they_lay_after_a_run(index: Project, tree: Path) -> None:
    before = index.browse.overview.meaning_map()
    assert index.browse.overview.meaning_map() is before
    assert before.model == "static"
    assert len(before.points) == before.files == 7
    assert all(0 <= each.x <= 1 and 0 <= each.y <= 1 for each in before.points)
    write_tree(tree, {"app/new.py": "def four():\n    return 4\n"})
    index.index()
    after = {each.path: each for each in index.browse.overview.meaning_map().points}
    assert len(after) == 8
    assert [after[each.path] for each in before.points] == list(before.points)


def test_files_lie_where_they_lay_in_another_process(
    index: Project, config: Config, tree: Path
) -> None:
    before = index.browse.overview.meaning_map().points
    write_tree(tree, {"docs/other.md": "# other\n\nsomething else entirely\n"})
    with open_catalog(config) as catalog:
        other = catalog.open(str(tree))
        other.index()
        after = {each.path: each for each in other.browse.overview.meaning_map().points}
    assert [after[each.path] for each in before] == list(before)


def test_the_axes_go_with_the_vectors(index: Project, config: Config) -> None:
    assert index.browse.overview.meaning_map().points
    handle = apsw.Connection(str(_file(config, index)))
    axes = "SELECT count(*) FROM map_axes"
    assert handle.execute(axes).get == 1
    index.index(IndexOptions(force_clean=True))
    assert handle.execute(axes).get == 0
    assert len(index.browse.overview.meaning_map().points) == 7
    assert handle.execute(axes).get == 1
    handle.close()


def test_an_index_without_vectors_has_no_map(config: Config, tree: Path) -> None:
    write_tree(tree, _TREE)
    with open_catalog(replace(config, model="none")) as catalog:
        index = catalog.create(str(tree))
        index.index()
        found = index.browse.overview.meaning_map()
    assert (found.model, found.points) == (None, ())


def test_two_files_have_no_map(config: Config, tree: Path) -> None:
    write_tree(tree, {"a.py": "def one():\n    pass\n", "b.py": "def two():\n    pass\n"})
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        assert index.browse.overview.meaning_map().model is None
        index.index()
        found = index.browse.overview.meaning_map()
    assert (found.model, found.files, found.points) == ("static", 2, ())


def test_a_map_is_drawn_of_an_index_that_nobody_can_write(
    index: Project, config: Config, tree: Path
) -> None:
    blocker = apsw.Connection(str(_file(config, index)))
    blocker.execute("BEGIN IMMEDIATE")
    try:
        with open_catalog(replace(config, busy_timeout=100)) as catalog:
            found = catalog.open(str(tree)).browse.overview.meaning_map()
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
    assert len(found.points) == 7


def test_the_file_tells_of_its_last_check(index: Project, config: Config, tree: Path) -> None:
    file = index.browse.overview.index_file()
    assert (file.path, file.checked_at) == (str(_file(config, index)), None)
    assert (file.model, file.dimension) == ("static", 192)
    assert file.schema_version >= 9
    with open_catalog(config) as catalog:
        catalog.doctor(str(tree)).verify()
    file = index.browse.overview.index_file()
    assert file.was_sound
    assert file.checked_at is not None


def test_a_map_is_drawn_ahead_if_its_axes_fit_and_nothing_is_written(
    index: Project, config: Config, tree: Path
) -> None:
    drawn = index.browse.overview.meaning_map()
    handle = apsw.Connection(str(_file(config, index)))
    stored = "SELECT numbers FROM map_axes"
    fitting = handle.execute(stored).get
    numbers = np.frombuffer(fitting, "<f4").copy()
    dimension = (numbers.size - 4) // 3
    numbers[dimension : 3 * dimension] = np.eye(2, dimension, dtype="<f4").ravel()
    unfitting = numbers.tobytes()

    def warmed() -> MeaningMap | None:
        with open_catalog(replace(config, busy_timeout=100)) as catalog:
            overview = catalog.open(str(tree)).browse.overview
            overview.warm()
            return next(iter(overview._maps._values.values()), None)

    assert warmed() == drawn
    handle.execute("UPDATE map_axes SET numbers = ?", (unfitting,))
    assert warmed() is None
    assert handle.execute(stored).get == unfitting
    handle.close()
