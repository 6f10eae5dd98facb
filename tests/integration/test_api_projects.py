"""Which projects a request of the API is about: unknown ones, the same one twice, damaged ones."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.roots import project_id_of
from tests.support import damage
from tests.support.command import Command
from tests.support.pages import indexed
from tests.support.server import serving
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

CODE = "def refresh_session(token):\n    return token\n"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server in the project ``here``; ``broken`` cannot be opened."""
    folder = tmp_path_factory.mktemp("projects")
    command = Command(home=folder / "home", folder=folder / "here")
    for name in ("here", "other", "broken"):
        write_tree(folder / name, {f"{name}.py": CODE})
        assert command("index", str(folder / name), "--quiet").code == 0
    members = [str(folder / name) for name in ("other", "broken")]
    assert command("context", "create", "work", *members).code == 0
    file = folder / "home" / f"{project_id_of(str(folder / 'broken'))}.db"
    damage.checkpointed(file)
    damage.break_file(file)
    assert command("doctor", str(folder / "broken")).code == 6  # its log tells the folder
    with serving(command, "--no-watch") as server, server.client() as client:
        yield client


def _errors(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(Path(each["project"]).name, each["error"]) for each in answer["errors"]]


@pytest.mark.parametrize("what", ["search", "research", "memories/search", "symbols"])
@pytest.mark.parametrize("more", [{}, {"max_tokens": 300}])
def test_an_unknown_name_is_not_the_project_around_the_server(
    client: httpx.Client, what: str, more: dict[str, int]
) -> None:
    asked: dict[str, Any] = {"query": "refresh session", **(more if what == "search" else {})}
    if what == "symbols":
        asked = {"name": "refresh_session"}
    both = {**asked, "project": ["other", "typo"]}
    answer = client.get(f"/api/v1/{what}", params=both)
    assert answer.status_code == 200, answer.text
    assert _errors(answer.json()) == [("typo", "not_found")]
    assert "here" not in answer.text
    neither = {**asked, "project": ["typo", "tipo"]}
    assert client.get(f"/api/v1/{what}", params=neither).status_code == 404


def test_a_project_that_is_named_twice_counts_once(client: httpx.Client) -> None:
    once = client.get("/api/v1/symbols?name=refresh_session&project=other").json()
    assert once["total"] == 1
    root = once["symbols"][0]["project"]
    asked = {"name": "refresh_session", "project": ["other", root, f"{root}/"]}
    assert client.get("/api/v1/symbols", params=asked).json() == once


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("search", {"query": "session project:broken"}),
        ("research", {"query": "session project:broken"}),
        ("search", {"query": "session", "project": "broken"}),
        ("symbols", {"name": "session", "project": "broken"}),
    ],
)
def test_a_damaged_project_that_is_named_tells_its_damage(
    client: httpx.Client, path: str, asked: dict[str, str]
) -> None:
    answer = client.get(f"/api/v1/{path}", params=asked)
    assert (answer.status_code, answer.json()["error"]) == (500, "damaged_index")


def test_what_a_failed_run_advises_is_a_request(client: httpx.Client, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "away", {"away.py": CODE})
    with indexed(client, tree):
        (tree / "away.py").unlink()
        failed = client.post("/api/v1/projects", json={"path": str(tree)})
    assert failed.status_code == 400
    assert "POST /api/v1/projects/ID/doctor/rebuild begins" in failed.json()["details"]["hint"]


@pytest.mark.parametrize("query", ["session context:work", "session -project:here"])
def test_a_damaged_project_among_others_is_an_error(client: httpx.Client, query: str) -> None:
    answer = client.get("/api/v1/search", params={"query": query}).json()
    assert {Path(hit["project"]).name for hit in answer["hits"]} == {"other"}
    assert [error for _, error in _errors(answer)] == ["damaged_index"]
