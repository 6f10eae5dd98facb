"""One server of embeddings: asks, waits, asks again, and says what is wrong when that is of no use.

Batches, and what the vectors must be, are the business of ``remote``.

One HTTP request with an end: a total deadline, a bound on the answer, and a way to stop.

The request runs in a thread of its own, because no timeout of a socket ends one that drips and
nothing else can stop one that hangs. Redirects are never followed: a key must not travel on.
"""

import contextlib
import email.utils
import json
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from engine.config import Secret
from engine.errors import Cancelled, EmbedderUnavailableError

_STOP_POLL_S = 0.1  # how often a waiting request asks whether to stop
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
        while not exchange.is_done(min(_STOP_POLL_S, max(0.0, ends_at_s - time.monotonic()))):
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


_FIRST_WAIT_S = 0.5  # doubles with each retry
_LONGEST_WAIT_S = 60.0  # a server that wants a longer rest is away
_RETRY_POLL_S = 0.25  # how often a wait asks whether to stop
_SHOWN_CHARACTERS = 200
_READ_BYTES = 1 << 16  # of an error's text, more than is shown so that a key in it stays whole
_NUMBER_BYTES = 32  # a number in JSON, with more digits than any server writes
_MOST_NUMBERS = 8192
_HEAD_BYTES = 1 << 20

_RUNNING = "is the server running?"
_TOO_LARGE = frozenset({400, 413, 422})
_PASSING = frozenset({408, 424, 425, 429, 500, 502, 503, 504, 529})
#: Some servers answer 500 to what is too long for the model.
_SAYS_TOO_LARGE = re.compile(
    rb"too (?:large|long)|context (?:length|size|window)|exceed|batch size|maximum .{0,30}token",
    re.IGNORECASE,
)


class TooLargeError(EmbedderUnavailableError):
    """The server refuses this much; less may be answered."""


class TimedOutError(EmbedderUnavailableError):
    """The server did not answer in time; less may be answered."""


class Clock(NamedTuple):
    """Time, so that tests need not wait."""

    elapsed_s: Callable[[], float] = time.monotonic
    wall_s: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Patience(NamedTuple):
    """How long one who asks will wait, and how to stop it."""

    request_s: float  # for one request
    ends_at_s: float  # of ``Clock.elapsed_s``, for all of them and the waits between
    stop: Callable[[], bool]
    retries: int  # of one request


class Server:
    """A server by its URL.

    Args:
        url: Without a slash at the end.
        key: Sent with every request, shown nowhere.
        clock: Where time comes from.
    """

    def __init__(self, url: str, key: Secret, clock: Clock) -> None:
        self.url = url
        self._key = key
        self._clock = clock
        self._transport = Transport(url, key)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def post(self, address: str, body: object, *, count: int, patience: Patience) -> object:
        """Ask for the vectors of ``count`` texts; the JSON of the answer.

        Raises:
            TooLargeError: It refuses the request as too large, or as wrong in itself.
            TimedOutError: It did not answer in time; not tried again.
            EmbedderUnavailableError: It is away, answers nonsense, or refuses.
            Cancelled: Whoever waits wants to stop.
        """
        request = ("POST", address, body)
        most_bytes = _HEAD_BYTES + count * _MOST_NUMBERS * _NUMBER_BYTES
        for tried in range(patience.retries + 1):
            wanted_s = None
            try:
                answer = self._answer(request, most_bytes, patience)
            except Broken as broken:
                trouble = f"cannot be asked: {broken}"
            else:
                trouble = self._trouble_of(answer)
                if not trouble:
                    return _parsed(answer.content)
                wanted_s = _retry_after_s(answer.headers, self._clock.wall_s())
            self._wait(trouble, tried, wanted_s, patience)
        raise AssertionError("the last wait raises")

    def look_up(self, address: str, patience: Patience) -> object:
        """Get what the server says of itself; None when it has nothing there. Tried once.

        Raises:
            EmbedderUnavailableError: It is away.
            Cancelled: Whoever waits wants to stop.
        """
        try:
            answer = self._answer(("GET", address, None), _HEAD_BYTES, patience)
        except Broken as broken:
            raise self.unavailable(f"cannot be asked: {broken}", _RUNNING) from broken
        if answer.status in _PASSING:
            raise self.unavailable(f"answers {answer.status}{self._said(answer)}", _RUNNING)
        return _parsed(answer.content) if answer.status == HTTPStatus.OK else None

    def unavailable(self, what: str, hint: str = "", **details: object) -> EmbedderUnavailableError:
        """Make the error that says what this server does, without a key in it."""
        return EmbedderUnavailableError(self._sentence(what), hint=hint, **details)

    def _answer(
        self, request: tuple[str, str, object], most_bytes: int, patience: Patience
    ) -> Answer:
        """Send once.

        Raises:
            TimedOutError: No answer came in time.
            Broken: No answer came for another reason.
        """
        try:
            return self._transport.send(
                request,
                within_s=self._left_s(patience),
                most_bytes=most_bytes,
                stop=patience.stop,
            )
        except Late as late:
            raise TimedOutError(
                self._sentence(f"gives {late}"),
                hint="is the server busy, or loading a model? more time: embedding_timeout,"
                " and query_timeout for questions",
            ) from late

    def _trouble_of(self, answer: Answer) -> str:
        """Say what is wrong with an answer that may be right the next time; empty when it is good.

        Raises:
            EmbedderUnavailableError: It will not be right the next time.
        """
        status = answer.status
        if status == HTTPStatus.OK:
            if _parsed(answer.content) is not None:
                return ""
            kind = answer.headers.get("content-type", "").partition(";")[0].strip()
            if kind and "json" not in kind:
                raise self.unavailable(
                    f"answers with {kind[:40]}, not with JSON", "is this the URL of its API?"
                )
            return "breaks off in the middle of its answer"
        what = f"answers {status}{self._said(answer)}"
        if status in _TOO_LARGE or (
            status == HTTPStatus.INTERNAL_SERVER_ERROR and _SAYS_TOO_LARGE.search(answer.content)
        ):
            raise TooLargeError(self._sentence(what), hint="does the model embed texts?")
        if status in _PASSING:
            return what
        raise self.unavailable(*self._refusal(answer, what))

    def _refusal(self, answer: Answer, what: str) -> tuple[str, str]:
        """Say what a final answer means, and what to do."""
        if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            if self._key:
                return what, "is the key right? it comes from the environment"
            return what, "put the key into the environment as CAIRN_EMBEDDING_KEY"
        if answer.status == HTTPStatus.NOT_FOUND:
            return what, "is the URL right, and does the server have the model?"
        if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
            place = urlsplit(answer.headers.get("location", ""))
            target = f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
            return (
                f"answers {answer.status} and points elsewhere",
                f"it points to {target}; set that URL if you trust it" if place.netloc else "",
            )
        return what, ""

    def _said(self, answer: Answer) -> str:
        """Give the beginning of what an answer says, as the end of a sentence."""
        text = answer.content[:_READ_BYTES].decode("utf-8", "replace")
        parsed = _parsed(answer.content)
        while isinstance(parsed, Mapping):
            parsed = parsed.get("error", parsed.get("message", parsed.get("detail")))
        if isinstance(parsed, str):
            text = parsed
        text = " ".join(self._key.blanked(text).split())
        if len(text) > _SHOWN_CHARACTERS:
            text = text[:_SHOWN_CHARACTERS] + "…"
        return f": {text}" if text else ""

    def _sentence(self, what: str) -> str:
        return self._key.blanked(f"the embedding server {self.url} {what}")

    def _left_s(self, patience: Patience) -> float:
        left_s = min(patience.request_s, patience.ends_at_s - self._clock.elapsed_s())
        return max(left_s, 0.01)

    def _wait(self, trouble: str, tried: int, wanted_s: float | None, patience: Patience) -> None:
        """Wait before the next try, as long as the server wants or twice as long as before.

        Raises:
            EmbedderUnavailableError: It was the last try, or the wait would be too long.
            Cancelled: Whoever waits wants to stop.
        """
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 - no secret, only not all at once
        wait_s = wanted_s if wanted_s is not None else _FIRST_WAIT_S * 2**tried * jitter
        now_s = self._clock.elapsed_s()
        is_last = tried == patience.retries
        if is_last or wait_s > _LONGEST_WAIT_S or now_s + wait_s >= patience.ends_at_s:
            times = f" (asked {tried + 1} times)" if tried else ""
            details = {} if wanted_s is None else {"retry_after_s": round(wanted_s, 1)}
            raise self.unavailable(trouble + times, _RUNNING, **details)
        ends_at_s = now_s + wait_s
        while (left_s := ends_at_s - self._clock.elapsed_s()) > 0:
            if patience.stop():
                raise Cancelled("embedding was stopped")
            self._clock.sleep(min(_RETRY_POLL_S, left_s))


def _parsed(content: bytes) -> object:
    """Give the JSON of an answer, None when it is none or not whole."""
    try:
        parsed: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return parsed


def _retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Read how long a server wants to be left alone: seconds, or a date; None when it is silent."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None
