"""Filters by use on the command line, over HTTP, for agents and on the search page."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from tests.support.command import Command
from tests.support.mcp_clients import ask, called, text_of
from tests.support.pages import Page, site
from tests.support.trees import SHOP, write_tree

_ROOT = Path(__file__).resolve().parents[2]
# Exact ones, one by its name alone, a test.
_PLACES = [("shop/cart.py", 12), ("shop/report.py", 6), ("page.js", 1), ("tests/test_cart.py", 5)]


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    folder = tmp_path_factory.mktemp("usage")
    command = Command(
        home=folder / "home", folder=write_tree(folder / "shop", SHOP), reads_here=True
    )
    assert command("index", "--quiet").code == 0
    return command


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("served")
    with site(folder, write_tree(folder / "shop", SHOP)) as server, server.client() as client:
        yield client


def test_a_line_says_where_a_name_is_called(cairn: Command) -> None:
    ended = cairn("search", "calls:discounted path:shop/", "--explain")
    assert ended.code == 0
    assert ended.out.startswith("shop/cart.py:12 method Cart.total")
    assert "12 >         return discounted(sum(self.prices))" in ended.out
    assert "listed 1.0000 + calls 0.0000" in ended.out
    assert "calls discounted" in cairn("search", "calls:discounted", "--json").out


def test_what_to_try_when_a_filter_finds_nothing(cairn: Command) -> None:
    ended = cairn("search", "extends:discounted lang:python")
    assert "  try: without extends:discounted\n  try: cairn refs discounted\n" in ended.out
    assert "note: nothing extends discounted; uses:discounted finds" in ended.out
    near = cairn("search", "calls:discuonted")
    assert "note: no definition and no use of 'discuonted'" in near.out
    assert "did you mean 'discounted'?" in near.out
    long = cairn("search", " ".join(f"calls:n{number}" for number in range(9)))
    assert (long.code, "at most 8 different names" in long.err) == (2, True)


def test_a_search_without_them_imports_nothing_of_them(cairn: Command) -> None:
    code = """
import sys
from web.cli.main import run
for query in ("cart total", "lang:python", "sym:total", "/discounted/"):
    assert run(["search", query, "--no-snippets"]) == 0
more = {each for each in sys.modules if each.startswith("engine.references")}
more |= {"engine.search.usage", "engine.search.name_uses"} & sys.modules.keys()
assert not more, more
"""
    env = {**os.environ, "CAIRN_HOME": str(cairn.home), "PYTHONPATH": str(_ROOT)}
    subprocess.run(
        [sys.executable, "-c", code], cwd=cairn.folder, env=env, check=True, capture_output=True
    )


def test_pages_of_an_answer_follow_each_other(client: httpx.Client) -> None:
    places: list[tuple[str, int]] = []
    params = {"query": "calls:discounted", "limit": "1"}
    while True:
        answer = client.get("/api/v1/search", params=params)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        places += [(hit["path"], hit["matches"][0]["line"]) for hit in found["hits"]]
        assert found["total"] == len(_PLACES)
        if not found.get("next_cursor"):
            break
        params["cursor"] = found["next_cursor"]
    assert places == _PLACES
    refused = client.get("/api/v1/search", params={"query": "calls:" + "x" * 2000})
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")
    assert refused.json()["details"]["position"] == len("calls:")


def test_the_page_marks_the_name_and_tells_what_finds_more(client: httpx.Client) -> None:
    answer = client.get("/search", params={"q": "calls:discounted"})
    assert ">discounted</mark>" in answer.text
    page = Page.of(answer)
    assert [each["data-place"] for each in page.all("article")] == [
        f"{path}:{line}" for path, line in _PLACES
    ]
    assert "listed 1.0000 + calls 0.0000" in page.text
    nothing = Page.of(client.get("/search", params={"q": "calls:receipt path:tests"}))
    assert "Nothing found" in nothing.text
    queries = [
        parse_qs(urlsplit(link).query).get("q", [""])[0]
        for link in nothing.links
        if link.startswith("/search?")
    ]
    assert {"calls:receipt", "path:tests"} <= set(queries)
    assert "1 place calls receipt, but nothing there matches" in nothing.text
    keys = client.get("/search").text
    for name in ("calls:", "uses:", "extends:", "imports:"):
        assert f"<code>{name}" in keys


def test_agents_filter_by_use(catalog: Catalog, tree: Path) -> None:
    catalog.create(str(write_tree(tree, SHOP))).index()

    async def body(client: Client) -> None:
        found = await called(client, "search_code", query="calls:discounted")
        assert [hit["path"] for hit in found["hits"]] == [path for path, _ in _PLACES]
        nothing = await called(client, "search_code", query="calls:nowhere_at_all")
        assert "no definition and no use of 'nowhere_at_all'" in json.dumps(nothing["notes"])
        assert nothing["missing"] == ["nowhere_at_all"]
        text = await text_of(client, "search_code", query="imports:discounted")
        assert "from shop.cart import" in text

    ask(catalog, body)
