"""Messages that are none, over each transport: a right refusal each, and a good call after it."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.jobs import until
from tests.support.mcp_clients import INITIALIZE, INITIALIZED, open_sessions, raw_stdio, site
from tests.support.patience import ANSWER_S, patience

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
CODES = {PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
GOOD = b'{"jsonrpc":"2.0","id":77,"method":"ping"}'
CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":%s}'

CASES: list[tuple[bytes, int]] = [
    (b"{", PARSE_ERROR),
    (b"nonsense", PARSE_ERROR),
    (b"\xff\xfe\x00", PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xc3\x28"}', PARSE_ERROR),
    (b"[" * 100_000, PARSE_ERROR),
    (b'{"a":' * 100_000, PARSE_ERROR),
    (GOOD[:-1], PARSE_ERROR),
    (GOOD + GOOD, PARSE_ERROR),
    (b"[]", INVALID_REQUEST),
    (b"[" + GOOD + b"," + GOOD + b"]", INVALID_REQUEST),
    (b"null", INVALID_REQUEST),
    (b"5", INVALID_REQUEST),
    (b'"text"', INVALID_REQUEST),
    (b"{}", INVALID_REQUEST),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', INVALID_REQUEST),
    (b'{"id":1,"method":"ping"}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":5}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', INVALID_REQUEST),
    (CALL % b'{"name":"search_code","arguments":{"query":"\\ud800"}}', INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":"nope"}', METHOD_NOT_FOUND),
    (b'{"jsonrpc":"2.0","id":1,"method":""}', METHOD_NOT_FOUND),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call\\u0000"}', METHOD_NOT_FOUND),
    (CALL % b"{}", INVALID_PARAMS),
    (CALL % b'{"name":5}', INVALID_PARAMS),
    (CALL % b'{"name":"search_code","arguments":[]}', INVALID_PARAMS),
    (CALL % b'{"name":"no_such_tool"}', INVALID_PARAMS),
    (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":5}}', INVALID_PARAMS),
    (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:y"}}', INVALID_PARAMS),
    (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', INVALID_PARAMS),
    (b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}', INVALID_PARAMS),
]


def test_stdio_refuses_each_and_goes_on(tmp_path: Path) -> None:
    with raw_stdio(tmp_path / "home", tmp_path) as server:
        for line, code in CASES:
            server.send(line)
            answer = server.receive()
            assert answer["error"]["code"] == code, line[:100]
            server.send(GOOD)
            assert server.receive() == {"jsonrpc": "2.0", "id": 77, "result": {}}
        assert server.close() == (0, b"")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A site with nothing indexed."""
    with site(tmp_path_factory.mktemp("malformed") / "home", idle_s=patience(45)) as address:
        yield address


NOISE = [b'"', b"{", b"\xed\xa0\x80", b"1e999", b"null", b"\\u0000"]


class Session:
    """A session of Streamable HTTP, by hand."""

    def __init__(self, address: str) -> None:
        self.url = f"{address}/mcp"
        begun = httpx.post(self.url, headers=JSON, json=INITIALIZE, timeout=ANSWER_S)
        self.headers = {**JSON, "mcp-session-id": begun.headers["mcp-session-id"]}
        self.post(json.dumps(INITIALIZED).encode())

    def post(self, body: bytes, **headers: str) -> httpx.Response:
        """Send a body."""
        return httpx.post(
            self.url, headers={**self.headers, **headers}, content=body, timeout=patience(20)
        )

    def works(self) -> bool:
        """Say whether a good call is answered."""
        return '"id":77,"result":{}' in self.post(GOOD).text

    def end(self) -> None:
        """End it."""
        assert httpx.delete(self.url, headers=self.headers, timeout=ANSWER_S).status_code == 200


def code_of(answer: httpx.Response) -> int | None:
    """Give the code of the error that an answer holds, as JSON or as an event."""
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines()]
    for line in lines:
        if line.startswith("{"):
            error = json.loads(line).get("error")
            return error["code"] if error else None
    return None


def test_http_refuses_each_and_goes_on(address: str) -> None:
    session = Session(address)
    for body, code in CASES:
        answer = session.post(body)
        assert code_of(answer) == code, body[:100]
        assert answer.status_code in (200, 400)
        assert session.works()
    session.end()


@pytest.mark.parametrize(
    ("headers", "statuses"),
    [
        ({"mcp-session-id": "foreign"}, (404,)),
        ({"mcp-session-id": ""}, (400, 404)),
        ({"mcp-session-id": "x" * 5000}, (404,)),
        ({"mcp-protocol-version": "1999-01-01"}, (400,)),
        ({"mcp-protocol-version": "\x7f"}, (400,)),
        ({"accept": "text/html"}, (406,)),
        ({"accept": "application/json"}, (200, 406)),
        ({"content-type": "application/xml"}, (400, 415)),
        ({"content-encoding": "gzip"}, (200, 400, 415)),
    ],
    ids=str,
)
def test_http_refuses_wrong_headers(
    address: str, headers: dict[str, str], statuses: tuple[int, ...]
) -> None:
    session = Session(address)
    assert session.post(GOOD, **headers).status_code in statuses
    assert session.works()
    session.end()
    assert session.post(GOOD).status_code == 404


class Stream:
    """A session of an older client, by hand."""

    def __init__(self, address: str, lines: Iterator[str]) -> None:
        self._lines = lines
        self._url = address + self._told()
        assert self.post(json.dumps(INITIALIZE).encode()) == 202
        assert self.answer()["id"] == 1
        assert self.post(json.dumps(INITIALIZED).encode()) == 202

    def post(self, body: bytes) -> int:
        """Send a body; the status."""
        return httpx.post(self._url, headers=JSON, content=body, timeout=patience(20)).status_code

    def answer(self) -> dict[str, Any]:
        """Wait for the next answer."""
        found: dict[str, Any] = json.loads(self._told())
        return found

    def _told(self) -> str:
        line = next(line for line in self._lines if line.startswith("data: "))
        return line.removeprefix("data: ")


@contextmanager
def streaming(address: str) -> Iterator[Stream]:
    """Open a stream."""
    with (
        httpx.Client(timeout=patience(20)) as client,
        client.stream("GET", f"{address}/sse") as answer,
    ):
        yield Stream(address, answer.iter_lines())


def test_sse_refuses_each_and_goes_on(address: str) -> None:
    with streaming(address) as stream:
        for body, code in CASES:
            status = stream.post(body)
            if code in (PARSE_ERROR, INVALID_REQUEST):
                assert status == 400, body[:100]
            else:
                assert status == 202
                assert stream.answer()["error"]["code"] == code
            assert stream.post(GOOD) == 202
            assert stream.answer() == {"jsonrpc": "2.0", "id": 77, "result": {}}


def test_streams_that_break_off_leave_nothing(tmp_path: Path) -> None:
    with site(tmp_path / "home", idle_s=30.0) as address:
        for _ in range(10):
            session = Session(address)
            with (
                httpx.Client(timeout=ANSWER_S) as client,
                client.stream(
                    "GET", session.url, headers={**session.headers, "accept": "text/event-stream"}
                ) as stream,
            ):
                assert stream.status_code == 200
            with (
                httpx.Client(timeout=ANSWER_S) as client,
                client.stream("GET", f"{address}/sse") as stream,
            ):
                assert stream.status_code == 200
        until(lambda: open_sessions(address) == {"streamable": 0, "sse": 0}, within_s=60)
        assert Session(address).works()


def _mangled(source: random.Random) -> bytes:
    """Give a message with something wrong, or a piece of one, or noise."""
    body = bytearray(source.choice([case for case, _ in CASES if len(case) < 1000] + [GOOD]))
    for _ in range(source.randint(1, 4)):
        place = source.randrange(len(body) + 1)
        kind = source.randrange(3)
        if kind == 0:
            del body[place : place + source.randint(1, 6)]
        elif kind == 1:
            body[place:place] = source.choice(
                [b'"', b"{", b"\xed\xa0\x80", b"1e999", b"null", b"\\u0000"]
            )
        else:
            body[place : place + 1] = bytes([source.randrange(256)])
    return bytes(body).replace(b"\n", b" ").replace(b"\r", b" ")


@pytest.mark.parametrize("number", [pytest.param(40), pytest.param(500, marks=pytest.mark.soak)])
def test_mangled_messages_are_survived(tmp_path: Path, address: str, number: int) -> None:
    source = random.Random(20_251_122)
    refused = 0
    with raw_stdio(tmp_path / "home", tmp_path) as server, streaming(address) as stream:
        session = Session(address)
        for _ in range(number):
            body = _mangled(source)
            answer = session.post(body)
            assert answer.status_code in (200, 202, 400, 404), body
            code = code_of(answer)
            assert code is None or code in CODES, body
            refused += code is not None
            assert session.works()
            server.send(body)
            server.send(GOOD)
            _until_good(server.receive, body)
            assert stream.post(body) in (202, 400), body
            assert stream.post(GOOD) == 202
            _until_good(stream.answer, body)
        session.end()
    until(lambda: open_sessions(address) == {"streamable": 0, "sse": 0}, within_s=60)
    print(f"{number} mangled messages over each of 3 transports: {refused} refused, all survived")


def _until_good(receive: Callable[[], dict[str, Any]], body: bytes) -> None:
    """Take answers until that of a good call; others are errors of the protocol."""
    while (told := receive()).get("id") != 77:
        assert "error" not in told or told["error"]["code"] in CODES, body
