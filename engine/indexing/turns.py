"""Parcels of files on their way to the workers: whose turn is next, and what nobody waits for.

The channels take turns, a parcel each, so that one with few of them never waits for the end of
another's many. ``workers`` does the work.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeAlias

from engine.errors import UnavailableError
from engine.indexing.parsing import Outcome, Task


@dataclass(eq=False, slots=True)
class Parcel:
    """Files that a channel handed in together."""

    tasks: list[Task]
    answers: "Answers"  # of the channel, and tells one channel from another
    is_forgotten: bool = False  # nobody waits for an answer any more
    _kill_worker: Callable[[], None] | None = None

    @property
    def size_bytes(self) -> int:
        """Source in it."""
        return sum(len(task.data) for task in self.tasks)

    def give_to(self, kill_worker: Callable[[], None]) -> bool:
        """Say how to kill the worker that gets it now; False when it is forgotten."""
        self._kill_worker = kill_worker
        return not self.is_forgotten

    def forget(self) -> None:
        """Have no more work done for it."""
        self.is_forgotten = True  # this first: ``give_to`` looks at it last
        if self._kill_worker:
            self._kill_worker()


#: Where a channel hears what became of its parcels.
Answers: TypeAlias = SimpleQueue[tuple[Parcel, list[Outcome] | UnavailableError]]


class Turns:
    """The parcels of all channels. For any number of threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[Answers, deque[Parcel]] = {}  # the channel that is next comes first
        self._given: set[Parcel] = set()
        self._is_over = False

    def add(self, parcel: Parcel) -> int:
        """Let a parcel wait for its turn; give how many, of all channels, have no answer yet.

        Raises:
            UnavailableError: The pool is closed.
        """
        with self._changed:
            if self._is_over:
                raise _closed()
            self._waiting.setdefault(parcel.answers, deque()).append(parcel)
            self._changed.notify()
            return len(self._given) + sum(map(len, self._waiting.values()))

    def take(self) -> Parcel | None:
        """Wait for the parcel whose turn is next; None when the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over)
            if self._is_over:
                return None
            answers, parcels = next(iter(self._waiting.items()))
            del self._waiting[answers]
            parcel = parcels.popleft()
            if parcels:
                self._waiting[answers] = parcels  # behind all others
            self._given.add(parcel)
            return parcel

    def answer(self, parcel: Parcel, answer: list[Outcome] | UnavailableError) -> None:
        """Give the answer to a parcel that was taken, unless it is forgotten."""
        with self._changed:
            self._given.discard(parcel)
            if not parcel.is_forgotten:
                parcel.answers.put((parcel, answer))

    def forget(self, answers: Answers) -> None:
        """Forget all parcels of a channel: none of them is answered after this."""
        with self._changed:
            self._waiting.pop(answers, None)
            for parcel in self._given:
                if parcel.answers is answers:
                    parcel.forget()

    def end(self) -> None:
        """Answer all parcels with an error, and let ``take`` say that this is the end."""
        with self._changed:
            self._is_over = True
            waiting = [parcel for parcels in self._waiting.values() for parcel in parcels]
            self._waiting.clear()
            for parcel in [*waiting, *self._given]:
                if not parcel.is_forgotten:
                    parcel.answers.put((parcel, _closed()))
                parcel.forget()
            self._changed.notify_all()


def _closed() -> UnavailableError:
    return UnavailableError("the parsing processes were ended")
