"""What a client asks is checked against its handler, and nothing of the request is kept."""

import gc

from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery
from litestar.testing import create_test_client

from web.api.requests import refuse_unknown_parameters


@get("/{name:str}", guards=[refuse_unknown_parameters])
async def _asked(name: FromPath[str], number: FromQuery[int] = 0) -> str:
    return f"{name} {number}"


def _handlers() -> int:
    gc.collect()
    return sum(isinstance(each, HTTPRouteHandler) for each in gc.get_objects())


def test_a_request_leaves_nothing_of_its_handler_behind() -> None:
    with create_test_client([_asked]) as client:
        assert client.get("/a?number=1").text == "a 1"
        before = _handlers()
        for _ in range(20):
            assert client.get("/a?number=1").status_code == 200
        assert _handlers() == before
        assert client.get("/a?none=1").status_code != 200
