"""Which definition a name means: local variables, blocks, types, packages, headers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.project import Project
from engine.reference_records import CallRequest, ReferenceRequest, Use
from tests.support.jobs import catalog_in
from tests.support.references import found_in
from tests.support.trees import write_tree

_PYTHON = {
    "app/tools.py": """from typing import TypeVar

V = TypeVar("V")


def name():
    return 1


class Box:
    def form(self):
        return self

    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        pass

    def get(self, key: str, default: V) -> V:
        return default
""",
    "app/other.py": """def name():
    return 2


class Other:
    def form(self):
        return None
""",
    "app/uses.py": """from app.tools import Box as Box
from app.tools import name


def local(items):
    name = items[0]
    return name


def parameter(name, other=None):
    return name


def keyword(make):
    return make(name=1)


def imported():
    return name()


def inner():
    from app.other import name

    return name()


def typed(box: Box):
    return box.form()


def foreign():
    found = set()
    found.form()
    return unknown.form()
""",
    "app/bare.py": """def nobody():
    return name


def loop(rows):
    return [form for form in rows]
""",
}

_GO = {
    "go.mod": "module example.com/shop\n",
    "ast/node.go": """package ast

type Node struct{}

func (n *Node) Kind() int { return 1 }

func New() *Node { return &Node{} }
""",
    "ext/ast/node.go": """package ast

type Base struct{}

func (b *Base) Lines() int { return 2 }

type Heading struct {
	Base
}

func New() *Heading { return &Heading{} }
""",
    "text/reader.go": """package text

type Reader interface {
	Advance(n int)
}

type lineReader struct{}

func (r *lineReader) Advance(n int) {}

func NewReader() Reader { return &lineReader{} }
""",
    "main.go": """package main

import (
	gast "example.com/shop/ast"
	"example.com/shop/ext/ast"
	"example.com/shop/text"
)

type Kind struct{ Lines int }

func run(reader text.Reader) {
	reader.Advance(1)
	node := gast.New()
	node.Kind()
	heading := ast.New()
	heading.Lines()
	made := text.NewReader()
	made.Advance(2)
	_ = Kind{Lines: 3}
}

func helper() int { return 1 }

func hidden() int {
	helper := 2
	return helper
}
""",
}

_TYPESCRIPT = {
    "lib.ts": """export function send(text: string) {}

export class Client {
  close() {}
}

export class Server {
  close() {}
}

export function connect(): Client {
  return new Client()
}
""",
    "a.test.ts": """import { connect, Client, send } from './lib'

it('one', () => {
  function make() {}
  make()
})

it('two', () => {
  function make() {}
  make()
})

it('three', (send) => {
  send('x')
  const run = (close) => close
})

function use(client: Client) {
  client.close()
  connect().close()
  send('y')
  for (const each of Object.entries(send)) {
    each(send)
  }
}
""",
    "b.ts": """import { Client } from './lib'

export const again = send
""",
    "other.ts": "export function connect() {}\n",
    "c.ts": """import * as lib from './lib'

lib.connect()
""",
}

_MODULES = {
    "packages/shapes/package.json": '{\n  "name": "shapes"\n}\n',
    "packages/shapes/src/index.ts": """import * as s from './new/external.js'
export * from './new/external.js'
export { s, s as default }
""",
    "packages/shapes/src/new/external.ts": """export * as core from '../core/index.js'
export * from './shapes.js'
export * as coerce from './coerce.js'
""",
    "packages/shapes/src/new/shapes.ts": """import * as core from '../core/index.js'

export interface Base<T extends core.Inner = core.Inner> {
  parse(): T
}
interface _Text<T> extends Base<core.Inner> {
  max(n: number): this
}
export interface Text extends _Text<string> {
  format: string
}
export function text(): Text {
  return {} as Text
}
""",
    "packages/shapes/src/new/coerce.ts": "export function text() {}\n",
    "packages/shapes/src/core/index.ts": "export { $inner, type Inner } from './inner.js'\n",
    "packages/shapes/src/core/inner.ts": """export interface Inner {
  s: number
}
export const $inner = 1
export const s = 2
""",
    "packages/shapes/src/old/index.ts": """import * as s from './shapes'
export * from './shapes'
export { s }
export default s
""",
    "packages/shapes/src/old/shapes.ts": """export class Base {
  parse() {}
}
export class Text extends Base {
  static create() {
    return new Text()
  }
  max(n: number) {
    return this
  }
}
const textType = Text.create
export { textType as text }
export class Secret {
  #max = 1
  copy(other: Secret) {
    const max = 2
    other.#max = max
  }
}
""",
    "tests/new.ts": """import { s } from 'shapes'
import d, { text as makeText } from 'shapes'

s.text().max(1).max(2).parse()
const made = s.text().max(3)
made.parse()
s.coerce.text()
s.core.$inner
d.text()
makeText()
""",
    "tests/assigned.ts": """const schema = { parse: () => 1 }
schema.reparse = () => 2
""",
    "tests/chained.ts": """import { s } from 'shapes'

s.lazy().schema.reparse()
""",
    "tests/old.ts": """import { s } from '../packages/shapes/src/old'

s.text().max(1)
new s.Text().parse()
""",
}

_C = {
    "include/api.h": """#define LIMIT 1
int start(int n);
typedef struct item { int n; } item;
""",
    "src/api.c": """#include "api.h"

static void done(int n) {}

int start(int n) { done(n); return n; }
""",
    "src/other.c": """#include "api.h"

#define ONLY_HERE 1

static int counter;
int use(int n) {
  start(n);
  done(n);
  return ONLY_HERE;
}
""",
    "src/third.c": """#include "api.h"
#include "own.h"

int counter(void) { return 0; }

int third(item *start) {
  int size = LIMIT;
  return start->n + ONLY_HERE;
}
""",
    "src/own.h": "#define LIMIT 2\n",
    "src/fourth.c": """static int counter;

int fourth(void) { return counter; }
""",
}

_CPP = {
    "env.h": """class Env {
 public:
  Env();
  void Open();
};
""",
    "env.cc": """#include "env.h"

Env::Env() {}

void Env::Open() {}
""",
    "use.cc": """#include "env.h"

void use(Env* env) {
  env->Open();
}
""",
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Project]]:
    folder = tmp_path_factory.mktemp("resolution")
    trees = {"python": _PYTHON, "go": _GO, "typescript": _TYPESCRIPT, "c": _C, "cpp": _CPP}
    trees["modules"] = _MODULES
    with catalog_in(folder / "home") as catalog:
        found = {}
        for language, tree in trees.items():
            found[language] = catalog.create(str(write_tree(folder / language, tree)))
            found[language].index()
        yield found


def _meant(project: Project, place: str, text: str, nth: int = 1) -> tuple[str, str]:
    """Return the certainty and the first definition of the nth name in a line."""
    path, line = place.split(":")
    written = (Path(project.root) / path).read_text().split("\n")[int(line) - 1]
    column = -1
    for _ in range(nth):
        column = written.index(text, column + 1)
    found = project.references.definitions_at(path, int(line), column + 1)
    if not found:
        return ("", "")
    first = found[0].symbol
    return (found[0].certainty.value, f"{first.path}:{first.line_start}")


@pytest.mark.parametrize(
    ("place", "name", "nth", "meant"),
    [
        ("app/uses.py:7", "name", 1, ("", "")),  # a local variable
        ("app/uses.py:11", "name", 1, ("", "")),  # a parameter
        ("app/uses.py:15", "name", 1, ("", "")),  # a keyword argument
        ("app/uses.py:19", "name", 1, ("exact", "app/tools.py:6")),
        ("app/uses.py:25", "name", 1, ("exact", "app/other.py:1")),  # the nearest import
        ("app/uses.py:1", "Box", 2, ("exact", "app/tools.py:10")),  # as Box
        ("app/uses.py:1", "tools", 1, ("", "")),  # a module
        ("app/uses.py:29", "form", 1, ("likely", "app/tools.py:11")),
        ("app/tools.py:22", "V", 2, ("exact", "app/tools.py:3")),  # behind an arrow
        ("app/tools.py:18", "size", 1, ("exact", "app/tools.py:14")),  # a decorator
        ("app/bare.py:6", "form", 1, ("", "")),  # of a comprehension
    ],
)
def test_python(
    projects: dict[str, Project], place: str, name: str, nth: int, meant: tuple[str, str]
) -> None:
    assert _meant(projects["python"], place, name, nth) == meant


def test_what_is_not_imported_is_meant_by_name_alone(projects: dict[str, Project]) -> None:
    assert _meant(projects["python"], "app/bare.py:2", "name")[0] == "name"
    assert _meant(projects["python"], "app/uses.py:34", "form")[0] == "name"  # of a set
    assert _meant(projects["typescript"], "b.ts:3", "send")[0] == "name"


@pytest.mark.parametrize(
    ("place", "name", "nth", "meant"),
    [
        ("main.go:1", "main", 1, ("", "")),
        ("main.go:12", "Advance", 1, ("likely", "text/reader.go:4")),  # by the parameter's type
        ("main.go:13", "New", 1, ("exact", "ast/node.go:7")),  # by the alias of the import
        ("main.go:14", "Kind", 1, ("likely", "ast/node.go:5")),  # by the result of New
        ("main.go:15", "New", 1, ("exact", "ext/ast/node.go:11")),
        ("main.go:16", "Lines", 1, ("likely", "ext/ast/node.go:5")),  # of an embedded type
        ("main.go:18", "Advance", 1, ("likely", "text/reader.go:4")),
        ("main.go:26", "helper", 1, ("", "")),
    ],
)
def test_go(
    projects: dict[str, Project], place: str, name: str, nth: int, meant: tuple[str, str]
) -> None:
    assert _meant(projects["go"], place, name, nth) == meant


def _uses(project: Project, name: str) -> set[tuple[str, int, str]]:
    answer = project.references.find(ReferenceRequest(name=name))
    return {(each.path, each.line, each.certainty.value) for each in answer.references}


def test_a_property_is_no_variable_of_its_name(projects: dict[str, Project]) -> None:
    assert _meant(projects["modules"], "tests/chained.ts:3", "reparse")[0] != "exact"


def test_a_call_through_an_interface_of_go_is_likely_of_what_has_all_its_methods(
    projects: dict[str, Project],
) -> None:
    assert _uses(projects["go"], "lineReader.Advance") == {
        ("text/reader.go", 9, "exact"),
        ("main.go", 12, "likely"),
        ("main.go", 18, "likely"),
    }


def test_a_call_through_a_base_is_likely_of_what_implements_it(tmp_path: Path) -> None:
    tree = {
        "store.py": """from abc import ABC


class Store(ABC):
    def fetch_all(self): ...


class Disk(Store):
    def fetch_all(self): ...


class Plain:
    def fetch_one(self): ...


class More(Plain):
    def fetch_one(self): ...


class Other:
    def fetch_all(self): ...


def use(store: Store, plain: Plain):
    store.fetch_all()
    plain.fetch_one()
""",
        "peek.go": """package peek

import "io"

type Peeker interface {
	io.RuneReader
	Peek() rune
}

type text struct{}

func (t *text) Peek() rune { return 0 }

func (t *text) ReadRune() (rune, int, error) { return 0, 0, nil }

type blind struct{}

func (b *blind) Peek() rune { return 0 }

func next(peeker Peeker) rune { return peeker.Peek() }
""",
        "shape.ts": """interface Shape {
  outline(): void
}
class Circle implements Shape {
  outline() {}
}
class Square {
  outline() {}
}
function draw(shape: Shape) {
  shape.outline()
}
""",
    }
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(write_tree(tmp_path / "tree", tree)))
        project.index()
        assert ("store.py", 25, "likely") in _uses(project, "Disk.fetch_all")
        assert ("store.py", 25, "likely") not in _uses(project, "Other.fetch_all")
        assert ("store.py", 26, "name") in _uses(project, "More.fetch_one")
        assert ("peek.go", 20, "likely") in _uses(project, "text.Peek")
        assert ("peek.go", 20, "name") in _uses(project, "blind.Peek")
        assert ("shape.ts", 11, "likely") in _uses(project, "Circle.outline")
        assert ("shape.ts", 11, "name") in _uses(project, "Square.outline")


@pytest.mark.parametrize(
    ("place", "name", "nth", "meant"),
    [
        ("a.test.ts:5", "make", 1, ("exact", "a.test.ts:4")),  # in the same block
        ("a.test.ts:10", "make", 1, ("exact", "a.test.ts:9")),
        ("a.test.ts:14", "send", 1, ("", "")),  # a parameter of an arrow function
        ("a.test.ts:15", "close", 2, ("", "")),
        ("a.test.ts:19", "close", 1, ("likely", "lib.ts:4")),
        ("a.test.ts:20", "close", 1, ("likely", "lib.ts:4")),  # by the result of connect
        ("a.test.ts:21", "send", 1, ("exact", "lib.ts:1")),
        ("c.ts:3", "connect", 1, ("exact", "lib.ts:11")),  # of a namespace
        ("a.test.ts:22", "send", 1, ("exact", "lib.ts:1")),  # an argument, no parameter
    ],
)
def test_typescript(
    projects: dict[str, Project], place: str, name: str, nth: int, meant: tuple[str, str]
) -> None:
    assert _meant(projects["typescript"], place, name, nth) == meant


@pytest.mark.parametrize(
    ("place", "name", "nth", "meant"),
    [
        ("tests/new.ts:4", "s", 1, ("", "")),  # a module
        ("tests/new.ts:4", "text", 1, ("exact", "shapes/src/new/shapes.ts:12")),
        ("tests/new.ts:4", "max", 2, ("likely", "shapes/src/new/shapes.ts:7")),  # by `this`
        ("tests/new.ts:4", "parse", 1, ("likely", "shapes/src/new/shapes.ts:4")),  # of a base
        ("tests/new.ts:6", "parse", 1, ("likely", "shapes/src/new/shapes.ts:4")),
        ("tests/new.ts:7", "text", 1, ("exact", "shapes/src/new/coerce.ts:1")),
        ("tests/new.ts:8", "$inner", 1, ("exact", "shapes/src/core/inner.ts:4")),
        ("tests/new.ts:9", "text", 1, ("exact", "shapes/src/new/shapes.ts:12")),
        ("tests/new.ts:2", "text", 1, ("exact", "shapes/src/new/shapes.ts:12")),
        ("packages/shapes/src/old/shapes.ts:18", "max", 1, ("", "")),  # private: `#max`
        ("tests/old.ts:3", "text", 1, ("", "")),  # the new name of another definition
        ("tests/old.ts:4", "Text", 1, ("exact", "shapes/src/old/shapes.ts:4")),
        ("tests/old.ts:4", "parse", 1, ("likely", "shapes/src/old/shapes.ts:2")),
    ],
)
def test_modules_of_typescript(
    projects: dict[str, Project], place: str, name: str, nth: int, meant: tuple[str, str]
) -> None:
    certainty, found = _meant(projects["modules"], place, name, nth)
    assert (certainty, found.removeprefix("packages/")) == meant


@pytest.mark.parametrize(
    ("place", "name", "nth", "meant"),
    [
        ("src/other.c:7", "start", 1, ("likely", "src/api.c:5")),  # of the prototype
        ("src/other.c:8", "done", 1, ("", "")),  # static elsewhere
        ("src/other.c:9", "ONLY_HERE", 1, ("exact", "src/other.c:3")),
        ("src/third.c:8", "ONLY_HERE", 1, ("", "")),  # a macro of another source
        ("src/third.c:8", "start", 1, ("", "")),  # a parameter
        ("src/fourth.c:3", "counter", 1, ("exact", "src/fourth.c:1")),
    ],
)
def test_c(
    projects: dict[str, Project], place: str, name: str, nth: int, meant: tuple[str, str]
) -> None:
    assert _meant(projects["c"], place, name, nth) == meant


def test_a_type_of_cpp_is_meant_rather_than_its_constructor(projects: dict[str, Project]) -> None:
    assert _meant(projects["cpp"], "use.cc:3", "Env") == ("exact", "env.h:1")
    assert _meant(projects["cpp"], "use.cc:4", "Open")[0] == "likely"


def test_a_module_is_the_one_that_is_imported_among_those_of_its_name(tmp_path: Path) -> None:
    tree = {
        "shop/__init__.py": "",
        "shop/http.py": "def parse_cookie():\n    return 1\n",
        "shop/inner/__init__.py": "",
        "shop/inner/http.py": "def parse_cookie():\n    return 2\n",
        "use.py": "from shop import http\n\n\ndef outer():\n    return http.parse_cookie()\n",
        "it.py": "from shop.inner import http\n\n\ndef inner():\n    return http.parse_cookie()\n",
    }
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(write_tree(tmp_path / "tree", tree)))
        project.index()

        def callers(name: str) -> list[tuple[str, str]]:
            edges = project.references.callers(CallRequest(name=name)).edges
            return [(edge.name, edge.certainty.value) for edge in edges]

        assert callers("shop.http.parse_cookie") == [("outer", "exact")]
        assert callers("inner.http.parse_cookie") == [("inner", "exact")]


@pytest.mark.parametrize(("path", "language"), [("a.c", "c"), ("a.cpp", "cpp"), ("A.java", "java")])
def test_a_long_list_of_variables_is_read(tmp_path: Path, path: str, language: str) -> None:
    many = ", ".join(f"a{number}" for number in range(40))
    text = f"int x() {{ return 1; }}\nint run() {{\n    int {many};\n    return g(x);\n}}\n"
    tree = {path: f"class A {{\n{text}}}\n" if language == "java" else text}
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(write_tree(tmp_path / "tree", tree)))
        project.index()
        found = project.references.find(ReferenceRequest(name="x")).references
        assert [each.use for each in found if "g(x)" in each.text] == [Use.USE]


def _meant_in(root: Path, tree: dict[str, str], name: str) -> dict[str, tuple[str, str]]:
    """Return what the uses of a name mean: by place, the certainty and the definition."""
    return {
        f"{each.path}:{each.line}": (
            each.certainty.value,
            each.target_place or "",
        )
        for each in found_in(root, tree, name)
        if each.use is Use.CALL
    }


def test_a_nested_type_takes_no_use_from_one_in_scope_or_imported(tmp_path: Path) -> None:
    nested = "class User:\n    class Config:\n        pass\n\n\ndef load():\n    return Config()\n"
    tree = {
        "settings.py": "class Config:\n    pass\n",
        "own.py": "class Config:\n    pass\n\n\n" + nested,
        "imported.py": "from settings import Config\n\n\n" + nested,
    }
    meant = _meant_in(tmp_path, tree, "Config")
    assert meant == {
        "own.py:11": ("exact", "own.py:1"),
        "imported.py:10": ("exact", "settings.py:1"),
    }


def test_a_class_of_another_project_is_not_surely_the_own_one(tmp_path: Path) -> None:
    tree = {
        "shop/cache.py": "class LRUCache:\n    def take(self, key):\n        return key\n",
        "shop/__init__.py": "from shop.cache import LRUCache\n",
        "foreign.py": "from cachetools import LRUCache\n\nx = LRUCache.take(1, 2)\n",
        "own.py": "from shop.cache import LRUCache\n\nx = LRUCache.take(1, 2)\n",
        "passed.py": "from shop import LRUCache\n\nx = LRUCache.take(1, 2)\n",
    }
    meant = _meant_in(tmp_path, tree, "take")
    assert {path: certainty for path, (certainty, _) in meant.items()} == {
        "foreign.py:3": "likely",
        "own.py:3": "exact",
        "passed.py:3": "exact",
    }


def test_a_default_export_in_a_comment_hides_no_real_one(tmp_path: Path) -> None:
    tree = {
        "a.ts": "import make from './made'\n// export default nothing\nexport default make\n",
        "made.ts": "export default function make() {}\n",
        "b.ts": "export function make() {}\n",
        "use.ts": "import make from './a'\n\nmake()\n",
    }
    assert _meant_in(tmp_path, tree, "make") == {"use.ts:3": ("exact", "made.ts:1")}
