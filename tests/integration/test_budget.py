"""Budgets of answers: nothing that is sent is larger, on any face and in any mode."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client
from mcp.types import CallToolResult, TextContent

from engine.catalog import Catalog
from engine.records import MIN_TOKENS, bytes_within
from engine.search_records import Mode, SearchRequest
from tests.support.command import Command
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called, refused
from tests.support.server import serving
from tests.support.trees import write_tree

_MODES = [mode.value for mode in Mode]
_BUDGETS = [MIN_TOKENS, 101, 137, 200, 300, 500, 1000, 3000]
_LONG_FOLDER = "/".join(f"größer_{number}_{'x' * 60}" for number in range(4))
_QUERIES = [
    "parse part",
    "parse_part_3",
    "nothing_of_this_name_is_here",
    "why does größer parse a part twice " * 60,
    '"parse_part" -sym:other',
    "kind:function",
]


def _of_mode(query: str, mode: str) -> str:
    return "parse_part_\\d+|zzz" if mode == "regex" else query


def _write_parts(root: Path) -> Path:
    lines = "\n".join(f"    total += parse_part({n})  # größer «{n}»" for n in range(30))
    files: dict[str, str] = {
        f"part{number}.py": (
            f"def parse_part_{number}(text):\n"
            f'    """Parse part {number} of a text, \\"quoted\\"."""\n{lines}\n'
        )
        for number in range(14)
    }
    files[f"{_LONG_FOLDER}/parse_part.py"] = "def parse_part_of_a_long_path(text):\n    pass\n"
    files["bundle.js"] = "function parsePart() { return 1 }\n" + "parsePart();" * 30 + "\n"
    files["notes.md"] = "# Parts\n\nHow to parse a part.\n" + "A part is parsed once.\n" * 80
    return write_tree(root, files)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("budget")


@pytest.fixture(scope="module")
def command(folder: Path) -> Command:
    command = Command(home=folder / "home", folder=_write_parts(folder / "tree"), reads_here=True)
    assert command("index", "--quiet").code == 0
    other = Command(home=folder / "home", folder=_write_parts(folder / "other"), reads_here=True)
    assert other("index", "--quiet").code == 0
    return command


@pytest.fixture(scope="module")
def client(command: Command) -> Iterator[httpx.Client]:
    with serving(command, "--no-watch") as server, server.client() as client:
        yield client


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("number", range(len(_QUERIES)))
def test_a_body_of_the_api_keeps_to_its_budget(
    client: httpx.Client, mode: str, number: int
) -> None:
    query = _of_mode(_QUERIES[number], mode)
    for projects in (["tree"], []):
        for budget in _BUDGETS[::3]:
            asked = {"query": query, "mode": mode, "max_tokens": budget, "projects": projects}
            answer = client.post("/api/v1/search", json=asked)
            if answer.status_code == 200:
                assert len(answer.content) <= bytes_within(budget)


@pytest.mark.parametrize("output", ["text", "markdown", "json"])
def test_what_the_command_prints_keeps_to_its_budget(command: Command, output: str) -> None:
    for mode in ("hybrid", "regex"):
        for budget in (MIN_TOKENS, 300):
            ended = command(
                *("search", _of_mode(_QUERIES[3], mode), "--mode", mode, "--format", output),
                *("--max-tokens", str(budget)),
            )
            assert ended.code == 0, ended.err
            assert 0 < len(ended.out.encode()) <= bytes_within(budget)


@pytest.fixture(scope="module")
def catalog(command: Command) -> Iterator[Catalog]:
    with catalog_in(command.home) as catalog:
        yield catalog


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_both_halves_of_an_answer_to_an_agent_keep_to_the_budget(
    catalog: Catalog, folder: Path, form: str
) -> None:
    async def body(client: Client) -> None:
        for number, query in enumerate(_QUERIES):
            for mode in _MODES:
                for budget in (MIN_TOKENS, _BUDGETS[1 + number], None):
                    asked: dict[str, object] = {
                        "query": _of_mode(query, mode),
                        "mode": mode,
                        "format": form,
                        "project_path": str(folder / "tree"),
                        "limit": 60,
                    }
                    if budget:
                        asked["max_tokens"] = budget
                    result = await client.call_tool("search_code", asked)
                    assert isinstance(result, CallToolResult)
                    if result.is_error:  # such as a phrase as a name
                        continue
                    [content] = result.content
                    assert isinstance(content, TextContent)
                    most = bytes_within(budget or 1500)
                    structured = json.dumps(result.structured_content, ensure_ascii=False)
                    assert len(structured.encode()) <= most
                    assert len(content.text.encode()) <= most

    ask(catalog, body)


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_small_budget_still_names_places(catalog: Catalog, folder: Path, form: str) -> None:
    async def body(client: Client) -> None:
        asked = {"query": "parse part", "format": form, "project_path": str(folder / "tree")}
        shown = []
        for budget in _BUDGETS:
            answer = await called(client, "search_code", **asked, max_tokens=budget)
            shown.append(len(answer["hits"]))
        assert shown[0] >= 1
        assert shown == sorted(shown)
        assert shown[-1] == 10
        assert shown[_BUDGETS.index(300)] >= 5

    ask(catalog, body)


def test_a_budget_below_the_smallest_is_refused(catalog: Catalog, client: httpx.Client) -> None:
    async def body(mcp: Client) -> None:
        error = await refused(mcp, "search_code", query="parse", max_tokens=MIN_TOKENS - 1)
        assert error["details"]["field"] == "max_tokens"

    ask(catalog, body)
    answer = client.get("/api/v1/search", params={"query": "parse", "max_tokens": 99})
    assert answer.status_code == 400
    assert answer.json()["details"]["field"] == "max_tokens"


def test_pages_within_a_budget_leave_out_no_hit(client: httpx.Client) -> None:
    asked = {"query": "parse part", "limit": 5, "projects": ["tree"]}
    whole = client.post("/api/v1/search", json={**asked, "limit": 20}).json()["hits"]
    pages: list[dict[str, object]] = []
    cursor = None
    while cursor or not pages:
        page = client.post(
            "/api/v1/search", json={**asked, "max_tokens": 150, "cursor": cursor}
        ).json()
        assert page["hits"]
        pages += page["hits"]
        cursor = page.get("next_cursor")
    assert [(hit["path"], hit["line_start"]) for hit in pages[:20]] == [
        (hit["path"], hit["line_start"]) for hit in whole
    ]


def test_a_place_that_does_not_fit_is_not_passed(client: httpx.Client) -> None:
    asked = {
        "query": "parse_part_of_a_long|def parse_part_1",
        "mode": "regex",
        "limit": 1,
        "projects": ["tree"],
    }
    page = client.post("/api/v1/search", json={**asked, "max_tokens": MIN_TOKENS}).json()
    assert page["hits"] == []
    assert page["total"] > 1
    assert page.get("next_cursor") is None


def test_a_batch_has_the_answers_of_json(command: Command) -> None:
    asked = ("search", "--batch", "-")
    given = b"parse_part_of_a_long_path\n"  # which stands out, so text has nothing else
    answers = [command(*asked, *more, given=given).json() for more in ((), ("--json",))]
    for answer in answers:
        del answer["took_ms"]
    assert answers[0] == answers[1]


def test_the_library_keeps_to_a_budget_too(catalog: Catalog, folder: Path) -> None:
    roots = [str(folder / "tree"), str(folder / "other")]
    for paths in (roots, roots[:1]):
        request = SearchRequest(query="parse part", max_tokens=200, limit=30)
        answer = catalog.search(paths, request)
        texts = [hit.path + (hit.symbol or "") + hit.snippet for hit in answer.hits]
        assert 0 < len("\n".join(texts).encode()) <= bytes_within(200)
        assert answer.truncated
