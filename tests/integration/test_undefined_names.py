"""Names that are used but defined by no symbol, such as enumerators of C."""

from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.reference_records import Certainty, ImpactRequest, ReferenceRequest, Use
from engine.search_records import SymbolRequest
from tests.support.command import Command
from tests.support.mcp_clients import ask, called
from tests.support.trees import write_tree
from web.operations import no_symbol_called, nothing_called

_TREE = {
    "codes.h": "typedef enum {\n  CODE_OK,\n  CODE_LOST\n} code;\n",
    "net.c": "int connect_to(int a)\n{\n  return a ? CODE_OK : CODE_LOST;\n}\n",
    "docs/a.md": "# Codes\n\nCODE_LOST means that it is lost.\n",
    "tests/net_test.c": "int test_lost(void)\n{\n  return connect_to(0) == CODE_LOST;\n}\n",
}


@pytest.fixture
def project(catalog: Catalog, tree: Path) -> Catalog:
    catalog.create(str(write_tree(tree, _TREE))).index()
    return catalog


def test_impact_lists_what_uses_the_name(project: Catalog) -> None:
    index = project.open(project.roots_or_ids()[0])
    answer = index.impact(ImpactRequest(name="CODE_LOST"))
    assert answer.definitions == ()
    assert [(each.name, each.certainty) for each in (*answer.dependents, *answer.tests)] == [
        ("code", Certainty.NAME),
        ("connect_to", Certainty.NAME),
        ("test_lost", Certainty.NAME),
    ]
    assert (answer.total, answer.total_tests, answer.files) == (3, 1, 3)
    assert index.impact(ImpactRequest(name="CODE_NONE")).total == 0


def test_prose_comes_after_code(project: Catalog) -> None:
    index = project.open(project.roots_or_ids()[0])
    answer = index.references.find(ReferenceRequest(name="CODE_LOST"))
    assert [(each.path, each.use) for each in answer.references] == [
        ("codes.h", Use.USE),
        ("net.c", Use.USE),
        ("tests/net_test.c", Use.USE),
        ("docs/a.md", Use.TEXT),
    ]


def test_tools_tell_agents_that_it_is_used(project: Catalog) -> None:
    told = "no definition of 'CODE_LOST' is known as a symbol, but it is used 4 times: see its"

    async def body(client: Client) -> None:
        calls = await called(client, "find_references", name="CODE_LOST", direction="callers")
        assert calls["notes"][0].startswith(told)
        symbols = await called(client, "find_symbol", name="CODE_LOST")
        assert symbols["notes"] == [
            "no symbol is named 'CODE_LOST', but it is used 4 times: see its references; try match"
            " fuzzy, or search_code"
        ]

    ask(project, body)


def test_commands_tell_that_it_is_used(tmp_path: Path) -> None:
    cairn = Command(
        home=tmp_path / "home", folder=write_tree(tmp_path / "tree", _TREE), reads_here=True
    )
    assert cairn("index", "--quiet").code == 0
    told = "no definition of 'CODE_LOST' is known as a symbol, but it is used 4 times: see its"
    impact = cairn("impact", "CODE_LOST").out
    assert told in impact
    assert "connect_to  name  perhaps uses CODE_LOST" in impact
    assert cairn("callers", "CODE_LOST").out.startswith(told)
    assert ", but it is used 4 times: see its references" in cairn("symbols", "CODE_LOST").out
    assert "it is used" not in cairn("symbols", "CODE_NONE").out


_WORDS = {
    "app.py": "class Beta_one:\n    pass\n\n\ndef beta():\n    return OTHER(betta)\n",
    "b.py": "def second():\n    return 2\n",
    "docs/a.md": "# Words\n\nThey return.\n",
}


def test_a_keyword_is_not_a_name_that_is_used(catalog: Catalog, tree: Path) -> None:
    index = catalog.create(str(write_tree(tree, _WORDS)))
    index.index()
    assert "used" not in no_symbol_called(index, SymbolRequest(name="return"))
    assert "used" not in nothing_called(index, "return")
    assert "used 1 time" in no_symbol_called(index, SymbolRequest(name="OTHER"))


def test_what_is_meant_is_told_beside_the_uses_and_is_never_the_same(
    catalog: Catalog, tree: Path
) -> None:
    index = catalog.create(str(write_tree(tree, _WORDS)))
    index.index()
    told = no_symbol_called(index, SymbolRequest(name="betta"))
    assert told == ", but it is used 1 time: see its references, did you mean 'beta'"
    for name in ("beta", "zz.beta"):
        told = no_symbol_called(index, SymbolRequest(name=name, kind="class", match="fuzzy"))
        assert "'beta'" not in told
    told = no_symbol_called(index, SymbolRequest(name="zz.beta", kind="function"))
    assert told == ", did you mean 'beta'"


def test_uses_are_counted_in_few_files(catalog: Catalog, tree: Path) -> None:
    many = {f"m{number:03}.py": "print(OTHER)\n" for number in range(110)}
    index = catalog.create(str(write_tree(tree, many)))
    index.index()
    told = no_symbol_called(index, SymbolRequest(name="OTHER"))
    assert told == ", but it is used at least 100 times: see its references"


_BROKEN = {
    "lost.c": "int idle(void) {\n  return 1;\n}\n\nint lost(int a) {\n  if(a) {\n  lost(1);\n",
    "use.c": "int use(void) {\n  return absent(1);\n}\n",
}


def test_files_that_are_not_read_as_a_whole_are_told(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", _BROKEN)
    cairn = Command(home=tmp_path / "home", folder=tree, reads_here=True)
    assert cairn("index", "--quiet").code == 0
    gap = "parts do not fit the grammar: definitions there may be missing as symbols"
    assert cairn("outline", "lost.c").out.rstrip().endswith(f"; {gap}")
    assert cairn("outline", "lost.c", "--json").json()["notes"] == [gap]
    assert "grammar" not in cairn("outline", "use.c").out
    assert "notes" not in cairn("outline", "use.c", "--json").json()
    callees = cairn("callees", "idle").out
    assert "parts of lost.c do not fit the grammar: calls there may be missing" in callees
    assert "grammar" not in cairn("callees", "use").out
    assert "it is used 1 time: see its references" in cairn("symbols", "absent").out
    told = "it is used 2 times (perhaps defined in a part of lost.c that is not read): see its"
    assert told in cairn("symbols", "lost").out
