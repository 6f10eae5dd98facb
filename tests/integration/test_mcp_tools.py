"""The tools as an agent calls them: answers and errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from engine.catalog import Catalog
from tests.support.command import ROOT
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called, read, refused, text_of
from tests.support.trees import SMALL, write_tree

ALL_TOOLS = [
    "search_code",
    "find_symbol",
    "find_related",
    "find_references",
    "find_impact",
    "code_map",
    "list_projects",
    "outline",
    "index_repository",
    "index_symbol_graph",
    "start_indexing_background",
    "get_indexing_status",
    "cancel_indexing",
    "list_indexing_jobs",
    "checkpoint_save",
    "checkpoint_search",
    "checkpoint_list",
    "verify_index",
]


@pytest.fixture
def tree(tree: Path) -> Path:
    """A small project."""
    return write_tree(tree, SMALL)


def test_the_description_says_how_long_jobs_are_kept(tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        said = {tool.name: tool.description for tool in (await client.list_tools()).tools}
        assert "kept for 14 days" in str(said["list_indexing_jobs"])

    with catalog_in(tmp_path / "home", job_retention=14) as catalog:
        ask(catalog, body)


def test_the_tools_are_described_in_little_space(catalog: Catalog) -> None:
    async def body(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ALL_TOOLS
        shapes = [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in tools]
        sent = json.dumps(shapes, separators=(",", ":"), ensure_ascii=False)
        assert len(sent.encode()) < 16_000
        for tool in tools:
            assert tool.title
            assert tool.description
            assert tool.annotations
            assert tool.annotations.open_world_hint is False
            assert tool.output_schema
            assert tool.input_schema["additionalProperties"] is False
            assert "title" not in json.dumps(tool.input_schema)
        read_only = [
            tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint
        ]
        assert read_only == [
            "search_code",
            "find_symbol",
            "find_related",
            "find_references",
            "find_impact",
            "code_map",
            "list_projects",
            "outline",
            "get_indexing_status",
            "list_indexing_jobs",
            "checkpoint_search",
            "checkpoint_list",
        ]
        parameters = {tool.name: list(tool.input_schema["properties"]) for tool in tools}
        promised = (
            "query project_path mode language path kind branch limit max_tokens format cursor"
        )
        assert set(promised.split()) <= set(parameters["search_code"])
        assert (
            parameters["index_repository"]
            == ("path include_patterns exclude_patterns max_file_size branch").split()
        )
        assert (
            parameters["index_symbol_graph"]
            == ("repository_path files include exclude force_clean max_workers").split()
        )
        limits = {
            tool.name: tool.input_schema["properties"]["limit"]["default"]
            for tool in tools
            if "limit" in tool.input_schema["properties"]
        }
        assert limits == {
            "search_code": 10,
            "find_symbol": 20,
            "find_related": 5,
            "list_indexing_jobs": 20,
            "checkpoint_search": 10,
            "checkpoint_list": 50,
        }
        size = next(tool for tool in tools if tool.name == "index_repository").input_schema
        assert size["properties"]["max_file_size"] | {"description": ""} == {
            "type": "integer",
            "description": "",
            "default": 1048576,
            "minimum": 0,
            "maximum": 10485760,
        }

    ask(catalog, body)


def test_the_page_of_agents_has_every_tool_with_its_parameters_and_every_resource(
    catalog: Catalog,
) -> None:
    page = (ROOT / "docs" / "mcp.md").read_text("utf-8")

    async def body(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            rows = [line for line in page.splitlines() if line.startswith("| `")]
            [line] = [line for line in rows if f"`{tool.name}`" in line.split("|")[1]]
            taken = line.rpartition(" | ")[2]
            missing = [name for name in tool.input_schema["properties"] if f"`{name}" not in taken]
            assert missing == [], tool.name
        for each in (await client.list_resource_templates()).resource_templates:
            scheme = each.uri_template.partition("{")[0].rstrip("/")
            assert f"`{scheme}" in page

    ask(catalog, body)


def test_the_globs_of_a_project_are_kept_until_others_come(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree), include_patterns=["*.py"])
        kept = await called(client, "index_repository", path=str(tree))
        assert kept["include_patterns"] == ["*.py"]
        dropped = await called(client, "index_repository", path=str(tree), include_patterns=[])
        assert dropped["include_patterns"] == []

    ask(catalog, body)


def test_a_path_is_absolute_for_a_server_that_has_no_folder(catalog: Catalog) -> None:
    async def body(client: Client) -> None:
        error = await refused(client, "index_repository", path="src")
        assert error["details"]["field"] == "path"
        assert "absolute" in error["message"]

    ask(catalog, body)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "query"),
        ({"query": 5}, "query"),
        ({"query": ""}, "query"),
        ({"query": "x" * 5000}, "query"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 101}, "limit"),
        ({"query": "x", "limit": True}, "limit"),
        ({"query": "x", "limit": "5"}, "limit"),
        ({"query": "x", "limit": 10**40}, "limit"),
        ({"query": "x", "mode": "best"}, "mode"),
        ({"query": "x", "max_tokens": 99}, "max_tokens"),
        ({"query": "x", "format": "xml"}, "format"),
        ({"query": "x", "cursor": "!"}, "cursor"),
        ({"query": "x", "project": "/"}, "project"),
        ({"query": "x", "Query": "y"}, "Query"),
        ({"query": "x", "a`b` c": 1}, "a`b` c"),
    ],
)
def test_a_bad_argument_is_named(
    catalog: Catalog, arguments: dict[str, object], field: str
) -> None:
    async def body(client: Client) -> None:
        error = await refused(client, "search_code", **arguments)
        assert error["error"] == "validation_error"
        assert error["details"]["field"] == field

    ask(catalog, body)


def test_null_stands_for_what_is_not_given(catalog: Catalog, tree: Path) -> None:
    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree), include_patterns=None)
        answer = await called(client, "search_code", query="parse", kind=None, limit=None)
        assert answer["hits"]

    ask(catalog, body)


def test_answers_are_read_page_by_page(catalog: Catalog, tree: Path) -> None:
    for number in range(7):
        (tree / f"part{number}.py").write_text(f"def parse_part_{number}(text):\n    return text\n")

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        whole = await called(client, "search_code", query="parse", limit=50)
        paths = [hit["path"] for hit in whole["hits"]]
        assert len(paths) > 6
        found: list[str] = []
        cursor = None
        for _ in range(10):
            page = await called(client, "search_code", query="parse", limit=3, cursor=cursor)
            assert len(page["hits"]) <= 3
            found += [hit["path"] for hit in page["hits"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
            assert page["truncated"]
        assert found[: len(paths)] == paths
        first = await called(client, "search_code", query="parse", limit=3)
        cursor = first["next_cursor"]
        foreign: list[dict[str, object]] = [
            {"query": "other"},
            {"query": "parse", "language": "go"},
            {"query": "parse", "project_path": str(tree)},
        ]
        for other in foreign:
            error = await refused(client, "search_code", cursor=cursor, **other)
            assert error["details"]["field"] == "cursor"

    ask(catalog, body)


def test_a_page_behind_the_last_hit_does_not_say_that_nothing_is_found(
    catalog: Catalog, tree: Path
) -> None:
    parts = [tree / f"part{number}.py" for number in range(7)]
    for number, part in enumerate(parts):
        part.write_text(f"def parse_part_{number}(text):\n    return text\n")

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        asked = {"query": "parse path:part*.py", "limit": 6}
        page = await called(client, "search_code", **asked)
        for part in parts[1:]:
            part.unlink()
        await called(client, "index_repository", path=str(tree))
        text = await text_of(client, "search_code", **asked, cursor=page["next_cursor"])
        assert "no more hits" in text
        assert "nothing found" not in text

    ask(catalog, body)


def test_the_last_page_says_what_is_left_out_and_that_the_number_is_whole(
    catalog: Catalog, tree: Path
) -> None:
    for number in range(7):
        doc = f"Return part {number} of a text that is long.\n\n    " + "It is long. " * 30
        code = f'def part_{number}(text):\n    """{doc}"""\n    return text\n'
        (tree / f"part{number}.py").write_text(code)

    async def last(client: Client, **asked: object) -> tuple[dict[str, Any], str]:
        page = await called(client, "search_code", **asked)
        cursor = None
        while page["next_cursor"]:
            cursor = page["next_cursor"]
            page = await called(client, "search_code", **asked, cursor=cursor)
        return page, await text_of(client, "search_code", **asked, cursor=cursor)

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        page, text = await last(client, query="lang:python", limit=5, max_tokens=400)
        assert page["total"] == 8
        assert "of 8, " in text
        assert "or more" not in text
        page, text = await last(client, query="parse_config", limit=2)
        left_out = page["total"] - 1
        assert f"{left_out} unlikely ones left out" in page["notes"]
        assert text.count("unlikely ones left out") == 1

    ask(catalog, body)


def test_symbols_and_related_code_are_found(catalog: Catalog, tree: Path) -> None:
    (tree / "other.py").write_text(SMALL["app.py"].replace("parse_config", "parse_settings"))

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        found = await called(client, "find_symbol", name="parse", match="prefix", kind="function")
        assert {symbol["name"] for symbol in found["symbols"]} == {"parse_config", "parse_settings"}
        exact = await called(client, "find_symbol", name="Session.refresh")
        assert [symbol["line_start"] for symbol in exact["symbols"]] == [9, 9]
        error = await refused(client, "find_symbol", name="x", match="near")
        assert error["details"]["field"] == "match"
        near = await called(client, "find_related", path="app.py", line=1)
        assert [hit["path"] for hit in near["hits"]][:1] == ["other.py"]
        error = await refused(client, "find_related", path="none.py", line=1)
        assert error["error"] == "not_found"
        assert "outline lists" in error["details"]["hint"]
        error = await refused(client, "find_related", path="../x", line=1)
        assert error["error"] == "validation_error"

    ask(catalog, body)


def test_a_name_of_many_definitions_says_how_many(catalog: Catalog, tree: Path) -> None:
    bodies = "".join(
        f"class Part{n}:\n    def begin(self):\n        pass\n\n\n" for n in range(450)
    )
    (tree / "many.py").write_text(bodies)
    (tree / "one.py").write_text("def begin():\n    pass\n")

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        found = await called(client, "find_symbol", name="Part1", match="prefix")
        assert (len(found["symbols"]), found["total"], found["truncated"]) == (20, 111, True)
        advice = "20 symbols of 111: narrow by kind or Class.name, or raise limit and max_tokens"
        assert found["notes"] == [advice]
        text = await text_of(client, "find_symbol", name="Part1", match="prefix")
        assert text.endswith(advice)
        found = await called(client, "find_symbol", name="begin", limit=7)
        assert (len(found["symbols"]), found["total"], found["truncated"]) == (7, 400, True)
        assert "7 symbols of 400 or more" in await text_of(
            client, "find_symbol", name="begin", limit=7
        )
        found = await called(client, "find_symbol", name="begin", limit=1000)
        assert len(found["symbols"]) < 40
        assert found["truncated"]
        found = await called(client, "find_symbol", name="begin", limit=1000, max_tokens=1_000_000)
        assert (len(found["symbols"]), found["total"], found["truncated"]) == (451, 451, False)
        found = await called(client, "find_symbol", name="begin", kind="function")
        assert (found["total"], found["truncated"]) == (1, False)
        listed = json.loads(await read(client, "symbols://search?name=begin"))
        assert (len(listed["symbols"]), listed["truncated"]) == (100, True)

    ask(catalog, body)


def test_an_unknown_tool_is_an_error_of_the_protocol(catalog: Catalog) -> None:
    async def body(client: Client) -> None:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("rm_rf", {})
        assert raised.value.code == -32602

    ask(catalog, body)


def test_progress_is_told_while_a_run_is_waited_for(catalog: Catalog, tree: Path) -> None:
    text = "".join(f"def part_{n}(value):\n    return value + {n}\n\n\n" for n in range(40))
    for number in range(400):  # several times what lies between two tellings
        (tree / f"part{number}.py").write_text(f"# {number}\n{text}")
    told: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None = None, message: str | None = None) -> None:
        told.append((progress, total, message))

    async def body(client: Client) -> None:
        await client.call_tool("index_repository", {"path": str(tree)}, progress_callback=hear)

    ask(catalog, body)
    numbers = [done for done, _, _ in told]
    assert numbers == sorted(set(numbers))
    assert told
    assert all(message for _, _, message in told)


def test_a_search_says_that_it_lists_no_more_than_its_most(catalog: Catalog, tree: Path) -> None:
    text = "".join(f"def number_{number}():\n    pass\n\n\n" for number in range(130))
    write_tree(tree, {"many.py": text, "few.py": "class One:\n    pass\n"})

    async def body(client: Client) -> None:
        await called(client, "index_repository", path=str(tree))
        cursor, notes, seen = None, [], 0
        while True:
            page = await called(
                client,
                "search_code",
                query="kind:function",
                limit=50,
                max_tokens=8000,
                project_path=str(tree),
                cursor=cursor,
            )
            notes.append(any("100 hits at most" in each for each in page.get("notes", ())))
            seen += len(page["hits"])
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == 100
        assert (notes[0], notes[-1], page["truncated"]) == (False, True, True)
        few = await called(
            client, "search_code", query="kind:class", limit=100, project_path=str(tree)
        )
        assert "notes" not in few

    ask(catalog, body)
