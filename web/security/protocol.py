"""HTTP/1.1 with timeouts for slow clients and errors in the one shape; headers of every answer."""

import asyncio
import json
import sys
import uuid
from collections.abc import Iterable, Mapping
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
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"x-frame-options": b"DENY",
}
#: Defaults that a handler may change: caches should not store code and queries.
UNLESS_SAID: Mapping[bytes, bytes] = {b"cache-control": b"no-store"}
_NEVER = (b"server", b"x-powered-by")


def protected(headers: Headers, request_id: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those that every answer has.

    CORS headers are removed, so that no other origin can read an answer.
    """
    named = [(name.lower(), value) for name, value in headers]
    kept = [
        (name, value)
        for name, value in named
        if name not in ALWAYS and name not in _NEVER and not name.startswith(b"access-control-")
    ]
    said = {name for name, _ in kept}
    unsaid = [(name, value) for name, value in UNLESS_SAID.items() if name not in said]
    return [*kept, *unsaid, *ALWAYS.items(), (b"x-request-id", request_id)]


#: Seconds that the head of a request may take, from the connection or its first byte.
HEAD_S = 10.0
#: Seconds that an answer may wait for a client that does not read.
SEND_S = 30.0
_TOO_LARGE = 431


class PatientProtocol(H11Protocol):
    """A connection with timeouts for the head of a request and for sending an answer.

    Attributes:
        send_s: Seconds that an answer may wait for its client.
    """

    send_s = SEND_S
    _timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the head."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timeouts."""
        self._stop_timer()
        self._stop_send_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timeout of the answer."""
        super().pause_writing()
        if self._send_timer is None:  # abort: closing would wait for the client too
            self._send_timer = self.loop.call_later(self.send_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timeout: the client reads again."""
        self._stop_send_timer()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Process received bytes; start or stop the timeout of the head."""
        super().data_received(data)
        is_in_head = self.cycle is None or self.cycle.response_complete
        if not is_in_head or self.transport.is_closing():
            self._stop_timer()
        elif self._timer is None and self.timeout_keep_alive_task is None:
            self._start_timer()

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed head or body with an error, and close the connection."""
        error = sys.exc_info()[1]
        hint = error.error_status_hint if isinstance(error, h11.ProtocolError) else 400
        refusal = Refusal("validation_error", "this is not an HTTP/1.1 request")
        if hint == _TOO_LARGE:
            refusal = Refusal("headers_too_large", "the head of the request is too long")
        with suppress(h11.LocalProtocolError):  # an answer has begun already
            self._answer(refusal)
        self.transport.close()

    def _answer(self, refusal: Refusal) -> None:
        body = json.dumps(refusal.as_json()).encode()
        plain = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        headers = protected(plain, uuid.uuid4().hex.encode())
        events: list[Any] = [
            h11.Response(status_code=refusal.status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        for event in events:
            self.transport.write(self.conn.send(event) or b"")

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEAD_S, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_send_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None
