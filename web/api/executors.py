"""Threads for work that would hold up the event loop; a lane for each kind of waiting."""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from engine.errors import UnavailableError

Result = TypeVar("Result")

#: More searches than these at once only wait for each other: they are bound by memory.
_SEARCHES = max(2, min(4, os.cpu_count() or 1))
_MOST_SEARCHES_WAITING = 64
_WORKERS = 8
_MOST_WORK_WAITING = 1024
_WAITERS = 32
#: Each reads a whole index, so that more at once would only be slower, and take the other core.
_DOCTORS = 2
_MOST_PATIENTS_WAITING = 6
#: Each reads all vectors of a project, the first time after it has changed: one after the other.
_PICTURES = 1
_MOST_PICTURES_WAITING = 32


class Lane:
    """Some threads, and a queue before them that has an end.

    Args:
        name: Of the threads.
        threads: How many work at the same time.
        most_waiting: How many may wait for one of them.
    """

    def __init__(self, name: str, *, threads: int, most_waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + most_waiting
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be taken in."""
        return self._taken >= self._most

    async def run(self, act: Callable[[], Result]) -> Result:
        """Do something in one of the threads.

        Raises:
            UnavailableError: Too much waits already.
        """
        with self._lock:
            if self.is_full:
                raise UnavailableError(
                    "too many requests wait already", hint="try again in a second"
                )
            self._taken += 1
        done = self._threads.submit(copy_context().run, act)
        done.add_done_callback(self._note_end)
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """Let nothing new begin; what goes on comes to its end."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _note_end(self, _done: object) -> None:
        with self._lock:
            self._taken -= 1


class Lanes:
    """The lanes of a server."""

    def __init__(self) -> None:
        #: Searches, of which many at once would only slow each other down.
        self.search = Lane("search", threads=_SEARCHES, most_waiting=_MOST_SEARCHES_WAITING)
        #: Everything else that ends soon.
        self.work = Lane("work", threads=_WORKERS, most_waiting=_MOST_WORK_WAITING)
        #: Requests that wait for the end of a job; when all are taken, nobody else waits.
        self.waits = Lane("wait", threads=_WAITERS, most_waiting=0)
        #: Checks, repairs and copies of whole indexes, which take seconds to minutes.
        self.doctor = Lane("doctor", threads=_DOCTORS, most_waiting=_MOST_PATIENTS_WAITING)
        #: Pictures of whole projects, which take up to a second.
        self.pictures = Lane("picture", threads=_PICTURES, most_waiting=_MOST_PICTURES_WAITING)

    def close(self) -> None:
        """Close all of them."""
        for lane in (self.waits, self.search, self.work, self.doctor, self.pictures):
            lane.close()
