import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import Cancelled, InvalidInputError, InvalidPathError
from engine.records import FileEntry, FileStat, Skip, SkipReason
from engine.source.walker import WalkRules, walk
from tests.support.trees import write_tree
from tests.support.unprivileged import as_nobody
from tests.support.walks import files, skips, walked


def test_every_file_has_one_outcome_in_order(tree: Path) -> None:
    write_tree(
        tree,
        dict.fromkeys(["b.py", "a.py", "z/1", "B", "z.txt", "a/z/2", "a/y/3", "a.d/4"], "x"),
    )
    assert files(tree) == ["B", "a.py", "b.py", "z.txt", "a/y/3", "a/z/2", "a.d/4", "z/1"]
    assert walked(tree) == walked(tree)


def test_an_entry_says_what_tells_a_change(tree: Path) -> None:
    write_tree(tree, {"a/b.py": "12345"})
    (entry,) = walked(tree)
    facts = (tree / "a/b.py").stat()
    assert isinstance(entry, FileEntry)
    expected = FileStat(5, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
    assert entry == FileEntry("a/b.py", expected, "a/b.py")


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        (WalkRules(include=("[invalid",)), "include_patterns"),
        (WalkRules(exclude=("[invalid",)), "exclude_patterns"),
    ],
)
def test_a_bad_glob_is_refused_before_anything_is_read(
    tmp_path: Path, rules: WalkRules, field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        rules.check()
    with pytest.raises(InvalidInputError) as again:
        walk(str(tmp_path / "missing"), rules)
    assert caught.value.details == again.value.details
    assert again.value.details == {"field": field, "pattern": "[invalid"}


def test_a_root_that_is_none_is_refused(tree: Path) -> None:
    write_tree(tree, {"file": ""})
    for root, message in [
        ("missing", "path does not exist"),
        ("file", "not a folder"),
        ("a\0b", "cannot read"),
    ]:
        with pytest.raises(InvalidPathError, match=message) as caught:
            walk(str(tree / root), WalkRules())
        assert caught.value.details["field"] == "path"


def test_a_root_behind_a_link_is_walked(tree: Path, tmp_path: Path) -> None:
    write_tree(tree, {"a": ""})
    (tmp_path / "link").symlink_to(tree)
    assert files(tmp_path / "link") == ["a"]


def test_secret_files_are_out_unless_allowed(tree: Path) -> None:
    write_tree(tree, {".env": "", "sub/id_rsa": "", "a.py": "", "keys/test.pem": ""})
    assert files(tree) == ["a.py"]
    assert {skip.reason for skip in skips(tree).values()} == {SkipReason.SECRET_FILE}
    assert files(tree, WalkRules(allow_secret_files=("*.pem",))) == ["a.py", "keys/test.pem"]


def test_sizes_at_the_limit(tree: Path) -> None:
    write_tree(tree, {"0": b"", "cap-1": b"x" * 9, "cap": b"x" * 10, "cap+1": b"x" * 11})
    rules = WalkRules(max_file_size_bytes=10)
    assert files(tree, rules) == ["0", "cap", "cap-1"]
    skip = skips(tree, rules)["cap+1"]
    assert (skip.reason, skip.detail) == (SkipReason.TOO_LARGE, "11 bytes, the limit is 10")
    assert skip.stat is not None
    assert skip.stat.size_bytes == 11


def test_zero_means_ten_megabytes(tree: Path) -> None:
    for name, size in [("cap", 10 << 20), ("more", (10 << 20) + 1), ("huge", 10 << 30)]:
        with (tree / name).open("wb") as file:
            file.truncate(size)
    assert files(tree, WalkRules(max_file_size_bytes=0)) == ["cap"]


def test_special_files_are_no_files(tree: Path) -> None:
    os.mkfifo(tree / "fifo")
    here = os.getcwd()
    os.chdir(tree)  # the path of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
    finally:
        os.chdir(here)
    expected = {"fifo": "a FIFO", "socket": "a socket"}
    if os.geteuid() == 0:
        os.mknod(tree / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        expected["null"] = "a device"
    (tree / "x.py").mkdir()
    (tree / "link").symlink_to("fifo")
    expected["link"] = "a FIFO"
    found = skips(tree)
    assert {path: skip.detail for path, skip in found.items()} == expected
    assert {skip.reason for skip in found.values()} == {SkipReason.NOT_REGULAR}


NAMES = [
    b"\xff\xfe",
    b"new\nline",
    b"tab\t",
    b"\x1b[31m",
    "\u202egnp.exe".encode(),
    "😀".encode(),
    "é".encode(),
    "e\u0301".encode(),
    b"space ",
    b"dot.",
    b"-rf",
    b"<img src=x onerror=alert(1)>",
    b"\"';--",
    b"%2e%2e",
    b"\xed\xa0\x80",
    b"Case",
    b"case",
    b"x" * 255,
    b"\\",
    b"*",
]


def test_every_name_round_trips(tree: Path) -> None:
    for name in NAMES:
        folder = os.path.join(os.fsencode(tree), name)
        os.mkdir(folder)
        Path(os.fsdecode(os.path.join(folder, name))).touch()
    assert {os.fsencode(path) for path in files(tree)} == {name + b"/" + name for name in NAMES}


def test_a_detail_can_always_be_encoded(tree: Path) -> None:
    folder = tree / os.fsdecode(b"\xff")
    write_tree(folder, {".gitignore": b"\xfe*\n", os.fsdecode(b"\xfex"): "", "a": ""})
    (folder / "link").symlink_to(os.fsdecode(b"/\xff/outside"))
    details = [skip.detail for skip in skips(tree).values()]
    assert len(details) == 2
    assert all(detail.encode() for detail in details)


def test_a_walk_can_be_cancelled(tree: Path) -> None:
    write_tree(tree, {f"d{number}/f": "" for number in range(20)})
    for number in range(3000):
        (tree / f"f{number}").touch()
    calls = iter([False, True])
    with pytest.raises(Cancelled):
        list(walk(str(tree), WalkRules(), cancelled=lambda: next(calls)))
    assert list(calls) == []


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.fixture
def no_leak() -> Iterator[None]:
    before = open_descriptors()
    yield
    assert open_descriptors() == before


@pytest.mark.usefixtures("no_leak")
def test_no_descriptor_is_left_open(tree: Path) -> None:
    write_tree(tree, {"a/b/c/d": "", "a/e/f": "", "g/h": ""})
    (tree / "link").symlink_to("a/b")
    (tree / "out").symlink_to("/nowhere")
    walked(tree)
    abandoned = walk(str(tree), WalkRules())
    next(abandoned)
    assert isinstance(abandoned, Iterator)
    abandoned.close()  # type: ignore[attr-defined]
    walk(str(tree), WalkRules())


def change_during_walk(
    root: Path, after: str, change: Callable[[], None]
) -> list[FileEntry | Skip]:
    items = []
    for item in walk(str(root), WalkRules()):
        items.append(item)
        if item.path == after:
            change()
    return items


def test_a_folder_replaced_by_a_link_is_not_entered(tree: Path, tmp_path: Path) -> None:
    write_tree(tree, {"a": "", "b/c": ""})
    write_tree(tmp_path / "outside", {"canary": ""})

    def replace() -> None:
        (tree / "b").rename(tree / "moved")
        (tree / "b").symlink_to(tmp_path / "outside")

    items = change_during_walk(tree, "a", replace)
    assert items[1:] == [Skip("b", SkipReason.VANISHED, "gone during the walk", is_folder=True)]


def test_a_folder_that_is_gone_is_one_row(tree: Path) -> None:
    write_tree(tree, {"a": "", "b/c": ""})

    def remove() -> None:
        (tree / "b/c").unlink()
        (tree / "b").rmdir()

    items = change_during_walk(tree, "a", remove)
    assert [item.path for item in items] == ["a", "b"]


def test_what_may_not_be_read_is_reported(tree: Path) -> None:
    write_tree(tree, {"a": "", "locked/b": "", "listed/c": "", "open/d": ""})
    for folder in (tree.parent, *tree.parent.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    (tree / "locked").chmod(0)
    (tree / "listed").chmod(0o444)

    def outcomes() -> dict[str, str]:
        return {
            item.path: item.reason if isinstance(item, Skip) else "file" for item in walked(tree)
        }

    try:
        outcomes()
        assert as_nobody(outcomes) == {
            "a": "file",
            "locked": "unreadable",
            "listed/c": "unreadable",
            "open/d": "file",
        }
    finally:
        (tree / "locked").chmod(0o755)
        (tree / "listed").chmod(0o755)
