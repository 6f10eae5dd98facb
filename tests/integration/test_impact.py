"""What depends on a definition or a file, in real indexes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import FileNotIndexedError, InvalidInputError
from engine.project import Project
from engine.reference_records import Dependent, ImpactRequest, ReferenceRequest, Use
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "shop/__init__.py": "from shop.orders import place_order\n",
    "shop/limits.py": "MOST = 10\n\n\ndef check(number):\n    return number < MOST\n",
    "shop/stock.py": '''from .limits import check


class Store:
    """Keeps things."""

    def __init__(self, size):
        self.size = size

    def take_item(self, item):
        return item if check(item) else None


class Cellar(Store):
    def take_item(self, item):
        return item


class Item:
    pass


def describe(item: Item) -> str:
    return str(item)
''',
    "shop/orders.py": """from shop.stock import Store

HANDLERS = []


def place_order(item):
    store = Store(1)

    def inner():
        return store.take_item(item)

    return inner()


def ping(number):
    return pong(number)


def pong(number):
    return ping(number) or place_order(number)


HANDLERS.append(place_order)
""",
    "tests/conftest.py": """import pytest

from shop.stock import Store


@pytest.fixture
def store():
    return Store(1)


@pytest.fixture
def full_store(store):
    return store
""",
    "tests/test_orders.py": """from shop import place_order


def test_place_order():
    assert place_order(1)
""",
    "tests/test_stock.py": """def test_full(full_store):
    assert full_store


def test_nothing():
    full_store = 1
    assert full_store
""",
    "tests/test_limits.py": """import shop.limits


def test_module():
    assert shop.limits
""",
    "README.md": "# check\n\nCall check.\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("impact")
    root = write_tree(folder / "tree", _TREE)
    with catalog_in(folder / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        yield project


def _told(found: tuple[Dependent, ...]) -> dict[str, tuple[int, str, str]]:
    return {each.name: (each.depth, each.certainty.value, each.use.value) for each in found}


def test_dependents_are_followed_by_depth_and_tests_stand_apart(project: Project) -> None:
    answer = project.impact(ImpactRequest(name="check"))
    assert [(each.name, each.path, each.line, each.kind) for each in answer.definitions] == [
        ("check", "shop/limits.py", 4, "function")
    ]
    assert _told(answer.dependents) == {
        "Store.take_item": (1, "exact", "call"),
        "Cellar.take_item": (2, "likely", "inherit"),  # overrides it
        "place_order": (2, "likely", "call"),  # in a function inside of it
        "shop/__init__.py": (3, "likely", "import"),
        "pong": (3, "likely", "call"),
        "shop/orders.py": (3, "likely", "use"),  # passed on by code outside of functions
    }
    assert _told(answer.tests) == {"test_place_order": (3, "likely", "call")}
    assert answer.test_files == ("tests/test_orders.py",)
    assert (answer.total, answer.total_tests, answer.files) == (7, 1, 4)
    assert answer.depths == {"1": 1, "2": 2, "3": 4}
    assert answer.certainties == {"exact": 1, "likely": 6}
    assert not answer.truncated
    [caller] = [each for each in answer.dependents if each.name == "Store.take_item"]
    assert (caller.via, caller.via_path, caller.lines) == ("check", "shop/limits.py", (11,))


def test_a_depth_and_a_limit_bound_the_answer(project: Project) -> None:
    direct = project.impact(ImpactRequest(name="check", depth=1))
    assert _told(direct.dependents) == {"Store.take_item": (1, "exact", "call")}
    assert direct.test_files == ("tests/test_orders.py",)  # however far it is
    cut = project.impact(ImpactRequest(name="check", limit=1))
    assert (len(cut.dependents), cut.total, cut.truncated) == (1, 7, True)


def test_constants_types_and_bases_are_uses(project: Project) -> None:
    constant = project.impact(ImpactRequest(name="MOST", depth=1))
    assert _told(constant.dependents) == {"check": (1, "exact", "use")}
    named = project.impact(ImpactRequest(name="Item", depth=1))
    assert _told(named.dependents) == {"describe": (1, "exact", "type")}
    base = project.impact(ImpactRequest(name="Store", depth=1))
    assert _told(base.dependents) == {
        "Cellar": (1, "exact", "inherit"),
        "Cellar.take_item": (1, "likely", "inherit"),
        "place_order": (1, "exact", "call"),
    }


def test_a_constructor_affects_what_constructs_its_class(project: Project) -> None:
    answer = project.impact(ImpactRequest(name="Store.__init__", depth=1))
    assert _told(answer.dependents)["place_order"] == (1, "exact", "call")


def test_tests_with_a_fixture_depend_on_what_the_fixture_uses(project: Project) -> None:
    answer = project.impact(ImpactRequest(name="Store.__init__", depth=1))
    assert _told(answer.tests) == {  # fixtures are no tests
        "test_full": (3, "likely", "use"),
        "test_place_order": (2, "exact", "call"),
    }
    # Without the file of fixtures.
    assert answer.test_files == ("tests/test_orders.py", "tests/test_stock.py")


@pytest.mark.parametrize(
    ("path", "text", "test"),
    [
        (
            "tests/test_page.py",
            "import unittest\nfrom page import render\n\n\nclass PageCase(unittest.TestCase):\n"
            "    def setUp(self):\n        self.page = render()\n",
            "PageCase",
        ),
        (
            "tests/test_all.py",
            "import pytest\nfrom page import render\n\n\n@pytest.fixture(autouse=True)\n"
            "def rendered():\n    return render()\n\n\ndef test_nothing():\n    assert True\n",
            "rendered",
        ),
    ],
)
def test_what_a_runner_calls_by_itself_is_no_dead_end(
    tmp_path: Path, path: str, text: str, test: str
) -> None:
    tree = {"page.py": "def render():\n    return 1\n", path: text}
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        answer = project.impact(ImpactRequest(name="render"))
    assert test in {each.name for each in answer.tests}
    assert answer.total == answer.total_tests > 0


def test_what_a_fixture_constructs_has_the_methods_of_its_class(tmp_path: Path) -> None:
    tree = {
        "kit.py": "class Base:\n    def route(self): pass\n\n\nclass App(Base):\n    pass\n\n\n"
        "class Other:\n    def route(self): pass\n",
        "tests/conftest.py": "import pytest\nimport kit\n\n\n@pytest.fixture\ndef app():\n"
        "    app = kit.App()\n    return app\n",
        "tests/test_app.py": "def test_app(app):\n    app.route()\n",
    }
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        told = _told(project.impact(ImpactRequest(name="Base.route")).tests)
        assert told == {"test_app": (1, "likely", "call")}
        told = _told(project.impact(ImpactRequest(name="Other.route")).tests)
        assert told == {"test_app": (1, "name", "call")}


def test_an_overriding_method_affects_the_callers_of_the_base(project: Project) -> None:
    answer = project.impact(ImpactRequest(name="Cellar.take_item", depth=1))
    assert _told(answer.dependents) == {"place_order": (1, "likely", "call")}


def test_circles_end(project: Project) -> None:
    answer = project.impact(ImpactRequest(name="ping", depth=5))
    assert _told(answer.dependents) == {"pong": (1, "exact", "call")}


def test_a_file_is_all_its_definitions_and_the_tests_that_import_it(project: Project) -> None:
    answer = project.impact(ImpactRequest(path="shop/limits.py"))
    assert [each.name for each in answer.definitions] == ["MOST", "check"]
    assert "check" not in _told(answer.dependents)
    assert _told(answer.tests)["tests/test_limits.py"] == (1, "likely", "import")
    absolute = project.impact(ImpactRequest(path=f"{project.root}/shop/limits.py"))
    assert absolute.tests == answer.tests
    with pytest.raises(FileNotIndexedError):
        project.impact(ImpactRequest(path="shop/nowhere.py"))


def test_names_that_nothing_has_affect_nothing(project: Project) -> None:
    for name in ("nowhere", "", ".", "\0"):
        answer = project.impact(ImpactRequest(name=name))
        assert (answer.definitions, answer.total) == ((), 0)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (ImpactRequest(), "name"),
        (ImpactRequest(name="a", path="b"), "path"),
        (ImpactRequest(name="a", changed=True), "changed"),
        (ImpactRequest(name="a", depth=6), "depth"),
        (ImpactRequest(name="a", limit=0), "limit"),
        (ImpactRequest(changed=True), "changed"),  # outside of git
    ],
)
def test_wrong_requests_are_refused(project: Project, wanted: ImpactRequest, field: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        project.impact(wanted)
    assert raised.value.details["field"] == field


def test_a_wide_tree_is_cut_and_says_so(tmp_path: Path) -> None:
    wide = "".join(f"def f{number}():\n    return root()\n" for number in range(2500))
    root = write_tree(tmp_path / "tree", {"wide.py": "def root(): pass\n" + wide})
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        answer = project.impact(ImpactRequest(name="root", limit=10))
    assert (answer.total, answer.truncated) == (2500, True)
    assert any("were looked for" in note for note in answer.notes)


def test_what_no_import_brings_is_no_use(tmp_path: Path) -> None:
    tree = {"a.py": "value = 1\n", "b.py": "def f():\n    value = 2\n    return value\n"}
    tree |= {"c.py": "from a import *\n\n\ndef g():\n    return value\n"}
    tree |= {"d.py": "import b\n\n\ndef h(o):\n    return o.value\n"}
    tree |= {"f.py": "class F:\n    def j(self):\n        return self.value\n"}
    tree |= {"e.py": "import a as x\n\n\ndef i(o):\n    return x.value\n"}
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        told = _told(project.impact(ImpactRequest(name="value")).dependents)
    assert told == {"g": (1, "likely", "use"), "i": (1, "exact", "use")}


def test_files_to_run_are_in_the_order_of_how_near_and_how_many_tests_are(tmp_path: Path) -> None:
    one = "from a import f\n\n\ndef test_one():\n    f()\n"
    tree = {"a.py": "def f(): pass\n\n\ndef g():\n    f()\n", "tests/test_a.py": one}
    tree["tests/test_b.py"] = one + "\n\ndef test_two():\n    f()\n"
    tree["tests/test_0.py"] = "from a import g\n\n\ndef test_far():\n    g()\n"
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        answer = project.impact(ImpactRequest(name="f"))
    assert answer.test_files == ("tests/test_b.py", "tests/test_a.py", "tests/test_0.py")


def test_names_of_a_namespace_and_annotations_in_quotes(tmp_path: Path) -> None:
    tree = {
        "pkg/full/keys.ts": "export function keyof() {}\nexport class Box { keyof() {} }\n",
        "pkg/mini/keys.ts": "export function keyof() {}\n",
        "use.ts": 'import * as z from "pkg/mini";\nexport const used = () => z.keyof();\n',
        "part.py": "class Part:\n    def register(self): pass\n\n\n"
        "class Other:\n    def register(self): pass\n",
        "app.py": 'def add(part: "Part"):\n    part.register()\n',
    }
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        found = project.references.find(ReferenceRequest(name="keyof", use=Use.CALL))
        assert [each.target_place for each in found.references] == ["pkg/mini/keys.ts:1"]
        told = _told(project.impact(ImpactRequest(name="Part.register")).dependents)
        assert told == {"add": (1, "likely", "call")}
        assert _told(project.impact(ImpactRequest(name="Other.register")).dependents) == {}


def test_other_languages(tmp_path: Path) -> None:
    tree = {
        "src/shape.ts": "export interface Shape { area(): number }\n"
        "export class Square implements Shape { area() { return 1 } }\n",
        "src/draw.ts": 'import { Square } from "./shape.js";\n'
        "export const draw = () => new Square().area();\n",
        "src/draw.test.ts": 'import { draw } from "./draw.js";\ntest("draw", () => { draw(); });\n',
        "pkg/a.go": "package pkg\n\nfunc Helper() int { return 1 }\n",
        "pkg/a_test.go": 'package pkg\n\nimport "testing"\n\n'
        "func TestHelper(t *testing.T) { Helper() }\n",
    }
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        shape = project.impact(ImpactRequest(name="Shape"))
        assert _told(shape.dependents)["Square"] == (1, "exact", "inherit")
        assert shape.test_files == ("src/draw.test.ts",)
        helper = project.impact(ImpactRequest(name="Helper"))
        assert _told(helper.tests) == {"TestHelper": (1, "exact", "call")}


def test_what_implements_a_method_of_an_interface_depends_on_it(tmp_path: Path) -> None:
    tree = {
        "go.mod": "module example.com/hooks\n",
        "hooks.go": "package hooks\n\ntype Hook interface {\n\tFire(level int) error\n}\n",
        "slog/slog.go": "package slog\n\ntype Slog struct{}\n\n"
        "func (s Slog) Fire(level int) error {\n\treturn nil\n}\n",
        "hook_test.go": "package hooks\n\ntype testHook struct{}\n\n"
        "func (t *testHook) Fire(level int) error {\n\treturn nil\n}\n",
    }
    with catalog_in(tmp_path / "home") as catalog:
        index = catalog.create(str(write_tree(tmp_path / "tree", tree)))
        index.index()
        found = index.impact(ImpactRequest(name="Hook.Fire"))
    assert [(each.name, each.depth) for each in found.dependents] == [("Slog.Fire", 1)]
    assert found.test_files == ("hook_test.go",)


def test_tests_are_what_a_runner_runs_where_names_tell_it(tmp_path: Path) -> None:
    tree = {
        "kit.py": "def used(): pass\n",
        "tests/test_kit.py": "from kit import used\n\n\ndef helper(): used()\n\n\n"
        "def test_kit(): helper()\n\n\nclass TestKit:\n    def test_it(self): used()\n\n"
        "    def make(self): used()\n",
        "tests/apps/demo.py": "from kit import used\n\nused()\n\n\ndef create_app(): used()\n",
        "box.go": "package box\n\nfunc Opened() {}\n",
        "box_test.go": "package box\n\nfunc TestOpened() { Opened() }\n\n"
        "func BenchmarkOpened() { Opened() }\n\nfunc testing() { Opened() }\n",
        "src/main/Pot.java": "class Pot {\n  static void boil() {}\n}\n",
        "src/test/PotTest.java": "class PotTest {\n  void boils() { Pot.boil(); }\n}\n",
    }
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        answer = project.impact(ImpactRequest(name="used"))
        assert _told(answer.tests).keys() == {"test_kit", "TestKit.test_it"}
        assert (answer.total_tests, answer.total) == (2, 2)
        opened = project.impact(ImpactRequest(name="Opened"))
        assert _told(opened.tests).keys() == {"TestOpened", "BenchmarkOpened"}
        boiled = project.impact(ImpactRequest(name="boil"))
        assert _told(boiled.tests).keys() == {"PotTest.boils"}
        assert "each definition in a test file counts as a test in java" in boiled.notes
