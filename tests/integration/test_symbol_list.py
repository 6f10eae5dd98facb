"""The list of all symbols: by name, filtered, counted, a page at a time."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.browse_records import ListedSymbol, SymbolListRequest
from engine.config import Config, load_config
from engine.errors import Cancelled, InvalidInputError
from engine.project import Project
from engine.search_records import Mode, SearchRequest, SymbolRequest
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree
from web.operations import find_symbols

_MANY = "".join(f"def many_{number % 3}():\n    return {number}\n\n\n" for number in range(40))
TREE: dict[str, str | bytes] = {
    "app/session.py": "class Session:\n    def open(self):\n        return 1\n\n\n"
    "def reopen():\n    return Session()\n\n\ndef Opener():\n    return 2\n",
    "app/copy/session.py": "class Session:\n    def open(self):\n        return 1\n\n\n"
    "def reopen():\n    return Session()\n\n\ndef Opener():\n    return 2\n",
    "cmd/main.go": "package main\n\n// Opens.\nfunc openAll() int {\n\treturn 1\n}\n",
    "many.py": _MANY,
    os.fsdecode(b"odd/na\xffme.py"): "def odd_one():\n    return 1\n",
    "pages/[id].py": "def page_of_one():\n    return 1\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("symbols")
    tree = write_tree(folder / "tree", TREE)
    with open_catalog(load_config(folder / "data", workers=1)) as catalog:
        index = catalog.create(str(tree))
        index.index()
        yield index


def _names(index: Project, **wanted: str) -> list[str]:
    return [each.name for each in index.browse.symbols(SymbolListRequest(**wanted)).symbols]  # type: ignore[arg-type]


def test_all_of_them_by_name_each_text_once(index: Project) -> None:
    page = index.browse.symbols(SymbolListRequest())
    names = [each.name.lower() for each in page.symbols]
    assert names == sorted(names)
    assert page.total == len(page.symbols) == 47
    assert page.complete
    assert page.next_cursor is None
    assert sum(page.kinds.values()) == sum(page.languages.values()) == page.total
    assert list(page.languages) == ["python", "go"]
    [opened] = index.browse.symbols(SymbolListRequest(name="open", kind="method")).symbols
    assert opened == ListedSymbol(
        path="app/session.py",  # the shortest of its paths
        name="open",
        scope="Session",
        kind="method",
        signature="def open(self)",
        language="python",
        line_start=2,
        line_end=3,
        exported=True,
    )


@pytest.mark.parametrize("name", ["Ärger.Öffnen", "ärger.öffnen", "ÄRGER.ÖFFNEN", "Öffnen"])
def test_qualified_names_are_found_in_any_case_of_their_letters(tmp_path: Path, name: str) -> None:
    code = "class Ärger:\n    def Öffnen(self):\n        return 1\n"
    tree = write_tree(tmp_path / "tree", {"ä.py": code})
    with open_catalog(load_config(tmp_path / "data", workers=1)) as catalog:
        index = catalog.create(str(tree))
        index.index()
        [symbol] = index.symbols(name)
        assert symbol.qualified_name == "Ärger.Öffnen"
        [hit] = index.search(SearchRequest(query=f"sym:{name}", mode=Mode.SYMBOL)).hits
        assert hit.symbol == "Ärger.Öffnen"
        assert index.search(SearchRequest(query=f"sym:{name}")).total == 1


def test_a_part_of_a_name_finds_after_its_beginnings(index: Project) -> None:
    assert _names(index, name="open") == ["open", "openAll", "Opener", "reopen"]
    assert _names(index, name="OPEN") == _names(index, name=" open ")
    assert _names(index, name="op") == ["open", "openAll", "Opener"]  # two letters: the beginning
    assert _names(index, name="%") == []
    assert _names(index, name="a\0b") == []


def test_filters_hold_together_and_the_numbers_say_what_each_would_give(index: Project) -> None:
    page = index.browse.symbols(SymbolListRequest(name="open", kind="function"))
    assert page.total == len(page.symbols) == 3
    assert page.kinds == {"function": 3, "method": 1}  # whatever kind is asked for
    assert page.languages == {"python": 2, "go": 1}  # of that kind
    page = index.browse.symbols(SymbolListRequest(name="open", language="go"))
    assert [each.name for each in page.symbols] == ["openAll"]
    assert page.languages == {"python": 3, "go": 1}
    nothing = index.browse.symbols(SymbolListRequest(kind="class", language="go"))
    assert (nothing.symbols, nothing.total, nothing.next_cursor) == ((), 0, None)


def test_a_group_of_kinds_and_another_name_of_a_language_are_filters_too(index: Project) -> None:
    of_types = index.browse.symbols(SymbolListRequest(kind="type"))
    assert of_types.total == len(of_types.symbols) == of_types.kinds["class"] > 0
    assert {each.kind for each in of_types.symbols} == {"class"}
    assert sum(of_types.languages.values()) == of_types.total
    short = index.browse.symbols(SymbolListRequest(language="py"))
    assert short == index.browse.symbols(SymbolListRequest(language="python"))
    assert short.total == len(short.symbols) > 0


@pytest.mark.parametrize("limit", [1, 2, 20])
def test_the_number_of_similar_names_does_not_depend_on_how_many_are_shown(
    index: Project, limit: int
) -> None:
    found = find_symbols(index, SymbolRequest(name="open", match="fuzzy", limit=limit))
    assert (found.total, found.is_more) == (4, False)
    assert found.truncated == (limit < found.total)
    everything = find_symbols(index, SymbolRequest(name="open", match="fuzzy", limit=20))
    assert found.symbols == everything.symbols[:limit]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("cmd/", ["openAll"]),
        ("MAIN.go", ["openAll"]),
        ("*.go", ["openAll"]),
        ("[id", ["page_of_one"]),
        ("na\ufffdme", ["odd_one"]),
        ("nowhere", []),
    ],
)
def test_a_path_is_a_part_of_it_or_a_glob(index: Project, path: str, found: list[str]) -> None:
    assert _names(index, path=path) == found


def test_a_file_is_shown_under_a_path_that_passes(index: Project) -> None:
    [shown] = index.browse.symbols(SymbolListRequest(name="reopen", path="copy")).symbols
    assert shown.path == "app/copy/session.py"


@pytest.mark.parametrize("name", ["", "many", "an", "m"])
def test_pages_give_each_symbol_once(index: Project, name: str) -> None:
    whole = index.browse.symbols(SymbolListRequest(name=name))
    found: list[ListedSymbol] = []
    cursor = None
    while True:
        page = index.browse.symbols(SymbolListRequest(name=name, limit=7, cursor=cursor))
        assert (page.total, page.kinds) == (whole.total, whole.kinds)
        found += page.symbols
        cursor = page.next_cursor
        if cursor is None:
            break
    assert tuple(found) == whole.symbols
    assert len(found) == whole.total


def test_numbers_follow_what_is_written(index: Project) -> None:
    before = index.browse.symbols(SymbolListRequest()).total
    added = Path(index.root) / "added.py"
    added.write_text("def added_later():\n    return 1\n")
    index.index()
    assert index.browse.symbols(SymbolListRequest()).total == before + 1
    assert _names(index, name="added") == ["added_later"]
    added.unlink()
    index.index()
    assert index.browse.symbols(SymbolListRequest()).total == before


def test_a_run_that_did_not_end_is_told(config: Config, tree: Path) -> None:
    write_tree(tree, TREE)
    with open_catalog(config) as catalog:
        index = catalog.create(str(tree))
        with pytest.raises(Cancelled):
            index.index(cancelled=lambda: True)
        before = index.browse.symbols(SymbolListRequest())
        assert (before.complete, before.total) == (False, 0)
        index.index()
        assert index.browse.symbols(SymbolListRequest()).complete


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "klass"),
        ("kind", ""),
        ("language", "klingon"),
        ("name", "a" * 1001),
        ("path", "a" * 1001),
        ("limit", 0),
        ("limit", 1001),
        ("cursor", "!"),
        ("cursor", "W10="),
        ("cursor", "WzAsICIiLCAiIiwgMCwgMWU5OTld"),
        ("cursor", "WzAsICJcdWQ4MDAiLCAiIiwgMCwgMF0="),
        ("cursor", "WzAsICIiLCAiIiwgMCwgOTk5OTk5OTk5OTk5OTk5OTk5OTld"),
    ],
)
def test_what_cannot_be_asked_is_refused(index: Project, field: str, value: str | int) -> None:
    with pytest.raises(InvalidInputError) as refused:
        index.browse.symbols(SymbolListRequest(**{field: value}))  # type: ignore[arg-type]
    assert refused.value.details["field"] == field
