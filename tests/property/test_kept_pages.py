"""What a process keeps for pages while the index changes says what the database says."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.browse_records import FolderShare, SymbolListRequest
from engine.config import load_config
from engine.index_records import IndexOptions
from engine.project import Project
from engine.store import listing, project
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
        st.sampled_from(["run", "rebuild", "clear", "write", "upgrade"]),
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
    """Compare the sums of the root with its files, and its entries with those of the database."""
    with index._checkout.read() as (handle, branch):
        paths = listing.read_all(handle, branch.id)
        rows = listing.list_entries(handle, branch.id, "", limit=1000, offset=0)
    entries = index.browse.folders.entries("").entries
    assert [(row.is_folder, row.files, row.skipped, row.reason) for row in rows] == [
        (each.is_folder, each.files, each.skipped, each.reason if each.files == 0 else row.reason)
        for each, row in zip(entries, rows, strict=True)
    ]
    for folder in folders_in(index.browse.overview.folder().folder):
        inside = [path for path in paths if not folder.path or path.startswith(f"{folder.path}/")]
        assert folder.files == len(inside), folder.path


def folders_in(folder: FolderShare) -> Iterator[FolderShare]:
    yield folder
    for each in folder.folders:
        yield from folders_in(each)


def change(index: Project, tree: Path, how: str) -> None:
    if how == "clear":
        index.clear()
    if how == "write":
        with index._store.write():
            pass
    if how == "upgrade":  # of which nothing is read again yet
        with index._store.write() as handle:
            project.start_fingerprint(handle, "of another version", now_ms=1)
        return
    index.index(IndexOptions(force=how == "rebuild"))


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
                change(index, tree, how)
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
