"""Calls of MCP clients: how many run at once, also when their callers no longer wait."""

import asyncio
import threading

import pytest

from engine.errors import UnavailableError
from tests.support.jobs import until
from web.mcp.server import Call, CallExecutor

QUICK = 8  # calls at once


class Work:
    """Calls that last until they are let go, whatever their callers do."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.running = self.done = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, _call: Call) -> str:
        """Wait to be let go."""
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.let_go.wait()
        with self._lock:
            self.running -= 1
            self.done += 1
        return "answer"


async def cancelled(task: "asyncio.Task[str]") -> None:
    """Cancel a call as a client does."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_calls_that_were_cancelled_count_until_they_have_ended() -> None:
    """A client that cancels and asks again gets no more threads."""
    executor, work = CallExecutor(), Work()

    async def session() -> None:
        for _ in range(4):
            tasks = [asyncio.create_task(executor.run(work)) for _ in range(QUICK)]
            await asyncio.to_thread(until, lambda: work.running == QUICK)
            for task in tasks:
                await cancelled(task)
        waiting = asyncio.create_task(executor.run(work))
        await asyncio.sleep(0)
        work.let_go.set()
        assert await waiting == "answer"

    asyncio.run(session())
    assert work.most == QUICK
    until(lambda: work.done == QUICK + 1)  # those cancelled while they waited did not begin


def test_a_call_that_fails_gives_its_place_back() -> None:
    """The next ones find all places free."""
    executor = CallExecutor()

    def fail(_call: Call) -> str:
        raise UnavailableError("away", hint="try again")

    async def session() -> None:
        for _ in range(3 * QUICK):
            with pytest.raises(UnavailableError):
                await executor.run(fail)

    asyncio.run(session())
