"""The read-only connections of a database file, each lent to one thread while it reads.

So a process has as many as threads read at once, not as many as have ever read: the pages that
SQLite keeps for a connection are most of what questions leave in memory outside of our own caches.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import apsw

from engine.store.opening import (
    DISTRUSTED,
    Connection,
    Place,
    Stamp,
    close,
    close_held,
    held_together,
    open_reader,
    stamp_of,
)

_CACHE_KIB = 4 << 10  # four times as much answers no sooner, 2 << 10 a little later
_CONNECTION_BYTES = 256 << 10  # of memory for its schema and statements


@dataclass(slots=True, eq=False)
class _Lent:
    """A connection, and whether it can be lent again."""

    handle: Connection
    stamp: Stamp | None
    generation: int  # -1 when the disk has failed it
    used_s: float = 0.0  # last, on the monotonic clock
    size_bytes: int = 0  # of its pages when it was given back


def _size_bytes(readers: list[_Lent]) -> int:
    return sum(_CONNECTION_BYTES + each.size_bytes for each in readers)


class Readers:
    """The reading connections of a database file. Thread-safe.

    Args:
        place: The file.
        identify: Raises if another file stands there by now.
    """

    def __init__(self, place: Place, identify: Callable[[], None]) -> None:
        self._place = place
        self._identify = identify
        self._generation = 0  # older ones are closed
        self._opened: set[apsw.Connection] = set()
        self._idle: list[_Lent] = []  # in the order of their use
        self._local = threading.local()
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        """The approximate memory of those that nobody uses now."""
        with self._lock:
            return _size_bytes(self._idle)

    @contextmanager
    def lend(self) -> Iterator[apsw.Connection]:
        """Lend a connection to this thread; nested, the same one."""
        outer: _Lent | None = getattr(self._local, "lent", None)
        lent = outer or self._take()
        self._local.lent = lent
        try:
            yield lent.handle
        except DISTRUSTED:
            lent.generation = -1
            raise
        finally:
            if outer is None:
                self._local.lent = None
                self._give_back(lent)

    def renew(self) -> None:
        """Let no connection that is open now be lent again.

        The next reader closes those that nobody uses now; the others are closed when given back.
        """
        with self._lock:
            self._generation += 1

    def close_idle(self, since_s: float | None = None) -> int:
        """Close those that nobody uses now, and none has since a time on the monotonic clock.

        Returns:
            The approximate memory that this freed.
        """
        with self._lock:
            chosen = [each for each in self._idle if since_s is None or each.used_s < since_s]
            self._idle = [each for each in self._idle if each not in chosen]
            self._opened.difference_update(each.handle for each in chosen)
        close_held(self._place, *(each.handle for each in chosen))
        return _size_bytes(chosen)

    def detach(self) -> list[apsw.Connection]:
        """Return those that nobody uses now, which the caller closes.

        The others are closed when they are given back.
        """
        with self._lock:
            idle: list[apsw.Connection] = [each.handle for each in self._idle]
            self._opened.clear()
            self._idle.clear()
        return idle

    def _take(self) -> _Lent:
        """Return the connection that was used last, which has the most useful pages."""
        while True:
            with self._lock:
                lent = self._idle.pop() if self._idle else None
            if lent is None:
                return self._open()
            if self._is_sound(lent):
                return lent
            self._close(lent)

    def _open(self) -> _Lent:
        generation = self._generation
        with held_together(self._place):
            handle, stamp = open_reader(self._place)
            try:
                self._identify()
                handle.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")  # reads the schema
            except BaseException:
                close(handle)
                raise
        with self._lock:
            self._opened.add(handle)
            return _Lent(handle, stamp, generation)

    def _is_sound(self, lent: _Lent) -> bool:
        """Return whether the pages of a connection still match the file."""
        if lent.generation != self._generation:
            return False
        return lent.stamp is None or lent.stamp == stamp_of(self._place.path)

    def _give_back(self, lent: _Lent) -> None:
        lent.used_s = time.monotonic()
        try:
            lent.handle.forget_functions()
            lent.size_bytes = lent.handle.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0]
            if lent.handle.txn_state() != apsw.SQLITE_TXN_NONE:  # a statement has not ended
                lent.generation = -1  # its snapshot is kept for it
        except apsw.Error:  # closed meanwhile, with all of them, or a function is still in use
            lent.generation = -1
        with self._lock:
            again = lent.handle in self._opened and lent.generation == self._generation
            if again:
                self._idle.append(lent)
        if not again:
            self._close(lent)

    def _close(self, lent: _Lent) -> None:
        with self._lock:
            self._opened.discard(lent.handle)
        close_held(self._place, lent.handle)
