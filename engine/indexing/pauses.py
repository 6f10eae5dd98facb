"""Keeps full collections of garbage out of runs, as they hold up every thread of the process.

A run holds millions of objects that are no garbage. Each full collection looks at all of them with
the interpreter's lock held: 230 ms for 100,000 files, and a tenth of the whole run's time.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NEVER = 1 << 30
_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []  # as they were before each of the runs that go on


@contextmanager
def without_full_collections() -> Iterator[None]:
    """Let only young objects be collected, in the whole process; may be nested and overlap.

    Garbage in cycles that survived two collections waits for the end. A process that switched the
    collector off is left alone.
    """
    with _lock:
        _thresholds.append(gc.get_threshold())
        young, middle, _ = _thresholds[0]
        gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        with _lock:
            before = _thresholds[0]
            _thresholds.pop()
            if not _thresholds:
                gc.set_threshold(*before)
