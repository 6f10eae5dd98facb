"""Read objects out of git's packs.

A pack and its index are read in small pieces, for they can be gigabytes. Nothing outside of the
folder of packs is opened and no link is followed; whoever reads says by ``spend`` what is too much.
"""

import os
import re
import struct
import zlib
from array import array
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Final

_MOST_PACKS: Final = 2000
_MOST_OPEN: Final = 64  # packs at once: a process may have as few as 1,024 files open
_MAX_CHAIN: Final = 4096  # git's own limit on differences of differences
_COMMANDS_AT_ONCE: Final = 1000  # counted
_COMMAND_BYTES: Final = 64  # what a command of a difference counts as work, whatever it copies
_HEAD_BYTES: Final = 64  # at most before the data of an object
_FIRST_BYTES: Final = 4096  # read of an object at once: mostly all of it
_BUFFER_BYTES: Final = 1 << 16
_NEIGHBOURS: Final = 64  # names of an index, read at once on each side of where one should be

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_PACK = re.compile(r"pack-[0-9a-f]{40,64}\.idx")
_TYPES: Final = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_OFFSET_DELTA, _NAME_DELTA = 6, 7
_IDX_MAGIC: Final = b"\xfftOc\0\0\0\x02"
_FANOUT_BYTES: Final = 1024
_NAMES_AT: Final = len(_IDX_MAGIC) + _FANOUT_BYTES
_HUGE: Final = 1 << 31  # of a pack's offsets: the rest is a place in a table of larger ones
# How the bytes after each command that copies are to be shifted: those of where from, of how much.
_SHIFTS: Final = [
    (
        tuple(8 * bit for bit in range(4) if command & 1 << bit),
        tuple(8 * bit for bit in range(3) if command & 0x10 << bit),
    )
    for command in range(0x80)
]


class Packs:
    """The packs of a repository.

    What is damaged raises ``ValueError``, ``IndexError``, ``OSError`` or ``zlib.error``.

    Args:
        objects: Descriptor of the folder of objects.
        hash_bytes: Length of an object name.
        cached_bytes: What of them may be kept.
        spend: Is told the size of what is to be unpacked, and raises if that is too much.
        stack: Closes their files.
    """

    def __init__(
        self,
        objects: int,
        hash_bytes: int,
        cached_bytes: int,
        spend: Callable[[int], None],
        stack: ExitStack,
    ) -> None:
        self._objects = objects
        self._hash_bytes = hash_bytes
        self._cache = _Cache(cached_bytes)
        self._spend = spend
        self._stack = stack
        self._folder: int | None = None
        self._packs: list[_Pack] | None = None
        self._in_use: OrderedDict[_Pack, None] = OrderedDict()  # the open ones, the last one last
        stack.callback(self._close)

    def _close(self) -> None:
        for pack in self._in_use:
            pack.close()

    def read(
        self, name: bytes, check: Callable[[int], None], *, again: bool
    ) -> tuple[bytes, bytes] | None:
        """Return the kind and the content of an object, or None.

        Args:
            name: Its name.
            check: Is told its size before it is unpacked, and raises if it is too large.
            again: Whether to look in those packs alone that have come since they were listed: git
                may have packed anew.
        """
        for pack in self._listed(again=again):
            offset = pack.find(name) if pack.may_have(name) and self._use(pack) else None
            if offset is not None:
                return self._in_pack(pack, offset, check)
        return None

    def _use(self, pack: "_Pack") -> bool:
        """Open a pack, unless it is open; return whether it is still there."""
        if pack in self._in_use:
            self._in_use.move_to_end(pack)
            return True
        if len(self._in_use) == _MOST_OPEN:
            self._in_use.popitem(last=False)[0].close()
        if self._folder is None or not pack.open(self._folder):
            return False
        self._in_use[pack] = None
        return True

    def _in_pack(
        self, pack: "_Pack", offset: int, check: Callable[[int], None]
    ) -> tuple[bytes, bytes]:
        """Return an object of a pack: the base of a chain of differences, with these applied."""
        changes: list[tuple[int, bytes]] = []  # with their offsets
        for _ in range(_MAX_CHAIN):
            cached = self._cache.get((pack.number, offset))
            if cached is not None:
                kind, content = cached
                if not changes:
                    check(len(content))
                break
            head = pack.bytes_at(offset, _FIRST_BYTES)
            code, size, base, at = _header(head, self._hash_bytes)
            if code in _TYPES and not changes:
                check(size)
            self._spend(size)
            data = pack.inflate(head[at:], offset + len(head), size)
            if code not in _TYPES and not changes:
                check(_sizes(data)[1])
            if code in _TYPES:
                kind, content = _TYPES[code], data
                self._cache.put((pack.number, offset), kind, content)
                break
            changes.append((offset, data))
            if code == _OFFSET_DELTA and 0 < base < offset:
                offset -= base
            elif code == _NAME_DELTA:
                offset = self._base_of(pack, head[at - self._hash_bytes : at])
            else:
                raise ValueError("an unknown kind of object")
        else:
            raise ValueError("a chain of differences is too long")
        for at, change in reversed(changes):
            content = self._applied(content, change)
            self._cache.put((pack.number, at), kind, content)
        return kind, content

    def _base_of(self, pack: "_Pack", name: bytes) -> int:
        """Return the offset of the base of a difference."""
        found = pack.find(name)
        if found is None:
            raise ValueError("the base of a difference is not in its pack")
        return found

    def _applied(self, base: bytes, change: bytes) -> bytes:
        """Apply a difference to its base."""
        base_size, size, at = _sizes(change)
        self._spend(size)
        if base_size != len(base):
            raise ValueError("a difference to something else")
        content = bytearray()
        commands, end = 0, len(change)
        while at < end:
            command = change[at]
            at += 1
            commands += 1
            if command & 0x80:
                offset = length = 0
                offset_shifts, length_shifts = _SHIFTS[command & 0x7F]
                for shift in offset_shifts:
                    offset |= change[at] << shift
                    at += 1
                for shift in length_shifts:
                    length |= change[at] << shift
                    at += 1
                length = length or 0x10000
                piece = base[offset : offset + length]
            else:
                length = command
                piece = change[at : at + length]
                at += length
            content += piece
            if not length or len(piece) != length or len(content) > size:
                raise ValueError("a difference beyond its base")
            if commands == _COMMANDS_AT_ONCE or at >= end:
                self._spend(_COMMAND_BYTES * commands)
                commands = 0
        if len(content) != size:
            raise ValueError("a difference of another size")
        return bytes(content)

    def _listed(self, *, again: bool) -> "list[_Pack]":
        """Return all packs, or, when asked again, those that have come since."""
        if self._packs is None:
            self._packs = []
            with suppress(OSError):
                self._folder = opened("pack", FOLDER_FLAGS, self._stack, folder=self._objects)
                again = True
        if self._folder is None or not again:
            return self._packs
        known = {pack.name for pack in self._packs}
        new = []
        with suppress(OSError):
            names = sorted(filter(_PACK.fullmatch, os.listdir(self._folder)))
            for name in names[:_MOST_PACKS]:
                if name not in known and len(self._packs) < _MOST_PACKS:
                    pack = _Pack(name, len(self._packs), self._hash_bytes)
                    if self._use(pack):
                        self._packs.append(pack)
                        new.append(pack)
        return new


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
    """A pack and its index, to be opened.

    Args:
        name: The file name of its index.
        number: Its place among the packs of the repository.
        hash_bytes: Length of an object name.
    """

    def __init__(self, name: str, number: int, hash_bytes: int) -> None:
        self.name = name
        self.number = number
        self._hash_bytes = hash_bytes
        self._fanout = array("I")  # how many names begin with each byte or one before it
        self._files = ExitStack()
        self._index = self._pack = -1

    def open(self, folder: int) -> bool:
        """Open its files; return false if one of the two is no regular file, or damaged.

        Args:
            folder: Descriptor of the folder of packs.
        """
        with ExitStack() as own, suppress(OSError, ValueError):
            self._index = opened(self.name, _FILE_FLAGS, own, folder=folder)
            self._pack = opened(f"{self.name[:-4]}.pack", _FILE_FLAGS, own, folder=folder)
            head = os.pread(self._index, _NAMES_AT, 0)
            if not head.startswith(_IDX_MAGIC) or len(head) != _NAMES_AT:
                raise ValueError("not an index of version 2")
            self._fanout = array("I", struct.unpack(">256I", head[len(_IDX_MAGIC) :]))
            self._files = own.pop_all()
            return True
        return False

    def close(self) -> None:
        """Close its files."""
        self._files.close()

    def may_have(self, name: bytes) -> bool:
        """Return whether there are names that begin like this one."""
        low = self._fanout[name[0] - 1] if name[0] else 0
        return low < self._fanout[name[0]]

    def find(self, name: bytes) -> int | None:
        """Return the offset of an object, or None.

        Names are spread evenly, so that it is looked for near where it should be first.
        """
        low = self._fanout[name[0] - 1] if name[0] else 0
        high, size = self._fanout[name[0]], self._hash_bytes
        guess = low + ((high - low) * int.from_bytes(name[1:5], "big") >> 32)
        while low < high:
            start, end = max(low, guess - _NEIGHBOURS), min(high, guess + _NEIGHBOURS)
            names = self._index_bytes(_NAMES_AT + start * size, (end - start) * size)
            if name < names[:size]:
                high = start
            elif name > names[-size:]:
                low = end
            else:
                at = names.find(name)
                while at % size and at > 0:  # parts of two names
                    at = names.find(name, at + 1)
                return None if at < 0 else self._offset_of(start + at // size)
            guess = (low + high) // 2
        return None

    def _offset_of(self, place: int) -> int:
        """Return the offset of the object at a place of the index."""
        count = self._fanout[255]
        offsets_at = _NAMES_AT + count * (self._hash_bytes + 4)  # behind the checksums
        offset = int.from_bytes(self._index_bytes(offsets_at + 4 * place, 4), "big")
        if offset < _HUGE:
            return offset
        at = offsets_at + 4 * count + 8 * (offset - _HUGE)
        return int.from_bytes(self._index_bytes(at, 8), "big")

    def inflate(self, data: bytes, start: int, size: int) -> bytes:
        """Return compressed data of a known size.

        Args:
            data: Its beginning.
            start: Where it goes on.
            size: What it unpacks to.
        """
        unpacker = zlib.decompressobj()
        piece = unpacker.decompress(data, size + 1)
        if unpacker.eof and len(piece) == size:
            return piece
        pieces = [piece]
        left = size - len(piece)
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


def opened(path: str, flags: int, stack: ExitStack, *, folder: int | None = None) -> int:
    """Open a folder or a file, to be closed with a stack."""
    descriptor = os.open(path, flags, dir_fd=folder)
    stack.callback(os.close, descriptor)
    return descriptor


def _header(head: bytes, hash_bytes: int) -> tuple[int, int, int, int]:
    """Read what stands before the data of an object.

    Returns:
        Its kind, its size, how far back its base is, and where its data begins. A base that is
        named stands before the data.
    """
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
        at += hash_bytes
    if at > _HEAD_BYTES:
        raise ValueError("a number is too large")
    return code, size, base, at


def _sizes(change: bytes) -> tuple[int, int, int]:
    """Return the size of the base of a difference, that of the result, and where it begins."""
    base_size, at = _varint(change, 0)
    size, at = _varint(change, at)
    return base_size, size, at


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
