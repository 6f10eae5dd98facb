import contextlib
import os
import resource
import shutil
import socket
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from engine.errors import InvalidPathError
from engine.records import FileEntry, Skip, SkipReason
from engine.source.reader import Content, TreeReader, _read_rest
from tests.support.entries import entry_of, make, stat_of
from tests.support.unprivileged import as_nobody

MAX_BYTES = 1000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the root with a file that must never be read."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file.py").write_bytes(b"foreign")
    return folder


@pytest.fixture
def reader(root: Path) -> Iterator[TreeReader]:
    with TreeReader(str(root)) as reader:
        yield reader


def read(reader: TreeReader, entry: FileEntry) -> Content | Skip:
    return reader.read(entry, MAX_BYTES)


def reason_of(found: Content | Skip) -> SkipReason:
    assert isinstance(found, Skip), found
    return found.reason


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


@pytest.mark.parametrize("path", ["a.py", "sub/a.py", "a/b/c/d.py", "-rf", "a b\n.py", "ü.py"])
def test_a_file_is_read_with_its_stat(root: Path, reader: TreeReader, path: str) -> None:
    entry = make(root, path, b"some text")
    assert read(reader, entry) == Content(b"some text", entry.stat)


def test_names_that_are_not_utf8_are_read(root: Path, reader: TreeReader) -> None:
    path = os.fsdecode(b"caf\xe9/\xff.py")
    assert read(reader, make(root, path, b"text")) == Content(b"text", entry_of(root, path).stat)


def test_the_real_path_is_opened_and_the_path_is_named(root: Path, reader: TreeReader) -> None:
    entry = make(root, "real/a.py", b"text")._replace(path="link/a.py")
    assert read(reader, entry) == Content(b"text", entry.stat)
    (root / "real/a.py").unlink()
    found = read(reader, entry)
    assert (reason_of(found), found[0]) == (SkipReason.VANISHED, "link/a.py")


@pytest.mark.parametrize("size_bytes", [0, 1, MAX_BYTES - 1, MAX_BYTES])
def test_files_up_to_the_limit_are_read(root: Path, reader: TreeReader, size_bytes: int) -> None:
    found = read(reader, make(root, "a.py", b"x" * size_bytes))
    assert isinstance(found, Content)
    assert found.data == b"x" * size_bytes


@pytest.mark.parametrize("size_bytes", [MAX_BYTES + 1, 10 << 30])
def test_larger_files_are_skipped_without_reading(
    root: Path, reader: TreeReader, size_bytes: int
) -> None:
    make(root, "big.py", b"")
    os.truncate(root / "big.py", size_bytes)  # sparse: no block of it is on disk
    entry = entry_of(root, "big.py")
    found = read(reader, entry)
    assert reason_of(found) is SkipReason.TOO_LARGE
    assert found == Skip(
        "big.py", SkipReason.TOO_LARGE, f"{size_bytes} bytes, the limit is 1000", stat=entry.stat
    )


def test_files_of_many_folders_are_read_in_any_order(root: Path, reader: TreeReader) -> None:
    paths = ["a.py", "d/b.py", "d/e/c.py", "d/e/f/g.py", "d/h/i.py", "z/y.py", "d/j.py", "k.py"]
    entries = [make(root, path, path.encode()) for path in paths]
    for entry in [*entries, *reversed(entries), *entries[::2], *entries[1::2]]:
        assert read(reader, entry) == Content(entry.path.encode(), entry.stat)


def test_deep_folders_are_read_with_few_descriptors(root: Path) -> None:
    before = open_descriptors()
    with TreeReader(str(root)) as reader:
        for depth in (300, 299, 65, 64, 63, 300, 1, 300):
            entry = make(root, "d/" * depth + "a.py", str(depth).encode())
            assert read(reader, entry) == Content(str(depth).encode(), entry.stat)
            assert open_descriptors() <= before + 80
    assert open_descriptors() == before


def make_special(place: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        os.chdir(place.parent)  # the path of a socket is at most 107 bytes long
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place.name)


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket"])
def test_what_is_no_file_is_skipped_at_once(
    root: Path, reader: TreeReader, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    make_special(root / "a.py", kind)
    found = read(reader, entry_of(root, "a.py"))  # opening a pipe to read would wait for ever
    assert reason_of(found) is SkipReason.NOT_REGULAR


def test_a_file_that_a_link_replaced_is_not_followed(
    root: Path, reader: TreeReader, outside: Path
) -> None:
    entry = make(root, "a.py")
    (root / "a.py").unlink()
    (root / "a.py").symlink_to(outside / "file.py")
    found = read(reader, entry)
    assert reason_of(found) is SkipReason.VANISHED
    assert "link" in str(found)


@pytest.mark.parametrize("is_kept_open", [True, False])
@pytest.mark.parametrize("swapped", ["a", "a/b", "a/b/c"])
def test_a_folder_that_a_link_replaced_is_not_followed(
    root: Path, reader: TreeReader, outside: Path, swapped: str, is_kept_open: bool
) -> None:
    entry = make(root, "a/b/c/file.py", b"own")
    for name in ("a/b/c", "b/c", "c"):  # whatever is swapped, the foreign file has the same path
        (outside / name).mkdir(parents=True, exist_ok=True)
        (outside / name / "file.py").write_bytes(b"foreign")
    if is_kept_open:
        assert isinstance(read(reader, entry), Content)
    (root / swapped).rename(root / "moved")
    (root / swapped).symlink_to(outside / swapped.rpartition("/")[2])
    found = read(reader, entry)
    # A kept folder still leads to the walked file; that is as good as reading it a moment earlier.
    if isinstance(found, Content):
        assert is_kept_open
        assert found == Content(b"own", entry.stat)
    else:
        assert found.reason is SkipReason.VANISHED
    new = entry._replace(stat=entry.stat._replace(inode=0))
    assert reason_of(read(reader, new)) is SkipReason.VANISHED


def test_a_replaced_folder_gives_what_is_at_the_path_now(root: Path, reader: TreeReader) -> None:
    first = make(root, "sub/a.py", b"old")
    assert isinstance(read(reader, first), Content)
    (root / "sub").rename(root / "moved")
    second = make(root, "sub/a.py", b"new")
    assert read(reader, second) == Content(b"new", second.stat)
    third = make(root, "sub/b.py", b"only in the new folder")
    assert read(reader, third) == Content(b"only in the new folder", third.stat)


def test_a_replaced_file_gives_its_new_bytes_and_stat(root: Path, reader: TreeReader) -> None:
    entry = make(root, "a.py", b"old")
    (root / "b.py").write_bytes(b"new text")
    (root / "b.py").rename(root / "a.py")
    assert read(reader, entry) == Content(b"new text", stat_of(root / "a.py"))


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_is_gone_has_vanished(root: Path, reader: TreeReader, is_folder: bool) -> None:
    entry = make(root, "sub/a.py")
    if is_folder:
        shutil.rmtree(root / "sub")
    else:
        (root / "sub/a.py").unlink()
    assert read(reader, entry) == Skip(
        "sub/a.py", SkipReason.VANISHED, "gone since the folder was listed"
    )


@pytest.mark.parametrize("path", ["a.py", "sub/a.py"])
def test_a_file_that_may_not_be_read_is_unreadable(root: Path, path: str) -> None:
    entry = make(root, path)
    (root / path).chmod(0)
    (root / path).parent.chmod(0o755)
    for folder in (root, *root.parents):
        with contextlib.suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)

    def work() -> list[str]:
        with TreeReader(str(root)) as reader:
            found = read(reader, entry)
        assert isinstance(found, Skip)
        assert found.stat == entry.stat  # until the file changes there is nothing new to tell
        return [found.path, found.reason, found.detail]

    assert as_nobody(work) == [path, "unreadable", "permission denied (EACCES)"]


def test_a_name_that_is_too_long_is_unreadable(root: Path, reader: TreeReader) -> None:
    entry = make(root, "a.py")._replace(real_path="x" * 300)
    found = read(reader, entry)
    assert reason_of(found) is SkipReason.UNREADABLE
    assert "too long" in str(found)


@pytest.mark.parametrize("path", ["", "a//b", "../outside/file.py", "a/../../outside/file.py"])
def test_a_path_that_is_not_beneath_the_root_is_unreadable(
    root: Path, reader: TreeReader, outside: Path, path: str
) -> None:
    assert (outside / "file.py").exists()
    entry = make(root, "a/b")._replace(real_path=path)
    assert reason_of(read(reader, entry)) is SkipReason.UNREADABLE
    assert reader.stat_of(path) is None
    assert reader.hash_of(path, MAX_BYTES) is None


def test_without_free_descriptors_a_file_is_unreadable(root: Path) -> None:
    entry = make(root, "a/b/c/d.py")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    with TreeReader(str(root)) as reader:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, limits[1]))
        try:
            with contextlib.suppress(OSError):
                while True:
                    taken.append(os.open(root, os.O_RDONLY))
            without = read(reader, entry)
            for descriptor in [taken.pop() for _ in range(6)]:
                os.close(descriptor)
            with_few = read(reader, entry)
        finally:
            for descriptor in taken:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert reason_of(without) is SkipReason.UNREADABLE
    assert "too many open files" in str(without)
    assert isinstance(with_few, Content)


def test_stat_of_a_file_is_the_stat_of_its_entry(root: Path, reader: TreeReader) -> None:
    for path in ("a.py", "sub/b.py", os.fsdecode(b"\xff.py")):
        entry = make(root, path)
        assert reader.stat_of(path) == entry.stat


def test_stat_of_follows_links_inside_the_root_only(
    root: Path, reader: TreeReader, outside: Path
) -> None:
    entry = make(root, "real/a.py", b"text")
    (root / "file").symlink_to("real/a.py")
    (root / "folder").symlink_to("real")
    (root / "out_file").symlink_to(outside / "file.py")
    (root / "out_folder").symlink_to(outside)
    (root / "loop").symlink_to("loop")
    for path in ("file", "folder/a.py", "real/a.py"):
        assert reader.stat_of(path) == entry.stat
        assert reader.hash_of(path, MAX_BYTES) == sha256(b"text").digest()
    for path in ("out_file", "out_folder/file.py", "loop", "loop/a.py"):
        assert reader.stat_of(path) is None
        assert reader.hash_of(path, MAX_BYTES) is None


@pytest.mark.parametrize(
    "path", ["sub", "gone.py", "sub/gone.py", "/etc/passwd", "a\0b", ".", "/a.py"]
)
def test_stat_of_anything_else_is_none(root: Path, reader: TreeReader, path: str) -> None:
    make(root, "sub/a.py")
    make(root, "a.py")
    assert reader.stat_of(path) is None
    assert reader.hash_of(path, MAX_BYTES) is None


def test_stat_of_sees_a_change_at_once(root: Path, reader: TreeReader) -> None:
    entry = make(root, "sub/a.py", b"old")
    assert reader.stat_of("sub/a.py") == entry.stat
    shutil.rmtree(root / "sub")
    assert reader.stat_of("sub/a.py") is None
    newer = make(root, "sub/a.py", b"newer")
    assert reader.stat_of("sub/a.py") == newer.stat


def test_a_hash_stops_at_the_limit(root: Path, reader: TreeReader) -> None:
    make(root, "a.py", b"x" * 10)
    assert reader.hash_of("a.py", 10) == sha256(b"x" * 10).digest()
    assert reader.hash_of("a.py", 9) is None


def test_a_root_that_cannot_be_opened_is_an_error(root: Path) -> None:
    make(root, "a.py")
    for bad in (root / "gone", root / "a.py", Path("a\0b")):
        with pytest.raises(InvalidPathError) as caught:
            TreeReader(str(bad))
        assert caught.value.details == {"field": "path"}


def test_a_root_that_is_a_link_is_read(root: Path, tmp_path: Path) -> None:
    entry = make(root, "a.py", b"text")
    (tmp_path / "link").symlink_to(root)
    (root / "inner").symlink_to(tmp_path / "link/a.py")
    with TreeReader(str(tmp_path / "link")) as reader:
        assert read(reader, entry) == Content(b"text", entry.stat)
        assert reader.stat_of("inner") == entry.stat


def test_closing_twice_closes_once(root: Path) -> None:
    before = open_descriptors()
    reader = TreeReader(str(root))
    assert isinstance(read(reader, make(root, "a/b/c.py")), Content)
    reader.close()
    reader.close()
    assert open_descriptors() == before


def test_short_reads_are_completed() -> None:
    reading, writing = os.pipe()  # gives what is there, as some network file systems do
    with os.fdopen(writing, "wb", buffering=0) as source:
        source.write(b"cd")
        assert _read_rest(reading, b"ab", 4) == b"abcd"
        source.write(b"e")
    assert _read_rest(reading, b"abcd", 9) == b"abcde"
    os.close(reading)
