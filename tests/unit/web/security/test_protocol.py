"""A connection whose client takes nothing of its answer ends, however much is left of it."""

import asyncio
import itertools
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import uvicorn
from litestar import Litestar, get
from litestar.response import Stream
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

from engine.state_records import ProjectActivity
from tests.support.job_records import job
from tests.support.jobs import until
from web.api.event_stream import EventStream, Pulses
from web.api.events import _lines
from web.security.protocol import PatientProtocol

_PIECE = b"a" * 100_000


class _Impatient(PatientProtocol):
    send_s = 0.2


class _Endless:
    """An application that sends for ever; counts its answers that have ended."""

    def __init__(self) -> None:
        self.begun = 0
        self.ended = 0

    async def __call__(
        self, _scope: Scope, _receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        """Answer with no end, as long as somebody is there."""
        self.begun += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": _PIECE, "more_body": True})
                await asyncio.sleep(0.001)
        finally:
            self.ended += 1


@contextmanager
def _serving(app: Any) -> Iterator[tuple[uvicorn.Server, int]]:
    config = uvicorn.Config(
        app,
        http=_Impatient,
        lifespan="off",
        log_config=None,
        log_level="critical",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield server, listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def test_who_takes_nothing_is_dropped_and_who_takes_slowly_is_not() -> None:
    app = _Endless()
    with _serving(app) as (server, port):
        deaf, slow = (socket.create_connection(("127.0.0.1", port)) for _ in range(2))
        with deaf, slow:
            for client in (deaf, slow):
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: app.begun == 2)

            def is_one_left() -> bool:
                assert slow.recv(1 << 20)
                return len(server.server_state.connections) == 1

            until(is_one_left)
            assert slow.recv(1 << 20)
        until(lambda: not server.server_state.connections)


def _events() -> tuple[EventStream, Litestar]:
    """Give a stream of many large events, as the API has it."""
    numbers = itertools.count()

    async def look() -> Pulses:
        large = replace(job(), done=next(numbers), current_file="a" * 20_000)
        return (ProjectActivity(project_id="a" * 64, path="/a", jobs=(large,), watch=None),)

    pulse = EventStream(look, look_s=0.001)

    @get("/", media_type="text/event-stream")
    async def events() -> Stream:
        stream = pulse.stream(None)
        return Stream(_lines(await anext(stream), stream), media_type="text/event-stream")

    return pulse, Litestar([events], openapi_config=None)


def test_a_stream_of_events_that_nobody_reads_gives_its_place_back() -> None:
    pulse, app = _events()
    with _serving(app) as (server, port):
        deaf, reader = (socket.create_connection(("127.0.0.1", port)) for _ in range(2))
        with deaf, reader:
            for client in (deaf, reader):
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: pulse.streams == 2)

            def is_one_left() -> bool:
                assert reader.recv(1 << 20)
                return pulse.streams == 1

            until(is_one_left)
            assert len(server.server_state.connections) == 1
            assert reader.recv(1 << 20)
        until(lambda: pulse.streams == 0)
