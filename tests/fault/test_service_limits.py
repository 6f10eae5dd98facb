"""What many clients, slow and greedy ones, can take: a bounded share, and nothing from others."""

import os
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.support.command import Command
from tests.support.jobs import until
from tests.support.pages import index_folder
from tests.support.patience import ANSWER_S, patience
from tests.support.server import Server, serving
from tests.support.sockets import (
    connected,
    connections_of,
    head_of,
    resident_mb,
    status_of,
    statuses,
)
from tests.support.trees import SAMPLE, write_tree
from web.api.event_stream import MOST_STREAMS
from web.mcp.http import MOST_STREAMS as MOST_STREAMS_OF_AGENTS
from web.security.access import MOST_A_SECOND

_CLIENTS = 110
_FLAT_MB = 50.0
#: Below the 30 s after which a client that says nothing is dropped, also with `patience`.
_MOST_S = 2.0 if os.environ.get("HOLD_PROMISES") else 4.0
_LINES = 12_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("limits")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    large = "".join(f"value_{number} = {number}\n" for number in range(_LINES))
    tree = write_tree(folder / "tree", {**SAMPLE, "large.py": large})
    command = Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, tree)
        _check_it_answers(server)
        yield server
    assert not (command.home / "logs" / "cairn.log").exists()


def _check_it_answers(server: Server) -> None:
    with server.client() as client:
        for path in ("/health", "/api/v1/search?query=session", "/openapi.json"):
            started = time.monotonic()
            assert client.get(path).status_code == 200
            assert time.monotonic() - started < patience(_MOST_S)


def _check_memory(server: Server, before_mb: float, what: str) -> None:
    grown_mb = resident_mb(server.process.pid) - before_mb
    print(f"{what}: {grown_mb:+.0f} MB")
    assert grown_mb < _FLAT_MB


@pytest.mark.parametrize(
    ("path", "most"), [("/api/v1/events", MOST_STREAMS), ("/sse", MOST_STREAMS_OF_AGENTS)]
)
def test_a_hundred_streams_at_once_leave_room(server: Server, path: str, most: int) -> None:
    before_mb = resident_mb(server.process.pid)
    stream = head_of(server, f"GET {path}", "Accept: text/event-stream")

    def is_room_for_just_so_many() -> bool:
        with connected(server, _CLIENTS, stream) as clients:
            told = statuses(clients)
            _check_it_answers(server)
        assert told.keys() <= {200, 429}
        assert told[200] <= most
        return told[200] == most

    for _ in range(2):  # the second time as soon as those of the first are gone
        until(is_room_for_just_so_many)
    _check_memory(server, before_mb, f"2 times {_CLIENTS} streams of {path}")


def _bodies(server: Server) -> dict[bytes, set[int]]:
    """Give what is too large, said in several ways, and how it may be refused."""
    json_type = "Content-Type: application/json"
    large = b"a" * (6 << 20)
    found = {}
    for path in ("/api/v1/search", "/mcp", "/sse/messages?session_id=" + "0" * 32):
        whole = head_of(server, f"POST {path}", json_type, f"Content-Length: {len(large)}")
        chunked = head_of(server, f"POST {path}", json_type, "Transfer-Encoding: chunked")
        found[whole + large] = {413}
        found[chunked + b"%x\r\n" % len(large) + large + b"\r\n0\r\n\r\n"] = {413}
    return found


def _is_refused(server: Server, body: bytes, wanted: set[int]) -> bool:
    """Say whether the refusal arrived: the server closes a connection 2 s after it."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        try:
            client.sendall(body)
        except ConnectionError:  # one of the two stood still for longer
            return False
        status = status_of(client)
    assert status in wanted | {0}
    return status != 0


def test_bodies_that_are_too_large_are_refused_and_not_kept(server: Server) -> None:
    before_mb = resident_mb(server.process.pid)
    for body, wanted in _bodies(server).items():
        for _ in range(5):
            until(partial(_is_refused, server, body, wanted))
    _check_it_answers(server)
    _check_memory(server, before_mb, "30 bodies of 6 MB")


@pytest.mark.parametrize(
    ("number", "lasts_s"), [(200, 1.5), pytest.param(1000, 60.0, marks=pytest.mark.soak)]
)
def test_slow_clients_hold_up_nobody(server: Server, number: int, lasts_s: float) -> None:
    """Each says a byte of its head, or of its body, now and then."""
    before_mb = resident_mb(server.process.pid)
    body = head_of(
        server, "POST /api/v1/search", "Content-Type: application/json", "Content-Length: 500"
    )
    began_s = time.monotonic()
    with (
        connected(server, number // 2, b"GET /health HT") as heads,
        connected(server, number // 2, body) as bodies,
    ):
        gone = 0
        while time.monotonic() - began_s < lasts_s:
            gone = sum(not _drips(client) for client in [*heads, *bodies])
            _check_it_answers(server)
            time.sleep(0.5)
        if lasts_s > 45:  # a head may take 10 s, a body 30 s
            assert gone == number
    _check_it_answers(server)
    _check_memory(server, before_mb, f"{number} slow clients for {lasts_s:.0f} s, {gone} dropped")


def _drips(client: socket.socket) -> bool:
    try:
        client.sendall(b"x")
    except OSError:
        return False
    return True


def test_clients_that_listen_to_nothing_are_bounded(server: Server) -> None:
    """Each asks for 10 MB in one breath, and takes none of it."""
    before_mb = resident_mb(server.process.pid)
    _ask_and_listen_to_nothing(server, clients=10)
    _check_memory(server, before_mb, "10 clients that listen to nothing")


@pytest.mark.soak
def test_clients_that_listen_to_nothing_are_dropped(server: Server) -> None:
    """What the first of them take is used again for those that follow."""
    _ask_and_listen_to_nothing(server, clients=100, wait_s=60.0)
    before_mb = resident_mb(server.process.pid)
    for _ in range(2):
        _ask_and_listen_to_nothing(server, clients=100, wait_s=60.0)
    _check_memory(server, before_mb, "200 more clients that listen to nothing, all dropped")


def _ask_and_listen_to_nothing(server: Server, clients: int, wait_s: float = 0.0) -> None:
    with server.client() as client:
        [project] = client.get("/api/v1/projects").json()["projects"]
    pid = server.process.pid
    before = connections_of(pid)
    raw = head_of(server, f"GET /api/v1/projects/{project['project_id']}/raw?path=large.py")
    with connected(server, clients, raw * 40):
        _check_it_answers(server)
        if wait_s:
            until(lambda: connections_of(pid) <= before, within_s=wait_s)
    _check_it_answers(server)


def _own_address() -> str:
    """Give an address of this machine that is not the loopback's; empty when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return ""
        address = str(probe.getsockname()[0])
    return "" if address.startswith("127.") else address


@pytest.mark.soak
def test_a_client_elsewhere_has_its_rate_whatever_it_says_of_itself(tmp_path: Path) -> None:
    address = _own_address()
    if not address:
        pytest.skip("this machine has the loopback alone")
    command = Command(home=tmp_path / "home", folder=tmp_path)
    with serving(command, "--host", "0.0.0.0", "--token", "--no-watch") as server:
        login = {"Authorization": f"Bearer {server.token}"}
        with httpx.Client(
            base_url=f"http://{address}:{server.port}", headers=login, timeout=ANSWER_S
        ) as client:
            told = [
                client.get("/", headers={"X-Forwarded-For": f"10.0.{n // 256}.{n % 256}"})
                for n in range(6 * MOST_A_SECOND)
            ]
        refused = [answer for answer in told if answer.status_code == 429]
        assert refused
        assert {answer.status_code for answer in told} == {200, 429}
        assert refused[0].json()["error"] == "too_many_requests"
        with server.client() as client:  # on this machine nobody is counted
            assert {client.get("/").status_code for _ in range(3 * MOST_A_SECOND)} == {200}
