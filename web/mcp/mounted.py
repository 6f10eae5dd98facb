"""The server for agents as a part of the application: two mounts, and the time they live in."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

from litestar import Litestar, asgi
from litestar.handlers import ASGIRouteHandler
from mcp.server.transport_security import TransportSecuritySettings

from engine.catalog import Catalog
from web.mcp.http import App, McpApps
from web.mcp.server import make_server

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
