"""Folders that a walk has open, symbolic links inside the root, and file stats.

Each folder is opened beneath the descriptor of its parent and never through a link, so changes to
the tree during a walk cannot lead out of the root; and each call receives a single name, so no path
is too long. Only the last few folders keep their descriptors. The others are reopened, name by
name, when the walk returns to them, and must still be the same folders.

``LinkResolver`` follows links by hand, one name at a time, and looks at nothing outside the root. A
target that spells the root's own path, or leaves the root and returns by its name, is inside; any
other way out is outside, wherever it would end.

Stats are stored in 64-bit columns, but file systems know times after the year 2262 and inodes of
2^63 and more. Such a number is folded modulo 2^64: it only has to differ when the file's differs.
"""

import errno
import os
import stat
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from engine.records import FileStat, Skip, SkipReason, display_path

if TYPE_CHECKING:
    from engine.source.folder_rules import FolderRules  # not needed by a search that stats files


FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

#: Folders besides the root with open descriptors, far below the usual limit of 1,024 files.
_KEPT_OPEN: Final = 48

#: Device and inode.
Identity = tuple[int, int]

_MAX_LINKS: Final = 40  # in one resolution, as in Linux
_MAX_SHOWN_CHARACTERS: Final = 200
_MAX_STEPS: Final = 8192  # folders opened in one resolution

_LIMIT: Final = 1 << 63


class LinkedFolder:
    """A folder that a link leads to, inside the root."""

    __slots__ = ("name", "real_path", "rules")

    def __init__(self, name: str, rules: "FolderRules", real_path: str) -> None:
        self.name = name  # of the link
        self.rules = rules
        self.real_path = real_path  # relative to the root


class PlainFolder:
    """A folder to enter."""

    __slots__ = ("name", "rules")

    def __init__(self, name: str, rules: "FolderRules") -> None:
        self.name = name
        self.rules = rules


#: A pending step in a folder: enter a subfolder, or report an excluded one.
Pending = PlainFolder | LinkedFolder | Skip


class OpenFolder:
    """A folder on the path from the root to the current one."""

    __slots__ = (
        "descriptor",
        "folders",
        "identity",
        "is_behind_link",
        "link_target",
        "name",
        "path",
        "pending",
        "real_path",
        "rules",
    )

    def __init__(
        self, descriptor: int, name: str, path: str, rules: "FolderRules", *, real_path: str
    ) -> None:
        facts = os.fstat(descriptor)
        self.descriptor = descriptor  # -1 while it is closed
        self.identity: Identity = (facts.st_dev, facts.st_ino)
        self.name = name
        self.path = path  # as walked, "" for the root
        self.real_path = real_path  # without links, relative to the root
        self.rules = rules
        self.link_target: str | None = None  # real_path if this folder was entered through a link
        self.is_behind_link = real_path != path
        self.pending: list[Pending] = []  # next one last
        self.folders = 0  # how many subfolders were pending after listing


class FolderStack:
    """The stack of folders from the root to the current one."""

    def __init__(self, root: OpenFolder) -> None:
        self._folders = [root]
        self._identities = {root.identity}
        self._kept: deque[OpenFolder] = (
            deque()
        )  # folders with descriptors except the root, uppermost first

    @property
    def top(self) -> OpenFolder:
        """The current folder."""
        return self._folders[-1]

    @property
    def root(self) -> OpenFolder:
        """The first folder; it stays open."""
        return self._folders[0]

    def __len__(self) -> int:
        """Count the folders, the root included."""
        return len(self._folders)

    def part_done(self, part_of_top: float) -> float:
        """Estimate which part of the tree is done, as if the subfolders of a folder were equal."""
        done, weight = 0.0, 1.0
        for folder in self._folders:
            left = sum(not isinstance(each, Skip) for each in folder.pending)
            if folder.folders == left:
                break
            weight /= folder.folders
            done += weight * (folder.folders - left - 1)
        return done + weight * part_of_top

    def __contains__(self, identity: object) -> bool:
        """Return whether the walk is in that folder or below it."""
        return identity in self._identities

    def push(self, folder: OpenFolder) -> None:
        """Enter a folder."""
        self._folders.append(folder)
        self._identities.add(folder.identity)
        self._keep(folder)

    def pop(self) -> None:
        """Leave the current folder."""
        folder = self._folders.pop()
        self._identities.discard(folder.identity)
        if folder.descriptor >= 0:
            os.close(folder.descriptor)
            folder.descriptor = -1
            if self._kept and self._kept[-1] is folder:
                self._kept.pop()

    def close(self) -> None:
        """Leave all folders."""
        while self._folders:
            self.pop()

    def open_child(self, name: str) -> int:
        """Open a subfolder of the current folder.

        Raises:
            OSError: It is not a folder (any more), or may not be opened.
        """
        parent = self._descriptor_of_top()
        try:
            return os.open(name, FOLDER_FLAGS, dir_fd=parent)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            while len(self._kept) > 1:
                self._drop_uppermost()
            return os.open(name, FOLDER_FLAGS, dir_fd=parent)

    def open_beneath_root(self, real_path: str) -> int:
        """Open a folder by its path without links from the root.

        Raises:
            OSError: Some part of it is not a folder (any more), or may not be opened.
        """
        return open_beneath(self.root.descriptor, real_path)

    def _descriptor_of_top(self) -> int:
        if self.top.descriptor < 0:
            start = len(self._folders) - 1
            while self._folders[start].descriptor < 0:
                start -= 1
            for above, folder in zip(
                self._folders[start:], self._folders[start + 1 :], strict=False
            ):
                self._reopen(above, folder)
        return self.top.descriptor

    def _reopen(self, above: OpenFolder, folder: OpenFolder) -> None:
        if folder.link_target is not None:
            descriptor = self.open_beneath_root(folder.link_target)
        else:
            descriptor = os.open(folder.name, FOLDER_FLAGS, dir_fd=above.descriptor)
        facts = os.fstat(descriptor)
        if (facts.st_dev, facts.st_ino) != folder.identity:
            os.close(descriptor)
            raise FileNotFoundError(errno.ENOENT, "replaced by another folder")
        folder.descriptor = descriptor
        self._keep(folder)

    def _keep(self, folder: OpenFolder) -> None:
        self._kept.append(folder)
        if len(self._kept) > _KEPT_OPEN:
            self._drop_uppermost()

    def _drop_uppermost(self) -> None:
        folder = self._kept.popleft()
        os.close(folder.descriptor)
        folder.descriptor = -1


def open_beneath(root: int, real_path: str) -> int:
    """Open a folder by its path without links, name by name.

    Args:
        root: Descriptor of the folder that the path starts from.
        real_path: Relative path; empty for the folder itself.

    Raises:
        OSError: Some part of it is not a folder, or may not be opened.
    """
    descriptor = os.dup(root)
    for name in real_path.split("/") if real_path else ():
        try:
            below = os.open(name, FOLDER_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


class LinkTarget(NamedTuple):
    """The target of a link."""

    real_path: str  # relative to the root, without links
    stat: os.stat_result  # of what is there; not of a link


class NotFollowedError(Exception):
    """A link without a target inside the root.

    Args:
        reason: SYMLINK_OUTSIDE, SYMLINK_BROKEN or UNREADABLE.
        detail: Its target or the failure, for the user.
    """

    def __init__(self, reason: SkipReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class LinkResolver:
    """Resolver of links inside one root.

    Args:
        descriptor: Of the root; owned by the caller.
        root: The root's absolute path without links.
        given_root: The root's absolute path as given by the caller.
    """

    def __init__(self, descriptor: int, root: str, given_root: str) -> None:
        self._descriptor = descriptor
        self._above_root = _names_of(os.path.dirname(root))
        self._spellings = (_names_of(root), _names_of(given_root))

    def follow(self, folder: str, name: str) -> LinkTarget:
        """Follow a link.

        Args:
            folder: Path of its folder from the root, without links.
            name: Its name.

        Raises:
            NotFollowedError: It leads out of the root, is broken, or may not be followed.
        """
        place = _Place(self._descriptor, folder.split("/") if folder else [])
        try:
            return self._follow(place, [name])
        except OSError as error:
            reason = SkipReason.SYMLINK_BROKEN
            if isinstance(error, PermissionError):
                reason = SkipReason.UNREADABLE
            raise NotFollowedError(reason, error.strerror or "cannot be followed") from None
        finally:
            place.close()

    def _follow(self, place: "_Place", names: list[str]) -> LinkTarget:
        """Resolve names, next one last, from a place."""
        links = 0
        while names:
            name = names.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not place.up():
                    self._come_back(names, self._above_root)
                continue
            found = place.look(name)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if links > _MAX_LINKS:
                    raise NotFollowedError(SkipReason.SYMLINK_BROKEN, "too many links in a row")
                target = place.read_link(name)
                names += reversed(target.split("/"))
                if target.startswith("/"):
                    place.restart()
                    self._come_back(names, [])
            elif stat.S_ISDIR(found.st_mode):
                place.down(name)
            elif any(rest not in ("", ".") for rest in names):
                raise NotFollowedError(SkipReason.SYMLINK_BROKEN, "leads through a file")
            else:
                return LinkTarget(place.path_of(name), found)
        return LinkTarget(place.path, place.stat())

    def _come_back(self, names: list[str], outside: list[str]) -> None:
        """Consume names from a folder outside until they spell a path into the root."""
        place = list(outside)
        while place not in self._spellings:
            if not names:
                shown = display_path("/".join(place))[:_MAX_SHOWN_CHARACTERS]
                raise NotFollowedError(SkipReason.SYMLINK_OUTSIDE, f"leads to /{shown}")
            name = names.pop()
            if name == "..":
                del place[-1:]
            elif name not in ("", "."):
                place.append(name)


def _names_of(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


class _Place:
    """The current folder of a resolution."""

    def __init__(self, root: int, names: list[str]) -> None:
        self._root = root
        self._names = names
        self._descriptor = -1  # of the folder, -1 while it is not open
        self._steps = 0

    @property
    def path(self) -> str:
        return "/".join(self._names)

    def path_of(self, name: str) -> str:
        return "/".join([*self._names, name])

    def look(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self._opened(), follow_symlinks=False)

    def read_link(self, name: str) -> str:
        return os.readlink(name, dir_fd=self._opened())

    def stat(self) -> os.stat_result:
        return os.fstat(self._opened())

    def down(self, name: str) -> None:
        self._count(1)
        below = os.open(name, FOLDER_FLAGS, dir_fd=self._opened())
        self.close()
        self._descriptor = below
        self._names.append(name)

    def up(self) -> bool:
        """Go to the parent folder; return False in the root."""
        if not self._names:
            return False
        self._names.pop()
        self.close()
        return True

    def restart(self) -> None:
        """Go to the root."""
        self._names.clear()
        self.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _opened(self) -> int:
        if self._descriptor < 0:
            self._count(1 + len(self._names))
            self._descriptor = open_beneath(self._root, self.path)
        return self._descriptor

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > _MAX_STEPS:
            raise NotFollowedError(SkipReason.SYMLINK_BROKEN, "the path is too long")


_new: Final = tuple.__new__


def file_stat_of(found: os.stat_result) -> FileStat:
    """Return the stat that reveals a changed file; each number fits signed 64 bits."""
    mtime_ns = found.st_mtime_ns
    ctime_ns = found.st_ctime_ns
    inode = found.st_ino
    if not 0 <= mtime_ns | ctime_ns | inode < _LIMIT:  # all three in one comparison
        mtime_ns, ctime_ns, inode = _folded(mtime_ns), _folded(ctime_ns), _folded(inode)
    # Not FileStat(…), which takes 0.1 µs longer, and a walk of a million files calls this for each.
    return _new(FileStat, (found.st_size, mtime_ns, ctime_ns, inode))


def _folded(number: int) -> int:
    return (number + _LIMIT) % (2 * _LIMIT) - _LIMIT


def stat_beneath(root: str, path: str) -> FileStat | None:
    """Return the stat of a path in one system call, or None if nothing is there.

    A parent folder may be a link that leads out of the root, so the result proves only one
    thing: if it equals a known stat, it is the same file, unchanged.
    """
    try:
        return file_stat_of(os.stat(f"{root}/{path}", follow_symlinks=False))
    except (OSError, ValueError):
        return None
