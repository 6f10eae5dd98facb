"""Long work ends when its client does, or goes on when nobody needs to wait for it."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from litestar import Request

from engine.cancellation import CancelToken
from engine.errors import Cancelled
from web.api.executors import Executors
from web.api.long_work import run_long
from web.errors import Refusal


@pytest.fixture
def service() -> Iterator[Any]:
    """What long work needs of a service: its threads, and whether it shuts down."""
    executors = Executors()
    yield SimpleNamespace(executors=executors, is_shutting_down=False)
    executors.close()


def _request(*messages: str) -> Request[Any, Any, Any]:
    """Return a request of which these messages arrive, then none."""
    waiting = list(messages)

    async def receive() -> Any:
        if waiting:
            return {"type": waiting.pop(0)}
        return await asyncio.Event().wait()

    scope: Any = {"type": "http", "method": "GET", "path": "/", "headers": []}
    return Request(scope, receive)


def _until_cancelled(cancelled: CancelToken) -> None:
    while not cancelled():
        pass
    raise Cancelled("stopped")


def test_it_ends_when_the_client_disconnects(service: Any) -> None:
    request = _request("http.request", "http.disconnect")
    with pytest.raises(Refusal):
        asyncio.run(run_long(service, _until_cancelled, awaited_by=request))


def test_it_answers_a_client_that_waits(service: Any) -> None:
    request = _request("http.request")
    assert not asyncio.run(run_long(service, lambda cancelled: cancelled(), awaited_by=request))


def test_it_ends_when_the_server_shuts_down(service: Any) -> None:
    service.is_shutting_down = True
    with pytest.raises(Refusal):
        asyncio.run(run_long(service, _until_cancelled))
