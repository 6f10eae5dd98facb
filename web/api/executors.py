"""Thread pools for work that would block the event loop, one for each kind of work."""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from engine.errors import UnavailableError

Result = TypeVar("Result")

#: More concurrent searches would only wait for each other: they are bound by memory.
_SEARCHES = max(2, min(4, os.cpu_count() or 1))
_MOST_SEARCHES_WAITING = 64
_WORKERS = 8
_MOST_WORK_WAITING = 1024
_WAITERS = 32
#: Each reads a whole index; more at once would only be slower and take the other core.
_DOCTORS = 2
_MOST_DOCTORS_WAITING = 6
#: Each reads all vectors of a project when it has changed, so they run one at a time.
_PICTURES = 1
_MOST_PICTURES_WAITING = 32

#: Each reads and compares up to 8 MB, so one at a time leaves a core to searches.
_COMMITS = 1
_MOST_COMMITS_WAITING = 32


class BoundedExecutor:
    """A thread pool with a bounded queue.

    Args:
        name: The prefix of thread names.
        threads: The number of threads.
        most_waiting: The most calls that may wait for a thread.
    """

    def __init__(self, name: str, *, threads: int, most_waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + most_waiting
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        """Whether another call would be refused."""
        return self._taken >= self._most

    async def run(self, act: Callable[[], Result]) -> Result:
        """Run a function in one of the threads and return its result.

        Raises:
            UnavailableError: The queue is full.
            RuntimeError: The function raised StopIteration, which no future can take: whoever waits
                for it would wait for ever.
        """
        with self._lock:
            if self.is_full:
                raise UnavailableError(
                    "too many requests are waiting", hint="try again in a second"
                )
            self._taken += 1
        done = self._threads.submit(copy_context().run, _without_stop_iteration, act)
        done.add_done_callback(self._note_end)
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """Drop waiting calls and wait for the running ones."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _note_end(self, _done: object) -> None:
        with self._lock:
            self._taken -= 1


def _without_stop_iteration(act: Callable[[], Result]) -> Result:
    try:
        return act()
    except StopIteration as error:
        raise RuntimeError("the work raised StopIteration") from error


class Executors:
    """All executors of a server."""

    def __init__(self) -> None:
        #: Searches.
        self.search = BoundedExecutor(
            "search", threads=_SEARCHES, most_waiting=_MOST_SEARCHES_WAITING
        )
        #: Everything else that is short.
        self.work = BoundedExecutor("work", threads=_WORKERS, most_waiting=_MOST_WORK_WAITING)
        #: Requests that wait for a job to end; without a free thread a request does not wait.
        self.waits = BoundedExecutor("wait", threads=_WAITERS, most_waiting=0)
        #: Checks, repairs and copies of whole indexes: seconds to minutes.
        self.doctor = BoundedExecutor(
            "doctor", threads=_DOCTORS, most_waiting=_MOST_DOCTORS_WAITING
        )
        #: Maps of whole projects: up to a second.
        self.pictures = BoundedExecutor(
            "picture", threads=_PICTURES, most_waiting=_MOST_PICTURES_WAITING
        )
        #: Pages of commits, whose files are compared: up to two seconds.
        self.commits = BoundedExecutor(
            "commit", threads=_COMMITS, most_waiting=_MOST_COMMITS_WAITING
        )

    def close(self) -> None:
        """Close all of them."""
        for lane in (
            self.waits,
            self.search,
            self.work,
            self.doctor,
            self.pictures,
            self.commits,
        ):
            lane.close()
