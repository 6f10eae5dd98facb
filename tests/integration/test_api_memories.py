"""Memories over HTTP: saved, found, listed, changed and deleted, each in its own project."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from tests.support.command import Command
from tests.support.pages import index_folder
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree

#: The keys that the contract names.
KEYS = (
    "id summary description project_path context tags token_count created_at updated_at"
).split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memories")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    command = Command(home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def shared(client: httpx.Client, folder: Path) -> str:
    """Give the memories of a project that several tests add to."""
    return _memories_of(client, folder / "shared")


@pytest.fixture
def memories(client: httpx.Client, tmp_path: Path) -> str:
    """Give the memories of a new project."""
    return _memories_of(client, tmp_path / "tree")


def _memories_of(client: httpx.Client, tree: Path) -> str:
    return f"/api/v1/projects/{index_folder(client, write_tree(tree, SAMPLE))}/memories"


def _save(client: httpx.Client, memories: str, summary: str, **rest: Any) -> dict[str, Any]:
    body = {"summary": summary, "description": "", **rest}
    answer = client.post(memories, json=body)
    assert answer.status_code == 201, answer.text
    saved: dict[str, Any] = answer.json()
    return saved


def _refused(answer: httpx.Response, status: int, field: str | None = None) -> dict[str, Any]:
    told: dict[str, Any] = answer.json()
    assert answer.status_code == status, told
    assert set(told) == {"error", "message", "details"}
    assert told["error"] == {400: "validation_error", 404: "not_found"}[status]
    if field is not None:
        assert told["details"]["field"] == field
    return told


def test_a_memory_from_its_beginning_to_its_end(
    client: httpx.Client, memories: str, tmp_path: Path
) -> None:
    saved = _save(
        client,
        memories,
        "Sessions expire after an hour",
        description="Decided with the team: café, 会议.",
        context={"ticket": 7, "files": ["app/session.py"]},
        tags=["decision"],
    )
    assert list(saved) == KEYS
    assert str(UUID(saved["id"])) == saved["id"]
    assert saved["project_path"] == str(tmp_path / "tree")
    assert saved["created_at"] == saved["updated_at"]
    one = f"{memories}/{saved['id']}"
    assert client.get(one).json() == saved
    changed = client.patch(one, json={"tags": ["decision", "sessions"]}).json()
    assert changed["updated_at"] > saved["updated_at"]
    assert {**changed, "updated_at": saved["updated_at"]} == {
        **saved,
        "tags": ["decision", "sessions"],
    }
    assert client.patch(one, json={}).json() == changed
    assert client.patch(one, json={"summary": saved["summary"], "tags": None}).json() == changed
    again = client.patch(one, json={"description": "", "context": {}, "tags": []}).json()
    assert (again["description"], again["context"], again["tags"]) == ("", {}, [])
    assert (again["token_count"], again["summary"]) == (0, saved["summary"])
    gone = client.delete(one)
    assert (gone.status_code, gone.content) == (204, b"")
    for answer in (client.get(one), client.patch(one, json={"tags": []}), client.delete(one)):
        _refused(answer, 404)


def test_memories_are_found_by_meaning_and_tags(client: httpx.Client, memories: str) -> None:
    hour = _save(client, memories, "Sessions expire after an hour", tags=["decision", "auth"])
    day = _save(client, memories, "Tokens expire after a day", tags=["decision"])
    lunch = _save(client, memories, "Lunch is at noon", tags=["auth"])

    def found(query: str, *tags: str, **asked: Any) -> list[str]:
        given = {"query": query, "tags": list(tags), **asked}
        told = client.get(f"{memories}/search", params=given).json()
        assert client.post(f"{memories}/search", json=given).json() == told
        for memory in told["memories"]:
            assert list(memory) == [*KEYS, "score"]
        scores = [memory["score"] for memory in told["memories"]]
        assert scores == sorted(scores, reverse=True)
        return [memory["id"] for memory in told["memories"]]

    assert found("when does a session expire")[0] == hour["id"]  # and none is a file
    assert set(found("expire session token lunch")) == {hour["id"], day["id"], lunch["id"]}
    assert set(found("expire", "decision")) == {hour["id"], day["id"]}
    assert found("expire", "decision", "auth") == [hour["id"]]
    assert found("expire", "decision", "!auth") == [day["id"]]
    assert found("expire", "!decision", "!auth") == []
    assert found("session", "indexed") == []
    assert len(found("expire", limit=1)) == 1
    client.patch(f"{memories}/{day['id']}", json={"summary": "Invoices are sent on Fridays"})
    assert found("invoices on fridays")[0] == day["id"]
    assert day["id"] not in found("tokens after a day", "decision", "auth")


def test_pages_of_memories_fit_together(client: httpx.Client, memories: str) -> None:
    saved = [
        _save(client, memories, f"Note {n}", tags=["odd" if n % 2 else "even"]) for n in range(7)
    ]
    ids: list[str] = []
    asked: dict[str, Any] = {"limit": 3}
    while not ids or asked["cursor"]:
        page = client.get(memories, params=asked).json()
        assert page["total"] == 7
        ids += [memory["id"] for memory in page["memories"]]
        asked["cursor"] = page["next_cursor"]
        if len(ids) == 3:
            client.delete(f"{memories}/{ids[0]}")
            _save(client, memories, "Newer than the first page")
            client.delete(f"{memories}/{_newest(client, memories)}")
            _save(client, memories, "As many as before")
    # What was deleted was on a page before; what is new stands before the first page.
    assert ids == [memory["id"] for memory in reversed(saved)]
    odd = client.get(memories, params={"tags": "odd"}).json()
    assert [memory["summary"] for memory in odd["memories"]] == ["Note 5", "Note 3", "Note 1"]


def _newest(client: httpx.Client, memories: str) -> str:
    newest: str = client.get(memories, params={"limit": 1}).json()["memories"][0]["id"]
    return newest


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"summary": ""}, "summary"),
        ({"summary": " \n"}, "summary"),
        ({"summary": "x" * 501}, "summary"),
        ({"summary": 7}, "summary"),
        ({"summary": "a\u0000b"}, "summary"),
        ({"description": None}, "description"),
        ({"description": "é" * (1 << 19) + "é"}, "description"),
        ({"context": []}, "context"),
        ({"context": {"a": [[[[[[[[1]]]]]]]]}}, "context"),
        ({"context": {"a": "x" * 70_000}}, "context"),
        ({"tags": "decision"}, "tags"),
        ({"tags": ["!not"]}, "tags"),
        ({"tags": ["indexed"]}, "tags"),
        ({"tags": ["a,b"]}, "tags"),
        ({"tags": [f"t{n}" for n in range(33)]}, "tags"),
        ({"project_path": "/etc"}, "project_path"),
        ({"id": "x"}, "id"),
    ],
    ids=lambda given: given if isinstance(given, str) else None,
)
def test_what_cannot_be_remembered_names_its_field(
    client: httpx.Client, shared: str, wrong: dict[str, Any], field: str
) -> None:
    before = client.get(shared).json()["total"]
    told = _refused(
        client.post(shared, json={"summary": "s", "description": "d", **wrong}), 400, field
    )
    assert "xxxx" not in told["message"]
    assert client.get(shared).json()["total"] == before
    one = f"{shared}/{_save(client, shared, 'Stays as it is')['id']}"
    saved = client.get(one).json()
    if wrong != {"description": None}:  # null keeps what is there
        _refused(client.patch(one, json=wrong), 400, field)
    assert client.get(one).json() == saved


def test_what_cannot_be_asked_names_its_field(client: httpx.Client, shared: str) -> None:
    _refused(client.post(shared, json={"summary": "s"}), 400, "description")
    _refused(client.get(shared, params={"cursor": "?"}), 400, "cursor")
    _refused(client.get(shared, params={"limit": 0}), 400, "limit")
    _refused(client.get(shared, params={"project_id": "x"}), 400, "project_id")
    _refused(client.get(f"{shared}/search"), 400, "query")
    _refused(client.get(f"{shared}/search", params={"query": " "}), 400, "query")
    _refused(client.get(f"{shared}/search", params={"query": "x", "limit": 101}), 400, "limit")
    _refused(client.get(f"{shared}/search", params={"query": "x", "tags": "!"}), 400, "tags")
    _refused(client.post(f"{shared}/search", json={"query": "x" * 4097}), 400, "query")
    _refused(client.get(f"{shared}/not-an-id"), 404)
    _refused(client.get(f"{shared}/{uuid4()}"), 404)


def test_a_description_may_have_a_mebibyte(client: httpx.Client, shared: str) -> None:
    text = "word " * ((1 << 20) // 5)
    saved = _save(client, shared, "As long as it may be", description=text)
    assert client.get(f"{shared}/{saved['id']}").json()["description"] == text
    longer = {"summary": "Longer", "description": "word " * (1 << 20)}
    refused = client.post(shared, json=longer)
    assert (refused.status_code, refused.json()["error"]) == (413, "payload_too_large")


def test_secrets_are_blanked(client: httpx.Client, shared: str) -> None:
    key = "AKIA" + "Q3EGRTZ7WXYUVBNM"
    saved = _save(client, shared, "The key", description=f"aws_access_key_id = {key}")
    assert key not in saved["description"]
    assert key not in client.get(f"{shared}/{saved['id']}").text


def test_projects_do_not_share_memories(
    client: httpx.Client, memories: str, shared: str, folder: Path
) -> None:
    saved = _save(client, memories, "Zebras are known here alone")
    assert client.get(f"{shared}/search", params={"query": "zebras"}).json() == {"memories": []}
    other = f"{shared}/{saved['id']}"
    for answer in (
        client.get(other),
        client.patch(other, json={"summary": "Taken over"}),
        client.delete(other),
    ):
        _refused(answer, 404)
    assert client.get(f"{memories}/{saved['id']}").json() == saved
    nowhere = f"/api/v1/projects/{'0' * 64}/memories"
    _refused(client.get(nowhere), 404)
    _refused(client.post(nowhere, json={"summary": "s", "description": "d"}), 404)


def test_memories_of_several_projects_are_found_in_one_ranking(
    client: httpx.Client, memories: str, shared: str, folder: Path, tmp_path: Path
) -> None:
    okapi = _save(client, memories, "Okapis sleep at noon", tags=["idea"])
    night = _save(client, shared, "Okapis sleep at night", tags=["idea", "old"])
    ids = [each.split("/")[4] for each in (memories, shared)]

    def found(**asked: Any) -> list[str]:
        told = client.get("/api/v1/memories/search", params=asked)
        assert told.status_code == 200, told.text
        body = {name: value for name, value in asked.items() if name != "project"}
        body["projects"] = asked.get("project", [])
        assert client.post("/api/v1/memories/search", json=body).json() == told.json()
        assert list(told.json()) == ["memories"]
        for memory in told.json()["memories"]:
            assert list(memory) == [*KEYS, "score"]
        return [memory["id"] for memory in told.json()["memories"]]

    assert found(query="where do okapis sleep at night")[:2] == [night["id"], okapi["id"]]
    assert found(query="okapis at noon", limit=1) == [okapi["id"]]
    assert found(query="okapis", tags=["idea", "!old"]) == [okapi["id"]]
    assert found(query="okapis", project=[ids[1]]) == [night["id"]]
    assert set(found(query="okapis", project=[ids[0], str(folder / "shared")])) == {
        okapi["id"],
        night["id"],
    }
    asked = {"query": "okapis", "project": [ids[1], "/nowhere"]}
    partly = client.get("/api/v1/memories/search", params=asked).json()
    assert [memory["project_path"] for memory in partly["memories"]] == [str(folder / "shared")]
    assert [(each["project"], each["error"]) for each in partly["errors"]] == [
        ("/nowhere", "not_found")
    ]
    _refused(client.get("/api/v1/memories/search"), 400, "query")
    _refused(client.get("/api/v1/memories/search", params={"query": "x", "limit": 0}), 400, "limit")
    _refused(client.post("/api/v1/memories/search", json={"query": "x", "project": []}), 400)
    missing = {"query": "x", "project": "/nowhere"}
    _refused(client.get("/api/v1/memories/search", params=missing), 404)


def test_a_file_is_no_memory(client: httpx.Client, server: Server, memories: str) -> None:
    tool = {"name": "checkpoint_list", "arguments": {}}
    [project] = [
        each
        for each in client.get("/api/v1/projects").json()["projects"]
        if each["project_id"] in memories
    ]
    tool["arguments"] = {"project_path": project["path"], "limit": 1}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    headers = {"Accept": "application/json, text/event-stream"}
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    begun = client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        headers=headers,
    )
    headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
    listed = client.post("/mcp", json=call, headers=headers).text
    file_id = listed.partition('"id":"')[2][:36]
    assert UUID(file_id)
    one = f"{memories}/{file_id}"
    _refused(client.get(one), 404)
    _refused(client.patch(one, json={"summary": "Mine"}), 400, "id")
    _refused(client.delete(one), 400, "id")
    assert client.get(memories).json() == {"memories": [], "total": 0, "next_cursor": None}


def test_tags_with_how_many_have_each(client: httpx.Client, memories: str) -> None:
    assert client.get(f"{memories}/tags").json() == {"tags": []}
    _save(client, memories, "One", tags=["decision", "old"])
    _save(client, memories, "Two", tags=["decision", "idea"])
    told = client.get(f"{memories}/tags").json()["tags"]
    assert told == [
        {"tag": "decision", "memories": 2},
        {"tag": "idea", "memories": 1},
        {"tag": "old", "memories": 1},
    ]
    asked = client.get(f"{memories}/tags", params={"tags": ["decision", "!old"], "limit": 1})
    assert asked.json()["tags"] == [{"tag": "decision", "memories": 1}]
    _refused(client.get(f"{memories}/tags", params={"tags": "!"}), 400, "tags")


def test_changes_at_the_same_time_are_all_kept(client: httpx.Client, memories: str) -> None:
    one = f"{memories}/{_save(client, memories, 'Changed by many')['id']}"
    changes: list[dict[str, Any]] = [
        {"summary": "The last word"},
        {"description": "All there is"},
        {"context": {"by": "many"}},
        {"tags": ["kept"]},
    ]
    with ThreadPoolExecutor(len(changes)) as threads:
        answers = list(threads.map(partial(_patched, client, one), changes * 5))
    assert {answer.status_code for answer in answers} == {200}
    told = client.get(one).json()
    assert all(told[name] == value for change in changes for name, value in change.items())


def _patched(client: httpx.Client, one: str, change: dict[str, Any]) -> httpx.Response:
    return client.patch(one, json=change)


def test_memories_outlive_what_is_done_to_the_index(client: httpx.Client, memories: str) -> None:
    saved = _save(client, memories, "Still here afterwards")
    project = memories.removesuffix("/memories")
    assert client.post(f"{project}/clear").status_code == 200
    assert client.get(f"{memories}/{saved['id']}").json() == saved
    [found] = client.get(f"{memories}/search", params={"query": "afterwards"}).json()["memories"]
    assert found["id"] == saved["id"]
    assert client.delete(project).status_code == 200
    _refused(client.get(f"{memories}/{saved['id']}"), 404)
