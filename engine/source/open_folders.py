"""The chain of open folders that a walk is in, from the root down.

Each folder is opened beneath the descriptor of the one above it and never through a link, so
nothing that happens to the tree meanwhile leads out of the root; and no call is given more than one
name, so no path is too long. Only the last few folders keep their descriptors. The others are
opened again, name by name, when the walk comes back, and must be the same folders then.
"""

import errno
import os
from collections import deque
from typing import Final

from engine.records import Skip
from engine.source.folder_rules import FolderRules

FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

#: Folders besides the root that keep their descriptors, far below the usual limit of 1,024 files.
_KEPT_OPEN: Final = 48

#: Device and inode.
Identity = tuple[int, int]


class LinkedFolder:
    """A folder that a link leads to, inside the root."""

    __slots__ = ("name", "real_path", "rules")

    def __init__(self, name: str, rules: FolderRules, real_path: str) -> None:
        self.name = name  # of the link
        self.rules = rules
        self.real_path = real_path  # relative to the root


class PlainFolder:
    """A folder to be entered."""

    __slots__ = ("name", "rules")

    def __init__(self, name: str, rules: FolderRules) -> None:
        self.name = name
        self.rules = rules


#: What is left to do in a folder: enter another one, or report one that is out.
Pending = PlainFolder | LinkedFolder | Skip


class OpenFolder:
    """A folder that the walk is in."""

    __slots__ = (
        "descriptor",
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
        self, descriptor: int, name: str, path: str, rules: FolderRules, *, real_path: str
    ) -> None:
        facts = os.fstat(descriptor)
        self.descriptor = descriptor  # -1 while it is closed
        self.identity: Identity = (facts.st_dev, facts.st_ino)
        self.name = name
        self.path = path  # as the walk came here, "" for the root
        self.real_path = real_path  # without links, relative to the root
        self.rules = rules
        self.link_target: str | None = None  # real_path when a link led here itself
        self.is_behind_link = real_path != path
        self.pending: list[Pending] = []  # the next one last


class FolderStack:
    """The folders from the root to where the walk is."""

    def __init__(self, root: OpenFolder) -> None:
        self._folders = [root]
        self._identities = {root.identity}
        self._kept: deque[OpenFolder] = (
            deque()
        )  # with descriptors, the root apart, upper ones first

    @property
    def top(self) -> OpenFolder:
        """The folder that the walk is in."""
        return self._folders[-1]

    @property
    def root(self) -> OpenFolder:
        """The first folder; it stays open."""
        return self._folders[0]

    def __len__(self) -> int:
        """Count the folders, the root included."""
        return len(self._folders)

    def __contains__(self, identity: object) -> bool:
        """Tell whether the walk is in that folder or below it."""
        return identity in self._identities

    def push(self, folder: OpenFolder) -> None:
        """Go into a folder."""
        self._folders.append(folder)
        self._identities.add(folder.identity)
        self._keep(folder)

    def pop(self) -> None:
        """Leave the folder."""
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
        """Open a folder in the top one.

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
            raise FileNotFoundError(errno.ENOENT, "another folder took its place")
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
