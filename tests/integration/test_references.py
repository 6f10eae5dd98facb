"""Who uses a name: found in real indexes, resolved by imports, receivers and scopes."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from engine.catalog import Catalog
from engine.errors import InvalidInputError
from engine.project import Project
from engine.reference_records import (
    CallRequest,
    Certainty,
    InheritanceRequest,
    ReferenceRequest,
    Use,
)
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_TREE = {
    "shop/__init__.py": "from shop.orders import place_order\n",
    "shop/orders.py": '''"""Orders. place_order is told here, too."""

from .stock import Stock


class Base:
    def check(self):
        return True


class Orders(Base):
    def __init__(self, stock: Stock):
        self.stock = stock

    def add(self, item):
        if self.check():
            self.stock.take(item)
        return self._log(item)

    def _log(self, item):
        return item


def place_order(item):
    orders = Orders(Stock())
    return orders.add(item)
''',
    "shop/stock.py": """class Stock:
    def take(self, item):
        return item


class Shelf:
    def take(self, item):
        raise KeyError(item)
""",
    "shop/other.py": """def place_order(item):
    return item


def again(place_order):
    return place_order


def local():
    return place_order(1)
""",
    "web/views.py": """import shop.orders as so
from shop.orders import place_order as order


def view(request):
    order(request.item)
    so.place_order(request.item)
    return "place_order(quoted)"  # place_order(commented)
""",
    "tests/test_orders.py": """from shop import place_order


def test_place_order():
    assert place_order(1)
""",
    "README.md": "Call place_order.\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("references")
    root = write_tree(folder / "tree", _TREE)
    with catalog_in(folder / "home") as catalog:
        yield _indexed(catalog, root)


def _indexed(catalog: Catalog, root: Path) -> Project:
    project = catalog.create(str(root))
    project.index()
    return project


def _places(project: Project, name: str) -> dict[str, tuple[str, str, str | None]]:
    answer = project.references.find(ReferenceRequest(name=name))
    assert answer.total == len(answer.references)
    return {
        f"{each.path}:{each.line}": (each.use.value, each.certainty.value, each.target_place)
        for each in answer.references
    }


def test_each_use_of_a_function_means_the_one_that_it_imports(project: Project) -> None:
    ours, other = "shop/orders.py:24", "shop/other.py:1"
    assert _places(project, "place_order") == {
        "shop/orders.py:24": ("definition", "exact", ours),
        "shop/__init__.py:1": ("import", "exact", ours),
        "shop/other.py:1": ("definition", "exact", other),
        "shop/other.py:5": ("use", "name", None),
        "shop/other.py:6": ("use", "name", None),
        "shop/other.py:10": ("call", "exact", other),
        "web/views.py:2": ("import", "exact", ours),
        "web/views.py:6": ("call", "exact", ours),
        "web/views.py:7": ("call", "exact", ours),
        "tests/test_orders.py:1": ("import", "likely", ours),  # two modules of shop have one
        "tests/test_orders.py:5": ("call", "likely", ours),
        "README.md:1": ("text", "name", None),
    }


def test_receivers_tell_methods_of_one_name_apart(project: Project) -> None:
    places = _places(project, "Stock.take")
    assert places["shop/stock.py:2"] == ("definition", "exact", "shop/stock.py:2")
    assert places["shop/orders.py:17"] == ("call", "likely", "shop/stock.py:2")
    assert "shop/stock.py:7" not in places
    assert _places(project, "_log")["shop/orders.py:18"][1] == "exact"
    assert _places(project, "Base.check")["shop/orders.py:16"][1] == "likely"


def test_a_use_a_path_and_a_limit_narrow(project: Project) -> None:
    find = project.references.find
    calls = find(ReferenceRequest(name="place_order", use=Use.CALL))
    assert {each.use for each in calls.references} == {Use.CALL}
    assert calls.uses["import"] == 3  # counts are of all uses
    for path in ("web", f"{project.root}/web"):
        below = find(ReferenceRequest(name="place_order", path=path))
        assert {each.path for each in below.references} == {"web/views.py"}
    first = find(ReferenceRequest(name="place_order", limit=2))
    assert (len(first.references), first.truncated) == (2, True)
    assert first.total == calls.total + 8
    with pytest.raises(InvalidInputError):
        find(ReferenceRequest(name="place_order", limit=0))


@pytest.mark.parametrize("name", ["nowhere_at_all", "", ".", "\0", "x", "café", "Orders.nowhere"])
def test_names_that_nothing_has_find_nothing(project: Project, name: str) -> None:
    answer = project.references.find(ReferenceRequest(name=name))
    assert (answer.definitions, answer.references, answer.total) == ((), (), 0)


def test_callers_and_callees_to_a_depth(project: Project) -> None:
    direct = project.references.callers(CallRequest(name="Orders.add"))
    assert [(each.name, each.certainty) for each in direct.edges] == [
        ("place_order", Certainty.LIKELY)
    ]
    deeper = project.references.callers(CallRequest(name="Orders.add", depth=2))
    assert {each.name: each.depth for each in deeper.edges} == {
        "place_order": 1,
        "view": 2,
        "test_place_order": 2,
    }
    assert {each.name for each in deeper.edges if each.is_test} == {"test_place_order"}
    assert {each.certainty for each in deeper.edges} == {Certainty.LIKELY}  # no surer than the way
    callees = project.references.callees(CallRequest(name="Orders.add"))
    assert {each.name: each.call_lines for each in callees.edges} == {
        "Base.check": (16,),
        "Stock.take": (17,),
        "Orders._log": (18,),
    }


def test_classes_in_functions_are_seen_there_only(tmp_path: Path) -> None:
    body = "    class Local: pass\n    return Local()\n\n\n"
    text = f"def one():\n{body}def two():\n{body}"
    root = write_tree(tmp_path / "tree", {"local.py": text, "copy/local.py": text})
    with catalog_in(tmp_path / "home") as catalog:
        places = _places(_indexed(catalog, root), "Local")
    for path in ("local.py", "copy/local.py"):  # equal contents are two files
        assert places[f"{path}:3"] == ("call", "exact", f"{path}:2")
        assert places[f"{path}:8"] == ("call", "exact", f"{path}:7")


def test_circles_of_calls_end(tmp_path: Path) -> None:
    text = "def ping():\n    pong()\n\n\ndef pong():\n    ping()\n    pong()\n"
    root = write_tree(tmp_path / "tree", {"circle.py": text})
    with catalog_in(tmp_path / "home") as catalog:
        references = _indexed(catalog, root).references
        for ask in (references.callers, references.callees):
            answer = ask(CallRequest(name="ping", depth=5))
            assert [each.name for each in answer.edges] == ["pong"]


def test_the_definition_at_a_place(project: Project) -> None:
    at = project.references.definitions_at
    [found] = at("web/views.py", 7, 10)
    assert (found.symbol.path, found.symbol.line_start) == ("shop/orders.py", 24)
    assert at("web/views.py", 8, 14) == ()  # in a literal
    assert at("web/views.py", 99, 1) == ()
    assert at("nowhere.py", 1, 1) == ()


def test_an_index_without_references_says_so(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": "def f_one(): pass\n", "b.py": "f_one()\n"})
    with catalog_in(tmp_path / "home") as catalog:
        file = tmp_path / "home" / f"{_indexed(catalog, root).project_id}.db"
    handle = apsw.Connection(str(file))
    handle.execute("UPDATE blob_texts SET marks = NULL")
    handle.close()
    with catalog_in(tmp_path / "home") as catalog:
        answer = catalog.open(str(root)).references.find(ReferenceRequest(name="f_one"))
    assert answer.uses == {"definition": 1, "text": 1}
    [note] = answer.notes
    assert note.startswith("in 2 files f_one is found as text")


def test_edits_change_the_answer(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", {"a.py": "def f_one(): pass\n", "b.py": "f_one()\n"})
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)
        assert set(_places(project, "f_one")) == {"a.py:1", "b.py:1"}
        (root / "b.py").write_text("pass\n")
        (root / "c.py").write_text("from a import f_one\n")
        project.index()
        assert set(_places(project, "f_one")) == {"a.py:1", "c.py:1"}


def test_relations_are_names_that_the_project_defines(project: Project) -> None:
    relations = {each.symbol: each for each in project.references.relations("shop/orders.py")}
    assert relations["Orders"].extends == ("Base",)
    assert relations["Orders.__init__"].types == ("Stock",)
    assert relations["Orders.add"].calls == ("check", "take", "_log")
    assert relations["place_order"].calls == ("Orders", "Stock", "add")
    assert "Base" not in relations
    assert project.references.relations("nowhere.py") == []


def test_a_name_can_be_qualified_by_its_module(project: Project) -> None:
    for name in ("shop.orders.place_order", "orders.place_order"):
        [found] = project.references.find(ReferenceRequest(name=name)).definitions
        assert found.path == "shop/orders.py"
    [method] = project.references.find(ReferenceRequest(name="shop.orders.Orders.add")).definitions
    assert method.qualified_name == "Orders.add"
    assert not project.references.find(ReferenceRequest(name="shop.nowhere.add")).definitions


def test_a_qualifier_can_be_a_module_or_a_folder_and_its_case_counts(tmp_path: Path) -> None:
    tree = {
        "app/helpers.py": "def link():\n    return 1\n",
        "app/core.py": "class App:\n    def link(self):\n        return 2\n",
        "ast/block.go": "package ast\n\ntype Node struct{}\n",
        "use.py": "from app import helpers\n\n\ndef page():\n    return helpers.link()\n",
    }
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, write_tree(tmp_path / "tree", tree))

        def defined(name: str) -> list[str]:
            found = project.references.find(ReferenceRequest(name=name)).definitions
            return [f"{each.path}:{each.qualified_name}" for each in found]

        assert defined("App.link") == ["app/core.py:App.link"]
        assert defined("helpers.link") == ["app/helpers.py:link"]
        assert defined("app.link") == ["app/helpers.py:link"]
        assert defined("core.app.LINK") == []
        assert defined("ast.Node") == ["ast/block.go:Node"]
        assert defined("APP.link") == ["app/core.py:App.link"]
        for name in ("helpers.link", "app.link"):
            answer = project.references.callers(CallRequest(name=name))
            assert [edge.name for edge in answer.edges] == ["page"]


def test_a_renamed_import_means_no_definition_of_its_own_file(tmp_path: Path) -> None:
    tree = {
        "core/reply.py": "class Reply:\n    def send(self):\n        return 1\n",
        "web/reply.py": (
            "from core.reply import Reply as _Reply\n\n\nclass Reply(_Reply):\n    pass\n\n\n"
            "def make():\n    return Reply(), _Reply()\n"
        ),
        "app.py": "from web.reply import Reply\nfrom core.reply import Reply as Plain\n\nReply()\n",
    }
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, write_tree(tmp_path / "tree", tree))
        core, web = "core/reply.py:1", "web/reply.py:4"
        answer = project.references.find(ReferenceRequest(name="Reply"))
        assert {
            (each.path, each.line, each.column): (each.certainty.value, each.target_place)
            for each in answer.references
            if each.use in (Use.CALL, Use.INHERIT)
        } == {
            ("web/reply.py", 4, 13): ("exact", core),
            ("web/reply.py", 9, 12): ("exact", web),
            ("web/reply.py", 9, 21): ("exact", core),
            ("app.py", 4, 1): ("exact", web),
        }
        bases = project.references.bases(InheritanceRequest(name="web.reply.Reply"))
        assert [(each.path, each.certainty.value) for each in bases.edges] == [
            ("core/reply.py", "exact")
        ]
        # Both are asked for here.
        both = project.references.bases(InheritanceRequest(name="Reply"))
        assert [(each.path, each.via_path) for each in both.edges] == [
            ("core/reply.py", "web/reply.py")
        ]
        down = project.references.implementations(InheritanceRequest(name="Reply"))
        assert [(each.path, each.via_path) for each in down.edges] == [
            ("web/reply.py", "core/reply.py")
        ]


def test_what_stands_at_a_place_can_be_asked_for(project: Project) -> None:
    def defined(name: str) -> list[str]:
        found = project.references.find(ReferenceRequest(name=name)).definitions
        return [f"{each.path}:{each.qualified_name}" for each in found]

    orders = (Path(project.root) / "shop/orders.py").read_text().splitlines()
    line = next(n for n, text in enumerate(orders, 1) if "self._log(item)" in text)
    assert defined(f"shop/orders.py:{line}") == ["shop/orders.py:Orders.add"]
    column = orders[line - 1].index("_log") + 2
    assert defined(f"shop/orders.py:{line}:{column}") == ["shop/orders.py:Orders._log"]
    assert defined(f"./shop/orders.py:{line}:{column}") == ["shop/orders.py:Orders._log"]
    begins = next(n for n, text in enumerate(orders, 1) if text.startswith("class Orders"))
    assert defined(f"shop/orders.py:{begins}") == ["shop/orders.py:Orders"]
    for nothing in ("shop/orders.py:1:4", "shop/orders.py:999", "nowhere.py:3", "shop/orders.py:0"):
        assert defined(nothing) == []
    edges = project.references.callers(CallRequest(name=f"shop/orders.py:{line}")).edges
    assert "place_order" in [edge.name for edge in edges]
    uses = project.references.find(ReferenceRequest(name=f"shop/orders.py:{line}:{column}"))
    assert [(each.use, each.line) for each in uses.references if each.use is Use.CALL] == [
        (Use.CALL, line)
    ]


def test_edits_change_the_callers(tmp_path: Path) -> None:
    root = write_tree(
        tmp_path / "tree",
        {
            "a.py": "def f_one(): pass\n",
            "b.py": "from a import f_one as other\n\ndef calls():\n    other()\n",
        },
    )
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)

        def callers() -> list[str]:
            return [
                each.name for each in project.references.callers(CallRequest(name="f_one")).edges
            ]

        assert callers() == ["calls"]
        assert project.cached_bytes > 0
        (root / "b.py").write_text("from a import f_one\n\ndef anew():\n    f_one()\n")
        project.index()
        assert callers() == ["anew"]
        project.evict()
        assert callers() == ["anew"]


def test_callers_do_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", _TREE)
    names = ("place_order", "take", "check", "add", "_log")
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, root)
        ask = project.references.callers
        first = [ask(CallRequest(name=name, depth=3)) for name in names]
        for name in names:
            project.references.find(ReferenceRequest(name=name))
        again = [ask(CallRequest(name=name, depth=3)) for name in reversed(names)]
        assert first == again[::-1]
    assert sum(each.total for each in first) > 5


def test_callers_of_names_that_end_with_a_mark(tmp_path: Path) -> None:
    text = "def empty?\n  true\nend\n\ndef ask\n  empty?\nend\n"
    root = write_tree(tmp_path / "tree", {"a.rb": text})
    with catalog_in(tmp_path / "home") as catalog:
        answer = _indexed(catalog, root).references.callers(CallRequest(name="empty?"))
    assert [each.name for each in answer.edges] == ["ask"]


def test_callers_are_followed_by_their_surest_call(tmp_path: Path) -> None:
    tree = {
        "a.py": "class A:\n    def form(self): ...\n\n\nclass B:\n    def form(self): ...\n",
        "use.py": "from a import B\n\n\ndef use(thing, box: B):\n    thing.form()\n"
        "    return box.form()\n\n\ndef outer():\n    return use(1, 2)\n",
    }
    with catalog_in(tmp_path / "home") as catalog:
        project = _indexed(catalog, write_tree(tmp_path / "tree", tree))
        answer = project.references.callers(CallRequest(name="form", depth=2))
    found = [(each.name, each.depth, each.certainty) for each in answer.edges]
    assert found == [("use", 1, Certainty.LIKELY), ("outer", 2, Certainty.LIKELY)]
