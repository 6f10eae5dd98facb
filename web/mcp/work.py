"""The engine's work for callers: in threads, so that none waits for another; told of, and stopped.

The event loop does nothing but carry messages. What a caller does not wait for any more stops where
it can.
"""

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from engine.errors import UnavailableError
from engine.job_records import Job
from web.console.job_wording import line_of

_MOST_AT_ONCE = 8
_MOST_WAITING = 64  # for their turn; whoever comes then is better off trying later
_MOST_FOLLOWING = 64  # runs that are waited for
_TELL_EVERY_S = 0.25

T = TypeVar("T")

#: Is told files done, files in all, and what goes on.
Teller = Callable[[float, float | None, str], Awaitable[None]]


class Call:
    """A call that goes on: whether anybody waits for it, and the job that it waits for."""

    def __init__(self) -> None:
        self._gone = threading.Event()
        self.job: Job | None = None

    def is_gone(self) -> bool:
        """Say whether nobody waits for the answer any more."""
        return self._gone.is_set()

    def leave(self) -> None:
        """Let the work know that nobody waits."""
        self._gone.set()

    def hear(self, job: Job) -> None:
        """Keep how far a job is, for who called."""
        self.job = job


class Workshop:
    """Where the engine works for callers."""

    def __init__(self) -> None:
        self._quick = CapacityLimiter(_MOST_AT_ONCE)
        self._slow = CapacityLimiter(_MOST_FOLLOWING)

    async def do(
        self, work: Callable[[Call], T], *, waits: bool = False, teller: Teller | None = None
    ) -> T:
        """Have work done in a thread, and its answer.

        Args:
            work: Hears of the call.
            waits: It takes long and mostly waits.
            teller: Is told several times a second how far the job is that the call waits for.

        Raises:
            UnavailableError: Too many wait already.
        """
        limiter = self._slow if waits else self._quick
        if limiter.statistics().tasks_waiting >= _MOST_WAITING:
            raise UnavailableError(
                f"{_MOST_WAITING} calls wait for their turn", hint="try again in a moment"
            )
        call = Call()
        try:
            async with anyio.create_task_group() as group:
                if teller:
                    group.start_soon(_tell, call, teller)
                done = await to_thread.run_sync(
                    _attempt, work, call, limiter=limiter, abandon_on_cancel=True
                )
                group.cancel_scope.cancel()
        finally:
            call.leave()
        return done.result()


def _attempt(work: Callable[[Call], T], call: Call) -> "Future[T]":
    """Do the work; what it raises is kept out of the task group, which would wrap it."""
    done: Future[T] = Future()
    try:
        done.set_result(work(call))
    except Exception as error:  # noqa: BLE001 - raised again where the caller waits
        done.set_exception(error)
    return done


async def _tell(call: Call, teller: Teller) -> None:
    """Tell how far the job is whenever it is farther, as the protocol wants it."""
    told = -1
    while True:
        await anyio.sleep(_TELL_EVERY_S)
        job = call.job
        if job is not None and job.files_done > told:
            told = job.files_done
            await teller(told, job.files_total, line_of(job))
