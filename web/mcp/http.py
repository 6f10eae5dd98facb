"""The MCP server over HTTP: two ASGI apps, Streamable HTTP and SSE for older clients.

``mounts`` returns both for the web application, with the lifespan they need. The library accepts
some invalid messages without an answer, so bodies are validated before it sees them, and its plain
text errors get the common JSON shape.
"""

import json
import logging
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    MutableMapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

from litestar import Litestar, asgi
from litestar.handlers import ASGIRouteHandler
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import (
    DEFAULT_MAX_REQUEST_BODY_SIZE,
    TransportSecuritySettings,
)

from engine.catalog import Catalog
from web.errors import Refusal, nothing_here, wrong_method
from web.mcp.jsonrpc import check_message
from web.mcp.server import CairnServer, make_server

#: A session that has no request and no open stream for this long has lost its client.
IDLE_S = 45.0
_MAX_SESSIONS = 200
#: Maximum number of open SSE streams; each is a session while it is open.
MOST_STREAMS = 100
_MESSAGES = "/messages"
_NOT_A_MESSAGE = "this is not a message of a client"
#: Error codes for the statuses with which the library rejects an SSE message.
_ERROR_CODES = {
    400: "validation_error",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
}
_MAX_BYTES = DEFAULT_MAX_REQUEST_BODY_SIZE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
_STREAMABLE = "/mcp"
_SSE = "/sse"


def security_of(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return settings that accept only requests addressed to this server.

    Args:
        hosts: Accepted Host headers, each with its port: ``127.0.0.1:7331``. No wildcards: those
            of the library accept ``localhost:80@evil``.
    """
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=list(hosts),
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )


class McpApps:
    """The two ASGI apps and their lifespan.

    Each answers at the root of its own mount. In ``sse``, GET opens the stream and POST to
    ``/messages`` sends. Enter ``lifespan`` before either is called; it can be entered once.

    Args:
        server: The server that both serve.
        security: Accepted hosts and origins.
        idle_s: Time without a request or a stream after which a session ends.
        sse_path: The mount path of ``sse``, which its clients are told.
    """

    def __init__(
        self,
        server: CairnServer,
        security: TransportSecuritySettings,
        *,
        idle_s: float = IDLE_S,
        sse_path: str = "/sse",
    ) -> None:
        self._server = server.lowlevel
        is_checked = security.enable_dns_rebinding_protection
        #: Hosts whose messages are validated; the library rejects others. None: all hosts.
        self._hosts = (
            frozenset(host.encode() for host in security.allowed_hosts) if is_checked else None
        )
        self._sessions = StreamableHTTPSessionManager(
            self._server,
            security_settings=security,
            session_idle_timeout=idle_s,
            max_sessions=_MAX_SESSIONS,
        )
        self._streams = 0
        self._sse = SseServerTransport(f"{sse_path}{_MESSAGES}", security_settings=security)

    @asynccontextmanager
    async def lifespan(self, _app: Any = None) -> AsyncIterator[None]:
        """Serve sessions until the block ends."""
        async with self._sessions.run():
            yield

    async def streamable(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of Streamable HTTP."""
        if _path_of(scope):
            await _refuse(send, nothing_here())
        else:
            await self._validated(self._sessions.handle_request, scope, receive, send)

    async def sse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open the stream of an older client, or accept a message from one."""
        path = _path_of(scope)
        if path == _MESSAGES:
            shaped = _with_json_errors(send)
            await self._validated(self._sse.handle_post_message, scope, receive, shaped)
        elif path or scope["method"] != "GET":
            await _refuse(send, nothing_here() if path else wrong_method())
        else:
            await self._stream(scope, receive, send)

    async def _validated(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an invalid message with an error; the library drops some of them silently."""
        headers = dict(scope["headers"])
        is_json = _is_json(scope["headers"])
        is_addressed = self._hosts is None or headers.get(b"host") in self._hosts
        if scope["method"] != "POST" or not is_json or not is_addressed:
            await app(scope, receive, send)  # the library rejects these itself
            return
        body, received = await _read(receive)
        invalid = None if body is None else check_message(body)
        if invalid is None:
            await app(scope, _replayed(received, receive), send)
        else:
            await _respond(send, 400, invalid.as_json().encode())

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._streams >= MOST_STREAMS:
            raise Refusal("too_many_requests", f"{MOST_STREAMS} streams are open")
        self._streams += 1
        try:
            whole = {**scope, "root_path": ""}  # else the transport prepends it to its own path
            async with self._sse.connect_sse(whole, receive, send) as (reading, writing):
                options = self._server.create_initialization_options()
                await self._server.run(reading, writing, options)
        except ValueError:  # rejected by the security settings and already answered
            return
        finally:
            self._streams -= 1


def _path_of(scope: Scope) -> str:
    """Return the path below the mount, without a trailing slash."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")).rstrip("/")


async def _read(receive: Receive) -> tuple[bytes | None, deque[Message]]:
    """Read a body; None if it is too large or incomplete, which the library rejects."""
    received: deque[Message] = deque()
    pieces: list[bytes] = []
    while True:
        message = await receive()
        received.append(message)
        if message["type"] != "http.request":
            return None, received
        pieces.append(message.get("body", b""))
        if sum(map(len, pieces)) > _MAX_BYTES:
            return None, received
        if not message.get("more_body", False):
            return b"".join(pieces), received


def _replayed(received: deque[Message], receive: Receive) -> Receive:
    """Replay the received messages, then continue with ``receive``."""

    async def again() -> Message:
        return received.popleft() if received else await receive()

    return again


def _with_json_errors(send: Send) -> Send:
    """Convert plain text errors of the library to the common JSON shape."""
    code = ""  # empty: pass the response on unchanged
    pieces: list[bytes] = []

    async def shaping(message: Message) -> None:
        nonlocal code
        if message["type"] == "http.response.start":
            is_ours = _is_json(message.get("headers", ()))
            code = "" if is_ours else _ERROR_CODES.get(message["status"], "")
        if not code:
            await send(message)
        elif message["type"] == "http.response.body":
            pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                text = b"".join(pieces).decode("utf-8", "replace")
                await _refuse(send, Refusal(code, text[:1].lower() + text[1:] or _NOT_A_MESSAGE))

    return shaping


def _is_json(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return dict(headers).get(b"content-type", b"").lower().startswith(b"application/json")


async def _refuse(send: Send, refusal: Refusal) -> None:
    await _respond(send, refusal.status, json.dumps(refusal.as_json()).encode())


async def _respond(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Mounts(NamedTuple):
    """Handlers and lifespan to add to an application."""

    handlers: tuple[ASGIRouteHandler, ...]
    lifespan: Callable[[Litestar], AbstractAsyncContextManager[None]]


def mounts(catalog: Catalog, served: tuple[str, ...]) -> Mounts:
    """Return the mounts for Streamable HTTP and SSE.

    The application checks hosts and origins before them, because it knows the addresses of this
    machine; the library's own list is off.

    Args:
        catalog: The projects; this process runs their jobs.
        served: Folders that calls refer to when they name no project.
    """
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it logs session ids
    server = make_server(catalog, served=served, is_runner=True)
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    apps = McpApps(server, security, sse_path=_SSE)

    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        async with apps.lifespan():
            yield

    return Mounts((_mount(_STREAMABLE, apps.streamable), _mount(_SSE, apps.sse)), lifespan)


def _mount(path: str, app: App) -> ASGIRouteHandler:
    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    return asgi(path, is_mount=True, copy_scope=True)(handler)
