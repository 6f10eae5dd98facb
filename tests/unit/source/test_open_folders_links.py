import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from engine.records import FileEntry, FileStat, SkipReason
from engine.source.walker import WalkRules, walk
from tests.support.trees import write_tree
from tests.support.walks import real_paths, skips


def link(place: Path, target: str | Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


@pytest.mark.parametrize(
    "target",
    [
        "real.py",
        "./real.py",
        "sub/../real.py",
        "sub/back/real.py",
        "/TREE/real.py",
        "../tree/real.py",
    ],
)
def test_a_link_to_a_file_inside_is_an_entry(tree: Path, target: str) -> None:
    write_tree(tree, {"real.py": "12345", "sub/x": ""})
    link(tree / "sub/back", "..")
    link(tree / "link.py", target.replace("/TREE", str(tree)))
    found = [item for item in walk(str(tree), WalkRules()) if item.path == "link.py"]
    facts = (tree / "real.py").stat()
    stat = FileStat(5, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
    assert found == [FileEntry("link.py", stat, "real.py")]


def test_a_link_may_spell_the_root_as_the_caller_did(tree: Path, tmp_path: Path) -> None:
    write_tree(tree, {"real.py": ""})
    link(tmp_path / "alias", tree)
    link(tree / "link.py", tmp_path / "alias/real.py")
    assert real_paths(tmp_path / "alias")["link.py"] == "real.py"
    assert skips(tree)["link.py"].reason is SkipReason.SYMLINK_OUTSIDE


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "..", "../..", "../treehouse", "/", "/proc/self/environ", "../other/canary"],
)
@pytest.mark.parametrize("through", [False, True])
def test_what_leads_out_is_not_followed(tree: Path, target: str, through: bool) -> None:
    write_tree(tree.parent, {"treehouse": "", "other/canary": ""})
    link(tree / "link", target)
    if through:
        link(tree / "again", "link")
    found = skips(tree)
    assert found["again" if through else "link"].reason is SkipReason.SYMLINK_OUTSIDE
    assert real_paths(tree) == {}


@pytest.mark.parametrize("target", ["missing", "a.py/x", "self", "loop1", "sub/missing/../a.py"])
def test_what_leads_nowhere_is_broken(tree: Path, target: str) -> None:
    write_tree(tree, {"a.py": "", "sub/b": ""})
    link(tree / "self", "self")
    link(tree / "loop1", "loop2")
    link(tree / "loop2", "loop1")
    link(tree / "link", target)
    assert skips(tree)["link"].reason is SkipReason.SYMLINK_BROKEN


@pytest.mark.parametrize(("links", "is_followed"), [(40, True), (41, False)])
def test_forty_links_in_a_row_are_followed(tree: Path, links: int, is_followed: bool) -> None:
    write_tree(tree, {"l0": ""})
    for number in range(1, links + 1):
        link(tree / f"l{number}", f"l{number - 1}")
    assert (f"l{links}" in real_paths(tree)) == is_followed


def test_a_linked_folder_is_walked_under_its_link(tree: Path) -> None:
    write_tree(
        tree, {"lib/a.py": "", "lib/sub/b.py": "", "lib/.gitignore": "*.log", "lib/c.log": ""}
    )
    link(tree / "app/shared", "../lib")
    assert real_paths(tree) == {
        "app/shared/.gitignore": "lib/.gitignore",
        "app/shared/a.py": "lib/a.py",
        "app/shared/sub/b.py": "lib/sub/b.py",
        "lib/.gitignore": "lib/.gitignore",
        "lib/a.py": "lib/a.py",
        "lib/sub/b.py": "lib/sub/b.py",
    }
    assert skips(tree)["app/shared/c.log"].detail == "app/shared/.gitignore:1: *.log"


def test_cycles_end(tree: Path) -> None:
    write_tree(tree, {"a/b/c": ""})
    link(tree / "a/up", "..")
    link(tree / "a/b/here", ".")
    link(tree / "x/y", "../z")
    link(tree / "z/w", "../x")
    found = skips(tree)  # to follow them all would take years
    reasons = {path: skip.reason for path, skip in found.items()}
    assert reasons["a/up"] is SkipReason.SYMLINK_CYCLE
    assert reasons["a/b/here"] is SkipReason.SYMLINK_CYCLE
    assert reasons["x/y/w"] is SkipReason.SYMLINK_CYCLE
    assert found["a/up"].detail == "leads to the root, which contains it"
    assert found["a/b/here"].is_folder


def test_a_folder_is_entered_through_links_once(tree: Path) -> None:
    write_tree(tree, {"lib/sub/a.py": ""})
    link(tree / "k1", "lib")
    link(tree / "k2", "lib")
    link(tree / "k3", "lib/sub")
    assert sorted(real_paths(tree)) == ["k1/sub/a.py", "lib/sub/a.py"]
    found = skips(tree)
    assert found["k2"].reason is SkipReason.SYMLINK_REPEATED
    assert found["k2"].detail == "the same folder as k1"
    assert found["k3"].detail == "the same folder as k1/sub"


def test_many_links_to_each_other_do_not_multiply(tree: Path) -> None:
    for number in range(12):
        for other in range(12):
            link(tree / f"d{number}/l{other}", f"../d{other}")
        write_tree(tree, {f"d{number}/f": ""})
    assert len(real_paths(tree)) <= 24


def test_ignore_rules_and_globs_hold_for_the_links_path(tree: Path) -> None:
    write_tree(tree, {"lib/a.py": "", "lib/a.md": "", ".gitignore": "/app/shared/*.md\n/skipped\n"})
    link(tree / "app/shared", "../lib")
    link(tree / "skipped", "/etc")
    link(tree / "excluded", "/etc")
    rules = WalkRules(include=("*.py", "*.md"), exclude=("excluded",))
    assert list(real_paths(tree, rules)) == ["app/shared/a.py", "lib/a.md", "lib/a.py"]
    found = skips(tree, rules)
    assert found["skipped"].reason is SkipReason.IGNORED
    assert found["excluded"].reason is SkipReason.EXCLUDED


def test_a_link_does_not_show_secrets_or_git(tree: Path) -> None:
    write_tree(tree, {".env": "", ".git/config": "", "keys/id_rsa": "", "sub/x": ""})
    link(tree / "config.py", ".env")
    link(tree / "settings", ".git/config")
    link(tree / "sub/repository", "../.git")
    found = skips(tree)
    assert found["config.py"].reason is SkipReason.SECRET_FILE
    assert found["settings"].detail == "leads into .git"
    assert found["sub/repository"].detail == "leads into .git"
    link(tree / "other", "keys")
    assert skips(tree)["other/id_rsa"].reason is SkipReason.SECRET_FILE
    assert list(real_paths(tree)) == ["sub/x"]


def test_a_linked_file_has_the_size_of_its_target(tree: Path) -> None:
    write_tree(tree, {"big": "x" * 11, "small": "x"})
    link(tree / "l1", "big")
    link(tree / "l2", "small")
    found = skips(tree, WalkRules(max_file_size_bytes=10))
    assert found["l1"].reason is SkipReason.TOO_LARGE
    assert "l2" not in found


def test_a_long_way_through_a_link_is_cut(tree: Path) -> None:
    write_tree(tree, {"a/b": "", "file": ""})
    link(tree / "x0", "a/.." + "/a/.." * 600)
    for number in range(1, 38):
        link(tree / f"x{number}", f"x{number - 1}/" + "a/../" * 600 + ".")
    assert skips(tree)  # to follow it would take years


def test_swapping_folders_and_links_never_leads_out(tree: Path, tmp_path: Path) -> None:
    write_tree(tree, {f"d{number}/e/f": "" for number in range(20)})
    write_tree(tmp_path / "outside", {"canary": "", "e/canary": ""})
    done = threading.Event()

    def swap() -> None:
        number = 0
        while not done.is_set():
            number = (number + 1) % 20
            place = tree / f"d{number}"
            place.rename(tree / "away")
            place.symlink_to(tmp_path / "outside")
            place.unlink()
            (tree / "away").rename(place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        end = time.perf_counter() + 1
        seen = 0
        while time.perf_counter() < end:
            paths = [item.path for item in walk(str(tree), WalkRules())]
            assert not any("canary" in path for path in paths)
            seen += sum(path.endswith("/e/f") for path in paths)
    finally:
        done.set()
        thread.join()
    assert seen


def test_a_hard_link_is_a_file_of_its_own(tree: Path) -> None:
    write_tree(tree, {"a": "x"})
    os.link(tree / "a", tree / "b")
    assert list(real_paths(tree)) == ["a", "b"]


def test_a_link_in_a_deep_linked_folder_finds_its_way(tree: Path) -> None:
    write_tree(tree, {"one/two/three/x": "", "top": ""})
    link(tree / "one/two/three/up", "../../../top")
    link(tree / "short", "one/two/three")
    assert real_paths(tree)["short/up"] == "top"
    shutil.rmtree(tree / "one/two")
    assert skips(tree)["short"].reason is SkipReason.SYMLINK_BROKEN
