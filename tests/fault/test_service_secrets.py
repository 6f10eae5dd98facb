"""What is secret stays out of all that a service keeps and says: of files, questions and tokens."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from engine.config import Secret
from tests.support.agents import AgentSession
from tests.support.canaries import TOKENS, drawing
from tests.support.command import Command
from tests.support.hostile import TREE_CASES, Corpus, hostile_corpus
from tests.support.pages import index_job
from tests.support.patience import ANSWER_S, patience
from tests.support.server import Server, serving
from tests.support.traces import traces_of

_LETTERS = "bcdfghjklmnpqrstvwxz"
_KEPT_WORD = "plumtreeorchardgarden"


def _word(seed: int) -> str:
    """Give a word that stands nowhere else, and has no look of a secret."""
    return "quince" + drawing(seed)(_LETTERS, 24)


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    folder = tmp_path / "corpus"
    folder.mkdir()
    cases = tuple(case for case in TREE_CASES if case.class_ == "secrets")
    with hostile_corpus(folder, cases) as corpus:
        (corpus.root / "shown.py").write_text(f"def {_KEPT_WORD}(): pass\n")
        yield corpus


def _ask_for(client: httpx.Client, agent: AgentSession, project: str, text: str) -> list[str]:
    """Ask for a text in every way; the answers without the question."""
    told = []
    for mode in ("hybrid", "regex"):
        answer = client.post("/api/v1/search", json={"query": text, "mode": mode})
        assert answer.status_code in (200, 400)
        told.append(json.dumps(answer.json().get("hits", [])))
    answer = client.get("/api/v1/search", params={"query": text[:300]})
    told.append(json.dumps(answer.json().get("hits", [])))
    told.append(client.get("/api/v1/symbols", params={"name": text, "match": "fuzzy"}).text)
    result = agent.call("search_code", query=text[:1000], project_path=project)
    told.append(json.dumps(result["structuredContent"].get("hits", [])))
    return told


def _all_that_is_said(client: httpx.Client, project: str) -> list[str]:
    """Ask for what is there besides."""
    base = f"/api/v1/projects/{project}"
    paths = ["/health", "/openapi.json", "/openapi.yaml", "/", "/api/v1/projects", "/api/v1/jobs"]
    paths += [base, f"{base}/files?limit=1000", f"{base}/skips?limit=1000", "/metrics"]
    files = client.get(f"{base}/files", params={"limit": 1000}).json()["files"]
    paths += [f"{base}/content?path={quote(each['path'])}" for each in files]
    with client.stream("GET", "/api/v1/events") as events:
        first = next(line for line in events.iter_lines() if line.startswith("data"))
    return [client.get(path).text for path in paths] + [first]


def _knock(server: Server, wrong: str, token: str) -> list[str]:
    """Come with a wrong token and with the right one, in every place that a token can stand."""
    told = []
    with httpx.Client(base_url=server.url, timeout=ANSWER_S) as client:
        for given in (wrong, token):
            for headers in (
                {"Authorization": f"Bearer {given}"},
                {"Cookie": f"cairn_session_{server.port}={given}"},
                {"Referer": f"{server.url}/?token={given}"},
            ):
                answer = client.get(f"/health?token={given}", headers=headers)
                told.append(f"{answer.text} {answer.headers}")
            answer = client.get("/", params={"token": given})
            assert answer.headers["referrer-policy"] == "same-origin"
            told.append(f"{answer.text} {answer.headers}")
    return told


def test_canaries_of_files_questions_and_tokens_are_nowhere(tmp_path: Path, corpus: Corpus) -> None:
    token, wrong = _word(1), _word(2)
    words = [_word(number) for number in range(3, 18)]
    secrets = [make(drawing(7)) for make in TOKENS.values()]
    variables = {"CAIRN_WORKERS": "1", "CAIRN_TOKEN": token}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=variables)
    with (
        serving(command, "--no-watch") as server,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=patience(60)
        ) as client,
    ):
        begun = index_job(client, corpus.root)
        agent = AgentSession(server.url, token)
        root = str(corpus.root)
        told = [json.dumps(begun), *_knock(server, wrong, token)]
        for text in (*corpus.forbidden, *words):
            told += _ask_for(client, agent, root, text)
        for number, secret in enumerate(secrets):
            saved = {"summary": f"note {number}", "description": f"it is {secret}"}
            agent.call("checkpoint_save", project_path=root, **saved)
            told.append(
                json.dumps(agent.call("checkpoint_search", query="note", project_path=root))
            )
        agent.end()
        told += _all_that_is_said(client, begun["project_id"])
    canaries = (*corpus.forbidden, *words, *secrets, token, wrong)
    for text in canaries:
        assert not any(text in each for each in told), text
    assert (command.home / "logs" / "server.log").stat().st_size
    assert (command.home / "logs" / "runner.log").stat().st_size
    assert traces_of([_KEPT_WORD], command.home)  # it would be seen
    assert traces_of(canaries, command.home) == []
    print(
        f"{len(corpus.forbidden)} secrets in files, {len(secrets)} in notes, {len(words)}"
        f" questions, 2 tokens, {len(told)} answers: 0 places"
    )


def test_a_token_is_compared_in_a_time_that_tells_nothing() -> None:
    """The comparison is that of the library, which looks at all of a text whatever it finds."""
    assert "compare_digest" in Secret.is_equal.__code__.co_names
    token = Secret("a-token-of-some-length")
    assert token.is_equal("a-token-of-some-length")
    for given in ("", "a", "a-token-of-some-lengtH", "a-token-of-some-length\ud800", "é"):
        assert not token.is_equal(given)
    assert not Secret().is_equal("")
