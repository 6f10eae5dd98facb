"""Agents at a real server: every tool and resource over both transports, behind the same checks."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client
from mcp.client.sse import sse_client

from tests.support.command import Command
from tests.support.mcp_calls import HANGS, projects_in, use_everything
from tests.support.mcp_clients import INITIALIZE, called, refused
from tests.support.pages import PATIENT
from tests.support.patience import ANSWER_S
from tests.support.server import Server, serving

pytestmark = pytest.mark.slow

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A small project, and one whose job does not end."""
    return projects_in(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="module")
def server(projects: tuple[str, str]) -> Iterator[Server]:
    """A server of the first."""
    folder = Path(projects[0])
    variables = {"CAIRN_WORKERS": "1", **PATIENT, **HANGS}
    command = Command(home=folder.parent / "home", folder=folder, variables=variables)
    with serving(command, str(folder)) as server:
        yield server


@pytest.mark.parametrize("transport", ["auto", "legacy", "sse"])
def test_the_official_client_uses_everything(
    server: Server, projects: tuple[str, str], transport: str
) -> None:
    async def conversation() -> None:
        if transport == "sse":
            client = Client(sse_client(f"{server.url}/sse"))
        else:
            client = Client(f"{server.url}/mcp", mode=transport)
        async with client:
            await use_everything(client, *projects)
            error = await refused(client, "index_repository", path="relative")
            assert error["details"]["field"] == "path"

    asyncio.run(conversation())


def test_what_an_agent_asks_for_is_seen_by_others(
    server: Server, projects: tuple[str, str]
) -> None:
    async def conversation() -> str:
        async with Client(f"{server.url}/mcp") as client:
            report = await called(client, "start_indexing_background", repo_path=projects[0])
            return str(report["job_id"])

    job_id = asyncio.run(conversation())
    with server.client() as client:
        assert client.get(f"/api/v1/jobs/{job_id}").json()["job_id"] == job_id


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 400),
    ],
)
def test_foreign_pages_cannot_use_it(server: Server, headers: dict[str, str], status: int) -> None:
    with httpx.Client(base_url=server.url, timeout=ANSWER_S) as client:
        answer = client.post("/mcp", json=INITIALIZE, headers=JSON | headers)
        assert answer.status_code in (status, 415), answer.text
        assert answer.status_code != 415 or status == 400
        names = {name.lower() for name in answer.headers}
        assert not {name for name in names if name.startswith("access-control-")}
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert client.post("/mcp", json=INITIALIZE, headers=JSON).status_code == 200
