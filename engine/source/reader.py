"""Read files beneath a root so that nothing outside the root can be reached.

Each part of a path is opened beneath the descriptor of the previous part and never as a link, so a
folder or file that is replaced by a link after the walk results in a ``Skip`` instead of foreign
text. ``content`` interprets the bytes.

``check_root`` verifies that the root of a tree still exists and can be read, so that its files do
not count as deleted when it is temporarily unavailable.
"""

import errno
import os
import stat
from hashlib import sha256
from types import TracebackType
from typing import Final, NamedTuple, Self

from engine.errors import InvalidPathError
from engine.records import FileEntry, FileStat, Skip, SkipReason, display_path
from engine.roots import real_path
from engine.source.open_folders import (
    FOLDER_FLAGS,
    Identity,
    LinkResolver,
    NotFollowedError,
    file_stat_of,
)

#: O_NONBLOCK: opening a FIFO must not wait for a writer; it changes nothing for regular files.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

#: Maximum number of open folder descriptors; a path may be thousands of folders deep.
_MAX_KEPT = 64

#: Errors of open() for a socket or a device without a driver.
_NOT_A_FILE = frozenset({errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP})
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})

_NO_NAMES = frozenset({"", ".", ".."})
_NOT_BENEATH = "not a path beneath the root"
_NO_STAT = FileStat(-1, -1, -1, -1)

#: The ``reason`` in the details of an error about a folder in which nothing is left.
EMPTIED: Final = "empty"


class Content(NamedTuple):
    """The bytes of a file and the state in which they were read."""

    data: bytes
    stat: FileStat


class TreeReader:
    """Reader of files beneath one root. A context manager; for one thread at a time.

    The descriptors of the folder read last stay open, as the files of a folder come one after the
    other: such a file costs one each of open, read and close and two of fstat. Such a folder can be
    moved away on disk meanwhile, so a file found through it counts only if its inode is the one
    that the walk saw; otherwise the path is opened again from the root, and that result stands.
    The root itself stays open too: open a reader for one run or one response, not for the life of a
    process.

    Raises:
        InvalidPathError: The root cannot be opened or is not a folder.
    """

    def __init__(self, root: str) -> None:
        try:
            self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InvalidPathError(
                f"cannot open the folder {display_path(root)}: {reason}", field="path"
            ) from error
        self._path = os.path.abspath(root)
        self._folder: str | None = ""  # the folder of _here; None while unknown
        self._here = self._root
        self._names: list[str] = []  # parts of the path whose descriptors are open
        self._kept: list[int] = []
        self._deep = -1  # the descriptor of _here when the path is longer than _MAX_KEPT

    def __enter__(self) -> Self:
        """Return the reader."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close every descriptor."""
        self.close()

    def close(self) -> None:
        """Close every descriptor. May be called twice."""
        self._forget()
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def read(self, entry: FileEntry, max_bytes: int) -> Content | Skip:
        """Read a whole file, or return a skip with the reason.

        Bytes and stat belong to the same open file, and neither its size nor its modification time
        changed while it was read. A skip has a stat only when the same stat means the same skip.

        Args:
            entry: The result of the walk; ``real_path`` is opened, a skip has ``path``.
            max_bytes: The largest size to read; more is ``TOO_LARGE``, and nothing is read.
        """
        path = entry.real_path
        slash = path.rfind("/")
        folder = path[:slash] if slash >= 0 else ""
        try:
            here = self._here if folder == self._folder else self._enter(folder)
            descriptor = os.open(path[slash + 1 :], _FILE_FLAGS, dir_fd=here)
            try:
                found = _read_open(descriptor, max_bytes)
            finally:
                os.close(descriptor)
        except (OSError, ValueError):
            return self._read_again(entry, max_bytes)
        if isinstance(found, Content) and found.stat.inode == entry.stat.inode:
            return found
        return self._read_again(entry, max_bytes)

    def stat_of(self, path: str) -> FileStat | None:
        """Return the stat of a regular file without opening it, or None for anything else.

        Args:
            path: Beneath the root; links are followed as the walk does, never out of the root.
        """
        found = self._look(path)
        if found is None or stat.S_ISLNK(found.st_mode):
            real_path = self._real_path_of(path)
            found = None if real_path is None else self._look(real_path)
        return file_stat_of(found) if found is not None and stat.S_ISREG(found.st_mode) else None

    def hash_of(self, path: str, max_bytes: int) -> bytes | None:
        """Return the SHA-256 of a file's bytes (32 bytes), or None if it cannot be read.

        Args:
            path: As for ``stat_of``.
            max_bytes: Larger files give None.
        """
        found = self._read_again(FileEntry(path, _NO_STAT, path), max_bytes)
        if isinstance(found, Skip) and found.reason is SkipReason.VANISHED:
            real_path = self._real_path_of(path)
            if real_path is not None and real_path != path:
                found = self._read_again(FileEntry(path, _NO_STAT, real_path), max_bytes)
        return None if isinstance(found, Skip) else sha256(found.data).digest()

    def _look(self, path: str) -> os.stat_result | None:
        self._forget()
        try:
            folder, name = _split(path)
            return os.stat(name, dir_fd=self._enter(folder), follow_symlinks=False)
        except (OSError, ValueError):
            return None

    def _real_path_of(self, path: str) -> str | None:
        """Follow the links in a path; None when they lead nowhere inside the root."""
        resolver = LinkResolver(self._root, real_path(self._path), self._path)
        place = ""
        try:
            for name in path.split("/"):
                if name in _NO_NAMES:
                    return None
                found = os.stat(name, dir_fd=self._enter(place), follow_symlinks=False)
                if stat.S_ISLNK(found.st_mode):
                    place = resolver.follow(place, name).real_path
                else:
                    place = f"{place}/{name}" if place else name
        except (OSError, ValueError, NotFollowedError):
            return None
        return place

    def _read_again(self, entry: FileEntry, max_bytes: int) -> Content | Skip:
        """Read through the root without cached folders; twice if the file is changing."""
        found = self._read_from_root(entry, max_bytes)
        if isinstance(found, Skip) and found.reason is SkipReason.CHANGING:
            return self._read_from_root(entry, max_bytes)
        return found

    def _read_from_root(self, entry: FileEntry, max_bytes: int) -> Content | Skip:
        self._forget()
        try:
            folder, name = _split(entry.real_path)
            descriptor = os.open(name, _FILE_FLAGS, dir_fd=self._enter(folder))
            try:
                found = _read_open(descriptor, max_bytes)
            finally:
                os.close(descriptor)
        except OSError as error:
            skip = _skip_of(entry.path, error)
            # A change of permissions changes the times of a file, so it is the same until then.
            return skip._replace(stat=entry.stat) if isinstance(error, PermissionError) else skip
        except ValueError as error:
            return Skip(entry.path, SkipReason.UNREADABLE, str(error))
        return found if isinstance(found, Content) else found._replace(path=entry.path)

    def _enter(self, folder: str) -> int:
        """Open a folder beneath the root, starting at its deepest open parent."""
        names = folder.split("/") if folder else []
        self._folder = None
        if self._deep >= 0:
            os.close(self._deep)
            self._deep = -1
        shared = 0
        for name, kept in zip(names, self._names, strict=False):
            if name != kept:
                break
            shared += 1
        while len(self._kept) > shared:
            self._names.pop()
            os.close(self._kept.pop())
        here = self._kept[-1] if self._kept else self._root
        for name in names[shared:]:
            here = self._enter_one(here, name)
        self._folder = folder
        self._here = here
        return here

    def _enter_one(self, here: int, name: str) -> int:
        if name in _NO_NAMES:
            raise ValueError(_NOT_BENEATH)
        descriptor = os.open(name, FOLDER_FLAGS, dir_fd=here)
        if len(self._kept) < _MAX_KEPT:
            self._names.append(name)
            self._kept.append(descriptor)
            return descriptor
        if self._deep >= 0:
            os.close(self._deep)
        self._deep = descriptor
        return descriptor

    def _forget(self) -> None:
        """Close every folder but the root."""
        while self._kept:
            os.close(self._kept.pop())
        self._names.clear()
        if self._deep >= 0:
            os.close(self._deep)
            self._deep = -1
        self._folder = ""
        self._here = self._root


def _split(path: str) -> tuple[str, str]:
    """Split a path into its folder, empty for the root, and its name; ValueError without a name."""
    folder, slash, name = path.rpartition("/")
    if name in _NO_NAMES or (slash and not folder):
        raise ValueError(_NOT_BENEATH)
    return folder, name


def _read_open(descriptor: int, max_bytes: int) -> Content | Skip:
    """Read an open file; the path of a skip is left empty."""
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        return Skip("", SkipReason.NOT_REGULAR, _kind_of(before.st_mode))
    size_bytes = before.st_size
    if size_bytes > max_bytes:
        detail = f"{size_bytes} bytes, the limit is {max_bytes}"
        return Skip("", SkipReason.TOO_LARGE, detail, stat=file_stat_of(before))
    # Reading one byte more detects a file that grew, and the end of one that did not.
    data = os.read(descriptor, size_bytes + 1)
    if 0 < len(data) < size_bytes:
        data = _read_rest(descriptor, data, size_bytes + 1)
    after = os.fstat(descriptor)
    is_same = after.st_size == size_bytes and after.st_mtime_ns == before.st_mtime_ns
    if len(data) != size_bytes or not is_same:
        return Skip("", SkipReason.CHANGING, "changed while it was read, twice")
    return Content(data, file_stat_of(before))


def _read_rest(descriptor: int, start: bytes, wanted_bytes: int) -> bytes:
    """Continue after a short read, which network file systems may return before the end."""
    pieces = [start]
    missing = wanted_bytes - len(start)
    while missing > 0:
        piece = os.read(descriptor, missing)
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _kind_of(mode: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFBLK: "a block device",
        stat.S_IFCHR: "a character device",
    }
    return kinds.get(stat.S_IFMT(mode), "not a regular file")


def _skip_of(path: str, error: OSError) -> Skip:
    """Return the skip for an error of open or read.

    A new link counts as vanished: what the walk saw is gone, and the next walk decides about the
    target of the link. Linux reports ENOTDIR for a link in place of a folder and
    ELOOP for one in place of a file.
    """
    number = error.errno or 0
    if number in _GONE:
        detail = "gone since the folder was listed"
        if number != errno.ENOENT:
            detail = "replaced by something else, such as a link, since the folder was listed"
        return Skip(path, SkipReason.VANISHED, detail)
    if number in _NOT_A_FILE:
        return Skip(path, SkipReason.NOT_REGULAR, "a socket or a device")
    name = errno.errorcode.get(number, str(number))
    return Skip(path, SkipReason.UNREADABLE, f"{os.strerror(number).lower()} ({name})")


def check_root(root: str, known: Identity | None = None) -> Identity:
    """Check that a folder can be listed and entered, and return its identity.

    Args:
        root: The folder.
        known: The result of an earlier call, if it must still be the same folder.

    Raises:
        InvalidPathError: It cannot; the message begins with the reason (``permission denied``),
            and ``details`` has it as ``reason``: ``permission_denied``, ``gone`` or ``replaced``.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = os.stat(".", dir_fd=descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        is_closed = error.errno in (errno.EACCES, errno.EPERM)
        raise _unreadable(
            root,
            f"{(error.strerror or str(error)).lower()}: ",
            "make the folder readable" if is_closed else "check that the folder is where it was",
            "permission_denied" if is_closed else "gone",
        ) from error
    identity = found.st_dev, found.st_ino
    if known not in (None, identity):
        raise _unreadable(root, "another folder took the place of ", "index it again", "replaced")
    return identity


def is_folder_there(root: str, files: int) -> bool:
    """Return whether a folder exists, and is not empty though files of it are indexed.

    Args:
        root: The folder.
        files: How many are.
    """
    if not os.path.isdir(root):
        return False
    try:
        return not files or not is_empty(root)
    except OSError:  # it cannot be read, which is another matter
        return True


def check_not_emptied(root: str) -> None:
    """Check that a folder whose files have all vanished still has something in it.

    An empty one may be the mount point of a disk that is away.

    Raises:
        InvalidPathError: It is empty; ``details`` has the reason ``EMPTIED``.
    """
    if is_empty(root):
        hint = "is a disk not mounted? If all was deleted, cairn doctor PATH --rebuild begins anew"
        raise _unreadable(root, "nothing is left in ", hint, EMPTIED)


def is_empty(folder: str) -> bool:
    """Return whether a folder has nothing in it."""
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def _unreadable(root: str, what: str, hint: str, reason: str) -> InvalidPathError:
    shown = display_path(root)
    return InvalidPathError(
        f"{what}{shown}",
        hint=f"{hint}; what was indexed so far is kept",
        field="path",
        path=shown,
        reason=reason,
    )
