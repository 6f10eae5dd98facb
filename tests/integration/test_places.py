"""What names at places mean, and what is around a definition, in real indexes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.project import Project
from engine.reference_records import Certainty, ImpactRequest, Use, UsesRequest
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "shop/base.py": """class Base:
    def check(self):
        return True


class Other:
    def check(self):
        return False
""",
    "shop/orders.py": '''"""check is told here."""

from shop.base import Base


class Orders(Base):
    """Keeps orders."""

    def add(self, item):
        if self.check():
            return self._log(item)
        return None

    def _log(self, item):
        é = item; return self.helper(item)


def place(item, check):
    orders = Orders()
    return orders.add(item) or check
''',
    "tests/test_orders.py": """from shop.orders import Orders, place


def test_place():
    assert place(1, None)


def test_add():
    assert Orders().add(1)
""",
    "site/main.js": "function place() { return place; }\n",
    "README.md": "Call place.\n",
    "settings.yaml": "check:\n  on: true\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("places")
    root = write_tree(folder / "tree", _TREE)
    with catalog_in(folder / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        yield project


def test_names_of_a_text_are_those_that_its_language_defines(project: Project) -> None:
    names = project.places.defined_names
    text = "place = unknown(Orders).check, Place"
    assert names(text, "python") == {"place", "Orders", "check"}
    assert names(text, "javascript") == {"place"}
    assert names(text, "text") == frozenset()
    assert names("place? place! valid$", "ruby") == frozenset()
    assert names("", "python") == frozenset()
    assert names("place " * 100_000, "python") == frozenset()  # too long


def test_imported_names_are_those_of_where_they_come_from(project: Project) -> None:
    imported = project.places.imported_names
    assert {"Orders", "place"} <= imported("tests/test_orders.py")
    assert imported("shop/base.py") == frozenset()
    assert imported("nowhere.py") == frozenset()


def test_a_place_means_one_of_several_definitions(project: Project) -> None:
    found = project.places.name_at("shop/orders.py", 10, 21)
    assert found is not None
    assert (found.name, found.line, found.column, found.use) == ("check", 10, 17, Use.CALL)
    [definition] = found.definitions
    assert (definition.symbol.path, definition.symbol.line_start) == ("shop/base.py", 2)
    assert definition.certainty is Certainty.LIKELY
    assert [(each.path, each.line) for each in found.found.references] == [
        ("shop/orders.py", 10),
        ("shop/base.py", 2),
    ]


def test_a_name_alone_lists_all_definitions_and_uses(project: Project) -> None:
    found = project.places.name_at("shop/orders.py", 20, 33)  # a parameter
    assert found is not None
    assert [str(each.certainty) for each in found.definitions] == ["name", "name"]
    assert {each.symbol.qualified_name for each in found.definitions} == {
        "Base.check",
        "Other.check",
    }
    assert found.found.by_name == 2  # both of the parameter


def test_uses_are_filtered_counted_and_cut(project: Project) -> None:
    def uses(**wanted: object) -> tuple[list[str], int]:
        request = UsesRequest(**wanted)  # type: ignore[arg-type]
        found = project.places.name_at("shop/orders.py", 18, 5, request)
        assert found is not None
        assert found.found.uses == {"definition": 1, "import": 1, "call": 1}
        assert found.found.in_tests == 2
        return [f"{each.path}:{each.line}" for each in found.found.references], found.found.total

    assert uses() == (["shop/orders.py:18", "tests/test_orders.py:1", "tests/test_orders.py:5"], 3)
    assert uses(use=Use.CALL) == (["tests/test_orders.py:5"], 1)
    assert uses(in_tests=True, limit=1) == (["tests/test_orders.py:1"], 2)
    assert uses(offset=2) == (["tests/test_orders.py:5"], 3)
    assert uses(offset=9) == ([], 3)


def test_columns_are_in_characters(project: Project) -> None:
    found = project.places.name_at("shop/orders.py", 15, 31)  # behind a letter of two bytes
    assert found is not None
    assert (found.name, found.definitions, found.found.total) == ("helper", (), 1)


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ("shop/orders.py", 1, 5),  # in a literal
        ("shop/orders.py", 2, 1),
        ("shop/orders.py", 0, 0),
        ("shop/orders.py", 999, 1),
        ("shop/orders.py", 10, 9999),
        ("nowhere.py", 1, 1),
        ("../etc/passwd", 1, 1),
    ],
)
def test_where_no_name_is_nothing_is_found(
    project: Project, path: str, line: int, column: int
) -> None:
    assert project.places.name_at(path, line, column) is None


def test_what_is_around_a_definition(project: Project) -> None:
    around = project.places.relations("shop/orders.py", "Orders.add", 1)
    assert around is not None
    assert around.symbol.line_start == 9
    assert [each.name for each in around.callers.edges] == ["place", "test_add"]
    assert {each.name for each in around.callees.edges} == {"Base.check", "Orders._log"}
    alone = project.places.symbol("shop/orders.py", "Orders.add", 1)
    assert alone is not None
    assert (alone.symbol, alone.overloads) == (around.symbol, ())
    base = project.places.relations("shop/base.py", "", 1)
    assert base is not None
    assert [each.name for each in base.implementations.edges] == ["Orders"]
    assert base.bases.edges == ()
    orders = project.places.relations("shop/orders.py", "Orders", 6)
    assert orders is not None
    assert [each.name for each in orders.bases.edges] == ["Base"]
    assert project.places.relations("shop/base.py", "Nowhere", 1) is None
    assert project.places.relations("shop/base.py", "", 4) is None
    assert project.places.relations("nowhere.py", "", 1) is None


def test_what_is_around_a_definition_is_kept_until_the_index_changes(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", _TREE)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        asked = ("shop/base.py", "Base.check", 2)
        known = project.places.relations(*asked)
        assert known is not None
        assert project.places.relations(*asked) is known
        write_tree(root, {"shop/more.py": "from shop.base import Base\n\n\nBase().check()\n"})
        project.index()
        found = project.places.relations(*asked)
        assert found is not None
        assert found.found.total == known.found.total + 1
        assert "shop/more.py" in {each.path for each in found.callers.edges}


def test_tests_reach_what_they_call_through_others(project: Project) -> None:
    tests = project.places.tests_of("shop/orders.py", "Orders._log", 14)
    assert tests is not None
    assert {each.name: each.depth for each in tests.tests} == {"test_add": 2, "test_place": 3}
    impact = project.references.impact(ImpactRequest(name="Orders._log"))
    assert tests.tests == impact.tests
    assert project.places.tests_of("shop/orders.py", "Nowhere", 14) is None


def test_overloads_are_the_definitions_of_one_qualified_name(tmp_path: Path) -> None:
    text = "def f_one(a): pass\n\n\ndef f_one(a, b): pass\n"
    root = write_tree(tmp_path / "tree", {"a.py": text, "b.js": "function f_one() {}\n"})
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        found = project.places.symbol("a.py", "f_one", 4)
        assert found is not None
        assert found.symbol.line_start == 4
        assert [(each.path, each.line_start) for each in found.overloads] == [("a.py", 1)]
        assert project.places.defined_names(text, "python") == {"f_one"}
        (root / "a.py").write_text("pass\n")
        project.index()
        assert project.places.defined_names(text, "python") == frozenset()
