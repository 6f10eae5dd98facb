"""Whatever is searched for: the same clear answer over HTTP and to an agent, soon, never a failure.

An answer is hits with what was looked at, or an error that says which field is wrong and where.
"""

import json
import os
import string
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from engine.search_records import Mode
from tests.support.agents import AgentSession
from tests.support.command import Command
from tests.support.hostile import QUERY_CASES
from tests.support.pages import UNHURRIED, index_folder
from tests.support.patience import patience
from tests.support.server import serving
from tests.support.trees import SAMPLE, write_tree

_MODES = [mode.value for mode in Mode]
_MOST_S = 2.0 if os.environ.get("HOLD_PROMISES") else 5.0  # for one that stands still
_MOST_CHARS = 4096
_INVALID_REQUEST = -32600
_JSON = {"Content-Type": "application/json"}


class Both:
    """Asks the same over HTTP and of an agent's tool, and compares."""

    def __init__(self, client: httpx.Client, agent: AgentSession, root: str) -> None:
        self._client = client
        self._agent = agent
        self._root = root
        self.asked = 0
        self.refused = 0
        self.longest_s = 0.0

    def ask(self, query: str, mode: str) -> bool:
        """Ask; whether it was answered, and not refused."""
        body = {"query": query, "mode": mode, "projects": [self._root]}
        started = time.monotonic()
        answer = self._client.post(
            "/api/v1/search", content=json.dumps(body).encode(), headers=_JSON
        )
        between = time.monotonic()
        arguments = {"query": query, "mode": mode, "project_path": self._root}
        told = self._agent.ask("tools/call", name="search_code", arguments=arguments)
        took_s = max(between - started, time.monotonic() - between)
        self.longest_s = max(self.longest_s, took_s)
        assert took_s < patience(_MOST_S), (took_s, query, mode)
        # 404: what looks like a branch is not in the index.
        assert answer.status_code in (200, 400, 404), (answer.text, query, mode)
        self.asked += 1
        if answer.status_code == 200:
            self._check_hits(answer.json(), told)
        else:
            self.refused += 1
            is_lacking = answer.status_code == 404
            _check_refusal(answer.json(), told, query, is_lacking=is_lacking)
        return answer.status_code == 200

    def ask_by_name(self, name: str) -> None:
        """Ask for symbols of a name, in every way."""
        for match in ("exact", "prefix", "fuzzy"):
            started = time.monotonic()
            answer = self._client.get("/api/v1/symbols", params={"name": name, "match": match})
            assert answer.status_code in (200, 400, 414), answer.text
            assert time.monotonic() - started < patience(_MOST_S)

    def _check_hits(self, answer: dict[str, Any], told: dict[str, Any]) -> None:
        result = told["result"]
        assert not result.get("isError"), result
        assert "errors" not in answer
        assert answer["coverage"]["complete"]
        assert answer["coverage"]["files"] == len(SAMPLE)
        assert {hit["project"] for hit in answer["hits"]} <= {self._root}
        places = _places(_without_unlikely(answer["hits"]))
        for_agent = _places(result["structuredContent"]["hits"])
        assert for_agent[: len(places)] == places[: len(for_agent)]
        assert bool(for_agent) == bool(places)
        assert len(for_agent) >= len(places) or result["structuredContent"]["truncated"]
        notes = result["structuredContent"].get("notes", [])  # an agent gets advice besides
        assert set(answer.get("notes", [])) <= set(notes)


def _check_refusal(
    answer: dict[str, Any], told: dict[str, Any], query: str, *, is_lacking: bool
) -> None:
    assert answer["error"] == ("not_found" if is_lacking else "validation_error")
    assert answer["details"]["branch" if is_lacking else "field"] is not None, answer
    if "error" in told:  # half of a surrogate pair is no text, so this is no message
        assert told["error"]["code"] == _INVALID_REQUEST
        assert not query.isascii()
        return
    assert told["result"]["isError"]
    if 0 < len(query) <= _MOST_CHARS:
        assert told["result"]["structuredContent"] == answer
    else:  # which the tool's schema does not take
        assert told["result"]["structuredContent"]["details"] == {"field": "query"}
    position = answer["details"].get("position")
    assert position is None or 0 <= position <= len(query)


def _places(hits: list[dict[str, Any]]) -> list[tuple[str, int, str | None]]:
    return [(hit["path"], hit["line_start"], hit["symbol"]) for hit in hits]


def _without_unlikely(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the hits that an agent gets, who sees no unlikely ones beside a sure one."""
    is_sure = bool(hits) and hits[0].get("confidence", 0.0) >= 0.7
    return [hit for hit in hits if not is_sure or hit["confidence"] >= 0.05]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("queries")
    tree = write_tree(folder / "tree", SAMPLE)
    settings = {"CAIRN_WORKERS": "1", **UNHURRIED}
    command = Command(home=folder / "home", folder=folder, variables=settings)
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, tree)
        agent = AgentSession(server.url)
        both = Both(client, agent, str(tree))
        client.get("/api/v1/search", params={"query": "session"})  # what is kept is made
        yield both
        assert both.ask("session", "keyword")
        print(
            f"{both.asked} questions, each twice: {both.refused} refused, 0 failures,"
            f" the longest {both.longest_s * 1e3:.0f} ms"
        )
        agent.end()
    assert not (command.home / "logs" / "cairn.log").exists()


def test_no_question_is_a_failure_or_lost(both: Both) -> None:
    for case in QUERY_CASES:
        for mode in _MODES:
            is_answered = both.ask(case.query, mode)
            assert not (case.refused and is_answered and Mode(mode) in case.modes), case.name
        both.ask_by_name(case.query.encode("utf-8", "replace").decode()[:2000])


_texts = (
    st.text(max_size=200)
    | st.text(string.punctuation + 'ab :"/', max_size=60)
    | st.lists(
        st.sampled_from([case.query[:300] for case in QUERY_CASES]), min_size=1, max_size=3
    ).map(" ".join)
)
_no_checks = list(HealthCheck)


@seed(20251122)
@settings(max_examples=60, database=None, suppress_health_check=_no_checks)
@given(query=_texts, mode=st.sampled_from(_MODES))
def test_no_text_is_a_failure_or_lost(both: Both, query: str, mode: str) -> None:
    both.ask(query, mode)


@pytest.mark.soak
@settings(max_examples=5000, database=None, suppress_health_check=_no_checks)
@given(query=_texts, mode=st.sampled_from(_MODES))
def test_none_of_many_texts_is_a_failure_or_lost(both: Both, query: str, mode: str) -> None:
    both.ask(query, mode)
