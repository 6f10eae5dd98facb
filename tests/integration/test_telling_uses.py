"""The uses that say most about a name: in their order, from as few files as that takes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.project import Project
from engine.reference_records import Certainty, Reference, ReferenceRequest, Use
from engine.references import lookup
from engine.references.telling import VERBS
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_MENTIONS = 30
_TREE = {
    "shop/stock.py": """class Stock:
    def take(self, item):
        return item


def take(item):
    return item
""",
    "shop/orders.py": """from shop.stock import Stock, take


def first(item, ask):
    ask(take)
    return take(item)


def second(stock: Stock):
    return stock.take(1), take(2), take
""",
    "shop/later.py": """from shop.stock import Stock, take as fetch


def third(other):
    return fetch(Stock().take(3)), other.take(4)
""",
    "tests/test_stock.py": """from shop.stock import Stock, take


def test_take():
    take(1)
    Stock().take(2)
""",
    "java/Shop.java": "class Shop {\n  void sell(Stock stock) { stock.take(1); }\n}\n",
} | {
    f"shop/mention_{number:02}.py": f'"""Names take."""\n\nORDER = {{"take": {number}}}\n'
    for number in range(_MENTIONS)
}


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with catalog_in(tmp_path / "home") as catalog:
        yield catalog


@pytest.fixture
def project(catalog: Catalog, tree: Path) -> Project:
    write_tree(tree, _TREE)
    project = catalog.create(str(tree))
    project.index()
    return project


def _expected(project: Project, name: str, *, tests: bool) -> list[Reference]:
    """Return the sure uses of a name by kind, the exact ones first, then by place."""
    found = project.references.find(ReferenceRequest(name=name, limit=500)).references
    kinds = list(VERBS)
    told = [
        each
        for each in found
        if each.use in kinds and each.certainty is not Certainty.NAME and each.is_test is tests
    ]
    order = list(Certainty)
    return sorted(
        told,
        key=lambda each: (
            kinds.index(each.use),
            order.index(each.certainty),
            each.path,
            each.line,
            each.column,
        ),
    )


@pytest.mark.parametrize("name", ["take", "Stock.take", "Stock"])
@pytest.mark.parametrize("tests", [False, True])
def test_sure_uses_are_told_by_kind_certainty_and_place(
    project: Project, name: str, tests: bool
) -> None:
    with project.references.telling(name) as telling:
        told = list(telling.of(tests=tests))
    assert told == _expected(project, name, tests=tests)
    assert told


def test_no_more_files_are_read_than_the_asked_uses_take(project: Project) -> None:
    with project.references.telling("take") as telling:
        calls = []
        for each in telling.of(tests=False):
            calls.append(each.path)
            if len(calls) == 3:
                break
        read = set(telling._lookup._sources)
        assert (
            set(calls)
            <= read
            <= {"shop/later.py", "shop/orders.py", "shop/stock.py"} | {"java/Shop.java"}
        )
        assert Use.USE in {each.use for each in telling.of(tests=False)}
        mentions = {path for path in telling._lookup._sources if "mention" in path}
        assert len(mentions) == _MENTIONS
        assert "tests/test_stock.py" not in telling._lookup._sources


def test_a_name_in_very_many_files_is_not_read_from_all(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "_MOST_FILES", 2)
    with project.references.telling("take") as telling:
        calls = [each.path for each in telling.of(tests=False) if each.use is Use.CALL]
        assert telling._lookup.is_cut
        assert len(set(calls)) <= 2
    assert "take may stand in more than 2 files; only these were read" in telling._lookup.notes


def test_files_in_other_languages_are_not_read_for_a_method(project: Project) -> None:
    with project.references.telling("Stock.take") as telling:
        for tests in (False, True):
            assert list(telling.of(tests=tests))
        assert not [path for path in telling._lookup._sources if path.endswith(".java")]
    found = project.references.find(ReferenceRequest(name="Stock.take", limit=500)).references
    assert "java/Shop.java" not in {each.path for each in found}


def test_files_in_other_languages_are_not_read_for_what_is_around_a_method(
    project: Project,
) -> None:
    found = project.places.relations("shop/stock.py", "Stock.take", 2)
    assert found
    assert {edge.path for edge in found.callers.edges} >= {"shop/orders.py", "shop/later.py"}
    texts = project._kept._texts._entries.values()
    assert {contents.language for contents, _ in texts} == {"python"}


def test_a_server_knows_the_names_of_files_before_it_is_asked(project: Project) -> None:
    project.warm_pages()
    with project.references.telling("take") as telling:
        assert telling._kept._names
