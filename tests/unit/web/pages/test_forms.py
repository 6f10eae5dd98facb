"""Forms are parsed outside the event loop: four megabytes would block it for a second."""

import asyncio
from typing import Any

from litestar import Request, post
from litestar.testing import create_test_client

from web.pages.forms import read_form
from web.security.middleware import MOST_BYTES_OF_AGENTS

_LONGEST = b"text=" + b"%41" * (MOST_BYTES_OF_AGENTS // 3 - 2)


@post("/", request_max_body_size=MOST_BYTES_OF_AGENTS)
async def _count_turns(request: Request[Any, Any, Any]) -> int:
    """Read a form, and return how often other tasks ran meanwhile."""
    await request.body()
    turns = 0
    reading = asyncio.ensure_future(read_form(request))
    while not reading.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert reading.result() == {"text": "A" * _LONGEST.count(b"%")}
    return turns


def test_others_are_answered_while_a_long_form_is_read() -> None:
    with create_test_client([_count_turns]) as client:
        answer = client.post("/", content=_LONGEST)
    assert int(answer.text) > 3  # one or two when the loop reads it
