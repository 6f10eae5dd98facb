"""One HTTP request with an end: a total deadline, a bound on the answer, and a way to stop.

The request runs in a thread of its own, because no timeout of a socket ends one that drips and
nothing else can stop one that hangs. Redirects are never followed: a key must not travel on.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from engine.errors import Cancelled
from engine.secret import Secret

_LOOK_S = 0.1  # how often a waiting request asks whether to stop
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Answer(NamedTuple):
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Broken(Exception):  # noqa: N818 - a signal to the one who asked, who makes an error of it
    """No answer came: refused, broken off, too large, or not HTTP."""


class Late(Broken):
    """No answer came in time."""


class Transport:
    """Requests to one server, one at a time, over a connection that is kept.

    Args:
        url: Where the server is; on this machine no proxy is asked.
        key: Sent with every request unless empty.
    """

    def __init__(self, url: str, key: Secret) -> None:
        self._headers = {"accept": "application/json", "accept-encoding": "identity"}
        if key:
            self._headers["authorization"] = f"Bearer {key.reveal()}"
        parts = urlsplit(url)
        self._uses_proxies = parts.hostname not in _LOOPBACK
        self._uses_tls = parts.scheme != "http"
        self._client: httpx.Client | None = None

    def send(
        self,
        request: tuple[str, str, object],
        *,
        within_s: float,
        most_bytes: int,
        stop: Callable[[], bool],
    ) -> Answer:
        """Send a request and wait for its answer.

        Args:
            request: Method, URL, and what to send as JSON or None.
            within_s: The whole time it may take.
            most_bytes: A longer answer is not read to its end.
            stop: Asked ten times a second.

        Raises:
            Broken: No answer came.
            Cancelled: ``stop`` said so.
        """
        if stop():
            raise Cancelled("embedding was stopped")
        client = self._client or self._new_client()
        self._client = client
        exchange = _Exchange(client, request, within_s, most_bytes)
        exchange.start()
        ends_at_s = time.monotonic() + within_s
        while not exchange.is_done(min(_LOOK_S, max(0.0, ends_at_s - time.monotonic()))):
            is_late = time.monotonic() >= ends_at_s
            if is_late or stop():
                self._client = None  # its connection is in the middle of something
                exchange.abandon()
                if is_late:
                    raise Late(f"no answer within {within_s:.3g} s")
                raise Cancelled("embedding was stopped")
        return exchange.result()

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _new_client(self) -> httpx.Client:
        return httpx.Client(
            headers=self._headers,
            follow_redirects=False,
            trust_env=self._uses_proxies,
            verify=self._uses_tls,  # reading the certificates of authorities takes 0.2 s
        )


class _Exchange:
    """A request under way in its thread."""

    def __init__(
        self,
        client: httpx.Client,
        request: tuple[str, str, object],
        within_s: float,
        most_bytes: int,
    ) -> None:
        self._client = client
        self._request = request
        self._within_s = within_s
        self._most_bytes = most_bytes
        self._done = threading.Event()
        self._answer: Answer | None = None
        self._broken: Broken | None = None
        self._stream: Any = None  # httpcore's, to shut it from outside
        self._is_abandoned = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="embedding-request", daemon=True).start()

    def is_done(self, wait_s: float) -> bool:
        return self._done.wait(wait_s)

    def result(self) -> Answer:
        if self._answer is None:
            raise self._broken or Broken("no answer came")
        return self._answer

    def abandon(self) -> None:
        """Let the thread end by itself, soon: its socket is shut, which wakes it."""
        self._is_abandoned = True
        if self._stream is not None:
            with contextlib.suppress(OSError, AttributeError):
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        if self._done.is_set():
            self._client.close()

    def _run(self) -> None:
        try:
            self._answer = self._exchanged()
        except httpx.TimeoutException:
            self._broken = Late(f"no answer within {self._within_s:.3g} s")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self._broken = Broken(_first_line(error))
        except Broken as broken:
            self._broken = broken
        finally:
            self._done.set()
            if self._is_abandoned:
                self._client.close()

    def _exchanged(self) -> Answer:
        method, url, body = self._request
        ends_at_s = time.monotonic() + self._within_s
        with self._client.stream(
            method,
            url,
            json=body,
            timeout=self._within_s,
            extensions={"trace": self._traced},
        ) as response:
            parts: list[bytes] = []
            size = 0
            for part in response.iter_bytes():
                size += len(part)
                if size > self._most_bytes:
                    raise Broken(f"its answer is larger than {self._most_bytes:,} bytes")
                if time.monotonic() > ends_at_s:
                    raise Late(f"no answer within {self._within_s:.3g} s")
                parts.append(part)
            return Answer(response.status_code, response.headers, b"".join(parts))

    def _traced(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of the connection when it is made."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = info["return_value"]


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return text or type(error).__name__
