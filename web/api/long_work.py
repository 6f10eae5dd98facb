"""Work of seconds or more, which ends early when nobody waits for it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from litestar import Request

from engine.cancellation import CancelToken, never
from engine.errors import Cancelled
from web.api.service import Service
from web.errors import Refusal

Result = TypeVar("Result")


async def run_long(
    service: Service,
    act: Callable[[CancelToken], Result],
    *,
    awaited_by: Request[Any, Any, Any] | None = None,
) -> Result:
    """Run a long operation; it is cancelled when the server shuts down.

    Args:
        service: The service.
        act: The operation, which polls what it is given.
        awaited_by: A request with whose client the operation ends; without one it continues.
    """
    if awaited_by is None:
        return await _run(service, act, never)
    async with _watching_client(awaited_by) as is_gone:
        return await _run(service, act, is_gone)


@asynccontextmanager
async def _watching_client(request: Request[Any, Any, Any]) -> AsyncIterator[CancelToken]:
    """Yield a function that returns whether the client has disconnected."""
    gone = threading.Event()

    async def listen() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    listening = asyncio.create_task(listen())
    try:
        yield gone.is_set
    finally:
        listening.cancel()


async def _run(
    service: Service, act: Callable[[CancelToken], Result], cancelled: CancelToken
) -> Result:
    try:
        return await service.executors.doctor.run(
            lambda: act(lambda: service.is_shutting_down or cancelled())
        )
    except Cancelled as error:
        raise Refusal(
            "unavailable", "the server is shutting down and stopped this work", hint=str(error)
        ) from error
