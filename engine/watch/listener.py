"""Hears what happens in a project: the folders that are watched, kept up to date.

Events of the file system, from watchfiles: which paths something happened to, no more.

Folders are watched one by one, not with all below them, so that folders that are ignored cost
nothing. An event is a hint: it can be late, doubled or missing.

What is watched of a project, and what an event there is about.

Watched are the folders that a walk enters, by their paths without links, and those that hold what
decides from outside: git's ``HEAD`` and ``config``, ``info/exclude``, the rule files above the
root, the user's own ignore file.
"""

import os
import threading
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from engine.source.folder_rules import CAIRN_IGNORE, GIT_IGNORE
from engine.source.git import find_repository
from engine.source.git_files import git_settings
from engine.source.partial_walk import folders_of
from engine.source.walker import WalkRules, never

_STEP_MS = 50
_TRIES = 3
_EFFECTIVE = os.access in os.supports_effective_ids


class NoticesFailedError(Exception):
    """No events come any more, such as after a name that is not UTF-8."""


class NoRoomToWatchError(Exception):
    """The system lets this user watch no more folders."""


class Notices:
    """Watches folders; ``close`` frees the system's part of it.

    Args:
        folders: Absolute paths; what is gone or may not be read is passed over.

    Raises:
        NoRoomToWatchError: The system's limit is reached.
        NoticesFailedError: It does not work for another reason.
    """

    def __init__(self, folders: Collection[str]) -> None:
        self._notify = _started(folders)

    def wait(self, timeout_s: float, woken: threading.Event) -> set[str]:
        """Wait for events and give the paths that they name; empty after the timeout.

        Args:
            timeout_s: How long to wait.
            woken: Ends the waiting within a twentieth of a second.

        Raises:
            NoticesFailedError: The watch has ended.
            KeyboardInterrupt: In the main thread.
        """
        try:
            found = self._notify.watch(2 * _STEP_MS, _STEP_MS, max(1, int(timeout_s * 1000)), woken)
        except WatchfilesRustInternalError as error:
            raise NoticesFailedError(str(error)) from error
        if isinstance(found, str):
            if found == "signal":  # it has taken the interrupt for itself
                raise KeyboardInterrupt
            return set()
        return {path for _, path in found}

    def close(self) -> None:
        """Watch no more."""
        self._notify.close()


def _may_be_read(folder: str) -> bool:
    return os.access(folder, os.R_OK, effective_ids=_EFFECTIVE)


def _started(folders: Collection[str]) -> RustNotify:
    for _ in range(_TRIES):
        there = [folder for folder in folders if _may_be_read(folder)]
        try:
            # With ignore_permission_denied it would pass over limits without a word.
            return RustNotify(there, False, False, 0, False, False)
        except (FileNotFoundError, PermissionError):
            continue  # changed since it was looked at
        except OSError as error:
            raise NoRoomToWatchError(str(error)) from error
        except WatchfilesRustInternalError as error:
            if "os error 24" in str(error):  # EMFILE: of this process, or of inotify
                raise NoRoomToWatchError(str(error)) from error
            raise NoticesFailedError(str(error)) from error
    raise NoticesFailedError("the folders change too quickly")


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


#: Folders can come while the list of them is made, so it is made again, so often at most.
_MOST_LOOKS: Final = 5


class Heard(NamedTuple):
    """What happened."""

    paths: set[str]  # that may have another outcome now; "" is the whole project
    events: int  # that told of them


class Listener:
    """Watches the folders of a project, once ``listen`` was called.

    Args:
        root: Its resolved root.
        woken: Ends any waiting.
    """

    def __init__(self, root: str, woken: threading.Event) -> None:
        self._places = Places(root)
        self._woken = woken
        self._notices: Notices | None = None
        self._watched: set[str] = set()

    @property
    def is_on(self) -> bool:
        """Whether anything is watched."""
        return self._notices is not None

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._watched)

    def listen(
        self,
        rules: WalkRules,
        *,
        below: Iterable[str] = (),
        cancelled: Callable[[], bool],
    ) -> Heard:
        """Watch the folders that are there now; what was not watched before is to be compared.

        Args:
            rules: Which files belong to the project.
            below: Only what changed, with all below it; nothing: everything.
            cancelled: True stops it.

        Returns:
            What the watch that ended had still to tell.

        Raises:
            InvalidPathError: The root cannot be read.
            Cancelled: ``cancelled`` said so.
            NoRoomToWatchError: The system's limit is reached.
            NoticesFailedError: The system's watch fails.
        """
        heard = Heard(set(), 0)
        below = tuple(below)
        for _ in range(_MOST_LOOKS):
            self._places.look(rules, below=below, cancelled=cancelled)
            folders = self._places.folders()
            if folders == self._watched:
                break
            # The new watch begins before the old one ends, and before folders are looked for once
            # more: what comes from here on is heard, what came before is found.
            old, self._notices, self._watched = self._notices, Notices(folders), folders
            if old:
                last = self._last_of(old)
                heard = Heard(heard.paths | last.paths, heard.events + last.events)
        return heard

    def hear(self, timeout_s: float) -> Heard:
        """Wait for something to happen.

        Raises:
            NoticesFailedError: The watch has ended; ``close`` and ``listen`` begin anew.
        """
        if self._notices is None:
            self._woken.wait(timeout_s)
            return Heard(set(), 0)
        return self._about(self._notices.wait(timeout_s, self._woken))

    def changed_folders(self, paths: Iterable[str]) -> list[str]:
        """Give those paths below which there may be other folders, or links, than before."""
        return self._places.changed_folders(paths) if self._notices else []

    def close(self) -> None:
        """Watch nothing."""
        if self._notices:
            self._notices.close()
        self._notices = None
        self._watched = set()

    def _last_of(self, notices: Notices) -> Heard:
        try:
            return self._about(notices.wait(0.0, self._woken))
        except NoticesFailedError:
            return Heard({""}, 1)
        finally:
            notices.close()

    def _about(self, events: set[str]) -> Heard:
        return Heard(self._places.about(events), len(events))
