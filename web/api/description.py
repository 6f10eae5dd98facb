"""The description of the API for programs: OpenAPI, as JSON and as YAML, and no page from a CDN."""

import json
from functools import lru_cache
from typing import Any

import msgspec
from litestar import Litestar, Request, Response, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.routes import BaseRoute
from litestar.types import ControllerRouterHandler

from web.api.health import version

_JSON = "application/json"
_YAML = "application/yaml"


def openapi_config() -> OpenAPIConfig:
    """Give what the framework needs to describe the routes."""
    return OpenAPIConfig(
        title="CodeCairn",
        version=version(),
        summary="Local code search",
        description="Index folders, and find code in them by meaning, word, symbol and pattern."
        " Errors have one shape everywhere: `error`, `message` and `details`.",
        openapi_router=_NoPages("/openapi", route_handlers=[]),
        use_handler_docstrings=True,
        render_plugins=[JsonRenderPlugin()],
    )


class _NoPages(Router):
    """Takes none of the framework's own pages, of which one answers what is not there in HTML."""

    def register(self, value: ControllerRouterHandler) -> list[BaseRoute]:
        """Leave it out."""
        return []


@get("/openapi.json", include_in_schema=False, sync_to_thread=True)
def openapi_json(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Give the description as JSON."""
    return Response(json.dumps(_described(request.app)).encode(), media_type=_JSON)


@get("/openapi.yaml", include_in_schema=False, sync_to_thread=True)
def openapi_yaml(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Give the description as YAML."""
    return Response(msgspec.yaml.encode(_described(request.app)), media_type=_YAML)


@lru_cache(maxsize=4)
def _described(app: Litestar) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(app.openapi_schema.to_schema()))  # type: ignore[no-any-return]


HANDLERS = (openapi_json, openapi_yaml)
