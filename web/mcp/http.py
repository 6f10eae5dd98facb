"""The server over HTTP, as apps to be mounted: Streamable HTTP, and SSE for older clients.

The server for agents as a part of the application: two mounts, and the time they live in.
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
from web.mcp.jsonrpc import refusal_of
from web.mcp.server import CairnServer, make_server

#: A session without a request or an open stream for so long has lost its client.
IDLE_S = 45.0
_MOST_SESSIONS = 200
#: SSE streams at the same time; each is a session for as long as it is open.
MOST_STREAMS = 100
_MESSAGES = "/messages"
_PLAIN = "this is no message of a client"
#: How the library refuses a message of SSE, and how we say it.
_REFUSED = {
    400: "validation_error",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
}
_MOST_BYTES = DEFAULT_MAX_REQUEST_BODY_SIZE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def security_of(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Give the settings that let through what is meant for this server alone.

    Args:
        hosts: What a Host header may say, each with its port: ``127.0.0.1:7331``. No wildcards:
            the library's take ``localhost:80@evil``.
    """
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=list(hosts),
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )


class McpApps:
    """Two ASGI apps and the time in which they live.

    ``streamable`` answers at the root of its mount, ``sse`` at that of another one: GET there
    opens the stream, POST to ``/messages`` below it sends. Enter ``lifespan`` before either is
    called; it can be entered once.

    Args:
        server: What they serve.
        security: Who may call.
        idle_s: After how long without a request or a stream a session ends.
        sse_path: Where ``sse`` is mounted, which its clients are told.
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
        #: Whose messages are looked at; the library refuses others. None: those of all.
        self._hosts = (
            frozenset(host.encode() for host in security.allowed_hosts) if is_checked else None
        )
        self._sessions = StreamableHTTPSessionManager(
            self._server,
            security_settings=security,
            session_idle_timeout=idle_s,
            max_sessions=_MOST_SESSIONS,
        )
        self._streams = 0
        self._sse = SseServerTransport(f"{sse_path}{_MESSAGES}", security_settings=security)

    @asynccontextmanager
    async def lifespan(self, _app: Any = None) -> AsyncIterator[None]:
        """Serve sessions until left."""
        async with self._sessions.run():
            yield

    async def streamable(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of Streamable HTTP."""
        if _path_of(scope):
            await _refuse(send, nothing_here())
        else:
            await self._screened(self._sessions.handle_request, scope, receive, send)

    async def sse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a stream of an older client, or take a message of one."""
        path = _path_of(scope)
        if path == _MESSAGES:
            told = _one_shape(send)
            await self._screened(self._sse.handle_post_message, scope, receive, told)
        elif path or scope["method"] != "GET":
            await _refuse(send, nothing_here() if path else wrong_method())
        else:
            await self._stream(scope, receive, send)

    async def _screened(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is no message with an error; the library accepts some of it in silence."""
        headers = dict(scope["headers"])
        is_json = _is_json(scope["headers"])
        is_meant = self._hosts is None or headers.get(b"host") in self._hosts
        if scope["method"] != "POST" or not is_json or not is_meant:
            await app(scope, receive, send)  # which refuses what is not meant for it
            return
        body, received = await _read(receive)
        refusal = None if body is None else refusal_of(body)
        if refusal is None:
            await app(scope, _replayed(received, receive), send)
        else:
            await _respond(send, 400, refusal.as_json().encode())

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._streams >= MOST_STREAMS:
            raise Refusal("too_many_requests", f"{MOST_STREAMS} streams are open")
        self._streams += 1
        try:
            whole = {**scope, "root_path": ""}  # the transport would put it before its own path
            async with self._sse.connect_sse(whole, receive, send) as (reading, writing):
                options = self._server.create_initialization_options()
                await self._server.run(reading, writing, options)
        except ValueError:  # refused by the security settings, and answered already
            return
        finally:
            self._streams -= 1


def _path_of(scope: Scope) -> str:
    """Give the path below the mount, without a slash at its end."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")).rstrip("/")


async def _read(receive: Receive) -> tuple[bytes | None, deque[Message]]:
    """Read a body; None for one that is too large or ends early, which the library refuses."""
    received: deque[Message] = deque()
    pieces: list[bytes] = []
    while True:
        message = await receive()
        received.append(message)
        if message["type"] != "http.request":
            return None, received
        pieces.append(message.get("body", b""))
        if sum(map(len, pieces)) > _MOST_BYTES:
            return None, received
        if not message.get("more_body", False):
            return b"".join(pieces), received


def _replayed(received: deque[Message], receive: Receive) -> Receive:
    """Give what was received once more, then what follows."""

    async def again() -> Message:
        return received.popleft() if received else await receive()

    return again


def _one_shape(send: Send) -> Send:
    """Give a refusal of the library that is plain text the shape of all errors."""
    code = ""  # empty: it is passed on as it is
    pieces: list[bytes] = []

    async def shaping(message: Message) -> None:
        nonlocal code
        if message["type"] == "http.response.start":
            is_ours = _is_json(message.get("headers", ()))
            code = "" if is_ours else _REFUSED.get(message["status"], "")
        if not code:
            await send(message)
        elif message["type"] == "http.response.body":
            pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                said = b"".join(pieces).decode("utf-8", "replace")
                await _refuse(send, Refusal(code, said[:1].lower() + said[1:] or _PLAIN))

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


_STREAMABLE = "/mcp"
_SSE = "/sse"


class Mounted(NamedTuple):
    """What an application takes in."""

    handlers: tuple[ASGIRouteHandler, ...]
    lifespan: Callable[[Litestar], AbstractAsyncContextManager[None]]


def mounted(catalog: Catalog, served: tuple[str, ...]) -> Mounted:
    """Give the mounts for Streamable HTTP and for SSE.

    Hosts and origins are checked before them, by what stands in front of the whole application: it
    knows the addresses under which this machine is reached, so the library's own list is off.

    Args:
        catalog: The projects; the server sees to it that somebody runs their jobs.
        served: Folders that questions are about when they name no project.
    """
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells the ids of sessions
    server = make_server(catalog, served=served, is_runner=True)
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    apps = McpApps(server, security, sse_path=_SSE)

    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        async with apps.lifespan():
            yield

    return Mounted((_mount(_STREAMABLE, apps.streamable), _mount(_SSE, apps.sse)), lifespan)


def _mount(path: str, app: App) -> ASGIRouteHandler:
    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)

    return asgi(path, is_mount=True, copy_scope=True)(handler)
