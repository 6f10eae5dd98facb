"""Which folders a walk enters, and which links lead where: what has to be watched.

Files are neither looked at nor judged, links apart.
"""

import os
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from engine.records import Skip, SkipReason
from engine.source.folder_rules import FolderRules, Refusal
from engine.source.open_folders import OpenFolder
from engine.source.partial_walk import PartialWalk, PathSet
from engine.source.walker import WalkRules, never

#: Why a link may show something later, without an event of its own.
_OF_LINKS: Final = frozenset({SkipReason.SYMLINK_BROKEN, SkipReason.UNREADABLE})


class Folders(NamedTuple):
    """What a walk went through."""

    entered: dict[str, str]  # path → path without links, both from the root; "" is the root
    links: dict[str, str]  # followed links, to files and to folders: path → where they lead
    broken: set[str]  # links that lead nowhere now, or where nobody may look
    reached: PathSet  # of what this tells all; empty: of everything


def folders_of(
    root: str,
    rules: WalkRules,
    *,
    below: Iterable[str] = (),
    cancelled: Callable[[], bool] = never,
) -> Folders:
    """Give the folders that a walk enters.

    Args:
        root: The folder.
        rules: Which files belong to it.
        below: Only these paths with all below them, and the folders that lead there; empty: all.
        cancelled: Asked for each folder; True stops the walk.

    Raises:
        InvalidPathError: The root is missing, not a folder, or cannot be read.
        Cancelled: ``cancelled`` said so.
    """
    walk = _FolderWalk(root, rules, PathSet(below), cancelled)
    for item in walk.run():
        if isinstance(item, Skip):
            if item.reason in _OF_LINKS and os.path.islink(os.path.join(root, item.path)):
                walk.broken.add(item.path)
        elif item.path != item.real_path:
            walk.followed[item.path] = item.real_path
    return Folders(walk.entered, walk.followed, walk.broken, walk.reached)


class _FolderWalk(PartialWalk):
    """A walk that sees folders and links only."""

    def __init__(
        self, root: str, rules: WalkRules, wanted: PathSet, cancelled: Callable[[], bool]
    ) -> None:
        super().__init__(root, rules, wanted, cancelled)
        self.entered: dict[str, str] = {}
        self.followed: dict[str, str] = {}
        self.broken: set[str] = set()

    def _chosen(
        self,
        entries: list[os.DirEntry[str]],
        rules: FolderRules,
        prefix: str,
        names: set[str],
    ) -> list[os.DirEntry[str]]:
        folder = self._stack.top
        self.entered[folder.path] = folder.real_path
        chosen = super()._chosen(entries, rules, prefix, names)
        return [entry for entry in chosen if _is_folder_or_link(entry)]

    def _refusal_of_opened(self, folder: OpenFolder, *, is_link: bool) -> Refusal | None:
        refusal = super()._refusal_of_opened(folder, is_link=is_link)
        if is_link and refusal is None:
            self.followed[folder.path] = folder.real_path
        return refusal


def _is_folder_or_link(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) or entry.is_symlink()
    except OSError:
        return False
