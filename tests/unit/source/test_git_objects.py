"""Git's object database: what git wrote is read, and hostile files are refused."""

import hashlib
import os
import resource
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from engine.source.git import read_head
from engine.source.git_objects import GitObjects, ObjectTooLargeError, UnreadableObjectError
from tests.support.git_trees import run_git
from tests.support.trees import write_tree

_BIG = 1 << 29
_PACK_PATH = ".git/objects/pack/pack"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lines = "".join(f"line {number}\n" for number in range(3000))
    root = write_tree(tmp_path / "tree", {"a/b/long.txt": lines, "top.py": "x = 1\n"})
    run_git(root, tmp_path, "init", "-q")
    for number in range(6):
        (root / "a/b/long.txt").write_text(lines + f"end {number}\n")
        run_git(root, tmp_path, "add", ".")
        run_git(root, tmp_path, "commit", "-qm", f"{number}")
    return root


def _objects(root: Path) -> GitObjects:
    return GitObjects(str(root / ".git"), hash_bytes=20)


@pytest.mark.parametrize("is_packed", [False, True])
def test_each_object_is_read_as_git_wrote_it(root: Path, is_packed: bool) -> None:
    if is_packed:
        run_git(root, root.parent, "gc", "-q")
        packed = run_git(root, root.parent, "verify-pack", "-v", *_indexes(root))
        assert b"chain length = " in packed  # there are differences
    listed = run_git(root, root.parent, "cat-file", "--batch-all-objects", "--batch-check")
    with closing(_objects(root)) as objects:
        for line in listed.splitlines():
            name, kind, size = line.split()
            content = objects.read(bytes.fromhex(name.decode()), kind)
            assert len(content) == int(size)
            assert hashlib.sha1(kind + b" " + size + b"\0" + content).hexdigest() == name.decode()


@pytest.mark.parametrize("is_packed", [False, True])
def test_an_object_above_a_limit_is_not_unpacked_but_its_size_is_told(
    root: Path, is_packed: bool
) -> None:
    if is_packed:
        run_git(root, root.parent, "gc", "-q")
    with closing(_objects(root)) as objects:
        for revision in ("HEAD", "HEAD~3"):  # as it is, and as a difference
            shown = run_git(root, root.parent, "rev-parse", f"{revision}:a/b/long.txt")
            name = bytes.fromhex(shown.decode())
            size = len(objects.read(name, b"blob"))
            assert len(objects.read(name, b"blob", limit_bytes=size)) == size
            objects.allow(1000)  # less than the text: it is not unpacked
            with pytest.raises(ObjectTooLargeError) as caught:
                objects.read(name, b"blob", limit_bytes=size - 1)
            assert caught.value.size_bytes == size
            objects.allow(1 << 20)


def _indexes(root: Path) -> list[str]:
    return [str(file) for file in (root / ".git/objects/pack").glob("*.idx")]


def test_the_files_of_a_commit_below_a_folder(root: Path) -> None:
    commit = read_head(str(root)).commit
    assert commit is not None
    with closing(_objects(root)) as objects:
        assert {file.path for file in objects.files_of(commit)} == {b"a/b/long.txt", b"top.py"}
        [file] = objects.files_of(commit, below=b"a/")
        assert objects.read(file.name, b"blob").endswith(b"end 5\n")
        with pytest.raises(UnreadableObjectError, match="is damaged"):
            objects.read(file.name, b"tree")
        with pytest.raises(UnreadableObjectError, match="is missing"):
            objects.read(b"\1" * 20, b"blob")


def _loose(root: Path, data: bytes) -> bytes:
    """Write compressed data as an object of any name, and return the name."""
    name = hashlib.sha1(data).digest()
    folder = root / ".git/objects" / name.hex()[:2]
    folder.mkdir(exist_ok=True)
    (folder / name.hex()[2:]).write_bytes(data)
    return name


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize("claim", [b"5", b"500000000", b"999999999999"])
def test_an_object_that_unpacks_to_much_more_is_refused(root: Path, claim: bytes) -> None:
    packer = zlib.compressobj()
    zeros = b"\0" * (1 << 20)
    data = packer.compress(b"blob " + claim + b"\0")
    data += b"".join(packer.compress(zeros) for _ in range(_BIG >> 20)) + packer.flush()
    name = _loose(root, data)
    before = _peak_bytes()
    with closing(_objects(root)) as objects, pytest.raises(UnreadableObjectError):
        objects.read(name, b"blob")
    assert _peak_bytes() - before < _BIG // 2


@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense", zlib.compress(b""), zlib.compress(b"blob x\0"), zlib.compress(b"blob 1\0")],
)
def test_damaged_objects_are_refused(root: Path, data: bytes) -> None:
    name = _loose(root, data)
    with closing(_objects(root)) as objects, pytest.raises(UnreadableObjectError):
        objects.read(name, b"blob")


def _number(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def _head(code: int, size: int) -> bytes:
    first, rest = code << 4 | size & 15, size >> 4
    return bytes([first | 0x80]) + _number(rest) if rest else bytes([first])


def _pack(root: Path, entries: list[bytes]) -> list[bytes]:
    """Write a pack of raw entries with an index, and return a name for each entry."""
    folder = root / ".git/objects/pack"
    names = [bytes([place + 1]) * 20 for place in range(len(entries))]
    offsets, data = [], b"PACK\0\0\0\2" + len(entries).to_bytes(4, "big")
    for entry in entries:
        offsets.append(len(data))
        data += entry
    fanout = b"".join(
        sum(1 for name in names if name[0] <= byte).to_bytes(4, "big") for byte in range(256)
    )
    index = b"\xfftOc\0\0\0\2" + fanout + b"".join(names) + b"\0" * 4 * len(names)
    index += b"".join(offset.to_bytes(4, "big") for offset in offsets)
    (folder / f"pack-{'0' * 40}.pack").write_bytes(data + b"\0" * 20)
    (folder / f"pack-{'0' * 40}.idx").write_bytes(index + b"\0" * 40)
    return names


def test_a_difference_that_copies_its_base_many_times_is_refused(root: Path) -> None:
    base = b"a" * 0xFFFFFF
    copies = b"\xf0\xff\xff\xff" * 60
    entries = [_head(3, len(base)) + zlib.compress(base)]
    for claimed in (5, 60 * len(base)):
        change = _number(len(base)) + _number(claimed) + copies
        entries.append(_head(7, len(change)) + b"\1" * 20 + zlib.compress(change))
    names = _pack(root, entries)
    before = _peak_bytes()
    with closing(_objects(root)) as objects:
        for name in names[1:]:
            with pytest.raises(UnreadableObjectError):
                objects.read(name, b"blob")
    assert _peak_bytes() - before < 300 << 20


def test_a_difference_of_millions_of_commands_is_refused(root: Path) -> None:
    inserts = 15_000_000
    change = _number(1) + _number(inserts) + b"\1a" * inserts
    entries = [_head(3, 1) + zlib.compress(b"x")]
    entries.append(_head(7, len(change)) + b"\1" * 20 + zlib.compress(change))
    name = _pack(root, entries)[1]
    before = _peak_bytes()
    with closing(_objects(root)) as objects:
        objects.allow(256 << 20)
        with pytest.raises(UnreadableObjectError, match="too large"):
            objects.read(name, b"blob")
    assert _peak_bytes() - before < 400 << 20


@pytest.mark.parametrize("digits", [41, 64])
def test_a_commit_whose_tree_has_an_odd_name_is_refused(root: Path, digits: int) -> None:
    text = b"tree " + b"1" * digits + b"\n\nx"
    data = b"commit %d\0" % len(text) + text
    name = hashlib.sha1(data).digest()
    folder = root / ".git/objects" / name.hex()[:2]
    folder.mkdir(exist_ok=True)
    (folder / name.hex()[2:]).write_bytes(zlib.compress(data))
    with closing(_objects(root)) as objects, pytest.raises(UnreadableObjectError):
        list(objects.files_of(name.hex()))


def test_circles_and_lies_in_a_pack_are_refused(root: Path) -> None:
    change = _number(0) + _number(0)
    packed = zlib.compress(change)
    entries = [
        _head(7, len(change)) + b"\2" * 20 + packed,  # each is the base of the other
        _head(7, len(change)) + b"\1" * 20 + packed,
        _head(6, len(change)) + b"\x7f" + packed,  # a base before the pack
        _head(5, 0) + zlib.compress(b""),  # no such kind
        _head(3, 1 << 40) + zlib.compress(b""),
        _head(3, 3) + b"\xff\xff\xff",
    ]
    names = _pack(root, entries)
    with closing(_objects(root)) as objects:
        for name in names:
            with pytest.raises(UnreadableObjectError):
                objects.read(name, b"blob")


def test_an_index_that_is_cut_off_is_refused(root: Path) -> None:
    run_git(root, root.parent, "gc", "-q")
    [index] = map(Path, _indexes(root))
    commit = read_head(str(root)).commit
    assert commit is not None
    data = index.read_bytes()
    index.chmod(0o600)
    for size in (0, 7, 500, 1032, 1040, len(data) // 2):
        index.write_bytes(data[:size])
        with closing(_objects(root)) as objects, pytest.raises(UnreadableObjectError):
            list(objects.files_of(commit))


def test_many_packs_do_not_take_all_open_files(root: Path) -> None:
    names = []
    for number in range(300):
        (root / "top.py").write_text(f"x = {number}\n")
        name = run_git(root, root.parent, "hash-object", "-w", "top.py").strip()
        names.append(bytes.fromhex(name.decode()))
        run_git(root, root.parent, "pack-objects", "-q", _PACK_PATH, given=name + b"\n")
    run_git(root, root.parent, "prune-packed", "-q")
    before = len(os.listdir("/dev/fd"))
    with closing(_objects(root)) as objects:
        for _ in range(2):
            assert [objects.read(name, b"blob") for name in names] == [
                f"x = {number}\n".encode() for number in range(300)
            ]
        assert len(os.listdir("/dev/fd")) < before + 150
    assert len(os.listdir("/dev/fd")) <= before


def test_links_and_pipes_are_not_opened(root: Path, tmp_path: Path) -> None:
    data = zlib.compress(b"blob 1\0x")
    outside = tmp_path / "outside"
    outside.write_bytes(data)
    name = hashlib.sha1(b"blob 1\0x").digest()
    place = root / ".git/objects" / name.hex()[:2]
    place.mkdir(exist_ok=True)
    (place / name.hex()[2:]).symlink_to(outside)
    pipe = root / ".git/objects/pack" / f"pack-{'1' * 40}.idx"
    os.mkfifo(pipe)
    with (
        closing(_objects(root)) as objects,
        pytest.raises(UnreadableObjectError, match="is missing"),
    ):
        objects.read(name, b"blob")
