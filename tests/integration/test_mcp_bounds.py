"""No answer of a tool is longer than its budget, whatever a project contains."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.memory_records import NewMemory
from engine.records import bytes_within
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called, text_of
from tests.support.trees import write_tree

_LONG = "The parser of the configuration reads every part, and then the next one. \x1b[0m\n" * 900
_MOST = bytes_within(1500)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with hundreds of files and symbols, long names and files that are skipped."""
    folder = tmp_path_factory.mktemp("bounds") / "tree"
    symbols = "".join(
        f"def parse_part_{n}_of_the_configuration(text: str, *, option_{n}: bool) -> str:\n"
        f'    """Parse part {n}: {"and more " * 20}."""\n    return text\n\n\n'
        for n in range(400)
    )
    files = {f"package/part_{n}_of_the_configuration.py": symbols[:800] for n in range(400)}
    files |= {f"deep/{'folder_' * 8}{n}/module.py": f"value_{n} = 1\n" for n in range(60)}
    return write_tree(folder, {**files, "many.py": symbols, "long.md": f"# Parts\n\n{_LONG}"})


@pytest.fixture(scope="module")
def catalog(tree: Path) -> Iterator[Catalog]:
    """Its index, with long notes, and many other projects."""
    with catalog_in(tree.parent / "home") as catalog:
        for number in range(60):
            other = write_tree(tree.parent / f"other_{'project_' * 6}{number}", {"a.py": ""})
            catalog.create(str(other))
        index = catalog.create(str(tree))
        index.index()
        for number in range(30):
            index.checkpoints.save(
                NewMemory(
                    summary=f"Parser of the configuration {number} {'ä' * 400}",
                    description=_LONG,
                    context={f"{'key' * 20}{n}": "value " * 60 for n in range(100)},
                    tags=tuple(f"ü{number}-{n}-" + "ö" * 50 for n in range(30)),
                )
            )
        yield catalog


def _size(text: str) -> int:
    return len(text.encode())


def test_no_answer_of_any_tool_exceeds_the_default(catalog: Catalog, tree: Path) -> None:
    place: dict[str, Any] = {"project_path": str(tree)}
    globs = [f"{'pattern_' * 6}{n}/**" for n in range(900)]
    job = {"job_id": ""}
    many = {**place, "limit": 100}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_code", {"query": "parse part configuration", **many}),
        ("search_code", {"query": "kind:function path:package/", **many, "format": "json"}),
        ("find_symbol", {"name": "parse", "match": "fuzzy", **place, "limit": 1000}),
        ("find_related", {"path": "many.py", "line": 2, **many}),
        ("find_references", {"name": "text", **place}),
        ("find_impact", {"name": "parse_part_7_of_the_configuration", **place}),
        ("find_impact", {"path": "many.py", "depth": 5, **place}),
        ("code_map", place),
        ("code_map", {"query": "parser of the configuration", **place}),
        ("find_references", {"name": "text", "direction": "callers", "depth": 5, **place}),
        ("list_projects", {}),
        ("outline", {"path": "many.py", **place}),
        ("outline", {"path": "package", **place}),
        ("outline", {"path": "deep", **place}),
        ("index_repository", {"path": str(tree), "exclude_patterns": globs}),
        ("index_symbol_graph", {"repository_path": str(tree), "files": ["none/" * 20] * 900}),
        ("start_indexing_background", {"repo_path": str(tree), "include_patterns": ["**", *globs]}),
        ("get_indexing_status", job),
        ("cancel_indexing", job),
        ("list_indexing_jobs", {"limit": 1000}),
        ("checkpoint_save", {"summary": "s" * 500, "description": _LONG, **place,
                             "context": {"text": _LONG[:60_000]}}),
        ("checkpoint_search", {"query": "parser of the configuration", **many}),
        ("checkpoint_search", {"query": "parser", **many, "tags": ["!indexed"]}),
        ("checkpoint_search", {"query": "parser", "limit": 100}),
        ("checkpoint_list", {**place, "limit": 1000}),
        ("verify_index", place),
    ]  # fmt: skip
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("search_code", {"query": "parse"}),
        ("outline", {"path": "many.py", "project_path": "/nowhere"}),
        ("index_symbol_graph", {"repository_path": str(tree), "include": ["[" + "x" * 9000]}),
        ("find_symbol", {"name": "x" * 100_000, **place}),
        ("find_symbol", {"x" * 100_000: 1}),
        ("find_references", {"name": "text", "use": "x" * 9000, **place}),
    ]

    async def body(client: Client) -> None:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {tool for tool, _ in calls}, "each tool is called here"
        for is_wrong, chosen in ((False, calls), (True, wrong)):
            for tool, arguments in chosen:
                result = await client.call_tool(tool, arguments)
                assert result.is_error is is_wrong, (tool, result.content)
                content = result.structured_content
                if tool == "start_indexing_background" and content:
                    job["job_id"] = content["job_id"]
                [text] = result.content
                sizes = _size(json.dumps(content, ensure_ascii=False)), _size(text.text)  # type: ignore[union-attr]
                assert max(sizes) <= _MOST, (tool, sizes)

    ask(catalog, body)


def test_what_is_left_out_can_be_had(catalog: Catalog, tree: Path) -> None:
    place: dict[str, Any] = {"project_path": str(tree)}

    async def pages(client: Client, tool: str, name: str, **arguments: object) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            page = await called(client, tool, **arguments, cursor=cursor)
            assert page[name]
            found += page[name]
            cursor = page.get("next_cursor")
            assert page["truncated"] is (cursor is not None)
            if cursor is None:
                assert len(found) == page["total"]
                return found

    async def body(client: Client) -> None:
        symbols = await pages(client, "outline", "symbols", path="many.py", **place)
        assert len(set(symbols)) == 400
        entries = await pages(client, "outline", "entries", path="package", **place)
        assert len(set(entries)) == 400
        assert len(await pages(client, "list_projects", "projects")) == 61
        notes = await pages(client, "checkpoint_list", "checkpoints", **place)
        assert len({each["id"] for each in notes}) == len(notes)
        asked = {"query": "parser", **place, "tags": ["!indexed"]}
        cut = await called(client, "checkpoint_search", **asked)
        assert cut["truncated"]
        assert any(each["description"] for each in cut["checkpoints"])
        assert any("max_tokens" in note for note in cut["notes"])
        asked["tags"] = ["!indexed", f"ü7-7-{'ö' * 50}"]
        whole = await called(client, "checkpoint_search", **asked, limit=1, max_tokens=10_000_000)
        assert whole["truncated"] is False
        assert "\x1b" in whole["checkpoints"][0]["description"]
        assert len(whole["checkpoints"][0]["description"]) == len(_LONG)
        assert len(whole["checkpoints"][0]["context"]) == 100

    ask(catalog, body)


def test_the_text_says_what_the_structured_content_says(catalog: Catalog, tree: Path) -> None:
    place: dict[str, Any] = {"project_path": str(tree)}

    async def body(client: Client) -> None:
        asked: dict[str, Any] = {"query": "zzyzx qwertz", **place}
        notes = (await called(client, "search_code", **asked))["notes"]
        text = await text_of(client, "search_code", **asked)
        assert notes
        assert all(note in text for note in notes)
        asked = {"query": "parser", **place, "limit": 2, "tags": ["!indexed"]}
        found = await called(client, "checkpoint_search", **asked)
        text = await text_of(client, "checkpoint_search", **asked)
        first = found["checkpoints"][0]
        assert first["id"] in text
        assert first["description"].splitlines()[0].partition("\x1b")[0] in text
        report = await called(client, "index_repository", path=str(tree), exclude_patterns=[])
        text = await text_of(client, "index_repository", path=str(tree))
        assert f"{report['files_unchanged']:,} unchanged" in text

    ask(catalog, body)
