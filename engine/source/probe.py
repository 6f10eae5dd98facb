"""What a walk would say of one path: the walk itself, kept to the folders that lead there.

So the answer is that of the walk and not of a second set of rules. Costs a listing of each of
those folders.
"""

import os
from typing import NamedTuple

from engine.records import FileEntry, Skip
from engine.source.folder_rules import FolderRules, Refusal
from engine.source.walker import Walk, WalkRules, never


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
