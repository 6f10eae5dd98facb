"""What stands before the application: hosts, origins, tokens, limits; asked in process."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from litestar.types import Receive, Scope, Send

from engine.config import Secret
from web.errors import Refusal
from web.security.access import MOST_A_SECOND, RateLimiter
from web.security.json_bodies import check_json
from web.security.middleware import Logs, SecurityMiddleware
from web.security.server_settings import ServerSettings

PORT = 7331
OWN = f"127.0.0.1:{PORT}"
TOKEN = "a-token-of-some-length"

HOSTS = {
    OWN: True,
    f"localhost:{PORT}": True,
    f"LOCALHOST:{PORT}": True,
    f"localhost.:{PORT}": True,
    f"[::1]:{PORT}": True,
    f"[0:0:0:0:0:0:0:1]:{PORT}": True,
    "127.0.0.1": False,
    "127.0.0.1:80": False,
    f"evil.example:{PORT}": False,
    f"127.0.0.1:{PORT}@evil.example": False,
    f"127.0.0.1.evil.example:{PORT}": False,
    f"0.0.0.0:{PORT}": False,
    f"2130706433:{PORT}": False,
    "": False,
}
ORIGINS = {
    None: True,
    f"http://{OWN}": True,
    f"http://localhost:{PORT}": True,
    "null": False,
    "http://127.0.0.1": False,
    f"https://{OWN}": False,
    f"http://evil.example:{PORT}": False,
    f"http://{OWN}.evil.example": False,
}
REQUESTS: dict[str, dict[str, Any]] = {
    "get": {"method": "GET", "url": "/api/v1/projects"},
    "events": {"method": "GET", "url": "/api/v1/events"},
    "json": {"method": "POST", "url": "/api/v1/search", "json": {"query": "x"}},
    "form": {"method": "POST", "url": "/api/v1/search", "data": {"query": "x"}},
    "text": {
        "method": "POST",
        "url": "/api/v1/search",
        "content": b'{"query": "x"}',
        "headers": {"Content-Type": "text/plain"},
    },
    "mcp": {"method": "POST", "url": "/mcp", "json": {"jsonrpc": "2.0"}},
    "preflight": {"method": "OPTIONS", "url": "/api/v1/search"},
}
UNREAD = {"form", "text"}  # never taken in, whoever asks


async def _application(scope: Scope, receive: Receive, send: Send) -> None:
    body = (await receive())["body"] if scope["method"] == "POST" else b""  # type: ignore[typeddict-item]
    headers = [(b"access-control-allow-origin", b"*"), (b"server", b"x")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _typed(content_type: str) -> dict[str, str]:
    return {"Content-Type": content_type}


class Told:
    """Collects what the middleware logs."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.failures: list[BaseException] = []

    def request(self, type_: str, **fields: Any) -> None:
        """Hear of a request."""
        self.lines.append({"event": type_, **fields})


def _client(
    told: Told, app: Any = _application, address: str = "127.0.0.1", **settings: Any
) -> httpx.AsyncClient:
    logs = Logs(request=told.request, failure=told.failures.append)
    where = ServerSettings(**{"host": "127.0.0.1", "port": PORT, **settings})
    middleware = SecurityMiddleware(app, where, logs)
    transport = httpx.ASGITransport(middleware, client=(address, 4711))  # type: ignore[arg-type]
    return httpx.AsyncClient(transport=transport, base_url=f"http://{OWN}")


@pytest.fixture
def told() -> Iterator[Told]:
    """What was told of requests; a token is never part of it."""
    told = Told()
    yield told
    assert TOKEN not in json.dumps(told.lines)


def test_foreign_pages_cannot_use_it(told: Told) -> None:
    async def ask_all() -> int:
        number = 0
        async with _client(told) as client:
            for host, is_own_host in HOSTS.items():
                for origin, is_own_origin in ORIGINS.items():
                    for name, request in REQUESTS.items():
                        headers = {**request.get("headers", {}), "Host": host}
                        if origin is not None:
                            headers["Origin"] = origin
                        answer = await client.request(**{**request, "headers": headers})
                        is_fine = is_own_host and is_own_origin and name not in UNREAD
                        wanted = {200} if is_fine else {400, 403, 415, 421}
                        assert answer.status_code in wanted, (host, origin, name)
                        assert "access-control-allow-origin" not in answer.headers
                        assert answer.headers["x-content-type-options"] == "nosniff"
                        assert "server" not in answer.headers
                        number += 1
        return number

    number = asyncio.run(ask_all())
    print(f"{number} combinations")
    assert number == len(HOSTS) * len(ORIGINS) * len(REQUESTS) >= 12 * 8 * 7


@pytest.mark.parametrize(
    ("site", "mode", "method", "path", "status"),
    [
        ("same-origin", "cors", "POST", "/api/v1/search", 200),
        ("none", "navigate", "GET", "/", 200),
        ("cross-site", "navigate", "GET", "/", 200),
        ("cross-site", "navigate", "GET", "/api/v1/projects", 403),
        ("cross-site", "no-cors", "GET", "/", 403),
        ("same-site", "cors", "POST", "/api/v1/search", 403),
        ("cross-site", "navigate", "POST", "/", 403),
        ("", "", "POST", "/api/v1/search", 403),
    ],
)
def test_what_a_browser_says_of_the_page_counts(
    told: Told, site: str, mode: str, method: str, path: str, status: int
) -> None:
    async def ask() -> int:
        async with _client(told) as client:
            headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
            answer = await client.request(method, path, headers=headers)
            return answer.status_code

    assert asyncio.run(ask()) == status


def test_two_hosts_are_no_host(told: Told) -> None:
    async def ask() -> int:
        async with _client(told) as client:
            answer = await client.get("/", headers=[("Host", OWN), ("Host", OWN)])
            return answer.status_code

    assert asyncio.run(ask()) == 400


def test_every_address_of_the_machine_answers_to_that_which_was_asked(told: Told) -> None:
    async def ask() -> list[int]:
        async with _client(told, host="0.0.0.0", token=Secret(TOKEN)) as client:
            login = {"Authorization": f"Bearer {TOKEN}"}
            statuses = []
            for host in (OWN, f"192.0.2.7:{PORT}"):
                answer = await client.get("/", headers={**login, "Host": host})
                statuses.append(answer.status_code)
            return statuses

    assert asyncio.run(ask()) == [200, 421]


def test_a_token_is_wanted_and_becomes_a_cookie(told: Told) -> None:
    async def ask() -> None:
        async with _client(told, token=Secret(TOKEN)) as client:
            refused = await client.get("/health")
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert TOKEN not in refused.text
            for wrong in ("Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x"):
                answer = await client.get("/health", headers={"Authorization": wrong})
                assert answer.status_code == 401
            right = await client.get("/health", headers={"Authorization": f"bearer {TOKEN}"})
            assert right.status_code == 200
            assert (await client.get("/?token=wrong")).status_code == 401
            assert (await client.get(f"/health?token={TOKEN}")).status_code == 401
            login = await client.get(f"/?token={TOKEN}")
            assert (login.status_code, login.headers["location"]) == (303, "/")
            for asked, place in (
                (f"/search?q=a+%26&token={TOKEN}&sort=", "/search?q=a+%26&sort="),
                (f"//evil.example/a?token={TOKEN}", "/evil.example/a"),
                (f"/p/%5C%0D%0Aé?token={TOKEN}", "/p/%5C%0D%0A%C3%A9"),
            ):
                login = await client.get(f"http://{OWN}{asked}")
                assert (login.status_code, login.headers["location"]) == (303, place)
            cookie = login.headers["set-cookie"]
            assert TOKEN not in cookie
            assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in cookie.split(";")}
            assert (await client.get("/health")).status_code == 200  # the client keeps the cookie
            forged = {"Cookie": f"cairn_session_{PORT}={TOKEN}"}
            client.cookies.clear()
            assert (await client.get("/health", headers=forged)).status_code == 401

    asyncio.run(ask())


@pytest.mark.parametrize(
    "beside",
    [
        *('prefs={"theme":"dark"}', "a=b c", 'jwt=x"y', "flag", "name=J\xfcrgen", "=", "", "a=1"),
        f"cairn_session_{PORT}=of-an-older-token",
        f"cairn_session_{PORT + 1}=of-another-server",
    ],
)
def test_cookies_of_other_servers_of_the_host_do_not_hide_the_session(
    told: Told, beside: str
) -> None:
    async def ask() -> None:
        async with _client(told, token=Secret(TOKEN)) as client:
            login = await client.get(f"/?token={TOKEN}")
            ours = login.headers["set-cookie"].partition(";")[0]
            client.cookies.clear()
            for cookies in (f"{beside}; {ours}", f"{ours}; {beside}", f"{beside};{ours}"):
                header = [(b"Cookie", cookies.encode("latin-1"))]
                assert (await client.get("/health", headers=header)).status_code == 200
            for cookies in (beside, f"{beside}; x{ours}", f"{beside}; {ours}x"):
                header = [(b"Cookie", cookies.encode("latin-1"))]
                assert (await client.get("/health", headers=header)).status_code == 401

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"content": b'"' + b"a" * (1 << 20) + b'"'}, 413, "payload_too_large"),
        ({"headers": {"Content-Length": "-1"}, "content": b"{}"}, 400, "validation_error"),
        ({"headers": {"Content-Length": "9" * 30}, "content": b"{}"}, 400, "validation_error"),
        ({"headers": {"X-Long": "a" * 17_000}}, 431, "headers_too_large"),
        ({"params": {"q": "a" * 4100}}, 414, "uri_too_long"),
        ({"content": b"\xff\xfe"}, 400, "validation_error"),
        ({"content": b"[" * 65 + b"]" * 65}, 400, "validation_error"),
        ({"content": b"[" * 64 + b"]" * 64}, 200, None),
        ({"content": b'{"' + b"[" * 500 + b'": "' + b"{" * 500 + b'"}'}, 200, None),
        ({"content": b"{}", "headers": _typed("application/json; charset=utf-8")}, 200, None),
        (
            {"content": b"{}", "headers": _typed("application/json; charset=utf-16")},
            415,
            "unsupported_media_type",
        ),
    ],
)
def test_limits_of_a_request(
    told: Told, change: dict[str, Any], status: int, code: str | None
) -> None:
    async def ask() -> httpx.Response:
        async with _client(told) as client:
            headers = {"Content-Type": "application/json", **change.get("headers", {})}
            return await client.post("/api/v1/search", **{**change, "headers": headers})

    answer = asyncio.run(ask())
    assert answer.status_code == status
    if code:
        assert answer.json()["error"] == code


def test_a_body_in_pieces_has_the_same_limit(told: Told) -> None:
    async def pieces() -> Any:
        for _ in range(20):
            yield b"a" * 100_000

    async def ask(path: str) -> int:
        async with _client(told) as client:
            json_type = {"Content-Type": "application/json"}
            return (await client.post(path, content=pieces(), headers=json_type)).status_code

    assert asyncio.run(ask("/api/v1/search")) == 413
    assert asyncio.run(ask("/mcp")) == 200


def test_depth_is_counted_in_no_time() -> None:
    for body in (b'"' * 1_000_000, b'\\"' * 500_000, b'["\\' * 300_000, b"[]" * 500_000):
        with suppress(Refusal):
            check_json(body, [b"application/json"])
    with pytest.raises(Refusal):
        check_json(b"[" * 1_000_000, [b"application/json"])


def test_a_bucket_fills_again_and_headers_do_not_help(told: Told) -> None:
    now = [0.0]
    rates = RateLimiter(lambda: now[0])
    for _ in range(MOST_A_SECOND):
        rates.take("192.0.2.1")
    with pytest.raises(Refusal):
        rates.take("192.0.2.1")
    rates.take("192.0.2.2")
    now[0] = 1.0
    rates.take("192.0.2.1")

    async def ask(address: str) -> list[int]:
        async with _client(told, address=address) as client:
            return [
                (await client.get("/", headers={"X-Forwarded-For": f"10.0.0.{n}"})).status_code
                for n in range(200)
            ]

    assert 429 in asyncio.run(ask("192.0.2.1"))
    assert set(asyncio.run(ask("127.0.0.1"))) == {200}


def test_what_fails_is_told_and_not_shown(told: Told) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("a secret thing")

    async def ask() -> httpx.Response:
        async with _client(told, broken) as client:
            return await client.get("/")

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert "secret" not in answer.text
    assert [type(error) for error in told.failures] == [ValueError]
    assert told.lines[-1]["level"] == "error"
    assert told.lines[-1]["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/", "/api/v1/projects"])
def test_head_is_answered_as_get_without_the_body(told: Told, path: str) -> None:
    asked: list[str] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["method"])  # type: ignore[typeddict-item]
        headers = [(b"content-length", b"3")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for more in (True, False):
            await send({"type": "http.response.body", "body": b"abc", "more_body": more})

    async def ask() -> httpx.Response:
        async with _client(told, application) as client:
            return await client.head(path)

    answer = asyncio.run(ask())
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == "3"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert asked == ["GET"]
    assert told.lines[-1]["method"] == "HEAD"


@pytest.mark.parametrize(
    ("path", "allowed", "told_as"),
    [
        ("/", "GET", "GET, HEAD"),
        ("/", "OPTIONS, GET", "OPTIONS, GET, HEAD"),
        ("/", "GET, HEAD", "GET, HEAD"),
        ("/", "POST, OPTIONS", "POST, OPTIONS"),
        ("/mcp", "GET, POST", "GET, POST"),
    ],
)
def test_head_is_allowed_where_get_is(told: Told, path: str, allowed: str, told_as: str) -> None:
    asked: list[str] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["method"])  # type: ignore[typeddict-item]
        headers = [(b"allow", allowed.encode())]
        await send({"type": "http.response.start", "status": 405, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def ask() -> httpx.Response:
        async with _client(told, application) as client:
            return await client.head(path)

    assert asyncio.run(ask()).headers["allow"] == told_as
    assert asked == ["HEAD" if path == "/mcp" else "GET"]
