"""Forms of pages, and static files: what passes the middleware, and from where."""

import asyncio
from typing import Any

import httpx
import pytest
from litestar.types import Receive, Scope, Send

from engine.config import Secret
from web.errors import Refusal
from web.security.middleware import Logs, SecurityMiddleware
from web.security.server_settings import ServerSettings

PORT = 7331
OWN = f"http://127.0.0.1:{PORT}"
EVIL = "http://evil.example"
TOKEN = "a-token-of-some-length"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def _application(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"taken", "more_body": False})


def _ask(method: str, path: str, *, token: str = "", **request: Any) -> httpx.Response:
    settings = ServerSettings(host="127.0.0.1", port=PORT, token=Secret(token))
    logs = Logs(request=lambda *_, **__: None, failure=lambda _: None)

    def page_of(_scope: Scope, refusal: Refusal) -> bytes:
        return f"<p>{refusal.status}</p>".encode()

    async def ask() -> httpx.Response:
        middleware = SecurityMiddleware(_application, settings, logs, page_of=page_of)
        transport = httpx.ASGITransport(middleware, client=("127.0.0.1", 4711))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
            return await client.request(method, path, **request)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("origin", "site", "status"),
    [
        (OWN, "same-origin", 200),
        (OWN, None, 200),  # over plain HTTP, browsers tell the site to this machine alone
        ("null", "same-origin", 200),  # a browser that hides origins
        ("null", "cross-site", 403),  # a sandboxed frame elsewhere
        ("null", "same-site", 403),
        ("null", "none", 403),
        ("null", None, 403),
        (None, "same-origin", 200),
        (None, None, 403),  # nothing says that it is a page of this server
        (None, "none", 403),
        (None, "cross-site", 403),
        (EVIL, None, 403),
        (EVIL, "same-origin", 403),
        (EVIL, "cross-site", 403),
        (OWN, "cross-site", 403),
    ],
)
@pytest.mark.parametrize("path", ["/", "/theme", "/jobs/x/cancel"])
def test_forms_are_taken_from_pages_of_this_server_only(
    path: str, origin: str | None, site: str | None, status: int
) -> None:
    said = {"Origin": origin, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    headers = {**FORM, **{name: value for name, value in said.items() if value}}
    assert _ask("POST", path, content=b"path=/tmp", headers=headers).status_code == status


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/x-www-form-urlencoded", 200),
        ("application/x-www-form-urlencoded; charset=UTF-8", 200),
        ("multipart/form-data; boundary=x", 415),
        ("text/plain", 415),
        ("application/json", 415),
        ("", 415),
    ],
)
def test_a_form_is_said_to_be_one(content_type: str, status: int) -> None:
    headers = {"Origin": OWN, "Content-Type": content_type}
    assert _ask("POST", "/", content=b"path=x", headers=headers).status_code == status


def test_the_api_takes_no_form_from_anybody() -> None:
    own = {"Origin": OWN, "Sec-Fetch-Site": "same-origin", **FORM}
    assert _ask("POST", "/api/v1/search", content=b"query=x", headers=own).status_code == 415
    hidden = {**own, "Origin": "null", "Content-Type": "application/json"}
    assert _ask("POST", "/api/v1/search", content=b"{}", headers=hidden).status_code == 403


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/static/app.css", 200),
        ("/", 401),
        ("/static/", 401),
        ("/static/..", 401),
        ("/static/a/../../api/v1/projects", 401),
        ("/static/app.css/x", 401),
    ],
)
def test_static_files_alone_need_no_token(path: str, status: int) -> None:
    assert _ask("GET", path, token=TOKEN).status_code == status
    assert _ask("POST", "/static/app.css", token=TOKEN, headers={"Origin": OWN}).status_code == 401


def test_browsers_are_refused_with_a_page_and_programs_with_json() -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    page = _ask("GET", "/", token=TOKEN, headers=browser)
    assert (page.status_code, page.text) == (401, "<p>401</p>")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for path, headers in (("/", {}), ("/api/v1/jobs", browser), ("/mcp", browser)):
        answer = _ask("GET", path, token=TOKEN, headers=headers)
        assert answer.json()["error"] == "unauthorized"
