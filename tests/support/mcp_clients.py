"""Clients of the MCP server for tests: the official one over each transport, and raw ones."""

import asyncio
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult

from engine.catalog import Catalog
from tests.support.command import CODE, ROOT
from tests.support.patience import ANSWER_S, patience
from web.mcp.server import make_server

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def environment(home: Path) -> dict[str, str]:
    """Give the environment of a server with its own data directory."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "CAIRN_HOME": str(home), "CAIRN_WORKERS": "1", "PYTHONPATH": str(ROOT)}


def stdio_parameters(home: Path, folder: Path, **variables: str) -> StdioServerParameters:
    """Say how the official client starts ``cairn mcp``, with more of the environment."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", CODE, "mcp"],
        env={**environment(home), **variables},
        cwd=str(folder),
    )


def ask(catalog: Catalog, body: Callable[[Client], Awaitable[None]]) -> None:
    """Run a conversation with a server over a catalog."""

    async def conversation() -> None:
        async with Client(make_server(catalog, is_runner=True)) as client:
            await body(client)

    asyncio.run(conversation())


async def called(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool that must succeed; its structured answer."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result.content
    content: dict[str, Any] | None = result.structured_content
    assert content is not None
    return content


async def refused(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool that must fail; the error."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error
    content: dict[str, Any] | None = result.structured_content
    assert content is not None
    return content


async def text_of(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool; the text that it answers."""
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    text: str = content.text  # type: ignore[union-attr]
    return text


async def refusal_text(client: Client, tool: str, **arguments: object) -> str:
    """Call a tool that must fail; the text that it answers, which is all that a model reads."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    [content] = result.content
    text: str = content.text  # type: ignore[union-attr]
    return text


async def read(client: Client, uri: str) -> str:
    """Read a resource."""
    [content] = (await client.read_resource(uri)).contents
    text: str = content.text  # type: ignore[union-attr]
    return text


class RawStdio:
    """A server process whose pipes are written and read byte by byte."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE, "mcp"],
            cwd=folder,
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line)

    def send(self, line: bytes | Mapping[str, object]) -> None:
        """Write a line."""
        text = line if isinstance(line, bytes) else json.dumps(line).encode()
        assert self.process.stdin
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def receive(self, within_s: float = 20.0) -> dict[str, Any]:
        """Read an answer."""
        answer: dict[str, Any] = json.loads(self._lines.get(timeout=patience(within_s)))
        return answer

    def shake_hands(self) -> dict[str, Any]:
        """Begin; what the server says of itself."""
        self.send(INITIALIZE)
        answer = self.receive()
        self.send(INITIALIZED)
        return answer

    def close(self) -> tuple[int, bytes]:
        """End standard input; see ``ended``."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.ended()

    def ended(self) -> tuple[int, bytes]:
        """Wait for its end; the exit code, and what else was said, on standard error too."""
        code = self.process.wait(patience(20))
        self._reader.join()
        rest = b"".join(self._lines.get() for _ in range(self._lines.qsize()))
        with self.process:
            assert self.process.stderr
            return code, rest + self.process.stderr.read()


@contextmanager
def raw_stdio(home: Path, folder: Path) -> Iterator[RawStdio]:
    """Start a server process; killed at the end if it lives then."""
    server = RawStdio(home, folder)
    try:
        server.shake_hands()
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.ended()


@contextmanager
def site(home: Path, *served: str, idle_s: float = 45.0) -> Iterator[str]:
    """Run a site with the HTTP transports in a process of its own; its address."""
    port_file = home.parent / "port"
    port_file.unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.mcp_site", str(port_file), str(idle_s), *served],
        cwd=ROOT,
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline_s = time.monotonic() + patience(30)
        while not port_file.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port_file.read_text()}"
    finally:
        process.terminate()
        process.wait(patience(20))


def open_sessions(address: str) -> dict[str, int]:
    """Count the sessions of a site."""
    counts: dict[str, int] = httpx.get(f"{address}/sessions", timeout=ANSWER_S).json()
    return counts
