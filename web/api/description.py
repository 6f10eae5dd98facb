"""The description of the API for programs: OpenAPI, as JSON and as YAML, and no page from a CDN."""

import json
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from litestar import Litestar, Request, Response, Router, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.routes import BaseRoute
from litestar.types import ControllerRouterHandler

from web.api.examples import add_examples
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
    return Response(_described(request.app).as_json, media_type=_JSON)


@get("/openapi.yaml", include_in_schema=False, sync_to_thread=True)
def openapi_yaml(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Give the description as YAML."""
    return Response(_described(request.app).as_yaml, media_type=_YAML)


class _Described(NamedTuple):
    as_json: bytes
    as_yaml: bytes


@lru_cache(maxsize=4)
def _described(app: Litestar) -> _Described:
    """Describe an application, which takes a good part of a second, once."""
    found = json.loads(msgspec.json.encode(app.openapi_schema.to_schema()))
    add_examples(found)
    return _Described(json.dumps(found).encode(), msgspec.yaml.encode(found))


HANDLERS = (openapi_json, openapi_yaml)
