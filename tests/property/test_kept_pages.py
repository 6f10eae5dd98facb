"""What a process keeps for pages while the index changes says what the database says."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.browse_records import FolderShare, SymbolListRequest
from engine.config import Config, load_config
from engine.index_records import IndexOptions
from engine.project import Project
from engine.records import display_path
from engine.store import listing, project
from engine.store.connection import Handle
from engine.store.listing import EntryRow
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_PATHS = (
    "one.py",
    "app/two.py",
    "app/copy.py",
    "app-1/main.go",
    "a/b/c/d/e/f.py",
    "docs/guide.md",
    "logo.png",
    "docs/logo.png",
    "out/made.py",
    os.fsdecode(b"odd\xff/na\xffme.py"),
)
_TEXTS: tuple[str | bytes, ...] = (
    "def one():\n    return 1\n",
    "class Two:\n    def two(self):\n        return one()\n\n\n    size = 3\n",
    "package main\n\ntype Three struct{}\n\nfunc three() int {\n\treturn 3\n}\n",
    "# Guide\n\nHow to open a session.\n\n## Then\n\nClose it.\n",
    "".join(f"def many_{number}():\n    return 'word {number}'\n\n\n" for number in range(60)),
    b"\x89PNG\r\n\x1a\n\x00\x00",
)
_files = st.dictionaries(st.sampled_from(_PATHS), st.sampled_from(_TEXTS), min_size=1, max_size=8)
#: What is written and what is deleted then, and how it is indexed; None: nothing is.
_steps = st.lists(
    st.tuples(
        _files,
        st.sets(st.sampled_from(_PATHS)),
        st.sampled_from(["run", "rebuild", "clear", "clean", "killed", "write", "upgrade"]),
    ),
    min_size=1,
    max_size=4,
)


def seen(index: Project) -> tuple[object, ...]:
    browse, status = index.browse, index.status()
    return (
        (status.files, status.symbols, status.chunks, status.embeddings, status.skips),
        browse.symbols(SymbolListRequest()),
        browse.languages(),
        [browse.overview.folder(path) for path in ("", "app", "a/b", "nowhere")],
        browse.folders.entries(""),
        browse.folders.entries("", limit=2, offset=1),
        browse.overview.meaning_map(),
    )


def is_added_up(index: Project) -> None:
    """Compare what comes from the files that are kept with what the database says of each folder.

    The database is asked for one folder after the other.
    """
    with index._checkout.read() as (handle, branch):
        kept = index.browse._kept.of(handle, branch.id)
        root = listing.list_entries(handle, branch.id, "", limit=1000, offset=0)
        below = list(entries_below(handle, branch.id, "", root))
        for limit, offset in ((1000, 0), (1, 0), (2, 1), (3, len(root) - 1), (5, len(root))):
            page = listing.list_entries(handle, branch.id, "", limit=limit, offset=offset)
            assert kept.entries(limit, offset) == page
        for most in (1, 3, 100):
            largest = listing.largest_files(handle, branch.id, "", most)
            assert kept.largest_in_root(most) == largest
    files = [(path, row) for path, row in below if row.files and not row.is_folder]
    latest = sorted((-(row.changed_at_ms or 0), os.fsencode(path)) for path, row in files)
    for most in (1, 3, 100):
        assert kept.recent(most) == [(path, -changed) for changed, path in latest[:most]]
    shown = index.browse.folders.entries("").entries
    assert [(each.name, each.is_folder, each.files, each.skipped) for each in shown] == [
        (display_path(row.name), row.is_folder, row.files, row.skipped) for row in root
    ]
    rows = {display_path(path): row for path, row in below}
    for folder in folders_in(index.browse.overview.folder().folder):
        of_it = [rows[folder.path]] if folder.path else root
        assert (folder.files, folder.size_bytes, folder.skipped) == (
            sum(row.files for row in of_it),
            sum(row.size_bytes for row in of_it if row.files),
            sum(row.skipped for row in of_it),
        )


def entries_below(
    handle: Handle, branch_id: int, folder: str, rows: list[EntryRow]
) -> Iterator[tuple[str, EntryRow]]:
    for row in rows:
        path = f"{folder}/{row.name}" if folder else row.name
        yield path, row
        if row.is_folder:
            inner = listing.list_entries(handle, branch_id, path, limit=1000, offset=0)
            yield from entries_below(handle, branch_id, path, inner)


def folders_in(folder: FolderShare) -> Iterator[FolderShare]:
    yield folder
    for each in folder.folders:
        yield from folders_in(each)


def change(index: Project, tree: Path, how: str, config: Config) -> None:
    if how == "killed":  # of the same contents, one file costs its parser
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CAIRN_FAULT", "die:parse:app/two.py")
            with open_catalog(config) as other:
                other.open(str(tree)).clear()
                other.open(str(tree)).index()
        return
    if how == "clear":
        index.clear()
    if how == "write":
        with index._store.write():
            pass
    if how == "upgrade":  # of which nothing is read again yet
        with index._store.write() as handle:
            project.start_fingerprint(handle, "of another version", now_ms=1)
        return
    index.index(IndexOptions(force=how == "rebuild", force_clean=how == "clean"))


@settings(max_examples=examples(8))
@given(steps=_steps)
@example(
    steps=[
        # The same ids get other contents of the same language.
        (
            {"one.py": _TEXTS[0], "app/two.py": _TEXTS[1], "a/b/c/d/e/f.py": "x = 1\n"},
            set(),
            "clear",
        ),
        ({"one.py": _TEXTS[4], "app/two.py": _TEXTS[0], "logo.png": _TEXTS[5]}, set(), "clear"),
        ({"one.py": _TEXTS[0], "docs/guide.md": _TEXTS[3]}, {"app/two.py"}, "run"),
    ]
)
@example(
    steps=[
        ({"one.py": _TEXTS[0], "app/two.py": _TEXTS[1], "docs/guide.md": _TEXTS[3]}, set(), "run"),
        ({}, set(), "upgrade"),
        ({"one.py": _TEXTS[4]}, {"app/two.py"}, "run"),
    ]
)
@example(
    steps=[
        # The same ids get the same contents with another parse result.
        (
            {"one.py": _TEXTS[0], "app/two.py": _TEXTS[1], "docs/guide.md": _TEXTS[3]},
            set(),
            "clear",
        ),
        ({}, set(), "killed"),
        ({}, set(), "clean"),
    ]
)
def test_pages_say_what_the_database_says(
    steps: list[tuple[dict[str, str | bytes], set[str], str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        write_tree(tree, {".gitignore": "out/\n"})
        config = load_config(Path(folder) / "home", workers=1)
        with open_catalog(config) as catalog:
            index = catalog.create(str(tree))
            index.index()
            index.warm_pages()  # from now on it keeps what pages show
            for files, deleted, how in steps:
                write_tree(tree, files)
                for path in deleted:
                    (tree / path).unlink(missing_ok=True)
                change(index, tree, how, config)
                shown = seen(index)
                is_added_up(index)
                with open_catalog(config) as other:  # that asks the database
                    assert seen(other.open(str(tree))) == shown
            shown = seen(index)
            known, facts = index.browse.size_bytes, index._searcher._cache._facts
            assert known
            assert facts
            assert index.cached_bytes >= known + facts.size_bytes
            index.evict()
            assert index.browse.size_bytes == 0
            assert seen(index) == shown
