"""Walks restricted to some paths of a tree, and walks that only look at folders.

``PartialWalk`` visits given paths, everything below them and the folders that lead there; ``probe``
explains the outcome of a single path; ``folders_of`` lists the folders and links to watch and
ignores other files. All of them run the walk itself, so their outcomes are the same as in a
complete walk. They cost one listing of each folder that they visit; rules are read in no other.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from engine.cancellation import CancelToken, never
from engine.records import FileEntry, Skip, SkipReason
from engine.source.folder_rules import FolderRules, Refusal
from engine.source.open_folders import OpenFolder
from engine.source.walker import Walk, WalkRules

#: Reasons for which a link may start to work later without an event of its own.
_OF_LINKS: Final = frozenset({SkipReason.SYMLINK_BROKEN, SkipReason.UNREADABLE})


class PathSet:
    """Paths to visit, each with everything below it; none of them lies below another.

    Without any paths, it is the whole tree.

    Args:
        paths: Relative to the root; not empty, and they need not exist.
    """

    __slots__ = ("_steps", "paths")

    def __init__(self, paths: Iterable[str]) -> None:
        kept: list[str] = []
        for path in sorted(set(paths), key=_parts_of):
            if not kept or not path.startswith(f"{kept[-1]}/"):
                kept.append(path)
        self.paths = tuple(kept)
        self._steps: dict[str, set[str]] = {}  # parent folder with a slash: names to follow
        for path in kept:
            prefix = ""
            for name in path.split("/"):
                self._steps.setdefault(prefix, set()).add(name)
                prefix = f"{prefix}{name}/"

    def __len__(self) -> int:
        """Count the paths."""
        return len(self.paths)

    def steps_from(self, prefix: str) -> set[str] | None:
        """Return the names to follow from a folder, or None for a folder to visit completely.

        Args:
            prefix: The path of a folder above or below one of the paths, with a slash, or "".
        """
        return self._steps.get(prefix)

    def is_above(self, path: str) -> bool:
        """Return whether a path is a parent folder of one of these."""
        return f"{path}/" in self._steps

    def covers(self, path: str) -> bool:
        """Return whether a path is one of these or below one; without paths, always True."""
        if not self.paths:
            return True
        prefix = ""
        for name in path.split("/"):
            steps = self._steps.get(prefix)
            if steps is None:
                return True
            if name not in steps:
                return False
            prefix = f"{prefix}{name}/"
        return prefix not in self._steps

    def folders_above(self) -> Iterator[str]:
        """Return the parent folders of these paths, without the root."""
        return (prefix[:-1] for prefix in self._steps if prefix)

    def with_paths(self, paths: Iterable[str]) -> "PathSet":
        """Return the union with more paths."""
        return PathSet((*self.paths, *paths))


class PartialWalk(Walk):
    """A walk restricted to some paths and their parent folders.

    Args:
        root: The folder.
        rules: Which files belong to it.
        selected: The paths to visit; none for everything.
        cancelled: Asked for each folder and a thousand files; True stops the walk.

    Attributes:
        reached: What the finished walk covers: the paths, and for parent folders that are excluded,
            missing or no longer folders, everything below them too.
        links: Links to folders that were entered now or before.
            Only a complete walk determines which of several links is the first.

    Raises:
        InvalidPathError: The root is missing, not a folder, or cannot be read.
        InvalidInputError: A glob is malformed.
    """

    def __init__(
        self,
        root: str,
        rules: WalkRules,
        selected: PathSet,
        cancelled: CancelToken = never,
    ) -> None:
        super().__init__(root, rules, cancelled)
        self._selected = selected
        self._blocked: list[str] = []  # parent folders that cannot be entered
        self.reached = selected
        self.links: list[str] = []

    def run(self) -> Iterator[FileEntry | Skip]:
        """Walk."""
        for item in super().run():
            if self._selected.is_above(item.path):
                self._blocked.append(item.path)
            yield item
        self.reached = self._selected.with_paths(self._blocked)

    def _chosen(
        self,
        entries: list[os.DirEntry[str]],
        rules: FolderRules,
        prefix: str,
        names: set[str],
    ) -> list[os.DirEntry[str]]:
        steps = self._selected.steps_from(prefix)
        if steps is None:
            return entries
        missing = (prefix + name for name in steps - names)
        self._blocked.extend(path for path in missing if self._selected.is_above(path))
        return [entry for entry in entries if entry.name in steps]

    def _refusal_of_opened(self, folder: OpenFolder, *, is_link: bool) -> Refusal | None:
        if is_link or folder.is_behind_link:
            self.links.append(folder.path)
        return super()._refusal_of_opened(folder, is_link=is_link)


def _parts_of(path: str) -> list[str]:
    return path.split("/")


class Probe(NamedTuple):
    """The outcome of a path."""

    outcome: FileEntry | Skip | None  # None: not excluded, and not an existing file
    exists: bool  # False: decided by its names alone


def probe(root: str, rules: WalkRules, path: str) -> Probe:
    """Return what a walk would do with one path.

    A missing path has the outcome that its names would cause. Only the order of a complete
    walk reveals that a folder was entered through another link before (``SYMLINK_REPEATED``).

    Args:
        root: The folder.
        rules: Which files belong to it.
        path: Relative to the root, not empty.

    Raises:
        InvalidPathError: The root is missing, not a folder, or cannot be read.
        InvalidInputError: A glob is malformed.
    """
    walk = _Probe(root, rules, path)
    for item in walk.run():
        if item.path == path or isinstance(item, Skip):  # of the path or of a folder above it
            return Probe(item, exists=True)
        return Probe(None, exists=False)  # a file where the path has a folder
    return Probe(walk.refusal, exists=not walk.is_missing)


class _Probe(Walk):
    """A walk restricted to the parent folders of one path."""

    def __init__(self, root: str, rules: WalkRules, path: str) -> None:
        super().__init__(root, rules, never)
        self._path = path
        self.is_missing = False
        self.refusal: Skip | None = None  # of a missing path

    def _chosen(
        self,
        entries: list[os.DirEntry[str]],
        rules: FolderRules,
        prefix: str,
        names: set[str],
    ) -> list[os.DirEntry[str]]:
        """Return the entry that leads to the path, or none in its own folder."""
        rest = self._path[len(prefix) :]
        step = rest.partition("/")[0]
        if step and step not in names:
            self.is_missing = True
            self.refusal = self._refusal_by_names(rules, prefix, rest, names)
        return [entry for entry in entries if entry.name == step]

    def _refusal_by_names(
        self, rules: FolderRules, prefix: str, rest: str, names: set[str]
    ) -> Skip | None:
        *folders, name = rest.split("/")
        for folder in folders:
            inside = rules.into(prefix, folder, names)
            if isinstance(inside, Refusal):
                return Skip(prefix + folder, inside.reason, inside.detail, is_folder=True)
            rules, prefix, names = inside, f"{prefix}{folder}/", set()
        refusal = rules.refusal_of_file(prefix, name)
        if refusal is not None:
            return Skip(prefix + name, refusal.reason, refusal.detail)
        return self._secret_of(prefix + name, prefix + name)


class Folders(NamedTuple):
    """The folders and links that a walk visited."""

    entered: dict[str, str]  # path → path without links, both from the root; "" is the root
    links: dict[str, str]  # followed links, to files and to folders: path → where they lead
    broken: set[str]  # links that are broken or unreadable now
    reached: PathSet  # complete for these paths; empty: for everything


def folders_of(
    root: str,
    rules: WalkRules,
    *,
    below: Iterable[str] = (),
    cancelled: CancelToken = never,
) -> Folders:
    """Return the folders that a walk enters.

    Args:
        root: The folder.
        rules: Which files belong to it.
        below: Only these paths, everything below them and their parent folders; empty: all.
        cancelled: Asked for each folder; True stops the walk.

    Raises:
        InvalidPathError: The root is missing, not a folder, or cannot be read.
        Cancelled: ``cancelled`` returned True.
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
    """A walk that ignores files other than links."""

    def __init__(
        self, root: str, rules: WalkRules, selected: PathSet, cancelled: CancelToken
    ) -> None:
        super().__init__(root, rules, selected, cancelled)
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
