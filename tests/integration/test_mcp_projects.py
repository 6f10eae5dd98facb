"""Which project a call speaks of: named, served, or the only one; never guessed."""

import asyncio
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from engine.catalog import Catalog
from tests.support.mcp_clients import ask, called, read, refused, text_of
from tests.support.trees import SMALL, write_tree
from web.mcp.server import make_server


@pytest.fixture
def tree(tree: Path) -> Path:
    """A small project."""
    return write_tree(tree, SMALL)


def test_a_project_is_chosen_and_never_guessed(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "canary.py").write_text("def parse_canary():\n    pass\n")

    async def body(client: Client) -> None:
        error = await refused(client, "search_code", query="parse")
        assert "index_repository" in error["details"]["hint"]
        await called(client, "index_repository", path=str(tree))
        error = await refused(client, "search_code", query="parse", project_path=str(second))
        assert error["error"] == "not_found"
        assert f'index_repository with path "{second}"' in error["details"]["hint"]
        await called(client, "index_repository", path=str(second))

        error = await refused(client, "search_code", query="parse")
        assert error["details"]["field"] == "project_path"
        assert error["details"]["projects"] == sorted([str(tree), str(second)])
        with pytest.raises(MCPError) as raised:
            await read(client, "symbols://list")
        assert raised.value.code == -32602
        assert raised.value.data["details"]["projects"] == sorted([str(tree), str(second)])

        for root, hidden in ((tree, "canary"), (second, "parse_config")):
            texts = [
                await text_of(client, "search_code", query="parse", project_path=str(root)),
                await text_of(
                    client, "find_symbol", name="parse", match="fuzzy", project_path=str(root)
                ),
                await read(client, f"symbols://list?project={root}"),
                await read(client, f"symbols://search?name=parse&project={root}"),
                await read(client, f"project://./structure?project={root}"),
            ]
            assert all(hidden not in text for text in texts)
        both = await called(client, "search_code", query="parse project:second")
        assert both["project"] == str(second)

    ask(catalog, body)


def test_a_project_is_chosen_by_its_name(catalog: Catalog, tree: Path, tmp_path: Path) -> None:
    twins = [tmp_path / parent / "twin" for parent in ("a", "b")]
    for twin in twins:
        write_tree(twin, {"canary.py": "def parse_canary():\n    pass\n"})

    async def body(client: Client) -> None:
        for root in (tree, *twins):
            await called(client, "index_repository", path=str(root))
        named = {"project_path": "tree"}
        found = await called(client, "search_code", query="parse", **named)
        assert found["project"] == str(tree)
        assert (await called(client, "find_symbol", name="parse_config", **named))["symbols"]
        assert (await called(client, "checkpoint_list", **named))["total"]
        assert (await called(client, "verify_index", **named))["ok"]
        assert (await called(client, "list_indexing_jobs", target="tree"))["total"] == 1
        assert "app.py" in await read(client, "symbols://list?project=tree")
        found = await called(client, "search_code", query="parse", project_path="b/twin")
        assert found["project"] == str(twins[1])

        error = await refused(client, "search_code", query="parse", project_path="twin")
        assert (error["error"], error["details"]["field"]) == ("not_found", "project_path")
        assert error["details"]["projects"] == [str(twin) for twin in twins]
        error = await refused(client, "search_code", query="parse", project_path="twee")
        assert "did you mean" in error["message"]
        assert error["details"]["projects"] == sorted(map(str, (tree, *twins)))
        error = await refused(client, "list_indexing_jobs", target="/nowhere")
        assert error["error"] == "not_found"
        assert 'index_repository with path "/nowhere"' in error["details"]["hint"]
        error = await refused(client, "verify_index", project_path="/nowhere")
        assert 'index_repository with path "/nowhere"' in error["details"]["hint"]

    ask(catalog, body)


def test_what_changes_a_project_wants_its_whole_name(catalog: Catalog, tree: Path) -> None:
    note = {"summary": "why", "description": "because"}

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        assert (await called(client, "find_symbol", name="parse_config", project_path="tre"))[
            "symbols"
        ]
        assert (await called(client, "verify_index", project_path="tre"))["ok"]
        for name, tool, values in (
            ("tre", "verify_index", {"repair": True}),
            ("tre", "checkpoint_save", note),
            ("tr", "search_code", {"query": "parse"}),
            ("t", "verify_index", {}),
        ):
            error = await refused(client, tool, project_path=name, **values)
            assert error["error"] == "not_found"
            assert error["details"]["projects"] == [str(tree)]
        assert (await called(client, "checkpoint_save", project_path="tree", **note))["id"]

    ask(catalog, body)


def test_a_served_project_is_the_one_that_is_meant(
    catalog: Catalog, tree: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "canary.py").write_text("def parse_canary():\n    pass\n")

    async def conversation() -> None:
        server = make_server(catalog, served=(str(second),), is_runner=True)
        async with Client(server) as client:
            await called(client, "index_repository", path=str(tree))
            await called(client, "index_repository", path=str(second))
            answer = await called(client, "search_code", query="parse")
            assert answer["project"] == str(second)

    asyncio.run(conversation())
