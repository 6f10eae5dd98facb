"""The page that connects agents: what to paste, and who is connected and has called what."""

import json
import tomllib
from pathlib import Path

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client
from mcp.types import Implementation

from tests.support.command import Command
from tests.support.mcp_clients import stdio_parameters
from tests.support.pages import Page, site
from tests.support.patience import ANSWER_S
from tests.support.server import Server, serving
from web.agent_clients import CLIENTS, EDITED, AgentClient
from web.agent_entries import NAME
from web.cli.agents import editor_of
from web.pages.connect import snippets_for

URL = "http://127.0.0.1:7331/mcp"
COMMAND = ["/usr/bin/cairn", "mcp"]


@pytest.mark.parametrize("client", EDITED, ids=lambda client: client.name)
def test_entries_are_those_that_install_writes(client: AgentClient) -> None:
    found = snippets_for(client, URL, COMMAND, {"CAIRN_HOME": "/data"}, has_token=False)
    load = tomllib.loads if client.is_toml else json.loads
    for text, entry in (
        (found.http, client.http_entry(URL)),
        (found.stdio, client.stdio_entry(COMMAND, {"CAIRN_HOME": "/data"})),
    ):
        assert load(text) == load(editor_of(client).write(client.section, NAME, entry))


def test_with_a_token_every_entry_over_http_says_where_it_goes() -> None:
    for client in CLIENTS:
        found = snippets_for(client, URL, COMMAND, {}, has_token=True)
        load = tomllib.loads if client.name == "codex" else json.loads
        assert list(load(found.stdio)) == [client.section]
        if not client.url:
            assert found.http == ""
            continue
        entry = load(found.http)[client.section][NAME]
        assert entry[client.url] == URL
        header = entry.get("headers", {}).get("Authorization", "")
        assert header.startswith("Bearer ") or entry["bearer_token_env_var"] == "CAIRN_TOKEN"
        if "${input:" in header:
            [asked] = json.loads(found.http)["inputs"]
            assert header == f"Bearer ${{input:{asked['id']}}}"
        if found.command:
            assert "CAIRN_TOKEN" in found.command


def test_the_page_has_the_address_that_was_used(
    pages_client: httpx.Client, pages_server: Server
) -> None:
    page = Page.of(pages_client.get("/connect"))
    assert f'"url": "http://127.0.0.1:{pages_server.port}/mcp"' in page.text
    assert "cairn mcp install" in page.text
    for client in CLIENTS:
        assert client.title in page.text
    assert "CAIRN_TOKEN" not in page.text


def test_the_token_itself_is_never_shown(tmp_path: Path) -> None:
    token = "a-token-of-this-test-alone"
    command = Command(home=tmp_path / "data", folder=tmp_path, variables={"CAIRN_TOKEN": token})
    with serving(command, "--no-watch") as server:
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=ANSWER_S) as client:
            text = client.get("/connect").text
        assert httpx.get(f"{server.url}/connect", timeout=ANSWER_S).status_code == 401
    assert token not in text
    assert "Bearer ${CAIRN_TOKEN}" in text


def test_agents_over_http_and_stdio_appear_without_their_words(tmp_path: Path) -> None:
    tree = tmp_path / "app"
    tree.mkdir()
    (tree / "session.py").write_text("def open_session():\n    return 1\n")
    with site(tmp_path, tree) as server, server.client() as client:
        empty = Page.of(client.get("/connect"))
        assert "No agent has connected in the last day." in empty.text

        async def talk() -> None:
            info = Implementation(name="first-agent", version="1.0")
            async with Client(f"{server.url}/mcp", client_info=info) as agent:
                await agent.list_tools()
                await agent.call_tool("search_code", {"query": "xylophone", "project_path": "app"})
                await agent.call_tool("search_code", {"query": "xylophone", "project_path": "gone"})
            info = Implementation(name="<b>second", version="2")
            parameters = stdio_parameters(tmp_path / "data", tree)
            async with Client(stdio_client(parameters), client_info=info) as agent:
                await agent.list_tools()
                found = client.get("/api/v1/agents").json()
                assert [each["client"] for each in found["agents"] if each["connected"]] == [
                    "<b>second 2",
                    "first-agent 1.0",
                ]

        anyio.run(talk)
        answer = client.get("/connect", headers={"HX-Request": "true"})
        page = Page.of(answer)
        assert "first-agent 1.0" in page.text
        assert "<b>second 2" in page.text
        assert "not connected" in page.text  # its server has ended
        assert "xylophone" not in answer.text
        [failed, found] = client.get("/api/v1/agents").json()["calls"]
        assert (found["project"], found["outcome"]) == (str(tree), "ok")
        assert found["tokens"] > 0
        assert (failed["project"], failed["outcome"]) == (None, "not_found")
    log = (tmp_path / "data/logs/agents.log").read_text()
    assert "first-agent" in log
    assert "xylophone" not in log
