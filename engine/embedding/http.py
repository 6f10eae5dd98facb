"""HTTP requests to one embedding server, with retries, deadlines and cancellation.

``Transport`` sends a single request with a total deadline and a bound on the response. Each request
runs in a thread of its own, because no socket timeout ends a response that arrives byte by byte,
and nothing else can cancel one that hangs. Redirects are never followed: a key must not travel on.

``Server`` retries what may pass and explains what does not. Batches, and what the vectors must look
like, are the business of ``remote``.
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

from engine.cancellation import CancelToken
from engine.config import Secret
from engine.embedding.batches import MAX_DIMENSION, valid_utf8
from engine.errors import Cancelled, EmbedderUnavailableError

_CANCEL_POLL_S = 0.1
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_FIRST_WAIT_S = 0.5  # doubles with each retry
_LONGEST_WAIT_S = 60.0  # a server that wants a longer pause counts as unavailable
_RETRY_POLL_S = 0.25  # how often a wait before a retry checks for cancellation
_SHOWN_CHARACTERS = 200
_READ_BYTES = 1 << 16  # of an error's text; more than is shown, so that a key in it is recognised
_NUMBER_BYTES = 32  # a number in JSON, with more digits than any server sends
_HEAD_BYTES = 1 << 20

_RUNNING = "check that the server is running"
_ENVIRONMENT = "check ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
_TOO_LARGE = frozenset({400, 413, 422})
_PASSING = frozenset({408, 424, 425, 429, 500, 502, 503, 504, 529})
#: Of those, what a server answers whose model fails; the texts may be the reason.
_FAILING = frozenset({424, 500})
#: Some servers answer 500 if a text is too long for the model.
_SAYS_TOO_LARGE = re.compile(
    rb"too (?:large|long)|context (?:length|size|window)|exceed|batch size|maximum .{0,30}token",
    re.IGNORECASE,
)


class Response(NamedTuple):
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class RequestFailedError(Exception):
    """No response: refused, broken off, too large, or not HTTP. For callers inside this package."""


class RequestTimeoutError(RequestFailedError):
    """No response in time."""


class NoConnectionError(RequestFailedError):
    """No request can be sent: proxies or certificates in the environment cannot be used."""


class Transport:
    """Requests to one server, one at a time, over a persistent connection.

    Args:
        url: The server; for one on this machine no proxy is used.
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
        self.connections = 0  # made so far

    def send(
        self,
        request: tuple[str, str, object],
        *,
        within_s: float,
        max_bytes: int,
        cancelled: CancelToken,
    ) -> Response:
        """Send a request and wait for the response.

        Args:
            request: Method, URL, and JSON body or None.
            within_s: The total deadline.
            max_bytes: The maximum size of the response.
            cancelled: Polled ten times a second.

        Raises:
            RequestFailedError: No response came.
            Cancelled: ``cancelled`` returned true.
        """
        if cancelled():
            raise Cancelled("embedding was stopped")
        client = self._client or self._new_client()
        self._client = client
        exchange = _Exchange(client, request, within_s, max_bytes, self._count_connection)
        exchange.start()
        ends_at_s = time.monotonic() + within_s
        while not exchange.is_done(min(_CANCEL_POLL_S, max(0.0, ends_at_s - time.monotonic()))):
            is_late = time.monotonic() >= ends_at_s
            if is_late or cancelled():
                self._client = None  # its connection is in use
                exchange.abandon()
                if is_late:
                    raise RequestTimeoutError(f"no answer within {within_s:.3g} s")
                raise Cancelled("embedding was stopped")
        return exchange.result()

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _count_connection(self) -> None:
        self.connections += 1

    def _new_client(self) -> httpx.Client:
        try:
            return httpx.Client(
                headers=self._headers,
                follow_redirects=False,
                trust_env=self._uses_proxies,
                verify=self._uses_tls,  # loading the CA certificates takes 0.2 s
            )
        except Exception as error:  # ImportError, OSError, ValueError, by variable
            raise NoConnectionError(_first_line(error)) from error


class _Exchange:
    """A request in progress in a thread of its own."""

    def __init__(
        self,
        client: httpx.Client,
        request: tuple[str, str, object],
        within_s: float,
        max_bytes: int,
        on_connect: Callable[[], None],
    ) -> None:
        self._client = client
        self._request = request
        self._within_s = within_s
        self._max_bytes = max_bytes
        self._on_connect = on_connect
        self._done = threading.Event()
        self._answer: Response | None = None
        self._error: RequestFailedError | None = None
        self._stream: Any = None  # httpcore's, to shut down from outside
        self._is_abandoned = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="embedding-request", daemon=True).start()

    def is_done(self, wait_s: float) -> bool:
        return self._done.wait(wait_s)

    def result(self) -> Response:
        if self._answer is None:
            raise self._error or RequestFailedError("no answer came")
        return self._answer

    def abandon(self) -> None:
        """Shut down the socket, which wakes the thread and ends it soon."""
        self._is_abandoned = True
        if self._stream is not None:
            with contextlib.suppress(OSError, AttributeError):
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        if self._done.is_set():
            self._client.close()

    def _run(self) -> None:
        try:
            self._answer = self._exchange()
        except httpx.TimeoutException:
            self._error = RequestTimeoutError(f"no answer within {self._within_s:.3g} s")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self._error = RequestFailedError(_first_line(error))
        except RequestFailedError as broken:
            self._error = broken
        except Exception as error:  # noqa: BLE001 - ``result`` raises it
            self._error = RequestFailedError(f"{type(error).__name__}: {_first_line(error)}")
        finally:
            self._done.set()
            if self._is_abandoned:
                self._client.close()

    def _exchange(self) -> Response:
        method, url, body = self._request
        ends_at_s = time.monotonic() + self._within_s
        with self._client.stream(
            method,
            url,
            json=body,
            timeout=self._within_s,
            extensions={"trace": self._trace},
        ) as response:
            parts: list[bytes] = []
            size = 0
            for part in response.iter_bytes():
                size += len(part)
                if size > self._max_bytes:
                    raise RequestFailedError(f"its answer is larger than {self._max_bytes:,} bytes")
                if time.monotonic() > ends_at_s:
                    raise RequestTimeoutError(f"no answer within {self._within_s:.3g} s")
                parts.append(part)
            return Response(response.status_code, response.headers, b"".join(parts))

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Remember the connection when it is established."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = info["return_value"]
        if event == "connection.connect_tcp.complete":
            self._on_connect()


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return text or type(error).__name__


class TooLargeError(EmbedderUnavailableError):
    """The server refuses so large a request; a smaller one may succeed."""


class TimedOutError(EmbedderUnavailableError):
    """The server did not answer in time; a smaller request may succeed."""


class TextsFailedError(EmbedderUnavailableError):
    """The server fails on these texts, after all retries; it may answer others."""


class Clock(NamedTuple):
    """The sources of time, which tests replace."""

    elapsed_s: Callable[[], float] = time.monotonic
    wall_s: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class RetryPolicy(NamedTuple):
    """Deadlines, cancellation and retries of a call."""

    request_s: float  # for one request
    ends_at_s: float  # of ``Clock.elapsed_s``, for all requests and the waits between
    cancelled: CancelToken
    retries: int  # of one request


class Server:
    """An embedding server.

    Args:
        url: Its URL, without a slash at the end.
        key: Sent with every request, shown nowhere.
        clock: The sources of time.
    """

    def __init__(self, url: str, key: Secret, clock: Clock) -> None:
        self.url = url
        self._key = key
        self._clock = clock
        self._transport = Transport(url, key)

    @property
    def connections(self) -> int:
        """How many connections were made: behind a new one may be another process."""
        return self._transport.connections

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def post(self, address: str, body: object, *, count: int, policy: RetryPolicy) -> object:
        """Request the vectors of ``count`` texts; return the JSON of the answer.

        Raises:
            TooLargeError: It refuses the request as too large or invalid.
            TimedOutError: It did not answer in time; not retried.
            TextsFailedError: Its model fails each time.
            EmbedderUnavailableError: It is unreachable, refuses, or answers nonsense.
            Cancelled: ``policy.cancelled`` returned true.
        """
        request = ("POST", address, body)
        max_bytes = _HEAD_BYTES + count * MAX_DIMENSION * _NUMBER_BYTES
        for tried in range(policy.retries + 1):
            wanted_s = None
            error: type[EmbedderUnavailableError] = EmbedderUnavailableError
            try:
                answer = self._answer(request, max_bytes, policy)
            except RequestFailedError as broken:
                reason = f"cannot be reached: {broken}"
            else:
                reason = self._retry_reason(answer)
                if not reason:
                    return _parsed(answer.content)
                wanted_s = _retry_after_s(answer.headers, self._clock.wall_s())
                if answer.status in _FAILING:
                    error = TextsFailedError
            self._wait(reason, tried, wanted_s, policy, error)
        raise AssertionError("the last wait raises")

    def get_info(self, address: str, policy: RetryPolicy) -> object:
        """Return the server's description of itself, or None if there is none. Tried once.

        Raises:
            EmbedderUnavailableError: It is unreachable.
            Cancelled: ``policy.cancelled`` returned true.
        """
        try:
            answer = self._answer(("GET", address, None), _HEAD_BYTES, policy)
        except RequestFailedError as broken:
            raise self.unavailable(f"cannot be reached: {broken}", _RUNNING) from broken
        if answer.status in _PASSING:
            raise self.unavailable(
                f"answers {answer.status}{self._message_suffix(answer)}", _RUNNING
            )
        return _parsed(answer.content) if answer.status == HTTPStatus.OK else None

    def unavailable(
        self,
        what: str,
        hint: str = "",
        error: type[EmbedderUnavailableError] = EmbedderUnavailableError,
        **details: object,
    ) -> EmbedderUnavailableError:
        """Return an error that names this server, without the key."""
        return error(self._sentence(what), hint=hint, **details)

    def _answer(
        self, request: tuple[str, str, object], max_bytes: int, policy: RetryPolicy
    ) -> Response:
        """Send once.

        Raises:
            TimedOutError: No answer came in time.
            EmbedderUnavailableError: The environment allows no request.
            RequestFailedError: No answer came for another reason.
        """
        try:
            return self._transport.send(
                request,
                within_s=self._left_s(policy),
                max_bytes=max_bytes,
                cancelled=policy.cancelled,
            )
        except RequestTimeoutError as late:
            raise TimedOutError(
                self._sentence(f"gives {late}"),
                hint="is the server busy, or loading a model? more time: embedding_timeout,"
                " and query_timeout for questions",
            ) from late
        except NoConnectionError as error:
            raise self.unavailable(f"cannot be reached: {error}", _ENVIRONMENT) from error

    def _retry_reason(self, answer: Response) -> str:
        """Return why a response should be retried, or an empty text if it is good.

        Raises:
            EmbedderUnavailableError: A retry would not help.
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
        what = f"answers {status}{self._message_suffix(answer)}"
        if status in _TOO_LARGE or (
            status == HTTPStatus.INTERNAL_SERVER_ERROR and _SAYS_TOO_LARGE.search(answer.content)
        ):
            raise TooLargeError(self._sentence(what), hint="check that the model embeds texts")
        if status in _PASSING:
            return what
        raise self.unavailable(*self._refusal(answer, what))

    def _refusal(self, answer: Response, what: str) -> tuple[str, str]:
        """Return what a final refusal means, and a hint."""
        if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            if self._key:
                return what, "is the key right? it comes from the environment"
            return what, "put the key into the environment as CAIRN_EMBEDDING_KEY"
        if answer.status == HTTPStatus.NOT_FOUND:
            return what, "check the URL, and that the server has the model"
        if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
            target = _shown_target(answer.headers.get("location", ""))
            return (
                f"answers {answer.status} and points elsewhere",
                f"it points to {target}; set that URL if you trust it" if target else "",
            )
        return what, ""

    def _message_suffix(self, answer: Response) -> str:
        """Return the beginning of a response's message, as the end of a sentence."""
        text = answer.content[:_READ_BYTES].decode("utf-8", "replace")
        parsed = _parsed(answer.content)
        while isinstance(parsed, Mapping):
            parsed = parsed.get("error", parsed.get("message", parsed.get("detail")))
        if isinstance(parsed, str):
            text = parsed
        text = " ".join(self._key.blanked(valid_utf8(text)).split())
        if len(text) > _SHOWN_CHARACTERS:
            text = text[:_SHOWN_CHARACTERS] + "…"
        return f": {text}" if text else ""

    def _sentence(self, what: str) -> str:
        return self._key.blanked(f"the embedding server {self.url} {what}")

    def _left_s(self, policy: RetryPolicy) -> float:
        left_s = min(policy.request_s, policy.ends_at_s - self._clock.elapsed_s())
        return max(left_s, 0.01)

    def _wait(
        self,
        reason: str,
        tried: int,
        wanted_s: float | None,
        policy: RetryPolicy,
        error: type[EmbedderUnavailableError],
    ) -> None:
        """Wait before a retry, as long as the server wants or twice as long as before.

        Raises:
            EmbedderUnavailableError: It was the last attempt, or the wait would be too long; of the
                given type.
            Cancelled: ``policy.cancelled`` returned true.
        """
        jitter = random.uniform(0.5, 1.0)  # noqa: S311 - not for security
        wait_s = wanted_s if wanted_s is not None else _FIRST_WAIT_S * 2**tried * jitter
        now_s = self._clock.elapsed_s()
        is_last = tried == policy.retries
        if is_last or wait_s > _LONGEST_WAIT_S or now_s + wait_s >= policy.ends_at_s:
            times = f" (tried {tried + 1} times)" if tried else ""
            details = {} if wanted_s is None else {"retry_after_s": round(wanted_s, 1)}
            raise self.unavailable(reason + times, _RUNNING, error, **details)
        ends_at_s = now_s + wait_s
        while not policy.cancelled():
            if (left_s := ends_at_s - self._clock.elapsed_s()) <= 0:
                return
            self._clock.sleep(min(_RETRY_POLL_S, left_s))
        raise Cancelled("embedding was stopped")


def _shown_target(location: str) -> str:
    """Return the URL of a redirect without user, password and query; empty without a server."""
    try:
        place = urlsplit(location)
    except ValueError:
        return ""
    return f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}" if place.netloc else ""


def _parsed(content: bytes) -> object:
    """Return the JSON of a response, or None if it is incomplete or not JSON."""
    try:
        parsed: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return parsed


def _retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds of a Retry-After header, which may be a date, or None without one."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None
