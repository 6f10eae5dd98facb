"""Files with several paths because of links: answers name them by the path that is no link."""

import os
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.project import Project
from engine.reference_records import ReferenceRequest
from engine.search_records import Mode, SearchRequest
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
    assert _paths(index, "open_session -path:library", mode) <= {_LINKED, "s.py"}


def test_lists_and_references_do_too(index: Project) -> None:
    assert _paths(index, "lang:python") == {_REAL}
    assert _paths(index, "kind:function") == {_REAL}
    found = index.references.find(ReferenceRequest(name="open_session"))
    assert {each.path for each in found.references} == {_REAL}
    assert [each.path for each in found.definitions] == [_REAL]
    assert index.why(_LINKED).outcome == index.why("s.py").outcome == "indexed"


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
    assert index.for_watcher().stale(cancelled=lambda: False) == (_LINKED, _REAL)
    index.index()
    assert index.for_watcher().stale(cancelled=lambda: False) == ()
    assert _paths(index, "open_session") == {_REAL}
