"""Errors for people: the one error shape as a page, when a browser asks for one."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from litestar import Request, Response
from litestar.types import Scope

from web.errors import Refusal
from web.pages.rendering import Pages, page, visit_of
from web.security.shield import wants_page

Handler = Callable[[Request[Any, Any, Any], Any], Response[Any]]


def as_pages(
    handlers: Mapping[int | type[Exception], Handler], pages: Pages
) -> dict[int | type[Exception], Handler]:
    """Give handlers of exceptions that answer browsers with a page, and others as before."""

    def shown(handler: Handler) -> Handler:
        def handle(request: Request[Any, Any, Any], error: Any) -> Response[Any]:
            answer = handler(request, error)
            if not wants_page(request.scope):
                return answer
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
    facts = {
        "status": status,
        "title": HTTPStatus(status).phrase,
        "message": shape["message"],
        "hint": shape["details"].get("hint", ""),
        "is_open": status != HTTPStatus.UNAUTHORIZED,
    }
    return pages.html("error.html", visit_of(request), facts)
