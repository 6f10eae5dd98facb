"""ASGI middleware in front of the application; every request and answer passes through it.

It checks the head of a request before it reads any of the body, reads the body within limits of
size, time, content type, nesting depth and number of values, adds the headers of ``protocol`` to
every answer, and logs method, route, project, status and time, but never the query.

The application is asked for HEAD as for GET, and only the head of its answer is sent.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Callable, Mapping
from typing import cast

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

from engine.record_class import record
from engine.roots import is_project_id
from engine.telemetry.metrics import Measure, is_request_id, observe_duration, on_behalf_of, span
from web.errors import UNFORESEEN, Refusal
from web.security.access import Hosts, RateLimiter, Session, address_without_token
from web.security.json_bodies import check_json
from web.security.protocol import protected
from web.security.server_settings import ServerSettings, is_loopback

MIB = 1 << 20
MOST_BYTES = MIB
MOST_BYTES_OF_AGENTS = 4 * MIB
#: Time limits for a whole body, and for a pause in it.
WHOLE_S = 30.0
PAUSE_S = 10.0

_NUMBER = re.compile(rb"[0-9]{1,18}")
_FORM = re.compile(
    rb"application/x-www-form-urlencoded\s*(?:;\s*charset\s*=\s*utf-?8\s*)?", re.IGNORECASE
)

MOST_QUERY_BYTES = 4096
MOST_HEADER_BYTES = 16 << 10

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OF_OWN_PAGES = frozenset({b"same-origin", b"none"})
_OWN_PAGE = [b"same-origin"]
_JSON_PATHS = "/api/"
#: A memory may have a description of 1 MiB, which grows when JSON or a form escapes it.
_MEMORIES = re.compile(r"/(api/v1/projects|p)/[^/]*/memories(/|$)")
_AGENT_PATHS = ("/mcp", "/sse", "/messages")
#: Paths for programs; the rest are pages.
_PROGRAM_PATHS = (_JSON_PATHS, *_AGENT_PATHS, "/health", "/metrics", "/openapi")
#: Static files need no token: the page that asks for it uses them, and they hold no user data.
_STATIC = re.compile(r"/static/[a-z0-9][a-z0-9._-]*")
_CLOSING = frozenset({400, 408, 413, 431})  # the body after such a head is not read
_SERVER_ERROR = 500
_CLIENT_ERROR = 400
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


async def read_body(
    receive: Receive,
    headers: Mapping[bytes, list[bytes]],
    *,
    most_bytes: int,
    whole_s: float = WHOLE_S,
    pause_s: float = PAUSE_S,
) -> bytes:
    """Read a whole body.

    Args:
        receive: Returns its pieces.
        headers: The headers of the request, names in lower case.
        most_bytes: The maximum length.
        whole_s: Time limit for the whole body, in seconds.
        pause_s: Time limit between two pieces, in seconds.

    Raises:
        Refusal: It is too long or too slow, or its declared length is not a number.
        Disconnected: The client has disconnected.
    """
    lengths = headers.get(b"content-length", [])
    if len(lengths) > 1 or any(not _NUMBER.fullmatch(length) for length in lengths):
        raise Refusal("validation_error", "the header Content-Length cannot be read")
    if lengths and int(lengths[0]) > most_bytes:
        raise too_large(most_bytes)
    pieces: list[bytes] = []
    left = most_bytes
    try:
        async with asyncio.timeout(whole_s):
            is_more = True
            while is_more:
                async with asyncio.timeout(pause_s):
                    message = await receive()
                if message["type"] != "http.request":
                    raise Disconnected
                pieces.append(message["body"])
                left -= len(pieces[-1])
                if left < 0:
                    raise too_large(most_bytes)
                is_more = message.get("more_body", False)
    except TimeoutError as error:
        raise Refusal("request_timeout", "the body took too long to come") from error
    return b"".join(pieces)


def check_form(content_types: list[bytes]) -> None:
    """Refuse a body that is not a form.

    Raises:
        Refusal: The content type is another one, or missing.
    """
    if len(content_types) != 1 or not _FORM.fullmatch(content_types[0].strip()):
        raise Refusal(
            "unsupported_media_type",
            "the body is not declared as a form",
            hint="send Content-Type: application/x-www-form-urlencoded",
            field="Content-Type",
        )


def already_read(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that yields the whole body at once, then later messages."""
    is_given = False

    async def give() -> HTTPReceiveMessage:
        nonlocal is_given
        if is_given:
            return await receive()  # type: ignore[return-value]
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def too_large(most_bytes: int) -> Refusal:
    """Return the refusal of a body that is too long."""
    return Refusal(
        "payload_too_large", f"the body has more than {most_bytes} bytes", max_allowed=most_bytes
    )


class Disconnected(Exception):  # noqa: N818 - a signal, not an error
    """The client disconnected before it had sent its whole request."""


#: Logs a request: its level, and the fields of its line.
RequestLog = Callable[..., None]
#: Logs an uncaught exception.
FailureLog = Callable[[BaseException], None]
#: Renders a refusal as a page.
RefusalPage = Callable[[Scope, Refusal], bytes]


def wants_page(scope: Scope) -> bool:
    """Return whether a request is for an HTML page."""
    if scope["path"].startswith(_PROGRAM_PATHS):
        return False
    return any(
        name.lower() == b"accept" and b"text/html" in value.lower()
        for name, value in scope["headers"]
    )


@record
class Logs:
    """The loggers of the middleware."""

    request: RequestLog
    failure: FailureLog


class SecurityMiddleware:
    """An application behind security checks.

    Args:
        app: The application.
        settings: Where it is served, and to whom.
        logs: Log requests and failures.
        page_of: Renders refusals for browsers; without it they get JSON.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        logs: Logs,
        *,
        page_of: RefusalPage | None = None,
    ) -> None:
        self._app = app
        self._page_of = page_of
        self._hosts = Hosts(settings)
        self._session = Session(settings.token, settings.port)
        self._rates = RateLimiter()
        self._logs = logs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != ScopeType.HTTP:
            await send({"type": "websocket.close", "code": 1008, "reason": "no WebSockets here"})
            return
        head = _Head(scope)
        page_of = self._page_of if self._page_of and wants_page(scope) else None
        answer = _Answer(send, head, page_of)
        with on_behalf_of("http", answer.request_id), span("request") as request_span:
            await self._answer(head, receive, answer)
            request_span.update_name(" ".join(filter(None, (head.known_method, head.route))))
            request_span.set_attributes(status=answer.status, request_id=answer.request_id)
            if answer.status >= _SERVER_ERROR:
                request_span.set_error(str(answer.status))

    async def _answer(self, head: "_Head", receive: Receive, answer: "_Answer") -> None:
        started_s = time.perf_counter()
        try:
            await self._serve(head, receive, answer)
        except Refusal as refusal:
            await answer.refuse(refusal)
        except Disconnected:
            return
        except Exception as error:
            self._logs.failure(error)
            if answer.status:
                raise  # half an answer: the connection is closed
            await answer.refuse(Refusal("internal_error", UNFORESEEN))
        finally:
            self._log(head, answer, time.perf_counter() - started_s)

    async def _serve(self, head: "_Head", receive: Receive, answer: "_Answer") -> None:
        self._check_head(head)
        if head.is_for_page:
            cookie = self._session.cookie_for(head.query)
            if cookie is not None:
                await answer.log_in(cookie, address_without_token(head.path, head.query))
                return
        if not head.is_static:
            self._session.check(head.texts(b"authorization"), head.texts(b"cookie"))
        if head.has_body:
            body = await read_body(receive, head.headers, most_bytes=_most_bytes_of(head.path))
            if body and head.path.startswith(_JSON_PATHS):
                check_json(body, head.values(b"content-type"))
            elif body and not head.is_for_agents:
                check_form(head.values(b"content-type"))
            receive = already_read(body, receive)
        await self._app(head.scope, receive, answer.send)

    def _check_head(self, head: "_Head") -> None:
        """Refuse by the head alone, cheapest checks first."""
        if head.client is not None and not is_loopback(head.client):
            self._rates.take(head.client)
        if head.size > MOST_HEADER_BYTES:
            raise Refusal("headers_too_large", f"the headers have more than {MOST_HEADER_BYTES} B")
        if len(head.query) > MOST_QUERY_BYTES:
            raise Refusal("uri_too_long", f"the query has more than {MOST_QUERY_BYTES} bytes")
        if not head.path.startswith("/"):
            raise Refusal("validation_error", "wanted a path that starts with /", field="path")
        self._hosts.check_host(head.values(b"host"), head.arrived_at)
        origins, sites = head.values(b"origin"), head.values(b"sec-fetch-site")
        is_own_form = head.is_form and sites == _OWN_PAGE
        if not (is_own_form and origins == [b"null"]):  # a browser may be set to hide the origin
            self._hosts.check_origin(origins, head.arrived_at)
        is_elsewhere = any(site.lower() not in _OF_OWN_PAGES for site in sites)
        if is_elsewhere and not head.is_navigation:
            raise Refusal("forbidden", "pages of another site may not use this server")
        if head.is_form and not (is_own_form or origins):
            raise Refusal(
                "forbidden",
                "forms are taken from pages of this server only",
                hint="programs use /api/v1",
            )

    def _log(self, head: "_Head", answer: "_Answer", took_s: float) -> None:
        level = "info"
        if answer.status >= _CLIENT_ERROR:
            level = "error" if answer.status >= _SERVER_ERROR else "warning"
        route, method = head.route, head.known_method
        about = {"project_id": head.project_id} if head.project_id else {}
        observe_duration(
            Measure.REQUEST_DURATION, took_s, route or "none", method, str(answer.status)
        )
        self._logs.request(
            "request",
            level=level,
            request_id=answer.request_id,
            method=method,
            route=route,
            status=answer.status,
            took_ms=round(took_s * 1000, 2),
            client=head.client or "",
            **about,
        )


def _most_bytes_of(path: str) -> int:
    """Return the maximum length of a body."""
    is_large = path.startswith(_AGENT_PATHS) or _MEMORIES.match(path)
    return MOST_BYTES_OF_AGENTS if is_large else MOST_BYTES


class _Head:
    """The head of a request."""

    def __init__(self, scope: Scope) -> None:
        self.headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            self.headers.setdefault(name.lower(), []).append(value)
        self.path: str = scope["path"]
        self.is_for_agents = self.path.startswith(_AGENT_PATHS)
        method = str(scope.get("method", ""))
        self.is_head = method == "HEAD" and not self.is_for_agents
        self.method = "GET" if self.is_head else method
        self.scope = cast("Scope", {**scope, "method": "GET"}) if self.is_head else scope
        self.query: bytes = scope.get("query_string", b"")
        self.size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        client, server = scope.get("client"), scope.get("server")
        self.client = client[0] if client else None
        self.arrived_at = server[0] if server else None

    @property
    def route(self) -> str | None:
        """The template of its route, as paths are unbounded; None without a route or on refusal."""
        template = self.scope.get("path_template")
        if template == "":  # a mounted application
            path = f"{self.path}/"
            return next((each for each in _AGENT_PATHS if path.startswith(f"{each}/")), None)
        return template

    @property
    def project_id(self) -> str:
        """The id of the project that its route is about; empty if it is about none."""
        project_id = str(self.scope.get("path_params", {}).get("project_id", ""))
        return project_id if is_project_id(project_id) else ""

    @property
    def known_method(self) -> str:
        """The method that the client sent, or "other" if it is unknown."""
        if self.is_head:
            return "HEAD"
        return self.method if self.method in _METHODS else "other"

    @property
    def request_id(self) -> str:
        """The client's id of the request if it is valid, otherwise a new one."""
        given = self.texts(b"x-request-id")
        is_usable = len(given) == 1 and is_request_id(given[0])
        return given[0] if is_usable else uuid.uuid4().hex

    @property
    def has_body(self) -> bool:
        """Whether the headers announce a body."""
        return b"content-length" in self.headers or b"transfer-encoding" in self.headers

    @property
    def is_form(self) -> bool:
        """Whether it is a form sent by a page; programs and agents use other paths."""
        return self.method not in _SAFE and not self.path.startswith(_PROGRAM_PATHS)

    @property
    def is_for_page(self) -> bool:
        """Whether it is for a page, to which a browser can log in by its address."""
        return self.method == "GET" and not self.path.startswith(_PROGRAM_PATHS)

    @property
    def is_static(self) -> bool:
        """Whether it is for a static file."""
        return self.method in _SAFE and _STATIC.fullmatch(self.path) is not None

    @property
    def is_navigation(self) -> bool:
        """Whether it is a navigation to a page, which any site may link to."""
        modes = [mode.lower() for mode in self.values(b"sec-fetch-mode")]
        is_page = not self.path.startswith((_JSON_PATHS, *_AGENT_PATHS))
        return self.method in _SAFE and modes == [b"navigate"] and is_page

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of a header."""
        return self.headers.get(name, [])

    def texts(self, name: bytes) -> list[str]:
        """Return the values of a header as text."""
        return [value.decode("latin-1") for value in self.values(name)]


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, send: Send, head: _Head, page_of: RefusalPage | None) -> None:
        self._send = send
        self._head = head
        self._page_of = page_of
        self.request_id = head.request_id
        self.status = 0  # 0 until it has begun

    async def send(self, message: Message) -> None:
        """Send a part of the answer; of one to HEAD its head, which ends it."""
        if message["type"] != "http.response.start":
            if not self._head.is_head:
                await self._send(message)
            return
        self.status = message["status"]
        headers = protected(message.get("headers", ()), self.request_id.encode())
        if not self._head.is_for_agents:
            headers = [
                (name, _with_head(value) if name == b"allow" else value) for name, value in headers
            ]
        await self._send({**message, "headers": headers})
        if self._head.is_head:  # a stream is told that its client is gone
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with an error, unless an answer has begun."""
        if self.status:
            return
        if self._page_of is None:
            body = json.dumps(refusal.as_json()).encode()
            headers = [(b"content-type", b"application/json")]
        else:
            body = self._page_of(self._head.scope, refusal)
            headers = [(b"content-type", b"text/html; charset=utf-8")]
        if refusal.code == "unauthorized":
            headers.append((b"www-authenticate", b"Bearer"))
        if refusal.code == "too_many_requests":
            headers.append((b"retry-after", b"1"))
        if refusal.status in _CLOSING:
            headers.append((b"connection", b"close"))
        await self._whole(refusal.status, headers, body)

    async def log_in(self, cookie: str, place: str) -> None:
        """Set the session cookie, and redirect to an address without the token."""
        headers = [(b"location", place.encode()), (b"set-cookie", cookie.encode())]
        await self._whole(303, headers, b"")

    async def _whole(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        length = (b"content-length", str(len(body)).encode())
        await self.send(
            {"type": "http.response.start", "status": status, "headers": [*headers, length]}
        )
        await self.send({"type": "http.response.body", "body": body, "more_body": False})


def _with_head(allowed: bytes) -> bytes:
    """Return the methods that a resource allows, with HEAD if GET is one of them."""
    methods = {each.strip() for each in allowed.split(b",")}
    return allowed + b", HEAD" if b"GET" in methods and b"HEAD" not in methods else allowed
