"""Which files of a commit may be shown: the rules of the project, as for files on the disk."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from engine.history.versions import FileAt, FileVersions
from engine.records import FileEntry, Skip
from engine.source.commit_tree import AllTracked
from engine.source.folder_rules import (
    CAIRN_IGNORE,
    FolderRules,
    GlobPosition,
    Refusal,
    RuleFiles,
)
from engine.source.git_objects import UnreadableObjectError
from engine.source.ignore import Globs
from engine.source.reader import TreeReader

_NAMES: Final = frozenset((CAIRN_IGNORE,))

#: Reads a file by its path from the root, of at most so many bytes.
_Read = Callable[[str, int], bytes | None]


class ShownScope:
    """The rules of a project, with the ``.cairnignore`` files of the disk and those of a commit.

    What either of them leaves out is not shown. Git's own rules say nothing: all files of a commit
    are tracked.

    Args:
        root: The resolved folder of the project.
        globs: Its globs: what it includes, and what it excludes.
        on_disk: Reads files of the folder.
        versions: Reads files of the commit.
        commit: Its name.
    """

    def __init__(
        self,
        root: str,
        globs: tuple[Globs | None, Globs | None],
        on_disk: TreeReader,
        versions: FileVersions,
        commit: bytes,
    ) -> None:
        def read_commit(path: str, limit_bytes: int) -> bytes | None:
            with suppress(UnreadableObjectError):
                blob = versions.blob(FileAt(commit, os.fsencode(path)))
                return versions.content(blob, limit_bytes) if blob else None
            return None

        self._sides = [DiskRules(root, globs, on_disk), _Rules(root, globs, read_commit)]

    def why_not(self, path: str) -> str:
        """Return why a file is left out; empty if it may be shown.

        Raises:
            LimitError: That would be too much work.
        """
        for side in self._sides:
            refusal = side.refusal_of(path)
            if refusal is not None:
                return f"left out by {refusal.detail}"
        return ""


class _Rules:
    """The rules of each folder, from one place that they are read from."""

    def __init__(self, root: str, globs: tuple[Globs | None, Globs | None], read: _Read) -> None:
        self._files = RuleFiles(root)
        self._read = read
        top = self._files.at_root(GlobPosition(*globs)).tracked_by(AllTracked())
        self._known: dict[str, FolderRules | Refusal] = {"": self._with_files(top, "")}

    def refusal_of(self, path: str) -> Refusal | None:
        """Return why a file is left out, or None."""
        folder, _, name = path.rpartition("/")
        rules = self._of_folder(folder)
        if isinstance(rules, Refusal):
            return rules
        return rules.refusal_of_file(f"{folder}/" if folder else "", name)

    def _of_folder(self, path: str) -> FolderRules | Refusal:
        at, rules = "", self._known[""]
        for name in filter(None, path.split("/")):
            prefix, at = (f"{at}/", f"{at}/{name}") if at else ("", name)
            if at not in self._known:
                if isinstance(rules, FolderRules):
                    rules = rules.into(prefix, name, ())
                if isinstance(rules, FolderRules):
                    rules = self._with_files(rules, f"{at}/")
                self._known[at] = rules
            rules = self._known[at]
        return rules

    def _with_files(self, rules: FolderRules, prefix: str) -> FolderRules:
        def read(name: str, room: int) -> bytes | None:
            return self._read(prefix + name, room)

        return self._files.with_files(rules, prefix, _NAMES, read)


class DiskRules(_Rules):
    """The rules of a project, with the ``.cairnignore`` files of the disk alone.

    Args:
        root: The resolved folder of the project.
        globs: Its globs: what it includes, and what it excludes.
        on_disk: Reads files of the folder.
    """

    def __init__(
        self, root: str, globs: tuple[Globs | None, Globs | None], on_disk: TreeReader
    ) -> None:
        super().__init__(root, globs, partial(read_on_disk, on_disk))


def read_on_disk(reader: TreeReader, path: str, limit_bytes: int) -> bytes | None:
    """Return the content of a file, or None if there is none that can be read."""
    stat = reader.stat_of(path)
    found = stat and reader.read(FileEntry(path, stat, path), limit_bytes)
    return None if not found or isinstance(found, Skip) else found.data
