"""Forms of pages: what a browser sends without a script.

The shield lets a form through only when the browser says that a page of this server sent it.
"""

import asyncio
from typing import Any
from urllib.parse import parse_qs

from litestar import Request

from engine.errors import InvalidInputError

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
