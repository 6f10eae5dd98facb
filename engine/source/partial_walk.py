"""Walks restricted to some paths of a tree, and walks that only look at folders.

``PartialWalk`` visits given paths, everything below them and the folders that lead there; ``probe``
explains the outcome of a single path; ``folders_of`` lists the folders and links to watch and
ignores other files. All of them run the walk itself, so their outcomes are the same as in a
complete walk. They cost one listing of each folder that they visit; rules are read in no other.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from engine.records import FileEntry, Skip, SkipReason
from engine.source.folder_rules import FolderRules, Refusal
from engine.source.open_folders import OpenFolder
from engine.source.walker import Walk, WalkRules, never


class PathSet:
    """Paths that are looked at, each with all below it; none of them lies below another.

    No paths at all stand for the whole tree.

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
        self._steps: dict[str, set[str]] = {}  # folder on the way, with a slash: what leads on
        for path in kept:
            prefix = ""
            for name in path.split("/"):
                self._steps.setdefault(prefix, set()).add(name)
                prefix = f"{prefix}{name}/"

    def __len__(self) -> int:
        """Count the paths."""
        return len(self.paths)

    def steps_from(self, prefix: str) -> set[str] | None:
        """Give the names that lead on from a folder; None in a folder that is looked at whole.

        Args:
            prefix: The path of a folder on the way or below one of the paths, with a slash, or "".
        """
        return self._steps.get(prefix)

    def is_above(self, path: str) -> bool:
        """Say whether a path is a folder that leads to one of these."""
        return f"{path}/" in self._steps

    def covers(self, path: str) -> bool:
        """Say whether a path is one of these or below one; no paths stand for all."""
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
        """Give the folders that lead to these paths, the root left out."""
        return (prefix[:-1] for prefix in self._steps if prefix)

    def with_paths(self, paths: Iterable[str]) -> "PathSet":
        """Give these paths and some more."""
        return PathSet((*self.paths, *paths))


class PartialWalk(Walk):
    """A walk that looks at nothing beside some paths and their ways.

    Args:
        root: The folder.
        rules: Which files belong to it.
        wanted: What is looked at; no paths: everything.
        cancelled: Asked for each folder and a thousand files; True stops the walk.

    Attributes:
        reached: What the walk has told of, once it is done: the paths, and of those folders on the
            way that are out, missing or no folders any more, all below them too.
        links: Links to folders that were entered, or not entered because that folder was already.
            Only a whole walk can tell which of several links is the first.

    Raises:
        InvalidPathError: The root is missing, not a folder, or cannot be read.
        InvalidInputError: A glob is malformed.
    """

    def __init__(
        self,
        root: str,
        rules: WalkRules,
        wanted: PathSet,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        super().__init__(root, rules, cancelled)
        self._wanted = wanted
        self._shut: list[str] = []  # folders on the way that do not lead on
        self.reached = wanted
        self.links: list[str] = []

    def run(self) -> Iterator[FileEntry | Skip]:
        """Walk."""
        for item in super().run():
            if self._wanted.is_above(item.path):
                self._shut.append(item.path)
            yield item
        self.reached = self._wanted.with_paths(self._shut)

    def _chosen(
        self,
        entries: list[os.DirEntry[str]],
        rules: FolderRules,
        prefix: str,
        names: set[str],
    ) -> list[os.DirEntry[str]]:
        steps = self._wanted.steps_from(prefix)
        if steps is None:
            return entries
        missing = (prefix + name for name in steps - names)
        self._shut.extend(path for path in missing if self._wanted.is_above(path))
        return [entry for entry in entries if entry.name in steps]

    def _refusal_of_opened(self, folder: OpenFolder, *, is_link: bool) -> Refusal | None:
        if is_link:
            self.links.append(folder.path)
        return super()._refusal_of_opened(folder, is_link=is_link)


def _parts_of(path: str) -> list[str]:
    return path.split("/")


class Probe(NamedTuple):
    """The outcome of a path."""

    outcome: FileEntry | Skip | None  # None: nothing refuses it, and it is no file that is there
    exists: bool  # False: its names alone decided


def probe(root: str, rules: WalkRules, path: str) -> Probe:
    """Say what a walk would do with one path.

    A path that is not there has the outcome that its names would give it. Only the order of a whole
    walk can tell that a folder was entered through another link before (``SYMLINK_REPEATED``).

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
    """A walk that looks at nothing beside its way."""

    def __init__(self, root: str, rules: WalkRules, path: str) -> None:
        super().__init__(root, rules, never)
        self._path = path
        self.is_missing = False
        self.refusal: Skip | None = None  # of a path that is not there

    def _chosen(
        self,
        entries: list[os.DirEntry[str]],
        rules: FolderRules,
        prefix: str,
        names: set[str],
    ) -> list[os.DirEntry[str]]:
        """Give the one entry that leads on; none in the folder that was looked for."""
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
