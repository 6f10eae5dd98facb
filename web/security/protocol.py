"""HTTP/1.1 with an end to the patience for who says or takes nothing; errors in the one shape.

Headers of every answer.
"""

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

#: On every answer, also on errors and streams; a handler cannot change them.
ALWAYS: Mapping[bytes, bytes] = {
    b"content-security-policy": _POLICY,
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"x-frame-options": b"DENY",
}
#: Unless a handler says otherwise: code and queries are nothing that a cache should keep.
UNLESS_SAID: Mapping[bytes, bytes] = {b"cache-control": b"no-store"}
_NEVER = (b"server", b"x-powered-by")


def protected(headers: Headers, request_id: bytes) -> list[tuple[bytes, bytes]]:
    """Give the headers of an answer with those that every answer has.

    No header that lets other origins read it passes, whoever set it.
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


#: How long the head of a request may take from its first byte on, or from the connection on.
HEAD_S = 10.0
#: How long an answer may wait for a client that takes nothing of it.
SEND_S = 30.0
_TOO_LARGE = 431


class PatientProtocol(H11Protocol):
    """A connection that ends when the head of a request does not, or when nobody takes an answer.

    Attributes:
        send_s: How long an answer may wait for its client.
    """

    send_s = SEND_S
    _timer: asyncio.TimerHandle | None = None
    _deaf: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait_no_more()
        self._listen_no_more()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait for the client to take what is there."""
        super().pause_writing()
        if self._deaf is None:  # closing would wait for the client as well
            self._deaf = self.loop.call_later(self.send_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client takes it."""
        self._listen_no_more()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Take bytes; after them, wait for the rest of a head, or for none."""
        super().data_received(data)
        is_in_head = self.cycle is None or self.cycle.response_complete
        if not is_in_head or self.transport.is_closing():
            self._wait_no_more()
        elif self._timer is None and self.timeout_keep_alive_task is None:
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with a head, or with the frames of a body, and close."""
        error = sys.exc_info()[1]
        hint = error.error_status_hint if isinstance(error, h11.ProtocolError) else 400
        refusal = Refusal("validation_error", "this is no request of HTTP/1.1")
        if hint == _TOO_LARGE:
            refusal = Refusal("headers_too_large", "the head of the request is too long")
        with suppress(h11.LocalProtocolError):  # an answer had begun already
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

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_S, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _listen_no_more(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None
