import os
from pathlib import Path

import pytest

from engine.records import FileEntry, Skip
from engine.source.partial_walk import PartialWalk, PathSet
from engine.source.walker import WalkRules, walk
from tests.support.trees import write_tree

TREE = {
    ".gitignore": "*.log\nout/\n",
    "a.py": "a = 1\n",
    "a.log": "line\n",
    "src/b.py": "b = 1\n",
    "src/deep/c.py": "c = 1\n",
    "src/deep/.gitignore": "*.tmp\n",
    "src/deep/c.tmp": "c\n",
    "srcs/d.py": "d = 1\n",
    "out/e.py": "e = 1\n",
    "node_modules/f/index.js": "f()\n",
    "cache/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55",
    "cache/g.py": "g = 1\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_tree(tmp_path, TREE)
    (tmp_path / "away").symlink_to("/")
    (tmp_path / "again").symlink_to("src/deep")
    return tmp_path


def partial(root: Path, *paths: str) -> tuple[list[FileEntry | Skip], PartialWalk]:
    walked = PartialWalk(str(root), WalkRules(), PathSet(paths))
    return list(walked.run()), walked


def test_a_set_of_paths_has_none_below_another() -> None:
    paths = PathSet(["a/b/c", "a/b", "a-b", "a/bc", "a/b/c/d", "z"])
    assert paths.paths == ("a/b", "a/bc", "a-b", "z")
    assert len(paths) == 4
    assert paths.steps_from("") == {"a", "a-b", "z"}
    assert paths.steps_from("a/") == {"b", "bc"}
    assert paths.steps_from("a/b/") is None
    assert [paths.is_above(path) for path in ("a", "a/b", "b")] == [True, False, False]
    assert paths.with_paths(["a"]).paths == ("a", "a-b", "z")
    covered = ("a/b", "a/b/x", "a/bc", "a", "a/bcd", "z/y", "", "b")
    assert [paths.covers(path) for path in covered] == [1, 1, 1, 0, 0, 1, 0, 0]
    assert PathSet([]).covers("anything")
    assert PathSet([]).steps_from("") is None


@pytest.mark.parametrize(
    "paths",
    [
        ("a.py",),
        ("a.log",),
        ("src",),
        ("src/deep", "a.py"),
        ("src/deep/c.tmp", "src/b.py"),
        ("away",),
        ("again",),
        ("again/c.py",),
        ("nothing", "src/nothing"),
        (".gitignore",),
    ],
)
def test_the_outcomes_are_those_of_the_whole_walk(root: Path, paths: tuple[str, ...]) -> None:
    wanted = tuple(f"{path}/" for path in paths)
    whole = [item for item in walk(str(root), WalkRules()) if f"{item.path}/".startswith(wanted)]
    items, walked = partial(root, *paths)
    assert items == whole
    assert set(walked.reached.paths) == set(paths)


@pytest.mark.parametrize(
    ("path", "shut"),
    [
        ("out/e.py", "out"),
        ("node_modules/f/index.js", "node_modules"),
        ("cache/g.py", "cache"),
        ("a.py/under", "a.py"),
        ("nothing/at/all", "nothing"),
        ("src/nothing/at/all", "src/nothing"),
    ],
)
def test_a_folder_that_does_not_lead_on_stands_for_all_below_it(
    root: Path, path: str, shut: str
) -> None:
    items, walked = partial(root, path)
    assert walked.reached.paths == (shut,)
    assert items == [item for item in walk(str(root), WalkRules()) if item.path == shut]


def test_links_that_were_followed_are_told(root: Path) -> None:
    assert partial(root, "again/c.py")[1].links == ["again"]
    assert partial(root, "src")[1].links == []


def test_nothing_beside_the_way_is_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []
    scandir = os.scandir

    def watched(descriptor: int) -> object:
        listed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        return scandir(descriptor)

    monkeypatch.setattr(os, "scandir", watched)
    partial(root, "src/deep/c.py")
    assert listed == [str(root), str(root / "src"), str(root / "src/deep")]
