"""Files with several paths because of links: answers name them by the path that is no link."""

import os
from pathlib import Path

import pytest

from engine.cancellation import never
from engine.catalog import Catalog
from engine.config import Config
from engine.index_records import IndexOptions
from engine.project import Project
from engine.reference_records import Certainty, ReferenceRequest
from engine.search_records import Mode, SearchRequest
from tests.support.damage import writer
from tests.support.trees import settle, write_tree

_REAL = "library/core/session.py"
_LINKED = "lib/session.py"  # shorter
_CODE = "def open_session(name):\n    return name\n\n\ndef reopen():\n    return open_session(1)\n"


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    """The index of a file to which a folder's link, a file's link and no link lead."""
    write_tree(tree, {_REAL: _CODE})
    os.symlink("library/core", tree / "lib")
    os.symlink(_REAL, tree / "s.py")
    index = catalog.create(str(tree))
    index.index()
    return index


def _paths(index: Project, query: str, mode: Mode = Mode.HYBRID) -> set[str]:
    return {hit.path for hit in index.search(SearchRequest(query=query, mode=mode)).hits}


@pytest.mark.parametrize("mode", list(Mode))
def test_answers_name_the_path_without_links(index: Project, mode: Mode) -> None:
    assert _paths(index, "open_session", mode) == {_REAL}
    assert _paths(index, "open_session", mode) == {_REAL}  # now from what the process keeps
    assert _paths(index, "open_session path:lib/", mode) == {_LINKED}
    assert _paths(index, "open_session -path:library", mode) == {"s.py"}


def test_lists_do_too(index: Project) -> None:
    assert _paths(index, "lang:python") == {_REAL}
    assert _paths(index, "kind:function") == {_REAL}
    assert index.why(_LINKED).outcome == index.why("s.py").outcome == "indexed"


def test_who_imports_through_a_link_refers_to_the_file(
    index: Project, tree: Path, catalog: Catalog
) -> None:
    other = "def open_session(other):\n    return other\n"
    call = "from lib.session import open_session\n\n\ndef run():\n    open_session(1)\n"
    write_tree(tree, {"other/session.py": other, "app.py": call})
    index.index()
    found = index.references.find(ReferenceRequest(name="open_session"))
    [called] = [each for each in found.references if each.path == "app.py" and each.line == 5]
    assert called.certainty is Certainty.EXACT
    assert called.target_place == f"{_LINKED}:1"
    assert {_REAL, _LINKED, "s.py"} <= {each.path for each in found.definitions}
    related = index.places.relations(_LINKED, "open_session", 1)
    assert related
    assert {edge.path for edge in related.callers.edges} >= {"app.py"}


def test_a_link_whose_target_is_left_out_names_it(
    index: Project, tree: Path, catalog: Catalog
) -> None:
    (tree / ".cairnignore").write_text("/library/\n/s.py\n")
    index.index()
    assert _paths(index, "open_session") == {_LINKED}


def test_a_folder_that_becomes_a_link_is_noticed(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {_LINKED: _CODE, "library/README.md": "# Library\n"})
    settle(tree)
    index = catalog.create(str(tree))
    index.index()
    assert _paths(index, "open_session") == {_LINKED}
    before = os.stat(tree / _LINKED)
    (tree / "lib").rename(tree / "library/core")
    os.symlink("library/core", tree / "lib")
    assert os.stat(tree / _LINKED) == before  # but for the time of the last look
    assert index.for_watcher().stale(cancelled=never) == (_LINKED, _REAL)
    index.index()
    assert index.for_watcher().stale(cancelled=never) == ()
    assert _paths(index, "open_session") == {_REAL}


def test_an_index_of_before_learns_of_links_from_the_next_run(
    index: Project, config: Config, tree: Path
) -> None:
    settle(tree)
    index.index()
    with writer(config.data_dir / f"{index.project_id}.db") as handle:
        handle.execute("UPDATE files SET is_linked = 0; UPDATE project SET changes = changes + 1")
    assert _paths(index, "open_session") == {"s.py"}
    watched = index.for_watcher()
    assert watched.stale(cancelled=never) == (_LINKED, "s.py")
    assert watched.changed(cancelled=never) == []
    assert index.index(IndexOptions(only=("lib",))).files_unchanged == 1
    assert _paths(index, "open_session") == {"s.py"}
    assert index.index().files_indexed == 0
    assert _paths(index, "open_session") == {_REAL}
