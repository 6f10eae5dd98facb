"""A server that has answered very many requests of all kinds holds what it held after the first."""

import http.client
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self
from urllib.parse import quote

import pytest

from engine.roots import project_id_of
from tests.support.agents import AgentSession
from tests.support.command import Command
from tests.support.footprint import Footprint, footprint_of
from tests.support.pages import PATIENT, index_folder
from tests.support.patience import patience
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree

_CLIENTS = 4
_WARM = 2_000  # requests after which caches, pools and imports are there
_MOST_MB = 50.0
_MOST_MORE = 8  # threads, and descriptors: pools fill up, none of them without an end
_CALLS_A_SESSION = 40
_FILES = 120
_WORDS = ("session", "open session", "route handler", "Server", "close", "/def \\w+/", "lang:go")
_BAD = ("lang:nothing x", "/(/", "kind:nothing x", "path:[ x")


@pytest.fixture
def trees(tmp_path: Path) -> list[Path]:
    """Three projects: a sample, one of generated files, and one that changes."""
    many = {f"part{n % 7}/m{n}.py": _module(n, 0) for n in range(_FILES)}
    made = {"sample": SAMPLE, "many": many, "changing": {"a.py": _module(1, 0), **SAMPLE}}
    return [write_tree(tmp_path / name, files) for name, files in made.items()]


@pytest.fixture
def server(tmp_path: Path, trees: list[Path]) -> Iterator[Server]:
    command = Command(
        home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1", **PATIENT}
    )
    with serving(command, "--no-watch") as server, server.client() as client:
        for tree in trees:
            index_folder(client, tree)
        yield server
    assert not (command.home / "logs" / "cairn.log").exists()


def _module(number: int, version: int) -> str:
    return "".join(
        f"def handle_{number}_{each}(session):\n    return session + {version + each}\n\n\n"
        for each in range(12)
    )


class _Client:
    """One who asks at random: pages, the API, tools and resources; what is right and what is not.

    Args:
        server: Who is asked.
        trees: The projects.
        seed: What makes it this one.
    """

    def __init__(self, server: Server, trees: list[Path], seed: int) -> None:
        self._server, self._trees, self._seed = server, trees, seed
        self._draw = random.Random(seed)
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=patience(60)
        )
        self._agent, self._calls = AgentSession(server.url), 0
        self._kinds = ((self._page, 40), (self._api, 35), (self._tool, 20), (self._resource, 4),
                       (self._change, 0.3), (self._stream, 0.7))  # fmt: skip
        self.statuses = Counter[str]()

    def run(self, number: int) -> None:
        """Send so many requests."""
        kinds, weights = zip(*self._kinds, strict=True)
        for kind in self._draw.choices(kinds, weights, k=number):
            kind()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._agent.end()
        self._connection.close()

    def _ask(self, path: str, body: object = None, *, method: str = "", bad: bool = False) -> None:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        method = method or ("POST" if body is not None else "GET")
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        self.statuses[f"{path.split('/')[1] or 'page'} {answer.status}"] += 1
        wanted = range(400, 405) if bad else (200, 303)
        assert answer.status in wanted, (method, path, answer.status, text[:500])

    def _project(self) -> tuple[str, str]:
        """Choose a project and a file of it; what changes has no file that is sure to be there."""
        tree = self._draw.choice(self._trees)
        if tree.name == "many":
            number = self._draw.randrange(_FILES)
            return project_id_of(str(tree)), f"part{number % 7}/m{number}.py"
        return project_id_of(str(tree)), self._draw.choice(sorted(SAMPLE))

    def _page(self) -> None:
        project, path = self._project()
        if self._draw.random() < 0.1:
            self._ask(f"/search?q={quote(self._draw.choice(_BAD))}", bad=True)
            return
        word = quote(self._draw.choice(_WORDS))
        self._ask(
            self._draw.choice(
                [
                    "/",
                    "/status",
                    "/jobs",
                    f"/search?q={word}",
                    f"/search?q={word}&mode=meaning",
                    f"/search/suggest?q={word[:4]}",
                    f"/find?q={path[:3]}",
                    f"/p/{project}",
                    f"/p/{project}/f/{path}",
                    f"/p/{project}/tree",
                    f"/p/{project}/symbols",
                    f"/p/{project}/memories",
                    f"/p/{project}/doctor",
                    f"/p/{project}/map",
                ]
            )
        )

    def _api(self) -> None:
        project, path = self._project()
        if self._draw.random() < 0.15:
            self._ask(f"/api/v1/search?query={quote(self._draw.choice(_BAD))}", bad=True)
            self._ask(f"/api/v1/projects/{project}/content?path=../{path}", bad=True)
            return
        base = f"/api/v1/projects/{project}"
        query = quote(self._draw.choice(_WORDS))
        asked = self._draw.choice(
            [
                f"/api/v1/search?query={query}&limit=20",
                f"/api/v1/symbols?name=handle_{self._draw.randrange(_FILES)}",
                "/api/v1/projects",
                "/api/v1/jobs",
                base,
                f"{base}/files",
                f"{base}/skips",
                f"{base}/content?path={path}",
                f"{base}/outline?path={path}",
                "/health",
                "/metrics",
            ]
        )
        self._ask(asked)

    def _tool(self) -> None:
        tree = self._draw.choice(self._trees)
        asked: dict[str, dict[str, object]] = {
            "search_code": {"query": self._draw.choice(_WORDS), "project_path": str(tree)},
            "find_symbol": {"name": "open_session", "project_path": str(tree)},
            "checkpoint_list": {"project_path": str(tree), "limit": 5},
            "list_projects": {},
        }
        tool = self._draw.choice(list(asked))
        told = self._agent.call(tool, **asked[tool])
        assert not told.get("isError"), told
        self._count_call("tool")

    def _resource(self) -> None:
        tree = quote(str(self._draw.choice(self._trees)))
        kind = self._draw.choice(["symbols://list", "symbols://stats", "logs://list"])
        told = self._agent.ask("resources/read", uri=f"{kind}?project={tree}")
        assert told["result"]["contents"], told
        self._count_call("resource")

    def _count_call(self, kind: str) -> None:
        self.statuses[kind] += 1
        self._calls += 1
        if self._calls % _CALLS_A_SESSION == 0:  # a session may also be left without a word
            if self._draw.random() < 0.9:
                self._agent.end()
            else:
                self._agent.leave()
            self._agent = AgentSession(self._server.url)

    def _change(self) -> None:
        tree = self._trees[-1]
        version = self._draw.randrange(1 << 30)
        (tree / f"new{self._seed}_{version % 5}.py").write_text(_module(version, version))
        self._connection.request(
            "POST",
            "/api/v1/projects",
            json.dumps({"path": str(tree)}),
            {"Content-Type": "application/json"},
        )
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status in (200, 202, 409), answer.status  # others may ask for the same
        self.statuses[f"change {answer.status}"] += 1

    def _stream(self) -> None:
        """Listen to events, and hang up."""
        listener = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=patience(20))
        listener.request("GET", "/api/v1/events", headers={"Accept": "text/event-stream"})
        with listener.getresponse() as answer:
            status = answer.status
        listener.close()
        assert status in (200, 429)
        self.statuses[f"stream {status}"] += 1


def _ask_all(server: Server, trees: list[Path], number: int, seed: int) -> Counter[str]:
    def ask(client_seed: int) -> Counter[str]:
        with _Client(server, trees, client_seed) as client:
            client.run(number // _CLIENTS)
        return client.statuses

    with ThreadPoolExecutor(_CLIENTS) as pool:
        return sum(pool.map(ask, range(seed, seed + _CLIENTS)), Counter[str]())


def _settled(server: Server) -> Footprint:
    """Measure when connections have ended: twice the same, or after a while."""
    now = footprint_of(server.process.pid)
    for _ in range(10):
        before = now
        time.sleep(0.5)
        now = footprint_of(server.process.pid)
        if now[1:] == before[1:]:
            break
    return now


def _compare(server: Server, trees: list[Path], number: int) -> str:
    _ask_all(server, trees, _WARM, 1)
    first = _settled(server)
    began_s = time.monotonic()
    statuses = _ask_all(server, trees, number, 100)
    took_s = time.monotonic() - began_s
    last = _settled(server)
    patient_until_s = time.monotonic() + patience(5)
    while time.monotonic() < patient_until_s and (
        last.threads - first.threads > _MOST_MORE
        or last.descriptors - first.descriptors > _MOST_MORE
    ):  # connections of the clients may still be open
        last = _settled(server)
    told = (
        f"{statuses.total():,} requests of {len(statuses)} kinds in {took_s:.0f} s:"
        f" {first} before, {last} after"
    )
    assert last.resident_mb - first.resident_mb < _MOST_MB, told
    assert last.threads - first.threads <= _MOST_MORE, told
    assert last.descriptors - first.descriptors <= _MOST_MORE, told
    return told


def test_two_thousand_requests(server: Server, trees: list[Path]) -> None:
    print(_compare(server, trees, 2_000))


@pytest.mark.soak
def test_fifty_thousand_requests(
    server: Server, trees: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    told = _compare(server, trees, 50_000)
    with capsys.disabled():
        print(f"\n{told}")
