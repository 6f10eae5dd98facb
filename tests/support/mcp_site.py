"""A site that serves agents over HTTP, as a process of its own: ``python -m`` with a port file.

It is the smallest that can be: the apps under test, mounted as the real one mounts them, and a page
that counts sessions.
"""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn
from litestar import Litestar, asgi, get

from engine.catalog import Catalog
from engine.config import load_config
from web.mcp.http import McpApps, security_of
from web.mcp.server import make_server


def main(port_file: str, idle_s: str, *served: str) -> None:
    """Serve until killed; the port stands in a file as soon as it answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with Catalog(load_config()) as catalog:
        catalog.jobs.run_here()
        server = make_server(catalog, served=served, is_runner=True)
        apps = McpApps(server, security_of([f"127.0.0.1:{port}"]), idle_s=float(idle_s))
        app = _app(apps)
        Path(port_file).with_suffix(".new").write_text(str(port))
        Path(port_file).with_suffix(".new").rename(port_file)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        asyncio.run(uvicorn.Server(config).serve([listener]))


def _app(apps: McpApps) -> Litestar:
    def mounted(path: str, app: Callable[..., Awaitable[None]]) -> Any:
        async def handler(scope: Any, receive: Any, send: Any) -> None:
            await app(scope, receive, send)

        return asgi(path, is_mount=True, copy_scope=True)(handler)

    @get("/sessions", sync_to_thread=False)
    def sessions() -> dict[str, int]:
        open_streams = len(apps._sse._read_stream_writers)
        return {"streamable": len(apps._sessions._server_instances), "sse": open_streams}

    handlers = [mounted("/mcp", apps.streamable), mounted("/sse", apps.sse), sessions]
    return Litestar(handlers, lifespan=[apps.lifespan], openapi_config=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
