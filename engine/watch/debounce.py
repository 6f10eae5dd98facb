"""Paths that wait to be compared with the index, and when they are due."""

import os
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Final

from engine.source.partial_walk import PathSet

#: In a steady stream of events, paths become due after this time at the latest.
_MAX_WAIT_S: Final = 2.0
#: With more paths or more events than this, the whole project is compared.
MAX_PATHS: Final = 1000
MAX_EVENTS: Final = 5000
#: If there are too many paths, a folder with at least so many of them replaces them.
_MIN_IN_FOLDER: Final = 16
#: How long failed work waits before a retry; doubles each time.
_FIRST_BACKOFF_S: Final = 1.0
_MAX_BACKOFF_S: Final = 60.0
#: More changes than this are not counted: their names are kept meanwhile.
_MAX_COUNTED: Final = 100_000
#: The longest wait of paths for something outside: trying costs little, and it may be back.
_MAX_WAIT_OUTSIDE_S: Final = 8.0


class PendingPaths:
    """The paths to compare. Times are seconds of a monotonic clock.

    Args:
        debounce_s: How long to wait after the last event.
    """

    def __init__(self, debounce_s: float) -> None:
        self._debounce_s = debounce_s
        self._paths: set[str] = set()
        self._is_whole = False
        self._changes: set[str] = set()  # that are known, also while they are taken
        self._events = 0
        self._first_s = self._last_s = 0.0
        self._not_before_s = 0.0
        self._failures = 0

    def __len__(self) -> int:
        """Return the number of changes that are known, also of those taken; one if none is yet."""
        return max(len(self._changes), int(self._has_work()))

    def due_s(self) -> float | None:
        """Return when the paths are due, or None if there are none."""
        if not self._has_work():
            return None
        quiet_s = min(self._last_s + self._debounce_s, self._first_s + _MAX_WAIT_S)
        return max(quiet_s, self._not_before_s)

    def add(self, paths: Iterable[str], now_s: float, *, events: int = 0) -> None:
        """Add paths, relative to the root; ``""`` is the whole project.

        Args:
            paths: The paths that events named.
            now_s: The time.
            events: The number of events.
        """
        had_work = self._has_work()
        named = set(paths)
        self._paths |= named
        self._events += events
        if "" in self._paths or self._events > MAX_EVENTS:
            self._is_whole = True
        self._count(named)
        if self._is_whole:
            self._paths.clear()
        if self._has_work():
            self._last_s = now_s
            if not had_work:
                self._first_s = now_s

    def add_whole(self, now_s: float) -> None:
        """Add the whole project, due at once."""
        self.add(("",), now_s)
        self._first_s = now_s - _MAX_WAIT_S

    def take(self) -> tuple[str, ...] | None:
        """Return the paths, which are due no more; None stands for the whole project."""
        paths = None if self._is_whole else collapse_paths(self._paths)
        self._paths.clear()
        self._is_whole = False
        self._events = 0
        return paths

    def found(self, changes: Iterable[str]) -> None:
        """Note what has changed, according to a comparison of what was taken."""
        self._changes = set()
        self._count((*changes, *self._paths))

    def put_back(
        self,
        paths: tuple[str, ...] | None,
        now_s: float,
        *,
        is_held_up: bool = False,
    ) -> None:
        """Add paths again after a failure; they wait longer each time.

        Args:
            paths: The paths, or None for the whole project.
            now_s: The time.
            is_held_up: Whether they wait for something outside, such as a locked database.
        """
        is_cheap = is_held_up and paths is not None
        longest_s = _MAX_WAIT_OUTSIDE_S if is_cheap else _MAX_BACKOFF_S
        backoff_s = min(_FIRST_BACKOFF_S * 2**self._failures, longest_s)
        self._failures = min(self._failures + 1, 10)
        self._not_before_s = now_s + backoff_s
        changes, self._changes = self._changes, set()  # a folder stands for those in it
        self.add(("",) if paths is None else paths, now_s)
        self._changes = changes or self._changes

    def succeeded(self) -> None:
        """Reset the backoff; what was taken is done."""
        self._failures = 0
        self._not_before_s = 0.0
        self.found(())

    def clear(self) -> None:
        """Forget everything."""
        self.take()
        self.succeeded()

    def _has_work(self) -> bool:
        return self._is_whole or bool(self._paths)

    def _count(self, paths: Iterable[str]) -> None:
        room = _MAX_COUNTED - len(self._changes)
        self._changes.update(islice((path for path in paths if path), room))


def collapse_paths(paths: Iterable[str]) -> tuple[str, ...] | None:
    """Return the paths without those below another, or None if they are too many.

    Folders that hold many of the paths replace them if that makes them few enough.
    """
    found = PathSet(paths).paths
    if len(found) > MAX_PATHS:
        crowds = Counter(os.path.dirname(path) for path in found)
        folders = (os.path.dirname(path) for path in found)
        found = PathSet(
            folder if crowds[folder] >= _MIN_IN_FOLDER else path
            for path, folder in zip(found, folders, strict=True)
        ).paths
    return None if len(found) > MAX_PATHS or "" in found else found
