"""Errors for people: the one error shape as a page, when a browser asks for one."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any

from litestar import Request, Response
from litestar.response import Stream
from litestar.types import Scope

from engine.errors import EngineError, IndexCorruptError
from engine.records import display_path
from web.api.service import Service
from web.errors import Refusal
from web.pages.rendering import Pages, name_of, page, project_path, visit_of
from web.security.shield import wants_page

_MOST_NAME = 60  # longer ones are ids
_MOST_ID = 12  # characters of an id that stand for a name
_WORD = re.compile(r"[^\W\d_]{3}")

Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def as_pages(
    handlers: Mapping[int | type[Exception], Handler], pages: Pages, service: Service
) -> dict[int | type[Exception], Handler]:
    """Give handlers of exceptions that answer browsers with a page, and others as before.

    Args:
        handlers: By what they handle.
        pages: Makes pages.
        service: Knows the projects, whose damage has a page of its own.
    """

    def shown(handler: Handler) -> Handler:
        def handle(request: Request[Any, Any, Any], error: Any) -> Response[Any]:
            answer = handler(request, error)
            if not wants_page(request.scope):
                return answer
            if isinstance(error, IndexCorruptError) and "project_id" in request.path_params:
                return _damage_page(pages, service, request, answer)
            body = _error_page(pages, request, answer.status_code or 500, answer.content)
            return page(body, status=answer.status_code or 500, headers=answer.headers)

        return handle

    return {kind: shown(handler) for kind, handler in handlers.items()}


def refusal_page(pages: Pages) -> Callable[[Scope, Refusal], bytes]:
    """Give what a shield shows to browsers that it refuses."""

    def show(scope: Scope, refusal: Refusal) -> bytes:
        return _error_page(pages, Request(scope), refusal.status, refusal.as_json())

    return show


def _error_page(
    pages: Pages, request: Request[Any, Any, Any], status: int, shape: Mapping[str, Any]
) -> bytes:
    is_missing = status == HTTPStatus.NOT_FOUND
    facts = {
        "status": status,
        "looked_for": _name_in(request.scope["path"]) if is_missing else "",
        "can_repeat": status >= HTTPStatus.INTERNAL_SERVER_ERROR and request.method == "GET",
        "title": HTTPStatus(status).phrase,
        "message": shape["message"],
        "hint": shape["details"].get("hint", ""),
        "is_open": status != HTTPStatus.UNAUTHORIZED,
    }
    return pages.html("error.html", visit_of(request), facts)


def _damage_page(
    pages: Pages, service: Service, request: Request[Any, Any, Any], answer: Response[Any]
) -> Response[Any]:
    """Say which index is damaged, and lead to its doctor; its name is read in another thread."""
    project_id = request.path_params["project_id"]
    status = answer.status_code or HTTPStatus.INTERNAL_SERVER_ERROR
    facts = {
        "status": status,
        "message": answer.content["message"],
        "can_repeat": request.method == "GET",
        "doctor": f"{project_path(project_id)}/doctor",
    }

    def made() -> bytes:
        name = _name_of_project(service, project_id)
        return pages.html("damaged.html", visit_of(request), {**facts, "name": name})

    async def body() -> AsyncIterator[bytes]:
        yield await service.work(made)

    return Stream(body(), status_code=status, media_type="text/html", headers=answer.headers)


def _name_of_project(service: Service, project_id: str) -> str:
    """Give what people call a project; the beginning of its id when nothing tells its folder."""
    try:
        return name_of(display_path(service.catalog.doctor_of_id(project_id).root))
    except EngineError:
        return project_id[:_MOST_ID]


def _name_in(path: str) -> str:
    """Give the name at the end of an address, to search for; empty when it says nothing."""
    name = path.rstrip("/").rpartition("/")[2]
    is_id = len(name) > _MOST_NAME or not _WORD.search(name)
    return "" if is_id else name
