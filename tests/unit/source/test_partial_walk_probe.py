import os
from pathlib import Path

import pytest

from engine.records import FileEntry, Skip, SkipReason
from engine.source.partial_walk import probe
from engine.source.walker import WalkRules, walk
from tests.support.trees import write_tree

TREE = {
    ".gitignore": "*.log\nout/\n!keep.log\n",
    "a.py": "a = 1\n",
    "a.log": "line\n",
    "keep.log": "line\n",
    "big.py": "x = 1\n" * 100,
    ".env": "A=1\n",
    "src/deep/b.py": "b = 1\n",
    "src/.gitignore": "*.tmp\n",
    "src/c.tmp": "c\n",
    "out/d.py": "d = 1\n",
    "node_modules/e/index.js": "e()\n",
    "docs/f.md": "# F\n",
}
RULES = WalkRules(exclude=("docs/**",), max_file_size_bytes=300)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_tree(tmp_path, TREE)
    (tmp_path / "away").symlink_to("/")
    (tmp_path / "again").symlink_to("src/deep")
    (tmp_path / "src" / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path


def test_the_outcome_is_that_of_the_walk(root: Path) -> None:
    items = list(walk(str(root), RULES))
    assert {item.reason for item in items if isinstance(item, Skip)} > {
        SkipReason.IGNORED,
        SkipReason.DEFAULT_EXCLUDED,
        SkipReason.EXCLUDED,
        SkipReason.TOO_LARGE,
        SkipReason.SYMLINK_CYCLE,
        SkipReason.SYMLINK_OUTSIDE,
        SkipReason.NOT_REGULAR,
    }
    for item in items:
        found = probe(str(root), RULES, item.path)
        assert found == (item, True)


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("out/d.py", "out"),
        ("out/not/there.py", "out"),
        ("away/etc", "away"),
        ("src/up/a.py", "src/up"),
    ],
)
def test_what_is_above_a_path_decides(root: Path, path: str, above: str) -> None:
    outcome, exists = probe(str(root), RULES, path)
    assert isinstance(outcome, Skip)
    assert (outcome.path, exists) == (above, True)


@pytest.mark.parametrize(
    "path",
    [
        "new.py",
        "new.log",
        "src/new.tmp",
        "new/keep.log",
        "new/out/a.py",
        "new/out",
        "new/.env",
        "new/docs/a.md",
        "docs/a.md",
        "new/node_modules/a.js",
        ".git/config",
        "src/deep/new/id_rsa",
    ],
)
def test_a_path_that_is_not_there_goes_by_its_names(root: Path, path: str) -> None:
    foreseen, exists = probe(str(root), RULES, path)
    assert not exists or isinstance(foreseen, Skip)
    write_tree(root, {path: "x\n"})
    outcome, _ = probe(str(root), RULES, path)
    if isinstance(outcome, FileEntry):
        assert foreseen is None
    else:
        assert isinstance(outcome, Skip)
        assert foreseen is not None
        assert foreseen[:3] == outcome[:3]


def test_a_folder_has_no_outcome_and_nothing_is_below_a_file(root: Path) -> None:
    assert probe(str(root), RULES, "src/deep") == (None, True)
    assert probe(str(root), RULES, "again") == (None, True)
    assert probe(str(root), RULES, "a.py/b.py") == (None, False)
