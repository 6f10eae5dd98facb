"""Forms: reading them, performing their action, and answering with a redirect or an error page.

The server accepts a form only if the browser says that a page of this server sent it.
"""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from litestar import Request, Response

from engine.errors import EngineError, InvalidInputError
from web.api.executors import BoundedExecutor
from web.api.service import Service
from web.errors import outcome_of
from web.pages.rendering import PageRequest, page, redirect

_RETARGET_HEADERS = {"HX-Retarget": "#problem", "HX-Reswap": "outerHTML"}
_MAX_FIELDS = 20


async def read_form(
    request: Request[Any, Any, Any], *, max_fields: int = _MAX_FIELDS
) -> dict[str, str]:
    """Return the fields of a form.

    Args:
        request: The request.
        max_fields: More are refused.

    Raises:
        InvalidInputError: It cannot be parsed, or repeats a field.
    """
    body = await request.body()
    try:
        fields = await asyncio.to_thread(_parse_fields, body, max_fields)
    except ValueError as error:
        raise InvalidInputError("the form cannot be parsed", field="body") from error
    repeated = [name for name, values in fields.items() if len(values) > 1]
    if repeated:
        raise InvalidInputError("a field is given twice", field=repeated[0])
    return {name: values[0] for name, values in fields.items()}


def _parse_fields(body: bytes, max_fields: int) -> dict[str, list[str]]:
    return parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=max_fields)


async def perform(
    service: Service,
    act: Callable[[], str],
    show: Callable[[EngineError], bytes],
    *,
    lane: BoundedExecutor | None = None,
) -> Response[bytes]:
    """Perform an action and redirect to the address it returns, or render its error.

    Args:
        service: Its threads are used.
        act: The action.
        show: Renders the page for an error.
        lane: The executor of the action; None for the one of short work.
    """
    try:
        return redirect(await (lane or service.executors.work).run(act))
    except EngineError as error:
        raised = error
    return page(await service.work(lambda: show(raised)), status=outcome_of(raised).http_status)


def query_error_response(
    body: bytes, page_request: PageRequest, error: EngineError
) -> Response[bytes]:
    """Answer an invalid query; htmx shows the message at the box and keeps the last results."""
    headers = _RETARGET_HEADERS if page_request.is_fragment else {}
    return page(body, status=outcome_of(error).http_status, headers=headers)
