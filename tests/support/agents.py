"""Agents that talk to a server over Streamable HTTP: sessions by hand, and many askers at once.

The processes of ``asking`` ask from many threads each.
"""

import itertools
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx

from tests.support.line_servers import LineServer, answer_lines, line_servers
from tests.support.mcp_clients import INITIALIZE, INITIALIZED
from tests.support.patience import patience

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
        self._client = httpx.Client(
            base_url=url, headers={**_HEADERS, **login}, timeout=patience(60)
        )
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
        self.leave()

    def leave(self) -> None:
        """Hang up without a word: the session stays."""
        self._client.close()


@contextmanager
def asking(count: int, url: str) -> Iterator[list[LineServer]]:
    """Start so many processes that ask; each is told questions, and from how many threads."""
    with line_servers(count, __name__, url) as started:
        yield started


def serve(url: str) -> None:
    """Ask what lines say until there is none."""
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(base_url=url, timeout=patience(60), limits=limits) as client:
        AgentSession(url).end()  # what is imported late is imported

        def ask(questions: Sequence[Question], threads: int) -> list[Told]:
            with ThreadPoolExecutor(threads) as pool:
                return list(pool.map(lambda question: _told(client, url, *question), questions))

        answer_lines(ask)


def _told(client: httpx.Client, url: str, how: str, what: str, given: dict[str, Any]) -> Told:
    if how == "mcp":
        session = AgentSession(url)
        result = session.call(what, **given)
        session.end()
        return 0, {"isError": result.get("isError", False), **result["structuredContent"]}
    answer = client.request(how, what, json=given)
    return answer.status_code, answer.json()
