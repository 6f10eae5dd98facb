import os
import subprocess
from pathlib import Path

import pytest

from engine.source.git import GitHead, find_repository, read_branch, read_head, tracked_paths
from engine.source.git_files import TrackedPaths, count_entries
from tests.support.git_trees import run_git
from tests.support.trees import write_tree

COMMIT = "1234567890abcdef1234567890abcdef12345678"
NOTHING = GitHead("", None)


@pytest.fixture
def checkout(tmp_path: Path, home: Path) -> Path:
    top = tmp_path / "checkout"
    write_tree(top, {"a.txt": "a", "sub/b.txt": "b"})
    run_git(top, home, "init", "-q")
    run_git(top, home, "add", ".")
    run_git(top, home, "commit", "-qm", "first")
    return top


def head_of(checkout: Path, home: Path) -> str:
    return run_git(checkout, home, "rev-parse", "HEAD").decode().strip()


def tracked_in(folder: Path) -> TrackedPaths:
    repository = find_repository(str(folder))
    assert repository is not None
    return tracked_paths(repository, str(folder))


def test_without_git_nothing_is_checked_out(tmp_path: Path) -> None:
    assert read_head(str(tmp_path)) == NOTHING
    assert read_head(str(tmp_path / "missing")) == NOTHING


def test_a_branch_and_its_commit(checkout: Path, home: Path) -> None:
    assert read_head(str(checkout)) == GitHead("main", head_of(checkout, home))
    run_git(checkout, home, "checkout", "-qb", "feature/ä-1")
    assert read_head(str(checkout)).branch == "feature/ä-1"


def test_a_folder_in_the_work_tree_finds_its_repository(checkout: Path) -> None:
    assert read_head(str(checkout / "sub")).branch == "main"
    found = find_repository(str(checkout / "sub"))
    assert found is not None
    assert found.top == str(checkout)


def test_packed_refs(checkout: Path, home: Path) -> None:
    expected = head_of(checkout, home)
    run_git(checkout, home, "branch", "xmain")
    run_git(checkout, home, "pack-refs", "--all")
    assert not (checkout / ".git/refs/heads/main").exists()
    assert read_head(str(checkout)) == GitHead("main", expected)


def test_detached(checkout: Path, home: Path) -> None:
    commit = head_of(checkout, home)
    run_git(checkout, home, "checkout", "-q", "--detach")
    assert read_head(str(checkout)) == GitHead(f"detached@{commit[:12]}", commit)


def test_before_the_first_commit(tmp_path: Path, home: Path) -> None:
    run_git(tmp_path, home, "init", "-q", "-b", "trunk")
    assert read_head(str(tmp_path)) == GitHead("trunk", None)


def test_a_worktree(checkout: Path, home: Path, tmp_path: Path) -> None:
    run_git(checkout, home, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    run_git(checkout, home, "pack-refs", "--all")
    write_tree(tmp_path / "side", {"new.txt": ""})
    run_git(tmp_path / "side", home, "add", "new.txt")
    assert read_head(str(tmp_path / "side")) == GitHead("side", head_of(checkout, home))
    assert tracked_in(tmp_path / "side").has("new.txt")
    assert not tracked_in(checkout).has("new.txt")


def test_a_head_that_is_a_link_as_git_once_made_it(checkout: Path, home: Path) -> None:
    commit = head_of(checkout, home)
    (checkout / ".git/HEAD").unlink()
    (checkout / ".git/HEAD").symlink_to("refs/heads/main")
    assert read_head(str(checkout)) == GitHead("main", commit)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_tracked_paths_of_each_index_version(checkout: Path, home: Path, version: str) -> None:
    names = ["a.txt", "sub/b.txt", "sub/deep/" + "x" * 200, "sub/deep/ü", "sub.txt", "new\nline"]
    write_tree(checkout, dict.fromkeys(names, ""))
    run_git(checkout, home, "add", ".")
    if version == "3":  # git writes it only for flags that version 2 does not have
        write_tree(checkout, {"later": ""})
        run_git(checkout, home, "add", "-N", "later")
        names.append("later")
    else:
        run_git(checkout, home, "update-index", "--index-version", version)
    assert (checkout / ".git/index").read_bytes()[4:8] == int(version).to_bytes(4, "big")
    assert count_entries(str(checkout / ".git")) == len(names)
    tracked = tracked_in(checkout)
    assert [name for name in names if not tracked.has(name)] == []
    assert tracked.has_below("sub")
    assert tracked.has_below("sub/deep")
    assert not tracked.has("sub")
    assert not tracked.has_below("su")
    assert not tracked.has("missing")


def test_tracked_paths_below_a_folder(checkout: Path) -> None:
    tracked = tracked_in(checkout / "sub")
    assert tracked.has("b.txt")
    assert not tracked.has("a.txt")
    assert not tracked.has("sub/b.txt")


def test_names_that_are_not_utf_8_are_tracked(checkout: Path, home: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.txt")
    (checkout / name).touch()
    run_git(checkout, home, "add", ".")
    assert tracked_in(checkout).has(name)


def test_a_split_index_gives_both_parts(checkout: Path, home: Path) -> None:
    run_git(checkout, home, "update-index", "--split-index")
    write_tree(checkout, {"later.txt": ""})
    run_git(checkout, home, "add", "later.txt")
    assert list((checkout / ".git").glob("sharedindex.*"))
    tracked = tracked_in(checkout)
    assert tracked.has("a.txt")
    assert tracked.has("later.txt")


def test_a_repository_with_sha_256(tmp_path: Path, home: Path) -> None:
    write_tree(tmp_path / "new", {"a.txt": "a"})
    run_git(tmp_path / "new", home, "init", "-q", "--object-format=sha256")
    run_git(tmp_path / "new", home, "add", ".")
    run_git(tmp_path / "new", home, "commit", "-qm", "first")
    assert tracked_in(tmp_path / "new").has("a.txt")
    assert read_head(str(tmp_path / "new")) == GitHead("main", head_of(tmp_path / "new", home))


def test_a_sparse_folder_stands_for_what_is_in_it(checkout: Path, home: Path) -> None:
    write_tree(checkout, {"out/c.txt": ""})
    run_git(checkout, home, "add", ".")
    run_git(checkout, home, "commit", "-qm", "second")
    run_git(checkout, home, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    tracked = tracked_in(checkout)
    assert tracked.has_below("out")
    assert tracked.has("out/c.txt")
    assert not tracked.has("other/c.txt")


def test_every_cut_of_an_index_is_survived(checkout: Path) -> None:
    index = checkout / ".git/index"
    whole = index.read_bytes()
    for size in range(0, len(whole), 7):
        index.write_bytes(whole[:size])
        tracked = tracked_in(checkout)
        assert tracked.has("a.txt") == tracked.has("sub/b.txt") == tracked.is_known
    for at in range(0, len(whole), 3):
        index.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        tracked_in(checkout)


def compressed_entry(dropped: bytes, name: bytes) -> bytes:
    return bytes(62) + dropped + name + b"\0"


@pytest.mark.parametrize(
    "index",
    [
        b"",
        b"DIRC",
        b"DIRC\0\0\0\5\0\0\0\0" + bytes(20),
        b"DIRC\0\0\0\2\xff\xff\xff\xff" + bytes(200),
        b"DIRC\0\0\0\2\0\0\0\1" + bytes(62) + b"name without end",
        b"DIRC\0\0\0\4\0\0\0\1" + compressed_entry(b"\x05", b"drops more than there is"),
        b"DIRC\0\0\0\4\0\0\0\1" + compressed_entry(b"\xff" * 40 + b"\x00", b"endless number"),
        b"DIRC\0\0\0\2\0\0\0\0link\0\0\0\x14" + b"\x11" * 20 + bytes(20),
        b"DIRC\0\0\0\2\0\0\0\0xxxx\xff\xff\xff\xff" + bytes(40),
    ],
)
def test_an_index_that_lies_tracks_nothing(checkout: Path, index: bytes) -> None:
    (checkout / ".git/index").write_bytes(index)
    assert not tracked_in(checkout).is_known
    assert count_entries(str(checkout / ".git")) <= 1


def test_an_index_that_unfolds_into_gigabytes_is_refused(checkout: Path) -> None:
    first = compressed_entry(b"\x00", b"x" * 60_000)
    bomb = b"DIRC\0\0\0\4" + (20_000).to_bytes(4, "big") + first
    (checkout / ".git/index").write_bytes(
        bomb + compressed_entry(b"\x00", b"") * 19_999 + bytes(20)
    )
    assert not tracked_in(checkout).is_known


def test_an_index_that_is_endless_or_no_file_tracks_nothing(checkout: Path) -> None:
    index = checkout / ".git/index"
    with index.open("wb") as file:
        file.truncate(10 << 30)  # a hole, no blocks
    assert not tracked_in(checkout).is_known
    index.unlink()
    assert count_entries(str(checkout / ".git")) == 0
    os.mkfifo(index)
    assert not tracked_in(checkout).is_known
    assert count_entries(str(checkout / ".git")) == 0
    index.unlink()
    index.mkdir()
    assert not tracked_in(checkout).is_known
    assert count_entries(str(checkout / ".git")) == 0


HOSTILE_HEADS = [
    b"",
    b"\n",
    b"ref:",
    b"ref: refs/heads/",
    b"ref: ../../../etc/passwd",
    b"ref: refs/heads/../../secret",
    b"ref: refs/heads/a b",
    b"ref: refs/heads/x\0y",
    b"ref: /etc/passwd",
    b"ref: refs/heads/-\x1b[31m",
    b"ref: HEAD",
    b"1234",
    COMMIT.upper().encode(),
    b"\xff\xfe",
    b"x" * 100_000,
]


@pytest.mark.parametrize("content", HOSTILE_HEADS)
def test_a_head_that_is_none_says_nothing(tmp_path: Path, content: bytes) -> None:
    write_tree(tmp_path, {".git/HEAD": content, ".git/secret": COMMIT})
    assert read_head(str(tmp_path)) == NOTHING


@pytest.mark.parametrize(
    "content", [b"ref: refs/heads/loop", b"gone", b"", b"\xff" * 50, b"ref: ../HEAD", b"x" * 9000]
)
def test_a_ref_that_leads_nowhere_has_no_commit(tmp_path: Path, content: bytes) -> None:
    write_tree(tmp_path, {".git/HEAD": "ref: refs/heads/loop", ".git/refs/heads/loop": content})
    assert read_head(str(tmp_path)) == GitHead("loop", None)


def test_a_ref_may_name_another_ref(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            ".git/HEAD": "ref: refs/heads/a\n",
            ".git/refs/heads/a": "ref: refs/heads/b\n",
            ".git/packed-refs": f"# pack-refs with: peeled\n{COMMIT} refs/heads/b\n",
        },
    )
    assert read_head(str(tmp_path)) == GitHead("a", COMMIT)


def test_links_and_pipes_in_git_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(COMMIT)
    write_tree(tmp_path / "tree", {".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/x": ""})
    (tmp_path / "tree/.git/refs/heads/a").symlink_to(secret)
    os.mkfifo(tmp_path / "tree/.git/packed-refs")
    # To open the pipe to read would wait for ever.
    assert read_head(str(tmp_path / "tree")) == GitHead("a", None)
    (tmp_path / "tree/.git/HEAD").unlink()
    (tmp_path / "tree/.git/HEAD").symlink_to(secret)
    assert read_head(str(tmp_path / "tree")) == NOTHING


@pytest.mark.parametrize(
    "content", [b"gitdir: .git", b"gitdir: ", b"gitdir: a\0b", b"gitdir: .", b"x" * 10_000, b""]
)
def test_a_git_file_that_leads_nowhere_is_no_repository(tmp_path: Path, content: bytes) -> None:
    write_tree(tmp_path, {".git": content})
    assert read_head(str(tmp_path)) == NOTHING


def test_a_common_folder_in_a_circle_is_survived(tmp_path: Path) -> None:
    write_tree(tmp_path, {".git/HEAD": "ref: refs/heads/a", ".git/commondir": "."})
    assert read_head(str(tmp_path)) == GitHead("a", None)


def test_git_agrees_about_the_head_of_a_submodule(checkout: Path, home: Path) -> None:
    allowed = ("-c", "protocol.file.allow=always")
    run_git(checkout, home, *allowed, "submodule", "--quiet", "add", str(checkout), "module")
    head = read_head(str(checkout / "module"))
    assert (checkout / "module/.git").is_file()
    assert head == GitHead("main", head_of(checkout / "module", home))


def test_git_is_not_run(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError):
        subprocess.run(["git"], check=False)
    assert read_head(str(checkout)).branch == "main"
    assert tracked_in(checkout).has("a.txt")


@pytest.mark.parametrize(
    "head", ["ref: refs/heads/main\n", f"{COMMIT}\n", "ref: refs/../x\n", "nonsense\n", ""]
)
def test_the_branch_alone_is_that_of_the_head(checkout: Path, head: str) -> None:
    (checkout / ".git/HEAD").write_text(head)
    for folder in (checkout, checkout / "sub", checkout.parent):
        assert read_branch(str(folder)) == read_head(str(folder)).branch
