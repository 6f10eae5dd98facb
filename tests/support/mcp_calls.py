"""A right use of every tool and every resource, for clients of any kind and over any transport."""

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp.client.client import Client

from tests.support.mcp_clients import called, read, text_of
from tests.support.trees import SAMPLE, write_tree

#: What keeps a job from ending, so that it can be looked at and stopped.
HANGS = {"CAIRN_FAULT": "hang:parse:slow.py", "CAIRN_PARSE_TIMEOUT": "600000"}

RESOURCES = (
    "symbols://list",
    "symbols://search",
    "symbols://file/{+path}",
    "symbols://stats",
    "project://{+path}/structure",
    "project://contexts",
    "logs://list",
    "logs://content",
    "logs://server",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A call of a tool or, when there is a URI, a read of a resource."""

    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    uri: str = ""
    template: str = ""  # which resource the URI is of

    def meaning(self, text: str) -> Any:
        """Give what a resource holds: what its JSON means, or the text of a log."""
        return text if self.template in ("logs://content", "logs://server") else json.loads(text)


#: Steps that a client takes, each of which is sent its answer: an object, or a resource's JSON.
Tour = Generator[Step, Any, None]


def projects_in(folder: Path) -> tuple[str, str]:
    """Make two projects below a folder: a sample, and one whose job does not end (``HANGS``)."""
    sample = write_tree(folder / "tree", SAMPLE)
    slow = write_tree(folder / "slow", {"slow.py": "slow = 1\n"})
    return str(sample), str(slow)


def tour_of(project: str, slow: str) -> Tour:
    """Use everything once, in an order that makes sense; the answers are looked at.

    Args:
        project: A folder that holds ``SAMPLE``.
        slow: A folder whose job does not end by itself.
    """
    yield from _indexing(project)
    yield from _searching(project)
    yield from _remembering(project)
    yield from _following(slow)
    yield from _reading(project)


def _call(tool: str, **arguments: object) -> Step:
    return Step(tool=tool, arguments=arguments)


def _indexing(project: str) -> Tour:
    report = yield _call("index_repository", path=project)
    for _ in range(10):  # a call waits 25 s, which may be too short on a busy machine
        if report["status"] != "running":
            break
        report = yield _call("index_repository", path=project)
    assert (report["status"], report["path"], report["errors"]) == ("completed", project, [])
    some = {"repository_path": project, "files": ["app/session.py"], "max_workers": 2}
    graph = yield _call("index_symbol_graph", **some)
    for _ in range(10):  # and 2 s for its log
        if graph["status"] == "completed" and graph["logs"]["operation_log"]:
            break
        graph = yield _call("index_symbol_graph", **some)
    assert (graph["status"], graph["files_indexed"]) == ("completed", 0)
    assert Path(graph["logs"]["operation_log"]).is_file()
    checked = yield _call("verify_index", project_path=project, repair=False)
    assert (checked["status"], checked["ok"]) == ("completed", True)


def _searching(project: str) -> Tour:
    answer = yield _call("search_code", query="open session", project_path=project, limit=2)
    assert answer["hits"][0]["path"] == "app/session.py"
    found = yield _call("find_symbol", name="open_session", project_path=project)
    assert [symbol["path"] for symbol in found["symbols"]] == ["app/session.py"]
    near = yield _call("find_related", path="app/session.py", line=9, project_path=project)
    assert near["hits"]
    affected = yield _call("find_impact", name="open_session", project_path=project)
    assert [each["path"] for each in affected["tests"]] == ["tests/test_session.py"]
    drawn = yield _call("code_map", project_path=project)
    assert drawn["files"]
    uses = yield _call("find_references", name="open_session", project_path=project)
    assert [each["path"] for each in uses["references"]] == ["tests/test_session.py"]
    listed = yield _call("list_projects")
    assert project in [each["path"] for each in listed["projects"]]
    shown = yield _call("outline", path="app/session.py", project_path=project)
    assert "6-15 class SessionStore" in shown["symbols"]


def _remembering(project: str) -> Tour:
    saved = yield _call(
        "checkpoint_save",
        summary="Tokens expire after an hour",
        description="Decided in March.",
        project_path=project,
        context={"ticket": 7},
        tags=["decision"],
    )
    assert (saved["context"], saved["tags"]) == ({"ticket": 7}, ["decision"])
    found = yield _call(
        "checkpoint_search", query="tokens expire", project_path=project, tags=["!indexed"]
    )
    assert saved["id"] in [each["id"] for each in found["checkpoints"]]
    page = yield _call("checkpoint_list", project_path=project, limit=50)
    assert page["total"] > len(SAMPLE)


def _following(slow: str) -> Tour:
    started = yield _call("start_indexing_background", repo_path=slow, include_patterns=["*.py"])
    job_id = started["job_id"]
    status = yield _call("get_indexing_status", job_id=job_id)
    assert (status["path"], status["error"]) == (slow, None)
    stopped = yield _call("cancel_indexing", job_id=job_id)
    assert stopped["cancel_requested"] or stopped["status"] == "cancelled"
    listed = yield _call("list_indexing_jobs", target=slow)
    assert job_id in [job["job_id"] for job in listed["jobs"]]


def _reading(project: str) -> Tour:
    def resource(template: str, uri: str = "", **query: str) -> Step:
        asked = "&".join(
            f"{name}={quote(text)}" for name, text in (query | {"project": project}).items()
        )
        return Step(uri=f"{uri or template}?{asked}", template=template)

    paths = yield resource("symbols://list")
    assert paths == sorted(SAMPLE)
    found = yield resource("symbols://search", name="Server", type="struct")
    assert [symbol["path"] for symbol in found["symbols"]] == ["cmd/server/main.go"]
    outline = yield resource("symbols://file/{+path}", "symbols://file/app/session.py")
    assert "open_session" in [symbol["name"] for symbol in outline["symbols"]]
    stats = yield resource("symbols://stats")
    assert stats["files"] == len(SAMPLE)
    disk = yield resource("project://{+path}/structure", "project://./structure")
    assert disk["files"] == paths
    sets = yield Step(uri="project://contexts", template="project://contexts")
    assert sets == {"contexts": []}
    logs = yield resource("logs://list")
    text = yield resource("logs://content", file=logs["logs"][-1]["file"], pattern="COMPLETE")
    assert "INDEX COMPLETE" in text
    text = yield Step(uri="logs://server", template="logs://server")
    assert project in text


async def lead(client: Client, tour: Tour) -> list[Step]:
    """Take a client through a tour; the steps it took."""
    taken: list[Step] = []
    answer: Any = None
    while True:
        try:
            step = tour.send(answer)
        except StopIteration:
            return taken
        taken.append(step)
        if step.uri:
            answer = step.meaning(await read(client, step.uri))
        else:
            answer = await called(client, step.tool, **step.arguments)


def follow(tour: Tour, take: Callable[[Step], Any]) -> list[Step]:
    """Go on a tour by a function that gives the answer to a step; the steps it took."""
    taken: list[Step] = []
    answer: Any = None
    while True:
        try:
            step = tour.send(answer)
        except StopIteration:
            return taken
        taken.append(step)
        answer = take(step)


async def use_everything(client: Client, project: str, slow: str) -> None:
    """Take the official client through a tour, which leaves out nothing that the server lists."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    templates = (await client.list_resource_templates()).resource_templates
    assert len((await client.list_resources()).resources) == 6
    steps = await lead(client, tour_of(project, slow))
    assert sorted({step.tool for step in steps if step.tool}) == sorted(tools)
    assert [each.uri_template.partition("{?")[0] for each in templates] == list(RESOURCES)
    assert [step.template for step in steps if step.uri] == list(RESOURCES)
    given = {"query": "open session", "project_path": project}
    assert "app/session.py:" in await text_of(client, "search_code", **given)
