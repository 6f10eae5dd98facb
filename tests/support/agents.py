"""Agents that talk to a server over Streamable HTTP: sessions by hand, and many askers at once.

Run as a program, by ``asking``, it waits for a line on standard input, asks from many threads, and
prints what was answered.
"""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from tests.support.command import ROOT
from tests.support.mcp_clients import INITIALIZE, INITIALIZED

_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

#: What to ask: a method and a path of the API with its body, or ``mcp``, a tool and its arguments.
Question = tuple[str, str, dict[str, Any]]
#: What came back: a status, or 0 for a tool, and the answer.
Told = tuple[int, dict[str, Any]]


class AgentSession:
    """A session with its own connection; to be used by one thread at a time.

    Args:
        url: Of the server.
        token: Empty when none is wanted.
    """

    def __init__(self, url: str, token: str = "") -> None:
        login = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=url, headers={**_HEADERS, **login}, timeout=60)
        begun = self._client.post("/mcp", json=INITIALIZE)
        assert begun.status_code == 200, begun.text
        self._client.headers["mcp-session-id"] = begun.headers["mcp-session-id"]
        self._client.post("/mcp", json=INITIALIZED)
        self._numbers = itertools.count(2)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a request; the whole answer, with its result or its error."""
        number = next(self._numbers)
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        # A text may hold half of a surrogate pair, which only an escape can write.
        answer = self._client.post("/mcp", content=json.dumps(body).encode())
        assert answer.status_code in (200, 400), answer.text
        for line in answer.text.split("\n"):  # other ends of lines may stand in a text
            text = line.removeprefix("data: ")
            if text.startswith("{"):
                told: dict[str, Any] = json.loads(text)
                if told.get("id") in (number, None) and "method" not in told:
                    return told
        raise AssertionError(f"no answer: {answer.text!r}")

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool; its result, also when that is an error."""
        told = self.ask("tools/call", name=tool, arguments=arguments)
        assert "result" in told, told
        result: dict[str, Any] = told["result"]
        return result

    def end(self) -> None:
        """End the session."""
        assert self._client.delete("/mcp").status_code == 200
        self._client.close()


class Asker:
    """A process that asks."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def wait_until_ready(self) -> None:
        """Wait until it has begun its session."""
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"

    def ask(self, questions: Sequence[Question], threads: int) -> None:
        """Begin to ask all of it, from so many threads."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps([questions, threads]) + "\n")
        self._process.stdin.flush()

    def told(self) -> list[Told]:
        """Wait for the answers, in the order of the questions."""
        assert self._process.stdout
        return [(status, body) for status, body in json.loads(self._process.stdout.readline())]


@contextmanager
def asking(count: int, url: str) -> Iterator[list[Asker]]:
    """Start so many processes; all are ready."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        f"from tests.support.agents import serve; serve({url!r})"
    )
    with ExitStack() as stack:
        started = []
        for _ in range(count):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", code],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            started.append(Asker(process))
        for each in started:
            each.wait_until_ready()
        yield started


def serve(url: str) -> None:
    """Answer lines until there is none."""
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(base_url=url, timeout=60, limits=limits) as client:
        AgentSession(url).end()  # what is imported late is imported
        print("ready", flush=True)
        for line in sys.stdin:
            questions, threads = json.loads(line)
            with ThreadPoolExecutor(threads) as pool:
                told = list(pool.map(lambda question: _told(client, url, *question), questions))
            print(json.dumps(told), flush=True)


def _told(client: httpx.Client, url: str, how: str, what: str, given: dict[str, Any]) -> Told:
    if how == "mcp":
        session = AgentSession(url)
        result = session.call(what, **given)
        session.end()
        return 0, {"isError": result.get("isError", False), **result["structuredContent"]}
    answer = client.request(how, what, json=given)
    return answer.status_code, answer.json()
