"""The HTTP transports, mounted in a site of its own process: clients, foreigners, sessions."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.command import ROOT, StartedProcess
from tests.support.jobs import until
from tests.support.mcp_clients import (
    INITIALIZE,
    environment,
    open_sessions,
    site,
)
from tests.support.patience import ANSWER_S

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project."""
    tree = tmp_path_factory.mktemp("http") / "tree"
    tree.mkdir()
    (tree / "app.py").write_text("def parse_config(text):\n    return text\n")
    return tree


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A site that serves the project."""
    with site(folder.parent / "home", str(folder), idle_s=6.0) as address:
        yield address


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "localhost", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:80@evil.example",
        "evil.example#127.0.0.1", "[::1]", "0.0.0.0", "127.0.0.1.evil.example", "127.1",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/sse"), ("POST", "/sse/messages")],
)
def test_other_hosts_are_refused(address: str, host: str, method: str, path: str) -> None:
    answer = httpx.request(
        method, address + path, headers={**JSON, "host": host}, content=PING, timeout=ANSWER_S
    )
    assert answer.status_code == (400 if "#" in host else 421)  # 400 by the server before us
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "file://",
        "http://localhost",
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/mcp"), ("GET", "/sse"), ("POST", "/sse/messages")]
)
def test_other_origins_are_refused(address: str, origin: str, method: str, path: str) -> None:
    answer = httpx.request(
        method, address + path, headers={**JSON, "origin": origin}, content=PING, timeout=ANSWER_S
    )
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_forms_are_refused(address: str, kind: str) -> None:
    for path in ("/mcp", "/sse/messages"):
        headers = {**JSON, "content-type": kind}
        assert (
            httpx.post(address + path, headers=headers, content=PING, timeout=ANSWER_S).status_code
            == 400
        )


def test_what_is_not_there_is_refused(address: str) -> None:
    cases = [
        ("POST", "/mcp/x", 404),
        ("POST", "/sse", 405),
        ("GET", "/sse/x", 404),
        ("PUT", "/mcp", 405),
        ("GET", "/sse/messages", 405),
        ("POST", "/sse/messages", 400),
        ("POST", "/sse/messages?session_id=0", 400),
        ("POST", f"/sse/messages?session_id={'0' * 32}", 404),
    ]
    found = [
        (
            method,
            path,
            httpx.request(
                method, address + path, headers=JSON, content=PING, timeout=ANSWER_S
            ).status_code,
        )
        for method, path, _ in cases
    ]
    assert found == cases
    headers = {**JSON, "mcp-session-id": "foreign"}
    assert (
        httpx.post(f"{address}/mcp", headers=headers, content=PING, timeout=ANSWER_S).status_code
        == 404
    )


def test_sessions_whose_clients_are_gone_end(address: str) -> None:
    sessions = []
    for _ in range(5):
        answer = httpx.post(f"{address}/mcp", headers=JSON, json=INITIALIZE, timeout=ANSWER_S)
        assert answer.status_code == 200
        sessions.append(answer.headers["mcp-session-id"])
    until(lambda: open_sessions(address) == {"streamable": 0, "sse": 0}, within_s=60)
    for session in sessions:
        headers = {**JSON, "mcp-session-id": session}
        assert (
            httpx.post(
                f"{address}/mcp", headers=headers, content=PING, timeout=ANSWER_S
            ).status_code
            == 404
        )


@pytest.mark.slow
def test_the_session_of_a_client_that_is_killed_ends(address: str) -> None:
    code = (
        "import asyncio, sys\n"
        "from mcp.client.client import Client\n"
        "async def main():\n"
        "    async with Client(sys.argv[1] + '/mcp', mode='legacy') as client:\n"
        "        await client.list_tools(); print('ready', flush=True); await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with StartedProcess(
        [sys.executable, "-c", code, address],
        cwd=ROOT,
        env=environment(Path("/nonexistent")),
        stdout=subprocess.PIPE,
    ) as client:
        assert client.stdout
        assert client.stdout.readline() == b"ready\n"
        assert open_sessions(address)["streamable"] == 1
        os.kill(client.pid, signal.SIGKILL)
    until(lambda: open_sessions(address)["streamable"] == 0, within_s=60)
