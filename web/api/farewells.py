"""The projects that were just forgotten, so that the page after it can say which; by ids alone."""

import threading
import time
from collections.abc import Callable

_KEPT_S = 300.0
_MOST = 100


class Farewells:
    """Remembers for five minutes what was forgotten through this server; for any thread.

    An address names an id, and an id that nothing was forgotten of says nothing: no address can
    make a page say what did not happen.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._paths: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def note(self, project_id: str, path: str) -> None:
        """Take in that a project was forgotten; its root is empty when nothing told it."""
        with self._lock:
            self._paths.pop(project_id, None)
            self._paths[project_id] = (path, self._clock())  # the newest stand last
            if len(self._paths) > _MOST:
                del self._paths[next(iter(self._paths))]

    def path_of(self, project_id: str) -> str | None:
        """Give the root of a project that was just forgotten; None for any other."""
        with self._lock:
            path, at_s = self._paths.get(project_id, ("", 0.0))
            is_known = project_id in self._paths and self._clock() - at_s < _KEPT_S
        return path if is_known else None
