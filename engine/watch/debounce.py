"""Paths that wait to be looked at, and when their time has come."""

import os
from collections import Counter
from collections.abc import Iterable
from typing import Final

from engine.source.partial_walk import PathSet

#: A steady stream of events is looked at this often.
_LONGEST_WAIT_S: Final = 2.0
#: What happens to more paths, or comes as more events, is looked for in the whole project.
MOST_PATHS: Final = 1000
MOST_EVENTS: Final = 5000
#: When paths are too many, folders with as many of them stand for them.
_CROWD: Final = 16
#: How long failed work waits before it is tried again, longer each time.
_FIRST_BACKOFF_S: Final = 1.0
_LONGEST_BACKOFF_S: Final = 60.0


class Pending:
    """What is to be looked at. Times are seconds of a clock that never goes back.

    Args:
        debounce_s: How long to wait after the last event.
    """

    def __init__(self, debounce_s: float) -> None:
        self._debounce_s = debounce_s
        self._paths: set[str] = set()
        self._is_whole = False
        self._events = 0
        self._first_s = self._last_s = 0.0
        self._not_before_s = 0.0
        self._failures = 0

    def __len__(self) -> int:
        """Count the paths; the whole project counts as one."""
        return 1 if self._is_whole else len(self._paths)

    def due_s(self) -> float | None:
        """Give the time at which to look; None while nothing waits."""
        if not len(self):
            return None
        quiet_s = min(self._last_s + self._debounce_s, self._first_s + _LONGEST_WAIT_S)
        return max(quiet_s, self._not_before_s)

    def add(self, paths: Iterable[str], now_s: float, *, events: int = 0) -> None:
        """Add paths, relative to the root; ``""`` is the whole project.

        Args:
            paths: What something happened to.
            now_s: The time.
            events: How many events told of them.
        """
        before = len(self)
        self._paths.update(paths)
        self._events += events
        if "" in self._paths or self._events > MOST_EVENTS:
            self._is_whole = True
        if self._is_whole:
            self._paths.clear()
        if len(self):
            self._last_s = now_s
            if not before:
                self._first_s = now_s

    def add_whole(self, now_s: float) -> None:
        """Add the whole project, to be looked at without delay."""
        self.add(("",), now_s)
        self._first_s = now_s - _LONGEST_WAIT_S

    def take(self) -> tuple[str, ...] | None:
        """Give what waits, and forget it; None stands for the whole project."""
        paths = None if self._is_whole else gathered(self._paths)
        self._paths.clear()
        self._is_whole = False
        self._events = 0
        return paths

    def put_back(self, paths: tuple[str, ...] | None, now_s: float) -> None:
        """Add again what was taken and could not be done; it waits longer each time."""
        backoff_s = min(_FIRST_BACKOFF_S * 2**self._failures, _LONGEST_BACKOFF_S)
        self._failures = min(self._failures + 1, 10)
        self._not_before_s = now_s + backoff_s
        self.add(("",) if paths is None else paths, now_s)

    def succeeded(self) -> None:
        """Note that something was done: the next failure waits the shortest time again."""
        self._failures = 0
        self._not_before_s = 0.0


def gathered(paths: Iterable[str]) -> tuple[str, ...] | None:
    """Give paths of which none lies below another; None when they are too many.

    Then folders in which many of them lie stand for them, if that makes them few enough.
    """
    found = PathSet(paths).paths
    if len(found) > MOST_PATHS:
        crowds = Counter(os.path.dirname(path) for path in found)
        folders = (os.path.dirname(path) for path in found)
        found = PathSet(
            folder if crowds[folder] >= _CROWD else path
            for path, folder in zip(found, folders, strict=True)
        ).paths
    return None if len(found) > MOST_PATHS or "" in found else found
