"""Who uses a name, and who calls whom, as agents ask."""

import json
from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.records import bytes_within
from tests.support.git_trees import run_git
from tests.support.mcp_clients import ask, called, refusal_text, refused, text_of
from tests.support.trees import SHOP, write_tree


@pytest.fixture
def shop(catalog: Catalog, tree: Path) -> Catalog:
    """A catalog with one project."""
    catalog.create(str(write_tree(tree, SHOP))).index()
    return catalog


def test_uses_have_what_is_worth_its_bytes(shop: Catalog) -> None:
    async def body(client: Client) -> None:
        found = await called(client, "find_references", name="discounted", use="call")
        assert found["definitions"] == ["shop/cart.py:19 def discounted(price: int) -> int"]
        assert found["references"][0] == {
            "path": "shop/cart.py",
            "line": 12,
            "use": "call",
            "certainty": "exact",
            "symbol": "Cart.total",
            "text": "return discounted(sum(self.prices))",
        }
        assert (found["total"], found["truncated"]) == (4, False)
        text = await text_of(client, "find_references", name="discounted")
        assert "6 references and 1 definition: 4 call, 2 import" in text
        both = await called(client, "find_references", name="total")
        assert {each.get("target") for each in both["references"]} == {"Cart.total", None}

    ask(shop, body)


def test_the_total_is_that_of_the_references_listed(shop: Catalog) -> None:
    async def body(client: Client) -> None:
        for name in ("discounted", "total", "Cart", "receipt", "nowhere"):
            for use in (None, "call", "definition"):
                found = await called(client, "find_references", name=name, use=use)
                assert not found["truncated"]
                assert found["total"] == len(found["references"]), (name, use)

    ask(shop, body)


def test_callers_and_callees(shop: Catalog) -> None:
    async def body(client: Client) -> None:
        up = await called(client, "find_references", name="discounted", direction="callers")
        assert up["references"][0] == {
            "path": "shop/cart.py",
            "line": 10,
            "symbol": "Cart.total",
            "certainty": "exact",
            "call_lines": [12],
        }
        none = await called(client, "find_references", name="Cart", direction="implementations")
        assert (none["definitions"], none["total"]) == (["shop/cart.py:4 class Cart"], 0)
        down = await called(
            client, "find_references", name="Cart.receipt", direction="callees", depth=2
        )
        assert [(each["symbol"], each["depth"], each["via"]) for each in down["references"]] == [
            ("Cart.total", 1, "Cart.receipt"),
            ("discounted", 2, "Cart.total"),
        ]

    ask(shop, body)


@pytest.mark.parametrize("max_tokens", [100, 300, 1000])
def test_a_budget_holds(shop: Catalog, max_tokens: int) -> None:
    async def body(client: Client) -> None:
        for direction in ("uses", "callers", "callees"):
            for name in ("total", "discounted", "receipt"):
                asked = {"name": name, "direction": direction, "max_tokens": max_tokens}
                found = await called(client, "find_references", **asked)
                text = await text_of(client, "find_references", **asked)
                assert found["definitions"] or found["references"]
                sizes = len(json.dumps(found, ensure_ascii=False).encode()), len(text.encode())
                assert max(sizes) <= bytes_within(max_tokens), asked
                is_less = found["truncated"]
                assert is_less is any("max_tokens" in note for note in found.get("notes", ()))

    ask(shop, body)


def test_nothing_found_and_wrong_questions(shop: Catalog) -> None:
    async def body(client: Client) -> None:
        nothing = await called(client, "find_references", name="dicsounted", max_tokens=100)
        assert nothing["references"] == []
        assert nothing["notes"] == ["nothing is called 'dicsounted', did you mean 'discounted'"]
        for wrong in ({"use": "eat"}, {"direction": "sideways"}, {"depth": 6}):
            error = await refused(client, "find_references", name="total", **wrong)
            assert [error["details"]["field"]] == list(wrong)
        error = await refused(
            client, "find_references", name="total", use="call", direction="callers"
        )
        assert error["details"]["field"] == "use"
        error = await refused(client, "find_references", name="total", depth=3)
        assert error["details"]["field"] == "depth"
        assert "callers" in error["details"]["hint"]
        for tool in ("find_references", "find_impact"):
            text = await refusal_text(client, tool, name="shop/cart.py")
            assert "is a file, not the name of a definition" in text
            assert "outline" in text
            assert "cairn " not in text
        text = await refusal_text(client, "find_impact", path="shop")
        assert "shop is a folder of 2 indexed files, not a file" in text

    ask(shop, body)


def test_what_a_change_affects(shop: Catalog) -> None:
    async def body(client: Client) -> None:
        found = await called(client, "find_impact", name="discounted")
        assert [each["symbol"] for each in found["definitions"]] == ["discounted"]
        assert found["dependents"][0] == {
            "path": "shop/cart.py",
            "line": 10,
            "symbol": "Cart.total",
            "depth": 1,
            "certainty": "exact",
            "use": "call",
            "via": "discounted",
        }
        assert [each["path"] for each in found["tests"]] == ["tests/test_cart.py"]
        assert "tests/test_cart.py" in await text_of(client, "find_impact", path="shop/cart.py")
        unknown = await called(client, "find_impact", name="dicsounted")
        assert "discounted" in unknown["notes"][0]
        for wrong in ({}, {"name": "discounted", "changed": True}, {"changed": True}):
            assert await refused(client, "find_impact", **wrong)

    ask(shop, body)


def test_changed_tests_are_among_those_to_run(shop: Catalog, tree: Path) -> None:
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        run_git(tree, tree.parent, *arguments)
    with (tree / "tests/test_cart.py").open("a") as file:
        file.write("\n\ndef test_nothing():\n    assert True\n")
    shop.open(str(tree)).index()

    async def body(client: Client) -> None:
        found = await called(client, "find_impact", changed=True)
        assert (found["tests"], found["test_files"]) == ([], ["tests/test_cart.py"])
        text = await text_of(client, "find_impact", changed=True)
        assert "tests\n  tests/test_cart.py  changed" in text

    ask(shop, body)
