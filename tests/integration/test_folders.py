"""The folders of an index: what lies in one, which paths are meant, where a file is on the disk."""

import os
import threading
from collections import defaultdict
from pathlib import Path

import apsw
import pytest

from engine.browse_records import FolderEntry
from engine.catalog import Catalog
from engine.config import Config
from engine.errors import InvalidInputError
from engine.project import Project
from engine.records import display_path
from engine.search_records import Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.trees import settle, write_tree
from tests.support.work_done import WorkDone, count_sql

TREE: dict[str, str | bytes] = {
    "README.md": "# Read\n",
    "app/session.py": "class Session:\n    def open(self):\n        return 1\n",
    "app/http/router.py": "def route():\n    return 1\n",
    "app/http/base.py": "x = 1\n",
    "app0/beside.py": "x = 1\n",
    "app-1/beside.py": "x = 1\n",
    "src/main/java/org/App.java": "class App {}\n",
    ".gitignore": "build/\n*.log\n",
    "build/out.py": "x = 1\n",
    "app/trace.log": "x\n",
    "poetry.lock": "x\n",
    "pictures/one.bin": b"\0\1\2",
    os.fsdecode(b"odd/na\xffme.py"): "def odd():\n    return 1\n",
    os.fsdecode(b"fol\xfeder/x.py"): "def inside():\n    return 1\n",
}


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    write_tree(tree, TREE)
    index = catalog.create(str(tree))
    index.index()
    return index


def _by_name(index: Project, folder: str) -> dict[str, FolderEntry]:
    return {entry.name: entry for entry in index.browse.folders.entries(folder).entries}


def test_a_folder_lists_what_is_indexed_and_what_is_not(index: Project) -> None:
    entries = _by_name(index, "app")
    assert list(entries) == ["http", "session.py", "trace.log"]
    assert (entries["http"].is_folder, entries["http"].files) == (True, 2)
    session = entries["session.py"]
    assert (session.language, session.lines, session.symbols) == ("python", 3, 2)
    assert session.size_bytes == len(TREE["app/session.py"])
    refused = entries["trace.log"]
    assert (refused.files, refused.reason) == (0, "ignored")
    assert ".gitignore:2" in refused.detail
    assert ".cairnignore" in refused.advice


def test_a_change_is_that_on_the_disk_and_not_the_time_of_indexing(
    catalog: Catalog, tree: Path
) -> None:
    write_tree(tree, {"old/one.py": "x = 1\n", "old/two.py": "x = 2\n"})
    for name, changed_ns in (("one", 10**18 + 1), ("two", 11 * 10**17 + 1)):
        os.utime(tree / f"old/{name}.py", ns=(changed_ns, changed_ns))
    settle(tree)
    index = catalog.create(str(tree))
    index.index()
    [folder] = index.browse.folders.entries("").entries
    entries = _by_name(index, "old")
    assert entries["one.py"].changed_at == "2001-09-09T01:46:40.000Z"
    assert folder.changed_at == entries["two.py"].changed_at == "2004-11-09T11:33:20.000Z"


def test_every_folder_adds_up_to_the_files_of_the_index(index: Project) -> None:
    sizes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in index.browse.files().files:
        parts = file.path.split("/")
        for depth in range(len(parts)):
            total = sizes["/".join(parts[:depth])]
            total[0] += 1
            total[1] += file.size_bytes
    for folder, (files, size) in sizes.items():
        entries = index.browse.folders.entries(folder).entries
        assert sum(entry.files for entry in entries) == files, folder
        assert sum(entry.size_bytes or 0 for entry in entries if entry.files) == size, folder


def test_the_root_has_folders_first_and_skipped_folders(index: Project) -> None:
    page = index.browse.folders.entries("")
    kinds = [entry.is_folder for entry in page.entries]
    assert kinds == sorted(kinds, reverse=True)
    entries = {entry.name: entry for entry in page.entries}
    assert entries["build"].reason == "ignored"
    assert (entries["pictures"].files, entries["pictures"].skipped) == (0, 1)
    assert entries["poetry.lock"].reason == "lock_file"
    assert page.updated_at is not None


def test_pages_of_a_folder_are_the_whole_of_it(index: Project) -> None:
    folders = index.browse.folders
    whole = folders.entries("").entries
    parts = [
        entry
        for offset in range(0, len(whole), 3)
        for entry in folders.entries("", limit=3, offset=offset).entries
    ]
    assert tuple(parts) == whole
    assert folders.entries("", limit=3).total == len(whole)
    past = folders.entries("", limit=3, offset=1000)
    assert (past.entries, past.total) == ((), len(whole))
    assert folders.entries("nothing").entries == ()
    for limit, offset in ((0, 0), (1001, 0), (1, -1)):
        with pytest.raises(InvalidInputError):
            folders.entries("", limit=limit, offset=offset)
    with pytest.raises(InvalidInputError):
        folders.entries("../etc")


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("app/http/no.py", "app/http"),
        ("app/http/no/deeper/no.py", "app/http"),
        ("app/session.py/no.py", "app"),
        ("ap/no.py", ""),
        ("build/out.py", ""),  # it is skipped as a whole
        ("pictures/no.bin", "pictures"),  # all in it is skipped
        ("fol\ufffdder/no.py", "fol\ufffdder"),
        ("no.py", ""),
        ("", ""),
    ],
)
def test_the_nearest_folder_of_a_path_holds_something(
    index: Project, path: str, folder: str
) -> None:
    assert index.browse.folders.nearest(path) == folder
    assert index.browse.folders.entries(folder).total


def test_missing_folders_cost_no_more_than_one(index: Project, config: Config) -> None:
    hooks = list(apsw.connection_hooks)
    work = WorkDone()
    count_sql(work, threading.current_thread().name)
    try:
        with open_catalog(config) as catalog:
            folders = catalog.open(index.root).browse.folders
            steps = []
            for missing in (1, 1, 5000):  # the first one reads the schema too
                before = work.sql_steps
                assert folders.nearest("app/http/" + "a/" * missing + "x.py") == "app/http"
                steps.append(work.sql_steps - before)
    finally:
        apsw.connection_hooks[:] = hooks
    assert 0 < steps[2] <= steps[1]


def test_names_of_a_tree_join_folders_that_hold_nothing_else(index: Project) -> None:
    names = {each.name: each.path for each in index.browse.folders.names("", most=100)}
    assert names["src/main/java/org"] == "src/main/java/org"
    assert {"app", "app0", "app-1", "README.md"} <= set(names)
    assert "build" not in names
    assert [each.name for each in index.browse.folders.names("app", most=100)] == [
        "http",
        "session.py",
    ]
    assert len(index.browse.folders.names("", most=2)) == 2


def test_names_that_are_not_utf8_lead_on(index: Project) -> None:
    folders = index.browse.folders
    [odd] = folders.entries("odd").entries
    assert odd.name == "na\ufffdme.py"
    assert odd.symbols == 1
    [inside] = folders.entries("fol\ufffdder").entries
    assert inside.path == "fol\ufffdder/x.py"
    assert [each.name for each in folders.names("fol\ufffdder", most=9)] == ["x.py"]
    place = folders.place("odd/na\ufffdme.py")
    assert place is not None
    assert os.fsencode(place).endswith(b"odd/na\xffme.py")


def test_a_name_may_begin_with_any_byte(catalog: Catalog, tmp_path: Path) -> None:
    names = [os.fsdecode(name) for name in (b"\xffa.py", b"\xff\xff.py", b"\xfe\xff.py", b"b.py")]
    tree = write_tree(tmp_path / "bytes", dict.fromkeys(names, "x = 1\n"))
    index = catalog.create(str(tree))
    index.index()
    browse = index.browse
    shown = sorted(map(display_path, names))
    assert sorted(each.path for each in browse.files().files) == shown
    assert sorted(each.path for each in browse.folders.entries("").entries) == shown
    assert sorted(each.path for each in browse.overview.folder().files) == shown
    assert [(each.value, each.number) for each in browse.filter_values("tag", ".py")] == [
        (".py", 4)
    ]


def test_found_paths_follow_the_index(index: Project, tree: Path) -> None:
    folders = index.browse.folders
    assert folders.find("session")[0].path == "app/session.py"
    assert folders.find("brandnew") == ()
    write_tree(tree, {"app/brand_new.py": "x = 1\n"})
    index.index()
    assert folders.find("brandnew")[0].path == "app/brand_new.py"
    (tree / "app/brand_new.py").unlink()
    index.index()
    assert folders.find("brandnew") == ()


def test_a_question_to_one_file_is_answered_by_it_alone(index: Project, tree: Path) -> None:
    write_tree(tree, {"copy/session.py": TREE["app/session.py"], "app/session.pyi": "open = 1\n"})
    index.index()
    for mode in (Mode.HYBRID, Mode.KEYWORD, Mode.REGEX, Mode.SYMBOL):
        for file in ("app/session.py", "copy/session.py"):  # of one content, each by its own path
            request = SearchRequest(query="open", mode=mode, file=file, limit=100)
            paths = {hit.path for hit in index.search(request).hits}
            assert paths == {file}, (mode, file)
        request = SearchRequest(query="open", mode=mode, file="app")
        assert index.search(request).hits == ()
        narrowed = SearchRequest(query="open lang:go", mode=mode, file="app/session.py")
        assert mode is Mode.REGEX or index.search(narrowed).hits == ()
    odd = os.fsdecode(b"odd/na\xffme.py")
    request = SearchRequest(query="odd", mode=Mode.KEYWORD, file=odd)
    assert [hit.path for hit in index.search(request).hits] == [odd]


def test_only_an_indexed_file_inside_the_root_has_a_place(index: Project, tree: Path) -> None:
    folders = index.browse.folders
    assert folders.place("app/session.py") == str(tree.resolve() / "app/session.py")
    for path in ("app", "build/out.py", "nothing.py", "poetry.lock"):
        assert folders.place(path) is None, path
    with pytest.raises(InvalidInputError):
        folders.place("../../etc/passwd")
    (tree / "app/session.py").unlink()
    assert folders.place("app/session.py") is None
    (tree / "app/session.py").symlink_to("/etc/passwd")
    assert folders.place("app/session.py") is None


def test_suggestions_know_absolute_paths(index: Project) -> None:
    def languages(path: str) -> list[tuple[str, int | None]]:
        found = index.browse.filter_values("lang", "", within=f"x path:{path}")
        return [(each.value, each.number) for each in found]

    assert languages(f"{index.root}/app") == languages("/app") != languages("/")


def test_what_suggestions_keep_is_counted_and_dropped(index: Project) -> None:
    index.browse.evict()
    before = index.browse.size_bytes
    assert index.browse.filter_values("path", "")
    assert index.browse.size_bytes > before
    index.browse.evict()
    assert index.browse.size_bytes == before


def test_what_the_path_finder_keeps_is_counted_and_dropped(index: Project) -> None:
    index.browse.evict()
    before = index.browse.size_bytes
    assert index.browse.folders.find("session")
    assert index.browse.size_bytes > before
    index.browse.evict()
    assert index.browse.size_bytes == before
