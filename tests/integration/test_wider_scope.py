"""What was left out by an option comes in when the option no longer leaves it out."""

from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.index_records import IndexOptions
from tests.support.trees import write_tree

_FILES = {
    "a.py": "def small():\n    return 1\n",
    "b.py": "def large():\n    return 2\n" + "# long\n" * 1000,
    "notes.xyz": "a text of an unknown type\n",
    "picture.png.txt": "\0\1\2",
    "LICENSE-SCRIPT": "\0 binary\n",
}


@pytest.mark.parametrize(
    ("narrow", "wide", "path"),
    [
        (IndexOptions(max_file_size=2000), IndexOptions(max_file_size=1 << 20), "b.py"),
        (IndexOptions(max_file_size=2000), IndexOptions(max_file_size=0), "b.py"),
        (
            IndexOptions(include_patterns=("*.py",)),
            IndexOptions(include_patterns=("*.xyz", "*.py")),
            "notes.xyz",
        ),
        (IndexOptions(exclude_patterns=("b.py",)), IndexOptions(exclude_patterns=()), "b.py"),
        (
            IndexOptions(include_patterns=("a.py",)),
            IndexOptions(include_patterns=("*.py",)),
            "b.py",
        ),
    ],
)
def test_it_is_indexed_by_the_next_run(
    catalog: Catalog, tree: Path, narrow: IndexOptions, wide: IndexOptions, path: str
) -> None:
    write_tree(tree, _FILES)
    index = catalog.create(str(tree))
    index.index(narrow)
    assert index.why(path).outcome != "indexed"
    report = index.index(wide)
    assert index.why(path).outcome == "indexed"
    assert report.files_indexed >= 1
    again = index.index(wide)
    assert (again.files_indexed, again.files_skipped) == (0, report.files_skipped)


def test_a_narrower_one_takes_it_out_again(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, _FILES)
    index = catalog.create(str(tree))
    index.index(IndexOptions(include_patterns=("*.xyz", "*.py")))
    assert index.why("notes.xyz").outcome == "indexed"
    index.index(IndexOptions(include_patterns=("*.py",)))
    assert index.why("notes.xyz").outcome == "skipped"
