"""Forms of pages: what a browser sends without a script.

The shield lets a form through only when the browser says that a page of this server sent it.

What a form asks for is done and leads to where that is seen, or a page says what was wrong.
"""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from litestar import Request, Response

from engine.errors import EngineError, InvalidInputError
from web.api.executors import Lane
from web.api.service import Service
from web.errors import outcome_of
from web.pages.rendering import Visit, page, redirect

_MOST_FIELDS = 20


async def form_of(request: Request[Any, Any, Any]) -> dict[str, str]:
    """Give the fields of a form.

    Raises:
        InvalidInputError: It cannot be read, or has a field twice.
    """
    body = await request.body()
    try:
        fields = await asyncio.to_thread(_fields_in, body)
    except ValueError as error:
        raise InvalidInputError("the form cannot be read", field="body") from error
    twice = [name for name, values in fields.items() if len(values) > 1]
    if twice:
        raise InvalidInputError("a field is given twice", field=twice[0])
    return {name: values[0] for name, values in fields.items()}


def _fields_in(body: bytes) -> dict[str, list[str]]:
    return parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)


_AT_THE_BOX = {"HX-Retarget": "#problem", "HX-Reswap": "outerHTML"}


async def acted(
    service: Service,
    act: Callable[[], str],
    show: Callable[[EngineError], bytes],
    *,
    lane: Lane | None = None,
) -> Response[bytes]:
    """Do something and lead to the address that it gives; what it raises is shown.

    Args:
        service: In whose threads.
        act: What is done.
        show: Makes the page that says what was wrong.
        lane: The threads for what is done; None for those of what ends soon.
    """
    try:
        return redirect(await (lane or service.lanes.work).run(act))
    except EngineError as error:
        told = error
    return page(await service.work(lambda: show(told)), status=outcome_of(told).http_status)


def problem(body: bytes, visit: Visit, error: EngineError) -> Response[bytes]:
    """Answer with what is wrong with a question: htmx puts it to the box, what was found stays."""
    headers = _AT_THE_BOX if visit.is_fragment else {}
    return page(body, status=outcome_of(error).http_status, headers=headers)
