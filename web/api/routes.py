"""The routes of the JSON API with their shared guard, error answers and OPTIONS handlers."""

from collections.abc import Iterable
from copy import copy

from litestar import Response, Router, route
from litestar.handlers import HTTPRouteHandler

from web.api import (
    contexts,
    doctor,
    events,
    files,
    health,
    history,
    jobs,
    memories,
    projects,
    references,
    relations,
    research,
    search,
    settings,
    symbols,
)
from web.api.requests import RESPONSES, refuse_unknown_parameters
from web.api.shapes import RecordResponse

#: The modules with ``HANDLERS``; add a new resource here.
RESOURCES = (
    projects,
    contexts,
    search,
    research,
    symbols,
    references,
    relations,
    files,
    history,
    memories,
    doctor,
    jobs,
    events,
    settings,
    health,
)


def api_router() -> Router:
    """Return all routes below ``/api/v1``."""
    handlers = [handler for resource in RESOURCES for handler in resource.HANDLERS]
    return Router(
        "/api/v1",
        route_handlers=[*_answers_to_options(handlers), *map(with_errors, handlers)],
        guards=[refuse_unknown_parameters],
        response_class=RecordResponse,
    )


def with_errors(handler: HTTPRouteHandler) -> HTTPRouteHandler:
    """Return a copy of a handler that documents the common error answers too."""
    described = copy(handler)
    described.responses = {**RESPONSES, **(handler.responses or {})}
    return described


def _answers_to_options(handlers: Iterable[HTTPRouteHandler]) -> list[HTTPRouteHandler]:
    """Return OPTIONS handlers; the framework's own name only the methods of the first handler."""
    methods: dict[str, set[str]] = {}
    for handler in handlers:
        for path in handler.paths:
            methods.setdefault(path, {"OPTIONS"}).update(handler.http_methods)
    return [_answer_to_options(path, ", ".join(sorted(each))) for path, each in methods.items()]


def _answer_to_options(path: str, allowed: str) -> HTTPRouteHandler:
    @route(path, http_method="OPTIONS", status_code=204, include_in_schema=False)
    async def options() -> Response[None]:
        return Response(None, headers={"Allow": allowed})

    return options
