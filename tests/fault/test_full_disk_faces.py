"""A server on a disk that is full: it reads as usual, and refuses to write in words."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.client import Client

from engine.roots import project_id_of
from tests.support.command import Command
from tests.support.faults.disk import SmallDisk, small_disk
from tests.support.mcp_clients import called
from tests.support.pages import OWN_FORM, Page
from tests.support.server import Server, ask_until, serving
from tests.support.trees import write_tree

_NO_ROOM = re.compile(r"no room|is free in|disk is full", re.IGNORECASE)
_FREE = "free some disk space"
_KEPT = re.compile("what it holds is kept|it is as it was|nothing was changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A server with one index and one memory, on a disk that is full now."""

    disk: SmallDisk
    server: Server
    client: httpx.Client
    tree: Path
    new: Path  # a folder without an index
    memory: str  # the id of a memory

    @property
    def project(self) -> str:
        """The path of the project in the API."""
        return f"/api/v1/projects/{project_id_of(str(self.tree))}"

    @property
    def page(self) -> str:
        """The path of its page."""
        return f"/p/{project_id_of(str(self.tree))}"


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server on a full disk."""
    folder = tmp_path_factory.mktemp("full")
    files = {f"m{n}.py": f"def open_session_{n}():\n    return {n}\n" for n in range(30)}
    tree = write_tree(folder / "tree", files)
    new = write_tree(folder / "new", files)
    command = Command(home=folder / "home", folder=tree)
    with small_disk(command.home, 100_000) as disk:
        assert command("index").code == 0
        with serving(command, "--no-watch") as server, server.client() as client:
            project = f"/api/v1/projects/{project_id_of(str(tree))}"
            ask_until(client, "/health", status="ok")
            saved = client.post(
                f"{project}/memories",
                json={"summary": "Sessions end", "description": "After an hour"},
            )
            client.post("/api/v1/contexts", json={"name": "mine", "projects": [str(tree)]})
            assert saved.status_code == 201
            disk.fill()
            yield Site(
                disk=disk,
                server=server,
                client=client,
                tree=tree,
                new=new,
                memory=saved.json()["id"],
            )
            disk.free()


_READS = (
    "{project}",
    "{project}/memories",
    "{project}/memories/{memory}",
    "{project}/memories/search?query=sessions",
    "{project}/symbols?name=open_session_3",
    "{project}/content?path=m3.py",
    "{project}/outline?path=m3.py",
    "/api/v1/projects",
    "/api/v1/contexts",
    "/api/v1/jobs",
    "/api/v1/search?query=open+session",
    "/api/v1/settings",
    "/health",
    "/metrics",
    "/",
    "/search?q=open+session",
    "/jobs",
    "/status",
    "/settings",
    "/connect",
    "/research?q=open+session",
    "{page}",
    "{page}/memories",
    "{page}/symbols",
    "{page}/map",
    "{page}/doctor",
    "{page}/f/m3.py",
)


@pytest.mark.parametrize("path", _READS)
def test_reads(full: Site, path: str) -> None:
    full.disk.fill()
    path = path.format(project=full.project, page=full.page, memory=full.memory)
    answer = full.client.get(path)
    assert answer.status_code == 200, answer.text
    assert "Traceback" not in answer.text


_WRITES: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "a first index": ("POST", "/api/v1/projects", {"path": "{new}"}),
    "another scope": ("POST", "/api/v1/projects", {"path": "{tree}", "max_file_size": 5000}),
    "an index": ("POST", "/api/v1/projects", {"path": "{tree}", "force": True}),
    "a memory": ("POST", "{project}/memories", {"summary": "Another one", "description": "x"}),
    "a changed memory": ("PATCH", "{project}/memories/{memory}", {"summary": "No"}),
    "a context": ("POST", "/api/v1/contexts", {"name": "more", "projects": ["{tree}"]}),
    "a changed context": ("PATCH", "/api/v1/contexts/mine", {"name": "other"}),
    "a setting": ("PATCH", "/api/v1/settings", {"values": {"max_file_size": 2000}}),
    "clearing": ("POST", "{project}/clear", None),
    "compacting": ("POST", "{project}/doctor/compact", None),
    "deleting a memory": ("DELETE", "{project}/memories/{memory}", None),
}


@pytest.mark.parametrize("name", _WRITES)
def test_writes(full: Site, name: str) -> None:
    full.disk.fill()
    method, path, body = _WRITES[name]
    known = {
        "project": full.project,
        "memory": full.memory,
        "tree": str(full.tree),
        "new": str(full.new),
    }

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(each) for each in value]
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        return value.format(**known) if isinstance(value, str) else value

    answer = full.client.request(method, path.format(**known), json=filled(body))
    assert answer.status_code == 503, answer.text
    error = answer.json()
    assert error["error"] == "unavailable"
    assert _NO_ROOM.search(error["message"]), error
    assert _FREE in error["details"]["hint"], error
    assert _KEPT.search(error["message"] + error["details"]["hint"]), error


def test_a_first_index_leaves_nothing(full: Site) -> None:
    full.disk.fill()
    full.client.post("/api/v1/projects", json={"path": str(full.new)})
    [listed] = full.client.get("/api/v1/projects").json()["projects"]
    assert listed["path"] == str(full.tree)
    assert not list(full.server.home.glob(f"{project_id_of(str(full.new))}*"))


_FORMS = {
    "a first index": ("/", {"path": "{new}"}),
    "an index": ("{page}/index", {}),
    "a memory": ("{page}/memories", {"summary": "Another one", "description": "x"}),
    "a deleted memory": ("{page}/memories/{memory}/delete", {}),
    "a context": ("/contexts", {"name": "more", "project-{id}": "on"}),
    "a setting": ("/settings", {"name": "max_file_size", "value": "2000"}),
    "compacting": ("{page}/doctor/compact", {}),
}


@pytest.mark.parametrize("name", _FORMS)
def test_forms(full: Site, name: str) -> None:
    full.disk.fill()
    path, fields = _FORMS[name]
    known = {
        "page": full.page,
        "memory": full.memory,
        "tree": str(full.tree),
        "new": str(full.new),
        "id": project_id_of(str(full.tree)),
    }
    data = {key.format(**known): value.format(**known) for key, value in fields.items()}
    answer = full.client.post(
        path.format(**known), data=data, headers={**OWN_FORM, "Accept": "text/html"}
    )
    if answer.status_code == 303:
        answer = full.client.get(answer.headers["location"])
    page = Page.of(answer)
    assert answer.status_code == 503, page.text
    assert _NO_ROOM.search(page.text), page.text
    assert _FREE in page.text.lower(), page.text
    assert _KEPT.search(page.text), page.text
    if name == "a memory":
        assert page.all("input", name="summary", value="Another one")


def test_tools(full: Site) -> None:
    full.disk.fill()

    async def talk() -> None:
        async with Client(f"{full.server.url}/mcp") as client:
            found = await called(client, "search_code", query="open session")
            assert found["hits"]
            for tool, arguments in (
                (
                    "checkpoint_save",
                    {"summary": "x", "description": "y", "project_path": str(full.tree)},
                ),
                ("index_repository", {"path": str(full.new)}),
                ("start_indexing_background", {"repo_path": str(full.tree), "force": True}),
                ("index_symbol_graph", {"repository_path": str(full.tree), "force_clean": True}),
            ):
                result = await client.call_tool(tool, arguments)
                assert result.is_error
                text = str(result.content)
                assert _NO_ROOM.search(text), text
                assert _FREE in text.lower(), text
                assert _KEPT.search(text), text

    asyncio.run(talk())


def test_forgetting_works_and_makes_room(full: Site) -> None:
    full.disk.fill()
    answer = full.client.delete(full.project)
    assert answer.status_code == 200, answer.text
    assert answer.json()["forgotten"]
    assert full.client.get(full.project).status_code == 404
