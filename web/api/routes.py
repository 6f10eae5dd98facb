"""The routes of the JSON API, and what all of them share."""

from copy import copy

from litestar import Router
from litestar.handlers import HTTPRouteHandler

from web.api import doctor, events, files, jobs, memories, projects, search, symbols
from web.api.failures import RESPONSES
from web.api.requests import refuse_unknown_parameters

#: A resource is a module with ``HANDLERS``; a new one is added here.
RESOURCES = (projects, search, symbols, files, memories, doctor, jobs, events)


def api_router() -> Router:
    """Give all routes below ``/api/v1``."""
    handlers = [handler for resource in RESOURCES for handler in resource.HANDLERS]
    return Router(
        "/api/v1",
        route_handlers=[with_errors(handler) for handler in handlers],
        guards=[refuse_unknown_parameters],
    )


def with_errors(handler: HTTPRouteHandler) -> HTTPRouteHandler:
    """Give a handler whose description has the errors that any can answer with."""
    described = copy(handler)
    described.responses = {**RESPONSES, **(handler.responses or {})}
    return described
