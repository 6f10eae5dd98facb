"""A context is the same on the command line, over HTTP, for agents, and in the library."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from engine.catalog import Catalog
from engine.errors import ContextNotFoundError, NotFoundError, ProjectNotFoundError
from engine.search_records import Mode, SearchRequest
from engine.state_records import ContextChange, ContextProject, ProjectContext
from tests.support.command import Command
from tests.support.mcp_clients import ask, called, read, refused
from tests.support.server import Server, serving
from tests.support.trees import write_tree
from web.project_selection import as_members, member_ids

CODE = "def refresh_session(token):\n    return token\n"
NAMES = ("app", "api", "site")


@pytest.fixture
def three(catalog: Catalog, tmp_path: Path) -> Catalog:
    """The projects app, api and site; work has the first two."""
    projects = {}
    for name in NAMES:
        write_tree(tmp_path / name, {f"{name}.py": CODE})
        projects[name] = catalog.create(str(tmp_path / name))
        projects[name].index()
    catalog.contexts.create("work", as_members([projects["app"], projects["api"]]))
    return catalog


def _found(catalog: Catalog, query: str, mode: Mode = Mode.HYBRID) -> set[str]:
    answer = catalog.search(catalog.roots(), SearchRequest(query=query, mode=mode))
    return {Path(hit.project).name for hit in answer.hits}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("context:work", {"app", "api"}),
        ("context:WORK", {"app", "api"}),
        ('context:"work"', {"app", "api"}),
        ("-context:work", {"site"}),
        ("context:work -project:api", {"app"}),
        ("context:work project:api", {"api"}),
        ("context:work context:rest", {"app", "api", "site"}),
    ],
)
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.REGEX, Mode.SYMBOL])
def test_it_chooses_projects_in_every_mode(
    three: Catalog, filters: str, expected: set[str], mode: Mode
) -> None:
    site = next(root for root in three.roots() if root.endswith("site"))
    three.contexts.create("rest", as_members([three.open(site)]))
    assert _found(three, f"refresh_session {filters}", mode) == expected


def test_what_cannot_be_searched_is_an_error_with_its_position(three: Catalog) -> None:
    with pytest.raises(ContextNotFoundError, match="did you mean 'work'") as unknown:
        _found(three, "refresh context:wrk")
    assert unknown.value.details["position"] == 16
    with pytest.raises(NotFoundError, match="no project matches context:work"):
        _found(three, "refresh project:site context:work")


def test_a_project_leaves_its_contexts_with_a_word(three: Catalog, tmp_path: Path) -> None:
    assert three.forget(str(tmp_path / "app")) == ("work",)
    assert _found(three, "refresh context:work") == {"api"}
    three.open(str(tmp_path / "api")).close()
    [file] = [each for each in three.data_dir.glob("*.db") if _root_name(three, each) == "api"]
    for part in three.data_dir.glob(f"{file.stem}.db*"):
        part.unlink()  # not as `cairn forget` does it
    with pytest.raises(NotFoundError, match="no project matches context:work"):
        _found(three, "refresh context:work")
    site = three.open(str(tmp_path / "site"))
    three.contexts.change("work", ContextChange(add=as_members([site])))
    answer = three.search(three.roots(), SearchRequest(query="refresh context:work"))
    assert f"of the context work, {tmp_path}/api is no longer indexed" in answer.notes
    assert [Path(hit.project).name for hit in answer.hits] == ["site"]


def _root_name(catalog: Catalog, file: Path) -> str:
    listed = {each.project_id: each.path for each in catalog.projects()}
    return Path(listed[file.stem]).name


def test_agents_search_a_context_without_another_tool(three: Catalog) -> None:
    async def body(client: Client) -> None:
        found = await called(client, "search_code", query="refresh_session context:work")
        assert {Path(hit["project"]).name for hit in found["hits"]} == {"app", "api"}
        error = await refused(client, "search_code", query="refresh_session context:wrk")
        assert error["error"] == "not_found"
        assert "did you mean 'work'" in error["message"]
        assert error["details"]["contexts"] == ["work"]
        [listed] = json.loads(await read(client, "project://contexts"))["contexts"]
        assert listed["name"] == "work"
        assert [Path(each["path"]).name for each in listed["projects"]] == ["api", "app"]
        with pytest.raises(MCPError, match="no parameter 'project'"):
            await read(client, "project://contexts?project=app")

    ask(three, body)


def test_the_command_line_names_sets_of_projects(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    cairn = Command(home=tmp_path / "home", folder=tmp_path / "away", reads_here=True)
    assert "there are no contexts yet" in cairn("context").out
    for name in NAMES:
        write_tree(tmp_path / name, {f"{name}.py": CODE})
        assert cairn("index", str(tmp_path / name), "--quiet").code == 0
    made = cairn("context", "create", "work", str(tmp_path / "app"), "api")
    assert made.out == f"work: 2 projects\n  {tmp_path}/api\n  {tmp_path}/app\n"
    found = cairn("search", "refresh context:work", "--json").json()
    assert {Path(hit["project"]).name for hit in found["hits"]} == {"app", "api"}
    unknown = cairn("search", "refresh context:wokr")
    assert (unknown.code, unknown.out) == (3, "")
    assert "no context is named 'wokr', did you mean 'work'" in unknown.err
    changed = cairn("context", "change", "work", "--add", "site", "--drop", "api", "--json").json()
    assert [Path(each["path"]).name for each in changed["projects"]] == ["app", "site"]
    assert cairn("context", "change", "work", "--drop", "api").code == 3
    for part in (("--drop", "sit"), ("--add", "sit"), ("--add", ".")):
        assert cairn("context", "change", "work", *part).code == 3
    assert cairn("context", "change", "work").code == 2
    assert cairn("context", "create", "work", "api").code == 4
    assert cairn("context", "create", "a b", "api").code == 2
    assert cairn("context", "rename", "work", "day-job").out.startswith("day-job: 2 projects")
    forgotten = cairn("forget", str(tmp_path / "site"), "--yes")
    assert forgotten.out == (
        f"removed {tmp_path}/site: its index and its memories are deleted;"
        " it has left the context day-job\n"
    )
    listed = cairn("context", "--json").json()["contexts"]
    assert [(each["name"], len(each["projects"])) for each in listed] == [("day-job", 1)]
    removed = cairn("context", "remove", "day-job")
    assert removed.out == "removed the context day-job; its 1 project stays indexed\n"
    assert cairn("context", "remove", "day-job").code == 3
    assert len(cairn("projects", "--json").json()["projects"]) == 2


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server of three projects."""
    cairn = Command(home=tmp_path / "home", folder=tmp_path, reads_here=True)
    for name in NAMES:
        write_tree(tmp_path / name, {f"{name}.py": CODE})
        assert cairn("index", str(tmp_path / name), "--quiet").code == 0
    with serving(cairn, "--no-watch") as server:
        yield server


def _names(context: dict[str, list[dict[str, str]]]) -> list[str]:
    return [Path(each["path"]).name for each in context["projects"]]


def test_what_is_dropped_is_one_project() -> None:
    members = tuple(
        ContextProject(project_id=f"{number}" * 64, path=path)
        for number, path in enumerate(("/a/api", "/b/api", "/b/site"))
    )
    context = ProjectContext(name="work", projects=members)
    with pytest.raises(ProjectNotFoundError, match="is what 2 projects of the context") as raised:
        member_ids(context, ["api"])
    assert raised.value.details["projects"] == ["/a/api", "/b/api"]
    for name in ("b/api", "/b/api", "1" * 64):
        assert member_ids(context, [name]) == ("1" * 64,)


def test_the_api_has_contexts(server: Server, tmp_path: Path) -> None:
    with server.client() as client:

        def fails(answer: httpx.Response) -> tuple[int, str]:
            return answer.status_code, answer.json()["error"]

        new = {"name": "work", "projects": ["app", str(tmp_path / "api")]}
        made = client.post("/api/v1/contexts", json=new)
        assert (made.status_code, _names(made.json())) == (201, ["api", "app"])
        assert fails(client.post("/api/v1/contexts", json=new)) == (409, "conflict")
        bad = {"name": "a b", "projects": ["app"]}
        assert fails(client.post("/api/v1/contexts", json=bad)) == (400, "validation_error")
        nowhere = {"name": "x", "projects": ["nowhere"]}
        assert fails(client.post("/api/v1/contexts", json=nowhere)) == (404, "not_found")
        [listed] = client.get("/api/v1/contexts").json()["contexts"]
        assert listed == client.get("/api/v1/contexts/WORK").json() == made.json()
        patch = {"name": "day-job", "add": ["site"], "drop": ["api"]}
        changed = client.patch("/api/v1/contexts/work", json=patch).json()
        assert (changed["name"], _names(changed)) == ("day-job", ["app", "site"])
        found = client.get("/api/v1/search", params={"query": "refresh context:day-job"}).json()
        assert {Path(hit["project"]).name for hit in found["hits"]} == {"app", "site"}
        wrong = client.get("/api/v1/search", params={"query": "refresh context:work"})
        assert fails(wrong) == (404, "not_found")
        assert wrong.json()["details"]["position"] == 16
        project_id = next(each["project_id"] for each in changed["projects"])
        forgotten = client.delete(f"/api/v1/projects/{project_id}").json()
        assert forgotten["contexts"] == ["day-job"]
        assert client.delete("/api/v1/contexts/day-job").status_code == 204
        assert fails(client.get("/api/v1/contexts/day-job")) == (404, "not_found")
