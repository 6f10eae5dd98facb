"""Walks of trees that are deeper or wider than usual programs can go."""

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.records import FileEntry, Skip, SkipReason
from engine.source.walker import MAX_PATH_CHARACTERS, WalkRules, walk


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder that may become too deep for ``shutil.rmtree``."""
    folder = tmp_path / "deep"
    folder.mkdir()
    yield folder
    fill_in(folder)


def dig(root: Path, depth: int, *, name: str = "d", side: str | None = None) -> None:
    """Make folders in one another with a file in each; with ``side``, also folders beside them."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.mkdir(name, dir_fd=here)
        if side is not None:
            os.mkdir(side, dir_fd=here)
            beside = os.open(side, os.O_RDONLY, dir_fd=here)
            os.close(os.open("g", os.O_CREAT | os.O_WRONLY, dir_fd=beside))
            os.close(beside)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def fill_in(root: Path) -> None:
    """Remove what ``dig`` made, from the bottom up."""
    here = os.open(root, os.O_RDONLY)
    names: list[str] = []
    while inside := [name for name in os.listdir(here) if name[0] in "dn"]:
        names.append(inside[0])
        below = os.open(inside[0], os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    while names:
        above = os.open("..", os.O_RDONLY, dir_fd=here)
        for name in os.listdir(here):
            if name == "f":
                os.unlink(name, dir_fd=here)
            else:
                shutil.rmtree(name, dir_fd=here)
        os.rmdir(names.pop(), dir_fd=above)
        os.close(here)
        here = above
    os.close(here)


def outcomes(root: Path, rules: WalkRules | None = None) -> tuple[list[str], list[Skip]]:
    items = list(walk(str(root), rules or WalkRules()))
    return (
        [item.path for item in items if isinstance(item, FileEntry)],
        [item for item in items if isinstance(item, Skip)],
    )


@pytest.mark.parametrize("depth", [101, 3100])
def test_a_deep_tree_is_walked_to_its_end(root: Path, depth: int) -> None:
    dig(root, depth)
    files, skipped = outcomes(root)
    assert len(files) == depth
    assert max(map(len, files)) == 2 * depth - 1
    assert skipped == []


def test_a_path_longer_than_the_system_takes_is_walked(root: Path) -> None:
    dig(root, 60, name="n" * 200, side="z")
    files, skipped = outcomes(root)
    assert len(files) == 120
    assert max(map(len, files)) > 3 * 4096 - 1000
    assert skipped == []


@pytest.mark.parametrize("side", ["a", "z"])
def test_folders_beside_a_deep_one_are_found_on_the_way_back(root: Path, side: str) -> None:
    dig(root, 400, side=side)
    files, skipped = outcomes(root)
    assert len(files) == 800
    assert files == sorted(set(files), key=files.index)
    assert skipped == []


def test_few_descriptors_are_enough(root: Path) -> None:
    dig(root, 400, side="z")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/dev/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 80, hard))
    try:
        files, skipped = outcomes(root)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(files) == 800
    assert skipped == []


def test_what_lies_below_the_limit_is_one_row(root: Path) -> None:
    dig(root, 12)
    files, skipped = outcomes(root, WalkRules(depth_limit=10))
    assert len(files) == 11
    assert skipped == [
        Skip("/".join("d" * 11), SkipReason.TOO_DEEP, "deeper than 10 folders", is_folder=True)
    ]


def test_paths_without_measure_are_one_row(root: Path) -> None:
    dig(root, 300, name="n" * 255)
    files, skipped = outcomes(root)
    assert len(files) == MAX_PATH_CHARACTERS // 256 + 1
    assert [skip.reason for skip in skipped] == [SkipReason.TOO_DEEP]


def test_a_wide_folder_is_listed_whole(root: Path) -> None:
    for number in range(2_000):
        os.close(os.open(root / f"f{number}", os.O_CREAT | os.O_WRONLY))
    files, _ = outcomes(root)
    assert len(files) == 2_000
    assert files == sorted(files)


def test_a_folder_replaced_while_the_walk_was_below_is_not_gone_back_to(root: Path) -> None:
    dig(root, 100, side="z")
    outside = root.parent / "outside"
    (outside / "z").mkdir(parents=True)
    (outside / "z" / "canary").touch()
    bottom = "/".join(["d"] * 99) + "/f"
    items = []
    for item in walk(str(root), WalkRules()):
        items.append(item)
        if item.path == bottom:
            (root / "d/d").rename(outside / "away")
            (root / "d/d").symlink_to(outside)
    (root / "d/d").unlink()
    (outside / "away").rename(root / "d/d")
    paths = [item.path for item in items]
    assert not any("canary" in path for path in paths)
    vanished = [item for item in items if isinstance(item, Skip)]
    assert vanished
    assert {skip.reason for skip in vanished} == {SkipReason.VANISHED}
    assert "z/g" in paths
