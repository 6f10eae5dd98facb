"""A connection ends when its client is too slow; what is no HTTP is refused in the one shape."""

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import uvicorn
from litestar import Litestar, get
from litestar.response import Stream
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

from engine.state_records import ProjectActivity
from tests.support.job_records import job
from tests.support.jobs import until
from tests.support.patience import patience
from web.api.event_stream import Activities, EventStream
from web.api.events import _lines
from web.security.protocol import PatientProtocol

_PIECE = b"a" * 100_000


class _Impatient(PatientProtocol):
    head_s = 2.0  # longer than any pause of the clients that are not too slow
    send_s = 2.0


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


async def _empty(_scope: Scope, _receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _heard(client: socket.socket) -> bytes:
    """Give all that comes until the server closes the connection."""
    client.settimeout(patience(10))
    return b"".join(iter(lambda: client.recv(1 << 16), b""))


@pytest.mark.parametrize("before", [0, 1, 2], ids=["first", "second", "third"])
def test_no_head_is_waited_for_without_end(before: int) -> None:
    with _serving(_empty) as (_, port), socket.create_connection(("127.0.0.1", port)) as client:
        for _ in range(before):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"GET / HT")
        assert _heard(client) == b""


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ([b"GET / HTTP/1.1\r\nBroken\r\n\r\n"], 400, "validation_error"),
        ([b"GET / HTTP/1.1\r\nX: ", b"a" * 10_000, b"a" * 10_000], 431, "headers_too_large"),
    ],
)
def test_what_is_no_http_is_refused_in_the_one_shape(
    said: list[bytes], status: int, code: str
) -> None:
    with _serving(_empty) as (_, port), socket.create_connection(("127.0.0.1", port)) as client:
        for piece in said:
            client.sendall(piece)
        head, _, body = _heard(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nx-content-type-options: nosniff\r\n" in head
    assert json.loads(body)["error"] == code


def test_a_body_that_breaks_off_during_the_answer_ends_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = _Endless()
    with _serving(app) as (server, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
            client.sendall(b"no chunk\r\n")
            assert b"HTTP/1.1" not in _heard(client)
        until(lambda: not server.server_state.connections)
    assert not caplog.records


def _events() -> tuple[EventStream, Litestar]:
    """Give a stream of many large events, as the API has it."""
    numbers = itertools.count()

    async def look() -> Activities:
        large = replace(job(), done=next(numbers), current_file="a" * 20_000)
        return (ProjectActivity(project_id="a" * 64, path="/a", jobs=(large,), watch=None),)

    event_stream = EventStream(look, look_s=0.001)

    @get("/", media_type="text/event-stream")
    async def events() -> Stream:
        stream = event_stream.stream(None)
        return Stream(_lines(await anext(stream), stream), media_type="text/event-stream")

    return event_stream, Litestar([events], openapi_config=None)


def test_a_stream_of_events_that_nobody_reads_gives_its_place_back() -> None:
    event_stream, app = _events()
    with _serving(app) as (server, port):
        deaf, reader = (socket.create_connection(("127.0.0.1", port)) for _ in range(2))
        with deaf, reader:
            for client in (deaf, reader):
                client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: event_stream.streams == 2)

            def is_one_left() -> bool:
                assert reader.recv(1 << 20)
                return event_stream.streams == len(server.server_state.connections) == 1

            until(is_one_left)
            assert reader.recv(1 << 20)
        until(lambda: event_stream.streams == 0)
