"""Maps of a project: what much of the code refers to comes first, on every face."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.errors import InvalidInputError
from engine.project import Project
from engine.records import bytes_within
from engine.reference_records import MapAnswer, MapRequest
from tests.support.command import Command
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called, text_of
from tests.support.trees import write_tree
from web.code_map import map_totals

_TREE = {
    "shop/money.py": '''class Price:
    """An amount with its currency."""

    def rounded(self):
        return self


def parse_price(text):
    return Price()


def _unused_helper():
    return 1
''',
    "shop/basket.py": """from shop.money import Price, parse_price


class Basket:
    def add_article(self, text):
        return parse_price(text)

    def total_price(self) -> Price:
        return Price().rounded()
""",
    "shop/invoice.py": """from shop.basket import Basket
from shop.money import Price, parse_price


def print_invoice(basket: Basket) -> Price:
    return basket.total_price()
""",
    "shop/mail.py": """from shop.money import Price


def send_receipt(address, price: Price):
    return connect_server(address)


def connect_server(address):
    def parse_address():
        return address

    return parse_address()
""",
    "shop/labels.py": """from shop import depot


def print_label(text):
    return depot.parse_address(text)
""",
    "app.js": "function parse_price(text) { return text }\n\nmodule.exports = { parse_price }\n",
    "tests/test_money.py": """from shop.money import Price
from tests.helpers import make_basket


def test_price():
    assert make_basket() and Price()
""",
    "tests/helpers.py": """from shop.basket import Basket


def make_basket():
    return Basket()
""",
    "README.md": "# Shop\n\nPrice and Basket.\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("map")
    with catalog_in(folder / "home") as catalog:
        index = catalog.create(str(write_tree(folder / "shop", _TREE)))
        index.index()
        yield index


def _names(answer: MapAnswer) -> list[str]:
    return [symbol.name for symbol in answer.symbols]


def test_what_most_files_refer_to_comes_first(project: Project) -> None:
    answer = project.code_map.draw(MapRequest())
    assert _names(answer)[:2] == ["Price", "parse_price"]
    price, parse = answer.symbols[:2]
    assert (price.path, price.line, price.signature) == ("shop/money.py", 1, "class Price")
    assert (price.users, parse.path) == (4, "shop/money.py")
    assert price.rank > parse.rank > 0
    assert "_unused_helper" not in _names(answer)
    assert not any("parse_address" in name for name in _names(answer))  # within a function
    assert (answer.files, answer.truncated, answer.notes) == (len(_TREE), False, ())


def test_tests_and_other_languages_do_not_count(project: Project) -> None:
    answer = project.code_map.draw(MapRequest())
    assert "make_basket" not in _names(answer)
    assert not [symbol for symbol in answer.symbols if symbol.path == "app.js"]
    [helper] = project.code_map.draw(MapRequest(path="tests/helpers.py", limit=1)).symbols
    assert helper.name in {"make_basket", "Basket"}


def test_a_query_brings_what_answers_it_and_what_that_uses(project: Project) -> None:
    answer = project.code_map.draw(MapRequest(query="send a receipt by mail"))
    assert _names(answer)[0] == "send_receipt"
    assert "Price" in _names(answer)
    assert project.code_map.draw(MapRequest(query=" ")) == project.code_map.draw(MapRequest())


def test_a_path_brings_its_own_and_what_it_uses(project: Project) -> None:
    around = _names(project.code_map.draw(MapRequest(path="shop/invoice.py")))
    assert {"print_invoice", "Basket", "Price"} <= set(around[:6])
    path = f"{project.root}/shop/invoice.py"
    assert _names(project.code_map.draw(MapRequest(path=path))) == around
    nothing = project.code_map.draw(MapRequest(path="nowhere/"))
    assert nothing.notes == ("no indexed file is below nowhere/",)
    assert (nothing.symbols, nothing.total) == ((), 0)  # not a map of something else
    answered = project.code_map.draw(MapRequest(path="nowhere/", query="send a receipt by mail"))
    assert (_names(answered)[0], answered.notes) == ("send_receipt", nothing.notes)
    with pytest.raises(InvalidInputError):
        project.code_map.draw(MapRequest(limit=0))


def test_a_limit_is_told(project: Project) -> None:
    answer = project.code_map.draw(MapRequest(limit=2))
    assert (len(answer.symbols), answer.truncated) == (2, True)
    assert answer.total > 2


def test_a_change_is_seen_and_what_is_kept_can_be_dropped(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"a.py": "def first():\n    return 1\n"})
    with catalog_in(tmp_path / "home") as catalog:
        index = catalog.create(str(tree))
        index.index()
        assert index.code_map.draw(MapRequest()).symbols == ()
        (tree / "b.py").write_text("from a import first\n\n\ndef second():\n    return first()\n")
        index.index()
        assert _names(index.code_map.draw(MapRequest())) == ["first"]
        held = index.cached_bytes
        index.evict()
        assert index.cached_bytes < held
        assert _names(index.code_map.draw(MapRequest())) == ["first"]


def test_equals_come_by_path_whatever_was_indexed_first(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    files = {f"{name}.py": f"def use_{name}():\n    return 1\n" for name in names}
    uses = "".join(f"from {name} import use_{name}\n" for name in names)
    tree = write_tree(tmp_path / "tree", {**files, "uses.py": uses})
    with catalog_in(tmp_path / "home") as catalog:
        index = catalog.create(str(tree))
        index.index()
        for name in ("two", "one"):
            (tree / f"{name}.py").write_text(f"def use_{name}():\n    return 2\n")
            index.index()
        told = index.code_map.draw(MapRequest())
        asked = index.code_map.draw(MapRequest(query="use three"))
    with catalog_in(tmp_path / "fresh") as catalog:
        fresh = catalog.create(str(tree))
        fresh.index()
        assert _names(told) == ["use_one", "use_three", "use_two"]
        assert told.symbols == fresh.code_map.draw(MapRequest()).symbols
        assert asked.symbols == fresh.code_map.draw(MapRequest(query="use three")).symbols
        assert asked.symbols[0].name == "use_three"


def test_an_empty_project_has_an_empty_map(tmp_path: Path) -> None:
    with catalog_in(tmp_path / "home") as catalog:
        (tmp_path / "tree").mkdir()
        index = catalog.create(str(tmp_path / "tree"))
        index.index()
        answer = index.code_map.draw(MapRequest(query="anything"))
    assert (answer.symbols, answer.total, answer.files) == ((), 0, 0)


def test_what_is_shown_is_counted(project: Project) -> None:
    answer = project.code_map.draw(MapRequest())
    assert map_totals(answer, 1).startswith(f"1 of {answer.total} definitions, from 9 files")
    assert map_totals(replace(answer, total=1, files=1), 1) == "1 definition, from 1 file"


def test_on_the_command_line(tmp_path: Path) -> None:
    cairn = Command(
        home=tmp_path / "home", folder=write_tree(tmp_path / "shop", _TREE), reads_here=True
    )
    assert cairn("index", "--quiet").code == 0
    ended = cairn("map")
    assert (ended.code, ended.err) == (0, "")
    money = ended.out.split("shop/", 2)[1]
    assert money.splitlines()[:3] == ["money.py", "1  class Price", "4    def rounded(self)"]
    assert "definitions, from 9 files, coverage" in ended.out
    assert cairn("map", "send a receipt", "--limit", "1").out.startswith("shop/mail.py\n")
    told = cairn("map", "--json").json()
    assert list(told) == ["symbols", "total", "files", "truncated", "coverage"]
    for budget in (100, 200):
        short = cairn("map", "--max-tokens", str(budget))
        assert len(short.out.encode()) <= bytes_within(budget)
        compact = cairn("map", "--max-tokens", str(budget), "--json")
        assert len(compact.out.encode()) <= bytes_within(budget)
        assert json.loads(compact.out)["files"][0]["path"] == "shop/money.py"
    assert "wanted 100 or more" in cairn("map", "--max-tokens", "9").err
    assert cairn("map", "--limit", "0").code == 2


def test_for_agents(project: Project, tmp_path: Path) -> None:
    async def body(client: Client) -> None:
        found = await called(client, "code_map")
        first = found["files"][0]
        assert (first["path"], first["symbols"][0]) == ("shop/money.py", "1 class Price")
        assert (found["truncated"], "notes" in found) == (False, False)
        assert "1  class Price" in await text_of(client, "code_map")
        mail = await called(client, "code_map", query="send a receipt")
        assert mail["files"][0]["path"] == "shop/mail.py"

    with catalog_in(tmp_path / "home") as catalog:
        catalog.create(project.root).index()
        ask(catalog, body)


def test_an_empty_map_tells_agents_what_to_do(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "alone", {"a.py": "def alone():\n    pass\n"})

    async def body(client: Client) -> None:
        for asked in ({}, {"path": "nowhere/"}):
            found = await called(client, "code_map", **asked)
            assert found["files"] == []
            assert "outline" in found["notes"][0]
            assert "outline" in await text_of(client, "code_map", **asked)

    with catalog_in(tmp_path / "home") as catalog:
        catalog.create(str(root)).index()
        ask(catalog, body)
