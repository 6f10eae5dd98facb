"""A branch is gone only if git's files say so, not because they cannot be read for a while."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.source.git import branch_exists
from tests.support.git_trees import run_git
from tests.support.permissions import permissions_hold
from tests.support.trees import write_tree

COMMIT = "1234567890abcdef1234567890abcdef12345678"


def tree_with(folder: Path, files: dict[str, str]) -> str:
    return str(write_tree(folder, {".git/HEAD": "ref: refs/heads/main\n", **files}))


@pytest.mark.parametrize("name", ["main", "side/a", "v1", "origin/b", "packed", "packed-tag"])
def test_what_git_lists_exists(tmp_path: Path, name: str) -> None:
    packed = (
        f"# pack-refs with: peeled\n{COMMIT} refs/heads/packed\n{COMMIT} refs/tags/packed-tag\n"
    )
    files = dict.fromkeys(
        (".git/refs/heads/side/a", ".git/refs/tags/v1", ".git/refs/remotes/origin/b"), COMMIT
    )
    assert branch_exists(tree_with(tmp_path, {**files, ".git/packed-refs": packed}), name)


@pytest.mark.parametrize("name", ["", "side", "sid", "pack", "packed/a", "side/a/b", "a b", "../x"])
@pytest.mark.parametrize("packed", ["", f"{COMMIT} refs/heads/packed\n", None])
def test_what_git_does_not_list_is_gone(tmp_path: Path, name: str, packed: str | None) -> None:
    files = {".git/refs/heads/side/a": COMMIT}
    if packed is not None:
        files[".git/packed-refs"] = packed
    assert not branch_exists(tree_with(tmp_path, files), name)


def _refused(path: Path) -> None:
    path.chmod(0)


def _in_refused_folder(path: Path) -> None:
    path.parent.chmod(0)


def _too_large(path: Path) -> None:
    os.truncate(path, 1 << 30)


def _cut_off(path: Path) -> None:
    path.write_text(COMMIT[:9])


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/null")


@pytest.mark.parametrize("harm", [_refused, _in_refused_folder, _too_large, _cut_off, _link])
def test_a_ref_that_cannot_be_read_is_not_gone(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    root = tree_with(tmp_path, {".git/refs/heads/side/a": COMMIT, ".git/refs/heads/main": COMMIT})
    ref = tmp_path / ".git/refs/heads/side/a"
    with permissions_hold():
        harm(ref)
        assert branch_exists(root, "side/a")
        ref.parent.chmod(0o700)
        ref.unlink()
        assert not branch_exists(root, "side/a")


@pytest.mark.parametrize("harm", [_refused, _too_large, _cut_off, _link])
def test_while_packed_refs_cannot_be_read_no_branch_is_gone(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    root = tree_with(tmp_path, {".git/packed-refs": f"{COMMIT} refs/heads/side\n"})
    with permissions_hold():
        harm(tmp_path / ".git/packed-refs")
        assert branch_exists(root, "side")
    (tmp_path / ".git/packed-refs").unlink()
    assert not branch_exists(root, "side")


def test_while_a_worktree_cannot_read_where_its_refs_are_no_branch_is_gone(
    tmp_path: Path, home: Path
) -> None:
    main = write_tree(tmp_path / "main", {"a.txt": "a"})
    run_git(main, home, "init", "-q")
    run_git(main, home, "add", ".")
    run_git(main, home, "commit", "-qm", "first")
    run_git(main, home, "branch", "side")
    run_git(main, home, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    with permissions_hold():
        common = main / ".git/worktrees/other/commondir"
        common.chmod(0)
        assert branch_exists(str(tmp_path / "other"), "side")
        common.chmod(0o600)
        run_git(main, home, "branch", "-qD", "side")
        assert not branch_exists(str(tmp_path / "other"), "side")


def test_the_refs_of_an_outer_repository_say_nothing_of_one_in_it(tmp_path: Path) -> None:
    inner = tree_with(tmp_path / "inner", {".git/refs/heads/side": COMMIT, "sub/a.txt": "a"})
    tree_with(tmp_path, {".git/refs/heads/main": COMMIT})
    with permissions_hold():
        (tmp_path / "inner/.git").chmod(0)
        for folder in (inner, f"{inner}/sub"):
            assert branch_exists(folder, "side")
        (tmp_path / "inner/.git").chmod(0o700)
        (tmp_path / "inner/.git/refs/heads/side").unlink()
        assert not branch_exists(inner, "side")
