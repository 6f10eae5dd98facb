"""Listens to file system events in the folders of a project, and maps them to its paths.

Watched are the folders that a walk enters, by their paths without links, those that lead to what
links show, and those that hold what decides from outside: git's ``HEAD`` and ``config``,
``info/exclude``, the rule files above the root, the user's own ignore file. Folders are watched one
by one, not recursively, so that ignored folders cost nothing. An event, which comes from
watchfiles, is only a hint: it can be late, duplicated or missing.

The system watches inodes, not paths: the watch of a folder ends with it, and a folder that takes
its place is watched only if the listener watches anew.
"""

import os
import threading
import time
from collections.abc import Collection, Generator, Iterable
from typing import Final, NamedTuple

from watchfiles import Change, watch
from watchfiles.main import FileChange

from engine.cancellation import CancelToken, never
from engine.roots import real_path
from engine.source.folder_rules import CAIRN_IGNORE, GIT_IGNORE
from engine.source.git import find_repository
from engine.source.git_files import git_settings
from engine.source.open_folders import Identity
from engine.source.partial_walk import folders_of
from engine.source.walker import WalkRules

_STEP_MS = 50
_TRIES = 3
_EFFECTIVE = os.access in os.supports_effective_ids

_RULE_FILES: Final = (GIT_IGNORE, CAIRN_IGNORE)
#: Broken links are compared with every event, if there are at most so many.
_MAX_BROKEN: Final = 50
#: With more pairs of a path and a link than this, the whole project is compared instead.
_MAX_COMPARED: Final = 1_000_000

#: The list of folders is made again, at most so often, because it may change meanwhile.
_MAX_SCANS: Final = 5
_MOST_PATH_CHARS: Final = 4096  # of one that can be there


_Changes = Generator[set[FileChange], None, None]


class WatchFailedError(Exception):
    """The system's watch has failed, for example at a name that is not UTF-8."""


class WatchLimitError(Exception):
    """The system's limit on watched folders is reached."""


class UnwatchableError(Exception):
    """The project has a path that cannot be watched."""


class Notices(NamedTuple):
    """The absolute paths that events named."""

    paths: set[str]
    gone: set[str]  # those of them that were deleted or moved away, though others may be there now


class EventSource:
    """Receives the events of folders; ``close`` frees the system's resources.

    Args:
        folders: Absolute paths; folders that are gone or not readable are ignored.

    Raises:
        WatchLimitError: The system's limit is reached.
        WatchFailedError: The folders cannot be watched for another reason.
    """

    def __init__(self, folders: Collection[str]) -> None:
        self._changes, self._early = _start_watch(folders)

    def wait(self, timeout_s: float, woken: threading.Event) -> Notices:
        """Wait for events and return the paths they name, none after a timeout.

        Args:
            timeout_s: How long to wait.
            woken: Ends the waiting within a twentieth of a second.

        Raises:
            WatchFailedError: The watch has ended.
            KeyboardInterrupt: In the main thread.
        """
        end_s = time.monotonic() + timeout_s
        found, self._early = self._early, set()
        try:
            found |= next(self._changes)
            while not (found or woken.is_set() or time.monotonic() >= end_s):
                found = next(self._changes)
        except (RuntimeError, StopIteration) as error:
            raise WatchFailedError(str(error) or "it has ended") from error
        gone = {path for change, path in found if change is Change.deleted}
        return Notices({path for _, path in found}, gone)

    def close(self) -> None:
        """Stop watching."""
        self._changes.close()


def _may_be_read(folder: str) -> bool:
    return os.access(folder, os.R_OK, effective_ids=_EFFECTIVE)


def _start_watch(folders: Collection[str]) -> tuple[_Changes, set[FileChange]]:
    """Return a watch, and what it has reported since; watchfiles begins at the first look."""
    reason = "the folders change too quickly"
    for _ in range(_TRIES):
        changes = watch(
            *(folder for folder in folders if _may_be_read(folder)),
            watch_filter=None,
            debounce=2 * _STEP_MS,
            step=_STEP_MS,
            rust_timeout=_STEP_MS,
            yield_on_timeout=True,
            debug=False,
            force_polling=False,
            recursive=False,
            ignore_permission_denied=False,  # it would silently ignore limits
        )
        try:
            return changes, next(changes)
        except (FileNotFoundError, PermissionError):
            continue  # changed since it was checked
        except OSError as error:
            raise WatchLimitError(str(error)) from error
        except RuntimeError as error:
            if "os error 24" in str(error):  # EMFILE, of this process or of inotify
                raise WatchLimitError(str(error)) from error
            reason = str(error)  # such as an event that it cannot read: there may be no other
    raise WatchFailedError(reason)


class WatchSet:
    """The folders and files to watch for one project.

    Args:
        root: Its resolved root.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._prefix = root.rstrip("/") + "/"
        self._folders: dict[str, str] = {}
        self._links: dict[str, str] = {}  # where each leads, or led before it was broken
        self._broken: set[str] = set()
        self._targets: set[str] = set()  # of links, with the folders above them
        self._aside: set[str] = set()  # folders above them that no walk enters
        self._outside: set[str] = set()  # files that affect the whole project, and missing folders

    def refresh(
        self,
        rules: WalkRules,
        *,
        below: Iterable[str] = (),
        cancelled: CancelToken = never,
    ) -> None:
        """Find what to watch.

        Args:
            rules: Which files belong to the project.
            below: The paths to look at, with all below them; empty: everything.
            cancelled: Polled; true ends the call.

        Raises:
            InvalidPathError: The root cannot be read.
            Cancelled: ``cancelled`` returned true.
        """
        found = folders_of(self._root, rules, below=below, cancelled=cancelled)
        covers = found.reached.covers
        self._folders = {p: real for p, real in self._folders.items() if not covers(p)}
        self._folders |= found.entered
        self._links = {
            path: real
            for path, real in self._links.items()
            if not covers(path) or path in found.broken
        } | found.links
        self._broken = {path for path in self._broken if not covers(path)} | found.broken
        self._find_targets()
        self._find_outside()

    def folders(self) -> set[str]:
        """Return the absolute paths of the folders to watch.

        Folders whose names are not UTF-8 are left out, because watchfiles cannot watch them.
        """
        entered = set(self._folders.values())
        inside = {self._prefix + real if real else self._root for real in entered | self._aside}
        outside = {os.path.dirname(path) for path in self._outside}
        return {folder for folder in inside | outside if _is_utf8(folder)}

    def affected_paths(self, events: Iterable[str], gone: Collection[str] = ()) -> set[str]:
        """Return the paths whose index may be stale now; ``""`` is the whole project.

        Args:
            events: The absolute paths that events named.
            gone: Those of them that were deleted or moved away.
        """
        if self._root in gone or any(os.path.dirname(path) in gone for path in self._outside):
            return {""}
        paths: set[str] = set()
        for event in events:
            if event in self._outside:
                return {""}
            if event.startswith(self._prefix):
                path = event[len(self._prefix) :]
                if "/.git/" in f"/{path}":
                    continue
                folder, _, name = path.rpartition("/")
                if folder in self._aside and path not in self._targets:
                    continue
                is_rule = name in _RULE_FILES or name == ".git"
                paths.add(folder if is_rule else path)
        return self._with_links(paths)

    def changed_folders(self, paths: Iterable[str]) -> list[str]:
        """Return those paths below which folders or links may have changed."""
        return [path for path in paths if self._may_hold_others(path)]

    def _may_hold_others(self, path: str) -> bool:
        if path in self._folders or path in self._links or path in self._broken:
            return True
        place = self._prefix + path
        return os.path.islink(place) or os.path.isdir(place)

    def _with_links(self, paths: set[str]) -> set[str]:
        """Add links to the paths, to folders above them, or into them.

        A path that is a link itself stands for what it shows: others may lead there through it.
        """
        if not paths:
            return paths
        if len(paths) * len(self._links) > _MAX_COMPARED:
            return {""}
        found = set(paths)
        shown = paths | {self._links[path] for path in paths if path in self._links}
        for link, real in self._links.items():
            for path in shown:
                if path == real or path.startswith(f"{real}/"):
                    found.add(link + path[len(real) :])
                elif real.startswith(f"{path}/"):
                    found.add(link)
        if len(self._broken) <= _MAX_BROKEN:
            found |= self._broken
        return found

    def _find_targets(self) -> None:
        self._targets = set()
        for real in self._links.values():
            path = real
            while path and path not in self._targets:
                self._targets.add(path)
                path = os.path.dirname(path)
        above = {os.path.dirname(path) for path in self._targets}
        above.difference_update(self._folders.values())
        self._aside = {folder for folder in above if os.path.isdir(self._prefix + folder)}

    def _find_outside(self) -> None:
        repository = find_repository(self._root)
        top = repository.top if repository else self._root
        common = repository.common_dir if repository else None
        self._outside = {git_settings(top, common).excludes_path}
        if repository and common:
            common = real_path(common)
            self._outside |= {
                os.path.join(real_path(repository.git_dir), "HEAD"),
                os.path.join(common, "config"),
                os.path.join(common, "info"),
                os.path.join(common, "info", "exclude"),
            }
            folder = self._root
            while folder != repository.top:
                folder = os.path.dirname(folder)
                self._outside.update(os.path.join(folder, name) for name in _RULE_FILES)
        for path in tuple(self._outside):
            folder = os.path.dirname(path[:_MOST_PATH_CHARS])  # a repository may name any file
            while not os.path.isdir(folder):  # the nearest folder that exists tells of a new one
                self._outside.add(folder)
                folder = os.path.dirname(folder)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def identity_of(folder: str) -> Identity | None:
    """Return what identifies a folder beside its path, or None if it cannot be read."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        return found.st_dev, found.st_ino
    finally:
        os.close(descriptor)


class Events(NamedTuple):
    """The paths that events named."""

    paths: set[str]  # may be stale in the index; "" is the whole project
    events: int  # number of events


def _both(first: Events, second: Events) -> Events:
    return Events(first.paths | second.paths, first.events + second.events)


class Listener:
    """Watches the folders of a project after ``listen`` was called.

    Args:
        root: The resolved root.
        woken: Ends any wait.
    """

    def __init__(self, root: str, woken: threading.Event) -> None:
        self._root = root
        self._watch_set = WatchSet(root)
        self._woken = woken
        self._events: EventSource | None = None
        self._watched: dict[str, Identity | None] = {}  # as they were just before the watch began
        # A watched folder was deleted or moved away since. Only the event tells: the folder that
        # takes its place often has its inode.
        self._has_lost = False

    @property
    def is_on(self) -> bool:
        """Whether anything is watched."""
        return self._events is not None

    @property
    def folders(self) -> int:
        """The number of watched folders."""
        return sum(identity is not None for identity in self._watched.values())

    def listen(
        self,
        rules: WalkRules,
        *,
        below: Iterable[str] = (),
        cancelled: CancelToken,
    ) -> Events:
        """Watch the folders that exist now; the caller compares those that are new.

        Folders that have taken the place of watched ones are watched anew.

        Args:
            rules: Which files belong to the project.
            below: The paths to look at, with all below them; empty: everything.
            cancelled: Polled; true ends the call.

        Returns:
            The last events of the watch that this one replaces.

        Raises:
            InvalidPathError: The root cannot be read.
            Cancelled: ``cancelled`` returned true.
            UnwatchableError: The path of the root is not UTF-8.
            WatchLimitError: The system's limit is reached.
            WatchFailedError: The system's watch fails.
        """
        if not _is_utf8(self._root):
            raise UnwatchableError("the folder's path is not UTF-8, so it cannot be watched")
        heard = Events(set(), 0)
        below = tuple(below)
        for _ in range(_MAX_SCANS):
            self._watch_set.refresh(rules, below=below, cancelled=cancelled)
            folders = {folder: identity_of(folder) for folder in self._watch_set.folders()}
            if folders == self._watched and not self._has_lost:
                break
            # The new watch begins before the old one ends and before the next scan for folders:
            # that scan finds earlier changes, and the new watch reports later ones.
            old = self._events
            try:
                self._begin(folders)
            except WatchLimitError:
                if old is None:
                    raise
                # There is no room for both: what changes in between is compared.
                heard = _both(heard, _both(self._last_of(old), Events({""}, 0)))
                self._events, self._watched = None, {}
                self._begin(folders)
                continue
            if old:
                heard = _both(heard, self._last_of(old))
        return heard

    def wait(self, timeout_s: float) -> Events:
        """Wait for events.

        Raises:
            WatchFailedError: The watch has ended; call ``close`` and ``listen`` to restart it.
        """
        if self._events is None:
            self._woken.wait(timeout_s)
            return Events(set(), 0)
        notices = self._events.wait(timeout_s, self._woken)
        if not notices.gone.isdisjoint(self._watched):
            self._has_lost = True
        return self._affected_paths(notices)

    def changed_folders(self, paths: Iterable[str]) -> list[str]:
        """Return those paths below which folders or links may have changed."""
        return self._watch_set.changed_folders(paths) if self._events else []

    def close(self) -> None:
        """Stop watching."""
        if self._events:
            self._events.close()
        self._events = None
        self._watched = {}

    def _begin(self, folders: dict[str, Identity | None]) -> None:
        self._events, self._watched = EventSource(folders), folders
        self._has_lost = False

    def _last_of(self, source: EventSource) -> Events:
        try:
            return self._affected_paths(source.wait(0.0, self._woken))
        except WatchFailedError:
            return Events({""}, 1)
        finally:
            source.close()

    def _affected_paths(self, notices: Notices) -> Events:
        paths = self._watch_set.affected_paths(notices.paths, notices.gone)
        return Events(paths, len(notices.paths))
