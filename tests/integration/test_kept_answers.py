"""Answers that a process keeps are those that a process without them would give."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.project import Project
from engine.reference_records import Reference, SymbolRelations
from engine.references.telling import _TOLD_BYTES
from tests.integration.test_branches import commit_all, git
from tests.support.command import Command
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "shop/stock.py": "def take(item):\n    return item\n",
    "shop/orders.py": """from shop.stock import take


def first(item):
    return take(item)


def second(item):
    return take(item), take(item)
""",
    "shop/prices.py": """def price(item):
    return in_euros(item)


def price(item, discount):
    return in_dollars(item) - discount


def in_euros(item):
    return 1


def in_dollars(item):
    return 2
""",
    "tests/test_stock.py": "from shop.stock import take\n\n\ndef test_take():\n    take(1)\n",
}
_MORE = {"shop/more.py": "from shop.stock import take\n\n\ndef third():\n    return take(3)\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def catalog(home: Path) -> Iterator[Catalog]:
    with catalog_in(home) as catalog:
        yield catalog


@pytest.fixture
def project(catalog: Catalog, tree: Path) -> Project:
    write_tree(tree, _TREE)
    git(tree, "init", "-q", "-b", "main")
    commit_all(tree, "first")
    project = catalog.create(str(tree))
    project.index()
    return project


def _told(project: Project) -> list[list[Reference]]:
    with project.references.telling("take") as telling:
        return [list(telling.of(tests=tests)) for tests in (False, True)]


def _freshly_told(home: Path, project: Project) -> list[list[Reference]]:
    with catalog_in(home) as catalog:
        return _told(catalog.open(project.root))


def _relations(project: Project, path: str, name: str, line: int) -> SymbolRelations:
    found = project.places.relations(path, name, line)
    assert found is not None
    return found


def test_uses_of_which_some_were_read_are_told_once_and_all(project: Project, home: Path) -> None:
    with project.references.telling("take") as telling:
        for each in telling.of(tests=False):
            assert each.symbol == "first"
            break
    whole = _told(project)
    assert [len(each) for each in whole] == [3, 1]
    assert whole == _freshly_told(home, project)
    assert whole == _told(project)


def test_uses_are_counted_as_far_as_they_were_read(project: Project) -> None:
    def counted() -> int:
        with project.references.telling("take") as telling:
            return telling._kept.told.size_bytes

    with project.references.telling("take") as telling:
        for _ in telling.of(tests=False):
            break
    assert counted() == 2 * _TOLD_BYTES
    _told(project)
    assert counted() == 5 * _TOLD_BYTES


def test_each_overload_has_its_own_relations(project: Project) -> None:
    found = [_relations(project, "shop/prices.py", "price", line) for line in (1, 5)]
    assert [each.symbol.line_start for each in found] == [1, 5]
    called = [[edge.name for edge in each.callees.edges] for each in found]
    assert called == [["in_euros"], ["in_dollars"]]


def test_relations_say_which_branch_they_are_of(project: Project, tree: Path) -> None:
    def notes() -> tuple[str, ...]:
        return _relations(project, "shop/stock.py", "take", 1).found.notes

    on_main = notes()
    git(tree, "checkout", "-q", "-b", "feature")
    said = [each for each in notes() if each not in on_main]
    assert said == [
        "branch feature is not indexed yet, this is main as last indexed: run cairn index"
    ]
    git(tree, "checkout", "-q", "main")
    assert notes() == on_main


def test_what_another_process_indexes_is_in_the_next_answer(
    project: Project, tree: Path, home: Path
) -> None:
    def asked() -> tuple[list[int], int]:
        relations = _relations(project, "shop/stock.py", "take", 1)
        return [len(each) for each in _told(project)], len(relations.callers.edges)

    assert asked() == ([3, 1], 3)
    write_tree(tree, _MORE)
    assert Command(home=home, folder=tree)("index").code == 0
    assert asked() == ([4, 1], 4)
