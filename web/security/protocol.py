"""HTTP/1.1 with timeouts for slow clients and errors in the one shape; headers of every answer."""

import asyncio
import json
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from web.errors import Refusal

Headers = Iterable[tuple[bytes, bytes]]

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    b" connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: On every answer, including errors and streams; handlers cannot change them.
ALWAYS: Mapping[bytes, bytes] = {
    b"content-security-policy": _POLICY,
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"x-frame-options": b"DENY",
}
#: A second policy is in force beside the first, so a handler can only forbid more.
_TIGHTENED = b"content-security-policy"
#: Defaults that a handler may change: caches should not store code and queries.
UNLESS_SAID: Mapping[bytes, bytes] = {b"cache-control": b"no-store"}


def protected(headers: Headers, request_id: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those that every answer has.

    CORS headers are removed, so that no other origin can read an answer, and the server's name.
    """
    named = [(name.lower(), value) for name, value in headers]
    kept = [
        (name, value)
        for name, value in named
        if (name not in ALWAYS or name == _TIGHTENED)
        and name != b"server"
        and not name.startswith(b"access-control-")
    ]
    said = {name for name, _ in kept}
    unsaid = [(name, value) for name, value in UNLESS_SAID.items() if name not in said]
    return [*kept, *unsaid, *ALWAYS.items(), (b"x-request-id", request_id)]


_TOO_LARGE = 431


class _LingeringTransport:
    """A transport that is closed when its client has ended its request, or after some seconds.

    To close a socket with bytes to read resets the connection: a client that is still sending a
    refused body would never see the answer (RFC 9112, 9.6).

    Args:
        transport: The transport of the connection.
        is_client_sending: Return whether the client has not ended its request.
    """

    linger_s = 2.0

    def __init__(self, transport: asyncio.Transport, is_client_sending: Callable[[], bool]) -> None:
        self._transport = transport
        self._is_client_sending = is_client_sending
        self.is_lingering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        """End the answer; the rest of the request is read and dropped."""
        if self.is_closing():
            return
        if not self._is_client_sending():
            self._transport.close()
            return
        self.is_lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(self.linger_s, self._transport.abort)

    def is_closing(self) -> bool:
        """Return whether there is nothing more to be answered."""
        return self.is_lingering or self._transport.is_closing()


class PatientProtocol(H11Protocol):
    """A connection that also ends when its client is too slow, and refuses as every handler does.

    Uvicorn waits for ever for the head of a first request and for a client that reads nothing of
    its answer, and refuses what is no HTTP in plain text without the headers of every answer. The
    sizes of heads are limited by h11, 16 KiB, the pause between two requests by a setting.
    """

    head_s = 10.0  # for the head of a request, from the connection or its first byte
    send_s = 30.0  # for which an answer waits for a client that does not read
    _head_timer: asyncio.TimerHandle
    _send_timer: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the head: a client may send nothing at all."""
        lingering = _LingeringTransport(transport, self._is_client_sending)
        super().connection_made(lingering)  # type: ignore[arg-type]
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        """Stop the timeout of the head when it is complete; start it with the next head."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_timer.cancel()
        elif self._head_timer.cancelled():
            self._start_head_timer()

    def pause_writing(self) -> None:
        """Start the timeout of the answer: its client has stopped reading."""
        super().pause_writing()
        # abort: closing would wait for the client too
        self._send_timer = self.loop.call_later(self.send_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timeout of the answer: the client reads again."""
        self._send_timer.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeouts, which would keep the connection in memory until they end."""
        self._head_timer.cancel()
        if self.flow.write_paused:
            self._send_timer.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or too long a head, with an error in the one shape, and close."""
        error = sys.exc_info()[1]
        refusal = Refusal("validation_error", "this is not an HTTP/1.1 request")
        if isinstance(error, h11.ProtocolError) and error.error_status_hint == _TOO_LARGE:
            refusal = Refusal("headers_too_large", "the head of the request is too long")
        body = json.dumps(refusal.as_json()).encode()
        plain = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        headers = protected(plain, uuid.uuid4().hex.encode())
        answer: tuple[h11.Event, ...] = (
            h11.Response(status_code=refusal.status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        with suppress(h11.LocalProtocolError):  # an answer has begun already
            for event in answer:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _is_client_sending(self) -> bool:
        return self.conn.their_state in (h11.SEND_BODY, h11.ERROR)

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self.transport.close)
