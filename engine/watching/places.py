"""What is watched of a project, and what an event there is about.

Watched are the folders that a walk enters, by their paths without links, and those that hold what
decides from outside: git's ``HEAD`` and ``config``, ``info/exclude``, the rule files above the
root, the user's own ignore file.
"""

import os
from collections.abc import Callable, Iterable
from typing import Final

from engine.source.folder_walk import folders_of
from engine.source.git import find_repository
from engine.source.git_config import git_settings
from engine.source.rule_files import CAIRN_IGNORE, GIT_IGNORE
from engine.source.walker import WalkRules, never

_RULE_FILES: Final = (GIT_IGNORE, CAIRN_IGNORE)
#: Links that lead nowhere are looked at with every event, if they are no more than this.
_MOST_BROKEN: Final = 50
#: More pairs of a path and a link are not compared: the whole project is looked at.
_MOST_COMPARED: Final = 1_000_000


class Places:
    """The watched places of one project.

    Args:
        root: Its resolved root.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._prefix = root.rstrip("/") + "/"
        self._folders: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._broken: set[str] = set()
        self._outside: set[str] = set()  # files that decide for the whole project

    def look(
        self,
        rules: WalkRules,
        *,
        below: Iterable[str] = (),
        cancelled: Callable[[], bool] = never,
    ) -> None:
        """Find what is to be watched.

        Args:
            rules: Which files belong to the project.
            below: Only what changed: these paths with all below them; empty: everything.
            cancelled: True stops it.

        Raises:
            InvalidPathError: The root cannot be read.
            Cancelled: ``cancelled`` said so.
        """
        found = folders_of(self._root, rules, below=below, cancelled=cancelled)
        covers = found.reached.covers
        self._folders = {p: real for p, real in self._folders.items() if not covers(p)}
        self._folders |= found.entered
        self._links = {p: real for p, real in self._links.items() if not covers(p)} | found.links
        self._broken = {path for path in self._broken if not covers(path)} | found.broken
        self._find_outside()

    def folders(self) -> set[str]:
        """Give the absolute paths of the folders to watch.

        A name that is not UTF-8 cannot be told to the system's part, so such folders are left out.
        """
        inside = {self._prefix + real if real else self._root for real in self._folders.values()}
        outside = {os.path.dirname(path) for path in self._outside}
        return {folder for folder in inside | outside if _is_utf8(folder)}

    def about(self, events: Iterable[str]) -> set[str]:
        """Give the paths that may have another outcome now; ``""`` is the whole project.

        Args:
            events: Absolute paths that something happened to.
        """
        paths: set[str] = set()
        for event in events:
            if event in self._outside:
                return {""}
            if event.startswith(self._prefix):
                path = event[len(self._prefix) :]
                if "/.git/" in f"/{path}":
                    continue
                folder, _, name = path.rpartition("/")
                is_rule = name in _RULE_FILES or name == ".git"
                paths.add(folder if is_rule else path)
        return self._with_links(paths)

    def changed_folders(self, paths: Iterable[str]) -> list[str]:
        """Give those paths below which there may be other folders, or links, than before."""
        return [path for path in paths if self._may_hold_others(path)]

    def _may_hold_others(self, path: str) -> bool:
        if path in self._folders or path in self._links or path in self._broken:
            return True
        place = self._prefix + path
        return os.path.islink(place) or os.path.isdir(place)

    def _with_links(self, paths: set[str]) -> set[str]:
        """Add what shows the same files: links to them, to their folders, or into them."""
        if not paths:
            return paths
        if len(paths) * len(self._links) > _MOST_COMPARED:
            return {""}
        found = set(paths)
        for link, real in self._links.items():
            for path in paths:
                if path == real or path.startswith(f"{real}/"):
                    found.add(link + path[len(real) :])
                elif real.startswith(f"{path}/"):
                    found.add(link)
        if len(self._broken) <= _MOST_BROKEN:
            found |= self._broken
        return found

    def _find_outside(self) -> None:
        repository = find_repository(self._root)
        top = repository.top if repository else self._root
        common = repository.common_dir if repository else None
        self._outside = {git_settings(top, common).excludes_path}
        if repository and common:
            common = os.path.realpath(common)
            self._outside |= {
                os.path.join(os.path.realpath(repository.git_dir), "HEAD"),
                os.path.join(common, "config"),
                os.path.join(common, "info"),
                os.path.join(common, "info", "exclude"),
            }
            folder = self._root
            while folder != repository.top:
                folder = os.path.dirname(folder)
                self._outside.update(os.path.join(folder, name) for name in _RULE_FILES)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
