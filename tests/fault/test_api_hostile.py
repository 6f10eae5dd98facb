"""Whatever is asked over HTTP ends in an answer or in a clear refusal, and never in a failure."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.support.agents import AgentSession
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.pages import index_folder
from tests.support.patience import ANSWER_S, patience
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree

_FAILURE = 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    command = Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server, folder: Path) -> Iterator[httpx.Client]:
    tree = write_tree(folder / "tree", SAMPLE)
    write_tree(folder, {"secret.txt": "canary-outside", "tree-sibling/a.py": "canary-outside"})
    (tree / "link.py").symlink_to(folder / "secret.txt")
    with server.client() as client:
        index_folder(client, tree)
        client.get("/api/v1/search", params={"query": "session"})  # what is kept is made
        yield client


@pytest.fixture(scope="module")
def project(client: httpx.Client) -> str:
    [project] = client.get("/api/v1/projects").json()["projects"]
    return f"/api/v1/projects/{project['project_id']}"


def _is_answer(answer: httpx.Response) -> None:
    assert answer.status_code < _FAILURE, answer.text
    told = answer.json()
    if answer.status_code >= 400:
        assert set(told) == {"error", "message", "details"}


_JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe{}",
        b'{"query": "\xc3\x28"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"query": "x", "limit": 1e999}',
        b'{"query": "x", "limit": 99999999999999999999}',
        b'{"query": "x", "query": "y", "limit": NaN}',
        b"\x00",
        b"{",
        b'"' + b"a" * 900_000,
    ],
    ids=range(10),
)
def test_no_body_is_a_failure(client: httpx.Client, body: bytes) -> None:
    for path in ("/api/v1/search", "/api/v1/projects"):
        answer = client.post(path, content=body, headers=_JSON)
        _is_answer(answer)
        assert answer.status_code in (400, 413)
    assert client.get("/health").status_code == 200


def _encodings() -> list[str]:
    """Give ways to write a path that leads out, more than two hundred of them."""
    targets = ["secret.txt", "../secret.txt", "tree-sibling/a.py", "etc/passwd"]
    ups = ["../", "..%2f", "%2e%2e/", "%2e%2e%2f", "%252e%252e%252f", "..%5c", "..\\", "....//"]
    ups += ["..;/", "%c0%ae%c0%ae/", "..%00/", "./../", "app/../../", "app/%2e%2e/%2e%2e/"]
    found = [up * depth + target for up in ups for depth in (1, 2, 5) for target in targets]
    found += ["/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "~/.ssh/id"]
    found += ["link.py", "link.py/", "/proc/self/environ", "\x00", "a\x00/../../secret.txt"]
    found += ["a/" * 2000 + "../" * 2000 + "x", "x" * 4000, "..", ".", "/", "\ud7ff", "%ff%fe"]
    found += [f"{'..' + chr(each)}secret.txt" for each in range(0x2024, 0x2036)]
    return list(dict.fromkeys(found))


def test_no_path_leads_out(client: httpx.Client, project: str) -> None:
    ways = _encodings()
    assert len(ways) >= 200
    for way in ways:
        for view in ("content", "raw", "outline"):
            for query in (f"path={way}", str(httpx.QueryParams({"path": way}))):
                url = httpx.URL(client.base_url.join(f"{project}/{view}"))
                raw = quote(query, safe="/%=&+;:~\\.")
                answer = client.get(url.copy_with(query=raw.encode()[:4200]))
                assert answer.status_code in (400, 403, 404, 414), (way, answer.text)
                _tells_nothing_from_outside(answer.text)


def test_why_says_nothing_of_what_is_outside(
    client: httpx.Client, project: str, folder: Path
) -> None:
    outside = [str(folder / "secret.txt"), "/etc/passwd", "../secret.txt", "app/../../secret.txt"]
    for way in [*outside, *_encodings()]:
        answer = client.get(f"{project}/why", params={"path": way[:4000]})
        assert answer.status_code in (200, 400, 404, 414), (way, answer.text)
        _tells_nothing_from_outside(answer.text)
        if way in outside:
            assert answer.status_code in (400, 404), (way, answer.text)


def test_no_resource_leads_out(server: Server, client: httpx.Client, folder: Path) -> None:
    agent = AgentSession(server.url)
    root = quote(str(folder / "tree"))
    number = 0
    for way in [
        *_encodings(),
        str(folder / "secret.txt"),
        str(folder / "home" / "locks" / "server.lock"),
    ]:
        for uri in (
            f"symbols://file/{way}?project={root}",
            f"project://{quote(way)}/structure?project={root}",
            f"logs://content?file={way}&project={root}",
            f"symbols://stats?project={quote(way)}",
        ):
            told = agent.ask("resources/read", uri=uri)
            assert "error" in told or way in _INSIDE, (uri, told)
            _tells_nothing_from_outside(json.dumps(told))
            number += 1
    agent.end()
    print(f"{number} resources")


#: What leads back in, or to nothing but the root.
_INSIDE = (".",)


def _tells_nothing_from_outside(text: str) -> None:
    assert "canary-outside" not in text
    assert "root:" not in text
    assert "boot_id" not in text


def _spoken(server: Server, *pieces: bytes, wait_s: float = 14.0, pause_s: float = 0.0) -> bytes:
    """Say pieces over a socket, and give what comes back until the other side closes."""
    address = ("127.0.0.1", server.port)
    with socket.create_connection(address, timeout=patience(wait_s)) as connection:
        heard = b""
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause_s)
            while part := connection.recv(65536):
                heard += part
        except (ConnectionError, BrokenPipeError):
            return heard
        return heard


def _head(server: Server, *lines: str, request: str = "POST /api/v1/search HTTP/1.1") -> bytes:
    host = f"Host: 127.0.0.1:{server.port}"
    return "\r\n".join([request, host, *lines, "", ""]).encode()


def test_a_slow_client_is_not_waited_for(server: Server, client: httpx.Client) -> None:
    started = time.monotonic()
    body = _head(server, "Content-Type: application/json", "Content-Length: 100")
    with ThreadPoolExecutor(4) as pool:
        half_a_head = pool.submit(_spoken, server, b"GET /health HTTP/1.1\r\nHost: ")
        nothing = pool.submit(_spoken, server)
        half_a_body = pool.submit(_spoken, server, body + b'{"query"')
        assert client.get("/health").status_code == 200
        assert half_a_head.result() == b""
        assert nothing.result() == b""
        assert half_a_body.result().startswith(b"HTTP/1.1 408 ")
    assert 5 < time.monotonic() - started < patience(14)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Content-Length: 99999999", "Content-Type: application/json"], b"413"),
        (["Content-Length: -1"], b"400"),
        (["Content-Length: 1", "Content-Length: 2"], b"400"),
        (["Transfer-Encoding: nonsense"], b"501"),
        (["X-Long: " + "a" * 20_000], b"431"),
        (["Broken"], b"400"),
    ],
    ids=range(6),
)
def test_a_broken_head_is_refused(server: Server, lines: list[str], status: bytes) -> None:
    heard = b""

    def is_heard() -> bool:  # who is slow may find the connection closed
        nonlocal heard
        heard = _spoken(server, _head(server, *lines))
        return heard != b""

    until(is_heard)
    assert heard.split(b" ")[1] in (status, b"400"), heard
    assert b"x-content-type-options: nosniff" in heard
    assert b'"error"' in heard


def test_chunks_without_end_are_cut_off(server: Server) -> None:
    head = _head(server, "Content-Type: application/json", "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"

    def is_cut_off() -> bool:
        heard = _spoken(server, head, *[chunk] * 20)
        assert not heard or heard.startswith(b"HTTP/1.1 413 ")
        return bool(heard)  # nothing if the client or the server stood still for 2 s

    until(is_cut_off)


def test_a_host_of_elsewhere_is_refused(server: Server) -> None:
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1"):
        answer = httpx.get(
            f"{server.url}/api/v1/projects", headers={"Host": host}, timeout=ANSWER_S
        )
        assert answer.status_code == 421
    forwarded = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
    assert httpx.get(f"{server.url}/health", headers=forwarded, timeout=ANSWER_S).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/openapi", 404),
        ("GET", "/openapi/", 404),
        ("GET", "/openapi/swagger", 404),
        ("GET", "/openapi/openapi.json", 404),
        ("GET", "/openapi/a/b", 404),
        ("POST", "/openapi/a", 404),
        ("POST", "/openapi.json", 405),
        ("GET", "/api", 404),
        ("GET", "/api/v1", 404),
        ("GET", "/api/v2/projects", 404),
        ("PUT", "/api/v1/projects", 405),
        ("TRACE", "/api/v1/projects", 405),
        ("BREW", "/api/v1/projects", 405),
        ("PATCH", "/health", 405),
        ("DELETE", "/", 403),  # as a form that no page of the server has sent
        ("GET", "/mcp/below", 404),
        ("POST", "/mcp/below", 404),
        ("GET", "/mcpx", 404),
        ("GET", "/ssex", 404),
        ("GET", "/sse/below", 404),
        ("POST", "/sse", 405),
        ("GET", "/sse/messages", 405),
        ("POST", "/sse/messages", 400),
        ("GET", "/messages", 404),
        ("GET", "/static/x.js", 404),
        ("GET", "/%2e%2e/x", 404),
    ],
)
def test_what_is_not_there_is_told_in_the_one_shape(
    client: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    told = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert (answer.status_code, set(told)) == (status, {"error", "message", "details"})
    codes = {400: "validation_error", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}
    assert told["error"] == codes[status]
    assert told["message"]
