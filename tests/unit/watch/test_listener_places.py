import os
import shutil
from pathlib import Path

import pytest

from engine.source.walker import WalkRules
from engine.watch.listener import WatchSet
from tests.support.git_trees import git_environment, run_git
from tests.support.permissions import permissions_hold
from tests.support.trees import write_tree


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    (folder / ".config/git").mkdir(parents=True)
    for name, value in git_environment(folder).items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    write_tree(
        tree,
        {
            ".gitignore": "made/\n",
            "a/b/c.py": "",
            "made/d.py": "",
            "node_modules/e/f.js": "",
            "g.py": "",
        },
    )
    return tree


def places_of(root: Path) -> WatchSet:
    places = WatchSet(str(root))
    places.refresh(WalkRules())
    return places


def test_folders_that_are_ignored_are_not_watched(root: Path, home: Path) -> None:
    wanted = {root, root / "a", root / "a/b", home / ".config/git"}
    assert places_of(root).folders() == {str(folder) for folder in wanted}


def test_a_list_is_renewed_where_it_changed(root: Path, home: Path) -> None:
    places = places_of(root)
    before = places.folders()
    write_tree(root, {"a/new/deep/x.py": "", "other/y.py": ""})
    places.refresh(WalkRules(), below=["a/new"])
    assert places.folders() - before == {str(root / "a/new"), str(root / "a/new/deep")}
    os.rename(root / "a", root / "z")
    assert places.changed_folders(["a", "z", "g.py", "missing"]) == ["a", "z"]
    places.refresh(WalkRules(), below=["a", "z"])
    inside = {path for path in places.folders() if path.startswith(str(root))}
    assert inside == {str(root / p) for p in ("", "z", "z/b", "z/new", "z/new/deep")}


def test_an_event_is_about_a_path_or_what_a_rule_file_rules(root: Path, home: Path) -> None:
    run_git(root, home, "init", "-q")
    places = places_of(root)

    def affected_paths(*paths: str) -> set[str]:
        return places.affected_paths([str(root / path) for path in paths])

    assert affected_paths("g.py", "a/b") == {"g.py", "a/b"}
    assert affected_paths("a/b/.gitignore") == {"a/b"}
    assert affected_paths("a/.cairnignore", "a/.git") == {"a"}
    assert affected_paths(".gitignore") == {""}
    assert affected_paths(".git") == {""}
    assert (
        affected_paths(".git/HEAD")
        == affected_paths(".git/info/exclude")
        == affected_paths(".git/config")
        == {""}
    )
    assert affected_paths(".git/index", ".git/HEAD.lock", "a/.git/HEAD") == set()
    assert places.affected_paths([str(home / ".config/git/ignore")]) == {""}
    assert (
        places.affected_paths([str(home / ".config/git/config"), str(root), "/etc/passwd"]) == set()
    )


def test_what_replaces_the_root_or_a_folder_outside_is_all_looked_at(
    root: Path, home: Path
) -> None:
    run_git(root, home, "init", "-q")
    places = places_of(root)
    for folder in (root, root / ".git", root / ".git/info", home / ".config/git"):
        assert places.affected_paths([str(folder)], gone={str(folder)}) == {""}
    assert places.affected_paths([str(root / "a/b")], gone={str(root / "a/b")}) == {"a/b"}


def test_the_beginning_of_a_missing_folder_is_noticed(root: Path, home: Path) -> None:
    shutil.rmtree(home / ".config")
    places = places_of(root)
    assert str(home) in places.folders()
    assert places.affected_paths([str(home / ".config")]) == {""}
    assert places.affected_paths([str(home / ".other")]) == set()
    (home / ".config").mkdir()
    places.refresh(WalkRules())
    assert str(home / ".config") in places.folders()
    assert str(home) not in places.folders()
    assert places.affected_paths([str(home / ".config/git")]) == {""}


def test_another_worktree_of_the_repository_is_not_watched(root: Path, home: Path) -> None:
    run_git(root, home, "init", "-q")
    run_git(root, home, "add", "g.py")
    run_git(root, home, "commit", "-q", "-m", "first")
    run_git(root, home, "worktree", "add", "-q", ".worktrees/fix")
    folders = places_of(root).folders()
    assert str(root / ".worktrees") in folders
    assert str(root / ".worktrees/fix") not in folders


def test_the_rules_above_the_root_count(root: Path, home: Path) -> None:
    run_git(root, home, "init", "-q")
    places = places_of(root / "a/b")
    assert {str(root), str(root / "a"), str(root / ".git")} <= places.folders()
    assert places.affected_paths([str(root / "g.py"), str(root / "a/x.py")]) == set()
    assert places.affected_paths([str(root / ".gitignore")]) == {""}
    assert places.affected_paths([str(root / "a/.cairnignore")]) == {""}


def test_a_worktree_has_a_head_of_its_own(root: Path, home: Path, tmp_path: Path) -> None:
    run_git(root, home, "init", "-q")
    run_git(root, home, "add", "g.py")
    run_git(root, home, "commit", "-q", "-m", "first")
    run_git(root, home, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    places = places_of(tmp_path / "other")
    assert str(root / ".git/worktrees/other") in places.folders()
    assert places.affected_paths([str(root / ".git/worktrees/other/HEAD")]) == {""}
    assert places.affected_paths([str(root / ".git/HEAD")]) == set()
    assert places.affected_paths([str(root / ".git/info/exclude")]) == {""}


def test_links_show_what_they_lead_to(root: Path) -> None:
    (root / "one").symlink_to("a/b/c.py")
    (root / "all").symlink_to("a")
    (root / "none").symlink_to("missing")
    (root / "x").mkdir()
    (root / "x/there").symlink_to("../node_modules/e")
    places = places_of(root)
    assert str(root / "node_modules/e") in places.folders()
    assert str(root / "all") not in places.folders()  # it is a, which is watched
    found = places.affected_paths([str(root / "a/b/c.py")])
    assert found == {"a/b/c.py", "one", "all/b/c.py", "none"}
    assert places.affected_paths([str(root / "a")]) == {"a", "one", "all", "none"}
    found = places.affected_paths([str(root / "node_modules/e/f.js")])
    assert found == {"node_modules/e/f.js", "x/there/f.js", "none"}
    (root / "all").unlink()
    places.refresh(WalkRules(), below=["all"])
    assert places.affected_paths([str(root / "a")]) == {"a", "one", "none"}


def test_what_a_link_leads_to_is_watched_in_a_folder_that_is_ignored(root: Path) -> None:
    (root / "one.py").symlink_to("made/d.py")
    (root / "all").symlink_to("node_modules/e")
    places = places_of(root)
    assert {str(root / "made"), str(root / "node_modules")} <= places.folders()
    assert places.affected_paths([str(root / "made/d.py")]) == {"made/d.py", "one.py"}
    assert places.affected_paths([str(root / "made/other.py")]) == set()
    (root / "one.py").unlink()
    places.refresh(WalkRules(), below=["one.py"])
    assert str(root / "made") not in places.folders()


def test_a_link_that_changes_changes_those_that_lead_through_it(root: Path) -> None:
    (root / "now").symlink_to("a")
    (root / "middle.py").symlink_to("now/b/c.py")
    (root / "far.py").symlink_to("middle.py")
    (root / "x").symlink_to("g.py")
    places = places_of(root)
    found = places.affected_paths([str(root / "middle.py")])
    assert found == {"middle.py", "far.py", "now/b/c.py"}
    assert {"now", "middle.py", "far.py"} <= places.affected_paths([str(root / "now")])
    assert "x" not in places.affected_paths([str(root / "now")])


def test_links_that_nobody_may_follow_are_looked_at_with_every_event(root: Path) -> None:
    (root / "all").symlink_to("a/b")
    (root / "one").symlink_to("a/b/c.py")
    (root / "a").chmod(0)
    try:
        with permissions_hold():
            places = places_of(root)
            assert places.affected_paths([str(root / "g.py")]) == {"g.py", "all", "one"}
    finally:
        (root / "a").chmod(0o755)
    places.refresh(WalkRules(), below=["a", "all", "one"])
    assert places.affected_paths([str(root / "g.py")]) == {"g.py"}
    assert places.affected_paths([str(root / "a/b/c.py")]) == {"a/b/c.py", "all/c.py", "one"}


def test_a_path_that_cannot_be_there_costs_little(root: Path) -> None:
    run_git(root, root, "init", "-q")
    with (root / ".git/config").open("a") as config:
        config.write(f"[core]\n\texcludesFile = {'/x' * 20_000}\n")
    assert str(root) in places_of(root).folders()
    assert len(places_of(root).folders()) < 3000


def test_a_name_that_is_not_utf8_cannot_be_watched(root: Path) -> None:
    before = places_of(root).folders()
    (root / os.fsdecode(b"caf\xe9")).mkdir()
    assert places_of(root).folders() == before
