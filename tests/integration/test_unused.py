"""Definitions that nothing uses: found in real indexes, with what is left out and why."""

import itertools
from pathlib import Path

import pytest

from engine.errors import Cancelled, InvalidInputError
from engine.reference_records import Certainty, UnusedAnswer, UnusedRequest
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_PYTHON = {
    "shop/cart.py": '''"""Carts. _told is told here."""

from flask import Flask
from lib import Handler

__all__ = ["_listed"]
app = Flask(__name__)


@app.route("/")
def _index(): ...


def _used(): ...


def _recursive():
    return _recursive()


def _told():  # _told
    return _used()


def _listed(): ...


def _in_a_string(): ...


def _in_settings(): ...


def visit_Name(): ...


def public(): ...


class _Held:
    """A class that only its own body names."""

    def make(self):
        return _Held()


class _Server(Handler):
    def do_get(self): ...

    @property
    def _size(self): ...


class _Plain(Exception):
    def _helper(self): ...

    def __str__(self): ...


server, plain = _Server(), _Plain()
call = globals()["_in_a_string"]
print(getattr(call, f"visit_{server}{plain}{app}{call}"))
''',
    "pyproject.toml": '[project.scripts]\nx = "shop.cart:_in_settings"\n',
    "docs/conf.py": "project = 1\n",
    "shop/plugins.py": """from zope import implementer
from twisted import Protocol


@implementer(IThing)
class Plugin:
    def start_it(self): ...

    def _lost(self): ...


class Reader(Protocol):
    def _called(self): ...


print(Plugin, Reader)
""",
    "README.md": "`_told` and `_recursive` are told.\n",
    "tests/test_cart.py": "def helper(): ...\n",
    "main.py": "def main(): ...\n",
}


def _unused(tmp_path: Path, tree: dict[str, str], **options: object) -> UnusedAnswer:
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        return project.references.unused(UnusedRequest(**options))  # type: ignore[arg-type]


def test_what_no_code_names_is_unused(tmp_path: Path) -> None:
    answer = _unused(tmp_path, _PYTHON)
    assert [(each.name, each.certainty.value, each.named_in) for each in answer.definitions] == [
        ("_recursive", "likely", None),
        ("_told", "likely", None),
        ("_Held", "likely", None),
        ("_Plain._helper", "likely", None),
        ("Plugin._lost", "likely", None),
        ("_in_a_string", "name", "shop/cart.py"),
        ("_in_settings", "name", "pyproject.toml"),
    ]
    assert answer.exported == 3  # visit_Name, public and make
    assert answer.left_out == {
        "decorated": 2,
        "entry points": 3,  # __all__ too
        "listed in __all__": 1,
        "overrides": 3,
        "settings": 1,
        "tests": 1,
    }
    assert (answer.total, answer.truncated) == (7, False)


def test_exported_definitions_are_known_by_name_alone(tmp_path: Path) -> None:
    answer = _unused(tmp_path, _PYTHON, exported=True)
    exported = [each for each in answer.definitions if each.exported]
    assert {each.name for each in exported} == {"visit_Name", "public", "_Held.make"}
    assert {each.certainty for each in exported} == {Certainty.NAME}
    assert answer.exported == 0


def test_a_path_a_kind_and_a_limit_narrow(tmp_path: Path) -> None:
    assert _unused(tmp_path / "1", _PYTHON, path="elsewhere/").total == 0
    classes = _unused(tmp_path / "2", _PYTHON, kind="class")
    assert [each.name for each in classes.definitions] == ["_Held"]
    first = _unused(tmp_path / "3", _PYTHON, limit=1)
    assert (len(first.definitions), first.total, first.truncated) == (1, 7, True)
    with pytest.raises(InvalidInputError):
        _unused(tmp_path / "4", _PYTHON, kind="nonsense")
    with pytest.raises(InvalidInputError):
        _unused(tmp_path / "5", _PYTHON, limit=0)


@pytest.mark.parametrize(
    ("tree", "unused"),
    [
        (
            {
                "a.ts": """function gone() {}
const used = () => 1;
const o = { setup() { return used(); } };
class A extends Foreign { render() {} }
class B { private lost() {} kept() {} }
new B().kept(); run(o, A, function named() { named(); });
declare module 'react' { interface Props { x: number } }
""",
            },
            {"gone", "B.lost"},
        ),
        (
            {
                "a.go": "package a\n\nfunc init() {}\n\nfunc gone() {}\n\ntype t struct{}\n\n"
                'func (t) lost() {}\n\nfunc (t) String() string { return "" }\n\nvar X t\n',
            },
            {"gone", "t.lost"},
        ),
        (
            {
                "src/lib.rs": """struct A;
impl Drop for A {
    fn drop(&mut self) {}
}
impl Index for [A] {
    fn index(&self) {}
}
struct B;
impl B {
    fn passed(&self) {}
}
impl A {
    fn passed(&self) { B.passed() }
    fn lost(&self) {}
}
#[no_mangle]
extern "C" fn called() {}
#[inline]
fn gone() {}
#[test]
fn checks() {}
fn make() -> A { A }
pub fn open() { make(); }
""",
            },
            {"A.lost", "gone"},
        ),
        (
            {
                "A.java": """class A extends Foreign {
  @Override public void b() {}
  void c() {}
  @Bean A d() { return null; }
}
class B {
  private void gone() {}
  private A a;
}
""",
            },
            {"B", "B.gone"},
        ),
        (
            {
                "a.c": "static int gone(int x) { return x; }\n"
                "static int used(void);\nstatic int used(void) { return 1; }\n"
                "int main(void) { return used(); }\n",
            },
            {"gone"},
        ),
        (
            {
                "a.rb": "class A\n  private\n  def gone?; end\n  def used; end\n"
                "  def method_missing(name); end\n  before :used\nend\nA.new\n",
            },
            {"A.gone?"},
        ),
        (
            {
                "a.ex": "defmodule A do\n  @impl true\n  def init(x), do: b(x)\n"
                "  defp b(x), do: x\n  defp gone(1), do: 1\n  defp gone(x), do: x\nend\n",
            },
            {"A.gone"},
        ),
        (
            {
                "page.html": "<a onclick='shown()'>x</a>\n",
                "a.mdx": "<Logo />\n",
                "a.js": "function shown() {}\nfunction Logo() {}\n",
            },
            set(),
        ),
    ],
    ids=["typescript", "go", "rust", "java", "c", "ruby", "elixir", "page"],
)
def test_languages_tell_what_is_called_from_outside(
    tmp_path: Path, tree: dict[str, str], unused: set[str]
) -> None:
    answer = _unused(tmp_path, tree)
    assert {each.name for each in answer.definitions} == unused


def test_reading_can_be_stopped(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", _PYTHON)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        for polls in (1, 3):  # while texts are read, and while reasons are looked for
            answers = itertools.chain(itertools.repeat(False, polls - 1), itertools.repeat(True))
            with pytest.raises(Cancelled):
                project.references.unused(UnusedRequest(), answers.__next__)


def test_overloads_are_one_definition(tmp_path: Path) -> None:
    overload = "@overload\ndef _read(value: {}): ...\n\n\n"
    tree = {
        "a.py": "from typing import overload\n\n\n"
        + overload.format("int")
        + overload.format("str")
        + "def _read(value):\n    return value\n",
    }
    answer = _unused(tmp_path, tree)
    assert [(each.name, each.line_start) for each in answer.definitions] == [("_read", 4)]
    assert answer.total == 1


def test_code_in_a_literal_may_call_a_method(tmp_path: Path) -> None:
    code = 'CODE = """\\\nif kwargs:\n    params = self._encode(kwargs)\n"""\n'
    tree = {
        "a.py": f"class Rule:\n    def _encode(self): ...\n\n    def _gone(self): ...\n\n\n{code}"
        "print(Rule, CODE)  # self._gone()\n"
    }
    answer = _unused(tmp_path, tree)
    assert [(each.name, each.certainty.value, each.named_in) for each in answer.definitions] == [
        ("Rule._gone", "likely", None),
        ("Rule._encode", "name", "a.py"),
    ]
