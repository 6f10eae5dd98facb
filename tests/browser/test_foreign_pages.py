"""Pages of other sites, in a real browser: they read nothing here and change nothing."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.browser import browsing, visiting
from tests.support.server import Server

_NAME = "evil.example"
_REFUSALS = frozenset({400, 403, 421})
#: Whatever a page can send to a place that may not be its own; what it could read comes back.
_TRIES = """async ([base, folder]) => {
    const read = [];
    const body = JSON.stringify({path: folder});
    const form = new URLSearchParams({path: folder});
    const rpc = JSON.stringify({jsonrpc: "2.0", id: 1, method: "tools/list"});
    const tries = [
        ["/api/v1/projects", {}],
        ["/api/v1/search?query=session", {}],
        ["/api/v1/projects", {method: "POST", body, headers: {"Content-Type": "application/json"}}],
        ["/api/v1/projects", {method: "POST", body, headers: {"Content-Type": "text/plain"}}],
        ["/api/v1/projects", {method: "POST", body: form}],
        ["/", {method: "POST", body: form}],
        ["/mcp", {method: "POST", body: rpc, headers: {"Content-Type": "application/json"}}],
        ["/sse", {}],
        ["/api/v1/events", {}],
        ["/", {}],
    ];
    for (const [path, options] of tries) {
        for (const mode of ["cors", "no-cors"]) {
            try {
                const answer = await fetch(base + path, {...options, mode, credentials: "include"});
                read.push([path, answer.status, answer.type, await answer.text()]);
            } catch (error) {
                read.push([path, 0, "error", ""]);
            }
        }
    }
    const events = new EventSource(base + "/api/v1/events");
    await new Promise((done) => { events.onerror = events.onopen = done; });
    read.push(["EventSource", events.readyState === 1 ? 200 : 0, "events", ""]);
    events.close();
    return read;
}"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for which a foreign name leads to this machine, as after DNS rebinding."""
    with browsing(f"--host-resolver-rules=MAP {_NAME} 127.0.0.1") as browser:
        yield browser


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    """The port of another program's server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        yield other.server_port
        other.shutdown()
        thread.join()


def _state(server: Server) -> tuple[list[Any], int]:
    with server.client() as client:
        projects = client.get("/api/v1/projects").json()["projects"]
        jobs = client.get("/api/v1/jobs").json()["jobs"]
    return [each["path"] for each in projects], len(jobs)


def _attack(browser: Browser, address: str, server: Server, folder: Path) -> list[Any]:
    with visiting(browser, address, may_complain=True) as page:
        page.goto(address)
        found: list[Any] = page.evaluate(_TRIES, [server.url, str(folder)])
        return found


def test_a_name_that_was_bound_to_this_machine_is_refused(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    """The page and the server have one origin, so the browser lets the page read all answers."""
    before = _state(server)
    address = f"http://{_NAME}:{server.port}"
    with visiting(browser, address, may_complain=True) as page:
        arrived = page.goto(address)
        assert arrived is not None
        assert arrived.status in _REFUSALS
        found = page.evaluate(_TRIES, [address, str(tmp_path)])
    assert len(found) == 21
    for path, status, kind, text in found:
        assert kind in ("basic", "events"), path
        assert status in ({0} if kind == "events" else _REFUSALS), path
        assert str(before[0][0]) not in text
    assert _state(server) == before


@pytest.mark.parametrize("host", [_NAME, "127.0.0.1", "localhost"])
def test_a_page_of_another_site_reads_and_changes_nothing(
    browser: Browser, server: Server, elsewhere: int, host: str, tmp_path: Path
) -> None:
    before = _state(server)
    found = _attack(browser, f"http://{host}:{elsewhere}/", server, tmp_path)
    assert len(found) == 21
    for path, status, kind, text in found:
        assert kind in ("error", "opaque", "events"), path
        assert (status, text) == (0, ""), path
    assert _state(server) == before


@pytest.mark.parametrize(
    ("path", "encoding"),
    [
        ("/", "application/x-www-form-urlencoded"),
        ("/api/v1/projects", "application/x-www-form-urlencoded"),
        ("/api/v1/projects", "text/plain"),
        ("/mcp", "text/plain"),
    ],
)
def test_a_form_of_another_site_is_refused(
    browser: Browser, server: Server, elsewhere: int, path: str, encoding: str, tmp_path: Path
) -> None:
    before = _state(server)
    address = f"http://{_NAME}:{elsewhere}/"
    with visiting(browser, address, may_complain=True) as page:
        page.goto(address)
        with page.expect_navigation() as arrived:
            page.evaluate(
                """([action, enctype, folder]) => {
                    const form = document.createElement("form");
                    Object.assign(form, {action, enctype, method: "post"});
                    const field = document.createElement("input");
                    Object.assign(field, {name: "path", value: folder});
                    form.append(field);
                    document.body.append(form);
                    form.submit();
                }""",
                [server.url + path, encoding, str(tmp_path)],
            )
        assert arrived.value is not None
        assert arrived.value.status in _REFUSALS
    assert _state(server) == before


def test_a_form_of_this_server_tells_its_origin(browser: Browser, server: Server) -> None:
    """On another machine it is all that tells: over plain HTTP no Sec-Fetch-Site is sent there."""
    with visiting(browser, server.url) as page:
        page.goto("/")
        page.locator("#path").fill("/nowhere")
        with page.expect_request(lambda request: request.method == "POST") as sent:
            page.locator("#path").press("Enter")
        assert sent.value.all_headers()["origin"] == server.url
