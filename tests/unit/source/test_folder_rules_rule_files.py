import os
from pathlib import Path

import pytest

from engine.records import Skip, SkipReason
from engine.source.walker import WalkRules
from tests.support.git_trees import run_git
from tests.support.trees import write_tree
from tests.support.walks import files, skips


def test_ignore_rules_are_named(tree: Path) -> None:
    write_tree(
        tree,
        {
            ".gitignore": "*.log\n/only-top\n",
            "a.log": "",
            "only-top": "",
            "sub/only-top": "",
            "sub/.gitignore": "!keep.log\n\ntmp/\n",
            "sub/keep.log": "",
            "sub/tmp/x/y": "",
        },
    )
    assert files(tree) == [".gitignore", "sub/.gitignore", "sub/keep.log", "sub/only-top"]
    assert skips(tree) == {
        "a.log": Skip("a.log", SkipReason.IGNORED, ".gitignore:1: *.log"),
        "only-top": Skip("only-top", SkipReason.IGNORED, ".gitignore:2: /only-top"),
        "sub/tmp": Skip("sub/tmp", SkipReason.IGNORED, "sub/.gitignore:3: tmp/", is_folder=True),
    }


def test_rules_of_a_repository_that_ignores_case(tree: Path, home: Path) -> None:
    write_tree(tree, {".gitignore": "*.LOG\nTmp/\n", "a.log": "", "tmp/b": "", "ä.Log": ""})
    assert len(files(tree)) == 4
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "config", "core.ignoreCase", "true")
    assert files(tree) == [".gitignore"]


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_called_git_is_no_part_of_the_tree(tree: Path, kind: str) -> None:
    write_tree(tree, {"sub/a.py": "", "real/x": ""})
    if kind == "folder":
        write_tree(tree, {"sub/.git/config": ""})
    elif kind == "file":
        write_tree(tree, {"sub/.git": "gitdir: ../real"})
    else:
        (tree / "sub/.git").symlink_to("../real")
    assert files(tree) == ["real/x", "sub/a.py"]
    assert skips(tree)["sub/.git"].reason is SkipReason.DEFAULT_EXCLUDED


def test_what_git_tracks_is_not_ignored(tree: Path, home: Path) -> None:
    names = ["a.log", "b.log", "out/kept", "out/lost", "out/deep/kept", "out/other/lost"]
    write_tree(tree, {".gitignore": "*.log\nout/\n", **dict.fromkeys(names, "")})
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "add", "-f", "a.log", "out/kept", "out/deep/kept")
    assert files(tree) == [".gitignore", "a.log", "out/kept", "out/deep/kept"]
    found = skips(tree)
    assert found["out/lost"].detail == ".gitignore:2: out/"
    assert found["out/other"].is_folder


def test_rules_above_the_root_count_up_to_the_repository(tree: Path, home: Path) -> None:
    write_tree(
        tree,
        {
            ".gitignore": "*.log\n/sub/deep/x\n",
            "sub/.gitignore": "*.tmp\n",
            "sub/deep/a.log": "",
            "sub/deep/b.tmp": "",
            "sub/deep/x": "",
            "sub/deep/y": "",
        },
    )
    assert files(tree / "sub/deep") == ["a.log", "b.tmp", "x", "y"]
    run_git(tree, home, "init", "-q")
    assert files(tree / "sub/deep") == ["y"]
    assert skips(tree / "sub/deep")["a.log"].detail == "../../.gitignore:1: *.log"


def test_a_root_that_is_ignored_itself_is_walked(tree: Path, home: Path) -> None:
    write_tree(tree, {".gitignore": "*\n", "sub/a": "", "sub/b.log": "", "sub/.gitignore": "*.log"})
    run_git(tree, home, "init", "-q")
    assert files(tree / "sub") == [".gitignore", "a"]


def test_a_repository_inside_starts_anew(tree: Path, home: Path) -> None:
    write_tree(
        tree,
        {
            ".gitignore": "*.log\n",
            ".cairnignore": "*.tmp\n",
            "inner/a.log": "",
            "inner/b.tmp": "",
            "inner/c.x": "",
            "inner/d.x": "",
        },
    )
    run_git(tree, home, "init", "-q")
    run_git(tree / "inner", home, "init", "-q")
    (tree / "inner/.git/info/exclude").write_text("*.x\n")
    run_git(tree / "inner", home, "add", "-f", "d.x")
    assert [path for path in files(tree) if "/" in path] == ["inner/a.log", "inner/d.x"]
    assert skips(tree)["inner/.git"].is_folder


def test_a_worktree_has_the_rules_of_its_repository(tree: Path, home: Path, tmp_path: Path) -> None:
    write_tree(tree, {"a.py": ""})
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "add", ".")
    run_git(tree, home, "commit", "-qm", "first")
    (tree / ".git/info/exclude").write_text("*.log\n*.dat\n")
    run_git(tree, home, "worktree", "add", "-q", str(tmp_path / "side"))
    write_tree(tmp_path / "side", {"b.log": "", "c.dat": ""})
    run_git(tmp_path / "side", home, "add", "-f", "c.dat")
    assert files(tmp_path / "side") == ["a.py", "c.dat"]
    found = skips(tmp_path / "side")
    assert not found[".git"].is_folder
    assert found["b.log"].detail == ".git/info/exclude:1"


@pytest.fixture
def repository(tree: Path, home: Path) -> Path:
    """A repository with one commit."""
    write_tree(tree, {"a.py": ""})
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "add", ".")
    run_git(tree, home, "commit", "-qm", "first")
    return tree


def test_another_worktree_of_the_repository_is_out_unless_it_is_named(
    repository: Path, home: Path
) -> None:
    run_git(repository, home, "worktree", "add", "-q", ".worktrees/fix")
    (repository / "linked").symlink_to(".worktrees/fix")
    is_one = "a worktree of this repository"
    assert files(repository) == ["a.py"]
    found = skips(repository)
    for path in (".worktrees/fix", "linked"):
        assert found[path] == Skip(path, SkipReason.DEFAULT_EXCLUDED, is_one, is_folder=True)
    (repository / ".worktrees/fix/.git").write_text("gitdir: ../../.git/worktrees/fix\n")
    assert skips(repository)[".worktrees/fix"].detail == is_one
    asked = WalkRules(include=("/*.py", "/.worktrees/fix/"))
    assert files(repository, asked) == ["a.py", ".worktrees/fix/a.py"]
    (repository / ".cairnignore").write_text("!.worktrees/fix/\n")
    assert files(repository) == [".cairnignore", "a.py", ".worktrees/fix/a.py"]


def test_worktrees_are_told_from_the_root_they_lie_in(
    repository: Path, home: Path, tmp_path: Path
) -> None:
    side = tmp_path / "side"
    run_git(repository, home, "worktree", "add", "-q", str(side))
    run_git(repository, home, "worktree", "add", "-q", str(side / "inner"))
    assert (files(side), files(side / "inner")) == (["a.py"], ["a.py"])
    write_tree(repository, {"deep/b.py": ""})
    run_git(repository, home, "worktree", "add", "-q", "deep/fix")
    assert files(repository / "deep") == ["b.py"]
    above = WalkRules(include=("*.py",))
    assert files(tmp_path, above) == ["side/a.py", "tree/a.py", "tree/deep/b.py"]


def test_other_repositories_are_no_worktrees(repository: Path, home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_git(tmp_path, home, "clone", "-q", str(repository), str(other))
    submodule = ("-c", "protocol.file.allow=always", "submodule", "add", "-q")
    run_git(repository, home, *submodule, str(other), "sub")
    run_git(other, home, "worktree", "add", "-q", str(repository / "foreign"))
    of_worktree = f"gitdir: {repository}/.git/worktrees/fix/modules/part\n"
    write_tree(repository, {"part/.git": of_worktree, "part/b.py": ""})
    expected = ["a.py", "foreign/a.py", "part/b.py", "sub/a.py"]
    assert [path for path in files(repository) if path.endswith(".py")] == expected


def test_the_worktrees_of_a_bare_repository_are_all_there_is(
    repository: Path, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bare"
    run_git(tmp_path, home, "clone", "-q", "--bare", str(repository), str(folder / ".bare"))
    (folder / ".git").write_text("gitdir: ./.bare\n")
    for name in ("one", "two"):
        run_git(folder, home, "worktree", "add", "-q", name)
    assert files(folder, WalkRules(include=("*.py",))) == ["one/a.py", "two/a.py"]


def test_rules_without_measure_are_not_read(tree: Path) -> None:
    half = "\n".join(f"name-{number:020}" for number in range(50_000))  # 1.3 MB
    write_tree(tree, {"a/.gitignore": f"*.x\n{half}\n{half}", "a/f.x": ""})
    write_tree(tree, {"b/.gitignore": f"*.x\n{half}", "b/f.x": ""})
    write_tree(tree, {"b/b/.gitignore": f"*.y\n{half}", "b/b/f.x": "", "b/b/f.y": ""})
    assert files(tree) == ["a/f.x", "b/b/f.y"]


def test_the_users_own_ignore_file_counts(tree: Path, home: Path) -> None:
    write_tree(tree, {"a.swp": "", "b.bak": "", "c": "", "sub/d.swp": ""})
    write_tree(home, {".config/git/ignore": "*.swp\n", "other": "*.bak\n"})
    assert files(tree) == ["b.bak", "c"]
    (home / ".gitconfig").write_text("[core]\nexcludesFile = ~/other\n")
    assert files(tree) == ["a.swp", "c", "sub/d.swp"]
    assert skips(tree)["b.bak"].detail == "core.excludesFile:1: *.bak"


def test_a_repository_cannot_make_other_files_shown(tree: Path, home: Path) -> None:
    write_tree(tree, {"canary-1": "", "b": ""})
    write_tree(home, {"private": "canary-*\n"})
    run_git(tree, home, "init", "-q")
    run_git(tree, home, "config", "core.excludesFile", str(home / "private"))
    assert skips(tree)["canary-1"].detail == "core.excludesFile:1"


def test_a_rule_file_that_is_a_link_or_a_pipe_is_not_read(tree: Path, tmp_path: Path) -> None:
    write_tree(tmp_path, {"rules": "*.py\n"})
    write_tree(tree, {"a.py": "", "sub/b.py": ""})
    (tree / ".gitignore").symlink_to(tmp_path / "rules")
    os.mkfifo(tree / "sub/.gitignore")
    assert files(tree) == ["a.py", "sub/b.py"]
