"""A walk kept to some paths of a tree: the folders that lead there, and all below them.

The outcomes are those of a whole walk, as it is the walk itself. Costs a listing of each folder on
the way and of each one below; rules are read in no other.
"""

import os
from collections.abc import Callable, Iterable, Iterator

from engine.records import FileEntry, Skip
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
