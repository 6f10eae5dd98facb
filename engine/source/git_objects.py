"""Read commits, trees and files out of git's object database; git itself is never run.

A repository is untrusted: nothing outside of the repository's own ``objects`` is opened, no link is
followed, no pipe is waited for, and sizes, chains of differences and the work in all are limited.
Every object is checked against its name. What cannot be read raises ``UnreadableObjectError``.

Own code, because dulwich 1.2 follows links out of ``.git``, hangs on a pipe in ``objects/pack``,
and takes 1 GB of memory for a loose object of 0.5 MB that claims five bytes, and 2 GB for a
difference of 245 bytes.
"""

import hashlib
import os
import re
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Final, NamedTuple

from engine.source.git_files import read_regular

_MAX_OBJECT_BYTES: Final = 32 << 20
_MAX_WORK_BYTES: Final = 1 << 30  # uncompressed, of all objects together
_MOST_PACKS: Final = 2000
_MAX_CHAIN: Final = 4096  # git's own limit on differences of differences
_MAX_TREE_DEPTH: Final = 200
_MOST_FILES: Final = 500_000
_COMMAND_BYTES: Final = 64  # what a command of a difference counts as work, whatever it copies
_HEADER_BYTES: Final = 64  # of a loose object, or before the data of a packed one
_BUFFER_BYTES: Final = 1 << 16

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_PACK = re.compile(r"pack-[0-9a-f]{40,64}\.idx")
_LOOSE = re.compile(rb"(commit|tree|blob|tag) (\d{1,12})\0")
_TREE = {size: re.compile(rb"tree ([0-9a-f]{%d})\n" % (2 * size)) for size in (20, 32)}
_TAG = {
    size: re.compile(rb"object ([0-9a-f]{%d})\ntype (?:commit|tag)\n" % (2 * size))
    for size in (20, 32)
}
_MAX_TAGS: Final = 5  # of tags
_TYPES: Final = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_OFFSET_DELTA, _NAME_DELTA = 6, 7
_IDX_MAGIC: Final = b"\xfftOc\0\0\0\x02"
_FANOUT_BYTES: Final = 1024
_HUGE: Final = 1 << 31  # of a pack's offsets: the rest is a place in a table of larger ones


class UnreadableObjectError(Exception):
    """An object that cannot be read; the text says why."""


class ObjectTooLargeError(UnreadableObjectError):
    """An object that would cost too much; it will not become readable."""


class TreeFile(NamedTuple):
    """A file of a commit."""

    path: bytes  # from the top of the work tree
    name: bytes  # of its blob


class TreeEntry(NamedTuple):
    """An entry of a folder of a commit."""

    mode: bytes  # without leading zeros
    path: str  # its name
    name: bytes  # of its object


class GitObjects:
    """The object database of a repository, to be closed.

    Args:
        common_dir: The folder that holds ``objects``.
        hash_bytes: Length of an object name, 20 or 32.
        cached_bytes: What it may keep of packs. In a pack each version of a file is mostly told by
            its difference to another one: who reads many versions reads each of them once then.

    Raises:
        UnreadableObjectError: There is no such folder, or it is a link.
    """

    def __init__(self, common_dir: str, *, hash_bytes: int, cached_bytes: int = 0) -> None:
        self._hash_bytes = hash_bytes
        self._cache = _Cache(cached_bytes)
        self._folder_of_packs: int | None = None
        self._hash = hashlib.sha1 if hash_bytes == 20 else hashlib.sha256
        self._left_bytes = _MAX_WORK_BYTES
        self._stack = ExitStack()
        self._packs: list[_Pack] | None = None
        try:
            self._folder = _opened(os.path.join(common_dir, "objects"), _FOLDER_FLAGS, self._stack)
        except (OSError, ValueError) as error:
            raise UnreadableObjectError("the folder of git's objects cannot be opened") from error

    def close(self) -> None:
        """Close its files."""
        self._stack.close()

    def files_of(self, commit: str, *, below: bytes = b"") -> Iterator[TreeFile]:
        """Yield the regular files of a commit below a folder.

        Args:
            commit: Its name, in hexadecimal.
            below: The folder, ending with a slash; empty for all.

        Raises:
            UnreadableObjectError: An object is missing, damaged or too large.
        """
        found = _TREE[self._hash_bytes].match(self.read(bytes.fromhex(commit), b"commit"))
        if found is None:
            raise UnreadableObjectError("the commit names no tree")
        number = 0
        pending = [(b"", bytes.fromhex(found[1].decode()))]
        while pending:
            folder, name = pending.pop()
            if folder.count(b"/") > _MAX_TREE_DEPTH:
                raise ObjectTooLargeError("folders are nested too deep")
            for mode, entry, inner in self._entries(self.read(name, b"tree")):
                path = folder + entry
                if mode.startswith(b"10") and path.startswith(below):
                    number += 1
                    yield TreeFile(path, inner)
                elif mode in (b"40000", b"040000"):
                    nested = path + b"/"
                    if nested.startswith(below) or below.startswith(nested):
                        pending.append((nested, inner))
            if number > _MOST_FILES:
                raise ObjectTooLargeError("the commit has too many files")

    def tree_of(self, name: bytes) -> tuple[bytes, bytes]:
        """Return the names of a commit and of its tree.

        Args:
            name: Of the commit, or of a tag of it, or of a tag of that.

        Raises:
            UnreadableObjectError: An object is missing, damaged, or no commit.
        """
        for _ in range(_MAX_TAGS):
            try:
                data = self.read(name, b"tag")
            except UnreadableObjectError:
                break
            found = _TAG[self._hash_bytes].match(data)
            if found is None:
                raise UnreadableObjectError("the tag names no commit")
            name = bytes.fromhex(found[1].decode())
        found = _TREE[self._hash_bytes].match(self.read(name, b"commit"))
        if found is None:
            raise UnreadableObjectError("the commit names no tree")
        return name, bytes.fromhex(found[1].decode())

    def entries(self, tree: bytes) -> list[TreeEntry]:
        """Return what a folder of a commit holds, in its order.

        Args:
            tree: Its name.

        Raises:
            UnreadableObjectError: It is missing, damaged or too large.
        """
        return [
            TreeEntry(mode.lstrip(b"0"), os.fsdecode(entry), name)
            for mode, entry, name in self._entries(self.read(tree, b"tree"))
        ]

    def allow(self, work_bytes: int) -> None:
        """Allow to unpack so many bytes from now on."""
        self._left_bytes = work_bytes

    def read(self, name: bytes, kind: bytes) -> bytes:
        """Return the content of an object.

        Args:
            name: Its name.
            kind: What it must be: ``commit``, ``tree`` or ``blob``.

        Raises:
            UnreadableObjectError: It is missing, damaged, too large or something else.
        """
        try:
            found_kind, content = self._loose(name) or self._packed(name)
        except (OSError, ValueError, IndexError, zlib.error) as error:
            raise UnreadableObjectError(f"the object {name.hex()[:12]} is damaged") from error
        head = b"%s %d\0" % (found_kind, len(content))
        if found_kind != kind or self._hash(head + content).digest() != name:
            raise UnreadableObjectError(f"the object {name.hex()[:12]} is damaged")
        return content

    def _entries(self, tree: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Yield the mode, the file name and the object name of each entry of a tree."""
        at = 0
        while at < len(tree):
            end = tree.find(b"\0", at)
            mode, _, entry = tree[at:end].partition(b" ")
            at = end + 1 + self._hash_bytes
            if end < 0 or at > len(tree) or not entry or b"/" in entry:
                raise UnreadableObjectError("a folder of the commit is damaged")
            yield mode, entry, tree[end + 1 : at]

    def _spend(self, size: int) -> None:
        self._left_bytes -= size
        if size > _MAX_OBJECT_BYTES or self._left_bytes < 0:
            raise ObjectTooLargeError("git's objects are too large to be read")

    def _loose(self, name: bytes) -> tuple[bytes, bytes] | None:
        """Return the kind and the content of an object in a file of its own."""
        digits = name.hex()
        try:
            folder = os.open(digits[:2], _FOLDER_FLAGS, dir_fd=self._folder)
        except OSError:
            return None
        try:
            data = read_regular(digits[2:], _MAX_OBJECT_BYTES, folder=folder)
        finally:
            os.close(folder)
        if data is None:
            return None
        unpacker = zlib.decompressobj()
        head = _LOOSE.match(unpacker.decompress(data, _HEADER_BYTES))
        if head is None:
            raise ValueError("no header")
        size = int(head[2])
        self._spend(size)
        unpacker = zlib.decompressobj()
        whole = unpacker.decompress(data, head.end() + size + 1)
        return head[1], whole[head.end() :]

    def _packed(self, name: bytes) -> tuple[bytes, bytes]:
        """Return the kind and the content of an object in a pack."""
        for is_new in (False, True):  # git may have packed anew since the packs were listed
            for pack in self._open_packs(again=is_new):
                offset = pack.find(name)
                if offset is not None:
                    return self._in_pack(pack, offset)
        raise UnreadableObjectError(self._reason_for_missing(name))

    def _in_pack(self, pack: "_Pack", offset: int) -> tuple[bytes, bytes]:
        """Return an object of a pack: the base of a chain of differences, with these applied."""
        changes: list[tuple[int, bytes]] = []  # with their offsets
        for _ in range(_MAX_CHAIN):
            cached = self._cache.get((pack.number, offset))
            if cached is not None:
                kind, content = cached
                break
            code, size, base, start = pack.header(offset)
            self._spend(size)
            data = pack.inflate(start, size)
            if code in _TYPES:
                kind, content = _TYPES[code], data
                self._cache.put((pack.number, offset), kind, content)
                break
            changes.append((offset, data))
            if code == _OFFSET_DELTA and 0 < base < offset:
                offset -= base
            elif code == _NAME_DELTA:
                offset = self._base_of(pack, start)
            else:
                raise ValueError("an unknown kind of object")
        else:
            raise ValueError("a chain of differences is too long")
        for at, change in reversed(changes):
            content = self._applied(content, change)
            self._cache.put((pack.number, at), kind, content)
        return kind, content

    def _base_of(self, pack: "_Pack", start: int) -> int:
        """Return the offset of the base that is named before the data of a difference."""
        found = pack.find(pack.bytes_at(start - self._hash_bytes, self._hash_bytes))
        if found is None:
            raise ValueError("the base of a difference is not in its pack")
        return found

    def _applied(self, base: bytes, change: bytes) -> bytes:
        """Apply a difference to its base."""
        base_size, at = _varint(change, 0)
        size, at = _varint(change, at)
        self._spend(size)
        if base_size != len(base):
            raise ValueError("a difference to something else")
        content = bytearray()
        while at < len(change):
            self._spend(_COMMAND_BYTES)
            command = change[at]
            at += 1
            if command & 0x80:
                offset, length, at = _copy_of(command, change, at)
                piece = base[offset : offset + length]
            else:
                length = command
                piece = change[at : at + length]
                at += length
            content += piece
            if not length or len(piece) != length or len(content) > size:
                raise ValueError("a difference beyond its base")
        if len(content) != size:
            raise ValueError("a difference of another size")
        return bytes(content)

    def _open_packs(self, *, again: bool) -> "list[_Pack]":
        """Return all packs, or, when asked again, those that have come since."""
        if self._packs is None:
            self._packs = []
            with suppress(OSError):
                folder = _opened("pack", _FOLDER_FLAGS, self._stack, folder=self._folder)
                self._folder_of_packs = folder
                again = True
        if self._folder_of_packs is None or not again:
            return self._packs
        known = {pack.name for pack in self._packs}
        new = []
        with suppress(OSError):
            names = sorted(filter(_PACK.fullmatch, os.listdir(self._folder_of_packs)))
            for name in names[:_MOST_PACKS]:
                if name not in known and len(self._packs) < _MOST_PACKS:
                    pack = _Pack.open(name, self._folder_of_packs, self._hash_bytes, self._stack)
                    if pack is not None:
                        pack.number = len(self._packs)
                        self._packs.append(pack)
                        new.append(pack)
        return new

    def _reason_for_missing(self, name: bytes) -> str:
        try:
            os.stat("info/alternates", dir_fd=self._folder)
        except OSError:
            return f"the object {name.hex()[:12]} is missing"
        return "its objects lie in another repository (alternates), which is not opened"


class _Cache:
    """The objects of packs that were read last, by pack and offset.

    Args:
        limit_bytes: Their size in all; one of more than a quarter of it is not kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[tuple[int, int], tuple[bytes, bytes]] = OrderedDict()
        self._size_bytes = 0

    def get(self, place: tuple[int, int]) -> tuple[bytes, bytes] | None:
        """Return the kind and the content of an object, or None."""
        found = self._kept.get(place)
        if found is not None:
            self._kept.move_to_end(place)
        return found

    def put(self, place: tuple[int, int], kind: bytes, content: bytes) -> None:
        """Keep an object."""
        if 4 * len(content) > self._limit_bytes or place in self._kept:
            return
        self._kept[place] = kind, content
        self._size_bytes += len(content)
        while self._size_bytes > self._limit_bytes:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._size_bytes -= len(oldest)


class _Pack:
    """A pack and its index, read in small pieces: a pack can be gigabytes.

    Args:
        name: The file name of its index.
        index: Descriptor of its index, of version 2.
        pack: Descriptor of the pack.
        hash_bytes: Length of an object name.
    """

    def __init__(self, name: str, index: int, pack: int, hash_bytes: int) -> None:
        self.name = name
        self.number = 0  # among the packs of the repository
        self._index, self._pack, self._hash_bytes = index, pack, hash_bytes
        head = os.pread(index, len(_IDX_MAGIC) + _FANOUT_BYTES, 0)
        if not head.startswith(_IDX_MAGIC) or len(head) != len(_IDX_MAGIC) + _FANOUT_BYTES:
            raise ValueError("not an index of version 2")
        self._fanout = [int.from_bytes(head[at : at + 4], "big") for at in range(8, len(head), 4)]

    @classmethod
    def open(cls, name: str, folder: int, hash_bytes: int, stack: ExitStack) -> "_Pack | None":
        """Open the pack of an index; None if one of the two is no regular file, or damaged."""
        with ExitStack() as own, suppress(OSError, ValueError):
            index = _opened(name, _FILE_FLAGS, own, folder=folder)
            pack = _opened(f"{name[:-4]}.pack", _FILE_FLAGS, own, folder=folder)
            found = cls(name, index, pack, hash_bytes)
            stack.push(own.pop_all())
            return found
        return None

    def find(self, name: bytes) -> int | None:
        """Return the offset of an object, or None."""
        low = self._fanout[name[0] - 1] if name[0] else 0
        high, count = self._fanout[name[0]], self._fanout[255]
        names_at = len(_IDX_MAGIC) + _FANOUT_BYTES
        while low < high:
            middle = (low + high) // 2
            found = self._index_bytes(names_at + middle * self._hash_bytes, self._hash_bytes)
            if found == name:
                offsets_at = names_at + count * (self._hash_bytes + 4)  # behind the checksums
                offset = int.from_bytes(self._index_bytes(offsets_at + 4 * middle, 4), "big")
                if offset >= _HUGE:
                    at = offsets_at + 4 * count + 8 * (offset - _HUGE)
                    offset = int.from_bytes(self._index_bytes(at, 8), "big")
                return offset
            if found < name:
                low = middle + 1
            else:
                high = middle
        return None

    def header(self, offset: int) -> tuple[int, int, int, int]:
        """Return the kind of an object, its size, how far back its base is, and its data's start.

        A base that is named stands before the data.
        """
        head = self.bytes_at(offset, _HEADER_BYTES)
        code, size, shift, at = head[0] >> 4 & 7, head[0] & 15, 4, 1
        while head[at - 1] & 0x80:
            size |= (head[at] & 0x7F) << shift
            shift += 7
            at += 1
        base = 0
        if code == _OFFSET_DELTA:
            base = head[at] & 0x7F
            at += 1
            while head[at - 1] & 0x80:
                base = (base + 1) << 7 | head[at] & 0x7F
                at += 1
        elif code == _NAME_DELTA:
            at += self._hash_bytes
        return code, size, base, offset + at

    def inflate(self, start: int, size: int) -> bytes:
        """Return compressed data of a known size."""
        unpacker = zlib.decompressobj()
        pieces: list[bytes] = []
        left = size
        while not unpacker.eof:
            data = unpacker.unconsumed_tail or self.bytes_at(start, _BUFFER_BYTES)
            if not unpacker.unconsumed_tail:
                start += len(data)
            piece = unpacker.decompress(data, left + 1)
            left -= len(piece)
            if not data or left < 0:
                raise ValueError("data of another size")
            pieces.append(piece)
        if left:
            raise ValueError("data of another size")
        return b"".join(pieces)

    def bytes_at(self, offset: int, size: int) -> bytes:
        """Return bytes of the pack, fewer at its end."""
        return os.pread(self._pack, size, offset)

    def _index_bytes(self, offset: int, size: int) -> bytes:
        data = os.pread(self._index, size, offset)
        if len(data) != size:
            raise ValueError("the index of a pack is cut off")
        return data


def _opened(path: str, flags: int, stack: ExitStack, *, folder: int | None = None) -> int:
    """Open a folder or a file, to be closed with a stack."""
    descriptor = os.open(path, flags, dir_fd=folder)
    stack.callback(os.close, descriptor)
    return descriptor


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if not byte & 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number is too large")


def _copy_of(command: int, change: bytes, at: int) -> tuple[int, int, int]:
    """Return what a command copies, from where and how much, and where the next command is."""
    offset = length = 0
    for bit in range(4):
        if command & 1 << bit:
            offset |= change[at] << 8 * bit
            at += 1
    for bit in range(3):
        if command & 0x10 << bit:
            length |= change[at] << 8 * bit
            at += 1
    return offset, length or 0x10000, at
