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
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final, NamedTuple

from engine.source.git_files import read_regular
from engine.source.git_packs import FOLDER_FLAGS, Packs, opened

_MAX_OBJECT_BYTES: Final = 32 << 20
_MAX_WORK_BYTES: Final = 1 << 30  # uncompressed, of all objects together
_MAX_TREE_DEPTH: Final = 200
MOST_FILES: Final = 500_000  # of a commit
_NO_NAMES: Final = (".", "..")
_HEADER_BYTES: Final = 64  # of a loose object

_LOOSE = re.compile(rb"(commit|tree|blob|tag) (\d{1,12})\0")
_TREE = {size: re.compile(rb"tree ([0-9a-f]{%d})\n" % (2 * size)) for size in (20, 32)}
_TAG = {
    size: re.compile(rb"object ([0-9a-f]{%d})\ntype (?:commit|tag)\n" % (2 * size))
    for size in (20, 32)
}
_MAX_TAGS: Final = 5  # of tags


class UnreadableObjectError(Exception):
    """An object that cannot be read; the text says why."""


class ObjectTooLargeError(UnreadableObjectError):
    """An object that would cost too much; it will not become readable.

    Args:
        message: Why, for people.
        size_bytes: Its size; 0: it is not known.
    """

    def __init__(self, message: str, size_bytes: int = 0) -> None:
        super().__init__(message)
        self.size_bytes = size_bytes


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
        self._hash = hashlib.sha1 if hash_bytes == 20 else hashlib.sha256
        self._left_bytes = _MAX_WORK_BYTES
        self._stack = ExitStack()
        try:
            self._folder = opened(os.path.join(common_dir, "objects"), FOLDER_FLAGS, self._stack)
        except (OSError, ValueError) as error:
            raise UnreadableObjectError("the folder of git's objects cannot be opened") from error
        self._packs = Packs(self._folder, hash_bytes, cached_bytes, self._spend, self._stack)

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
            if number > MOST_FILES:
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
        found = [
            TreeEntry(mode.lstrip(b"0"), os.fsdecode(entry), name)
            for mode, entry, name in self._entries(self.read(tree, b"tree"))
        ]
        names = {each.path for each in found}
        if len(names) < len(found) or not names.isdisjoint(_NO_NAMES):
            raise UnreadableObjectError("a folder of the commit has names that git refuses")
        return found

    def allow(self, work_bytes: int) -> None:
        """Allow to unpack so many bytes from now on."""
        self._left_bytes = work_bytes

    def read(self, name: bytes, kind: bytes, *, limit_bytes: int = _MAX_OBJECT_BYTES) -> bytes:
        """Return the content of an object.

        Args:
            name: Its name.
            kind: What it must be: ``commit``, ``tree`` or ``blob``.
            limit_bytes: A larger one is not unpacked.

        Raises:
            UnreadableObjectError: It is missing, damaged, too large or something else.
        """

        def check(size: int) -> None:
            if size > limit_bytes:
                raise ObjectTooLargeError("git's objects are too large to be read", size)

        try:
            found = self._packs.read(name, check, again=False) or self._loose(name, check)
            found = found or self._packs.read(name, check, again=True)
        except (OSError, ValueError, IndexError, zlib.error) as error:
            raise UnreadableObjectError(f"the object {name.hex()[:12]} is damaged") from error
        if found is None:
            raise UnreadableObjectError(self._reason_for_missing(name))
        found_kind, content = found
        digest = self._hash(b"%s %d\0" % (found_kind, len(content)))
        digest.update(content)
        if found_kind != kind or digest.digest() != name:
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

    def _loose(self, name: bytes, check: Callable[[int], None]) -> tuple[bytes, bytes] | None:
        """Return the kind and the content of an object in a file of its own."""
        digits = name.hex()
        try:
            folder = os.open(digits[:2], FOLDER_FLAGS, dir_fd=self._folder)
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
        check(size)
        self._spend(size)
        unpacker = zlib.decompressobj()
        whole = unpacker.decompress(data, head.end() + size + 1)
        return head[1], whole[head.end() :]

    def _reason_for_missing(self, name: bytes) -> str:
        try:
            os.stat("info/alternates", dir_fd=self._folder)
        except OSError:
            return f"the object {name.hex()[:12]} is missing"
        return (
            "its objects lie in another repository (alternates), which is not opened;"
            " git repack -a -d copies them"
        )
