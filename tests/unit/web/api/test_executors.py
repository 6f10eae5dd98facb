"""Executors answer whoever waits, whatever the work raises."""

import asyncio

import pytest

from tests.support.patience import patience
from web.api.executors import BoundedExecutor


def test_work_that_raises_stop_iteration_leaves_nobody_waiting() -> None:
    executor = BoundedExecutor("test", threads=1, most_waiting=0)

    async def ask() -> None:
        await asyncio.wait_for(executor.run(lambda: next(iter(()))), patience(20))

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(ask())
    executor.close()
