"""Implementations and bases of types and methods, in each language as its texts say them."""

from pathlib import Path

import pytest

from engine.reference_records import Certainty, Direction, InheritanceRequest
from tests.support.jobs import catalog_in
from tests.support.trees import write_tree

_PYTHON = {
    "shop/basics.py": """import abc


class Base(abc.ABC):
    def check(self): ...


class Other:
    def check(self): ...
""",
    "shop/more.py": """from shop import basics
from shop.basics import Base as Foundation


@register(kind=dict(a=1))
class Child(Foundation, metaclass=Meta):
    def check(self):
        return True


class Grandchild(Child):
    pass


class Last(Grandchild):
    def check(self):
        return False


class Dotted(basics.Base[int]): ...
""",
    "shop/foreign.py": """from lib import Base


class Foreign(Base): ...
""",
}

#: A tree, a name, what implements it with the place of each, and one with its bases.
_CASES: dict[str, tuple[dict[str, str], str, set[str], str, set[str]]] = {
    "python": (
        _PYTHON,
        "Base",
        {
            "Child shop/more.py:5",
            "Grandchild shop/more.py:11",
            "Last shop/more.py:15",
            "Dotted shop/more.py:20",
        },
        "Last",
        {"Grandchild", "Child", "Base"},
    ),
    "python method": (
        _PYTHON,
        "Base.check",
        {"Child.check shop/more.py:7", "Last.check shop/more.py:16"},
        "Last.check",
        {"Child.check", "Base.check"},
    ),
    "javascript": (
        {
            "a.js": "export class A {\n  run() {}\n}\nexport class Z {}\n",
            "b.js": """import { A } from './a';
import * as all from './a';
class B extends A { run() {} }
const C = class extends all.A { };
function Mixin(Base) {
  return class extends A {
  };
}
export default class extends A {}
""",
        },
        "A",
        {"B b.js:3", "C b.js:4", "Mixin (anonymous) b.js:6", "default b.js:9"},
        "B",
        {"A"},
    ),
    "typescript": (
        {
            "i.ts": "export interface I<T> { run(x: T): void }\n",
            "a.ts": """import type { I } from './i';
@Injectable({ provided: 'root' })
export class A implements I<string> {
  run(x: string) {}
}
export abstract class B extends A {}
interface J extends I<number> { more(): void }
""",
        },
        "I",
        {"A a.ts:2", "B a.ts:6", "J a.ts:7"},
        "B",
        {"A", "I"},
    ),
    "tsx": (
        {"a.tsx": "class A<P> {}\nexport class View extends A<{ x: number }> {}\n"},
        "A",
        {"View a.tsx:2"},
        "View",
        {"A"},
    ),
    "java": (
        {
            "p/I.java": "package p;\npublic interface I<T> {\n  void run();\n}\n",
            "p/A.java": """package p;
@Service("a")
public class A extends Base implements I<String> {
  I field = new I() { public void run() {} };
  public void run() {}
  A() {}
}
enum E implements I { X; }
record R(int x) implements I { }
interface J extends I { }
""",
            "p/Base.java": "package p;\nclass Base {\n  Base() {}\n}\n",
            "p/Last.java": "package p;\nclass Last extends A {}\n",
        },
        "I",
        {
            "A p/A.java:2",
            "A (anonymous) p/A.java:4",
            "E p/A.java:8",
            "R p/A.java:9",
            "J p/A.java:10",
            "Last p/Last.java:2",
        },
        "A",
        {"I", "Base"},
    ),
    "java method": (
        {
            "p/I.java": "package p;\npublic interface I {\n  void run();\n}\n",
            "p/A.java": "package p;\nclass A implements I {\n  public void run() {}\n}\n",
            "p/B.java": "package p;\nclass B extends A {\n  public void run() {}\n}\n",
            "p/C.java": "package p;\nclass C {\n  public void run() {}\n}\n",
        },
        "I.run",
        {"A.run p/A.java:3", "B.run p/B.java:3"},
        "B.run",
        {"A.run", "I.run"},
    ),
    "kotlin": (
        {
            "I.kt": "interface I {\n    fun run()\n}\n\nopen class Base(val x: Int)\n",
            "A.kt": """@Ann("x")
class A : Base(1), I {
    override fun run() {
    }
}

object O : I {
    override fun run() {
    }
}

class D(val other: I) : I by other
""",
        },
        "I",
        {"A A.kt:1", "O A.kt:7", "D A.kt:12"},
        "A",
        {"Base", "I"},
    ),
    "scala": (
        {
            "I.scala": """trait I[T] { def run(): Int }
class A(x: Int) extends Base(x) with I[Int] { override def run() = 1 }
object O extends I[Int]
case class C(x: Int) extends I[Int]
given G: I[Int] with { def run() = 1 }
class Base(x: Int)
"""
        },
        "I",
        {"A I.scala:2", "O I.scala:3", "C I.scala:4", "G I.scala:5"},
        "A",
        {"Base", "I"},
    ),
    "csharp": (
        {
            "I.cs": "namespace N;\npublic interface I<T> { void Run(); }\n",
            "A.cs": """namespace N;
[Serializable]
public class A : Base, I<int>
{
    public void Run() {}
}
public struct S : I<int> { }
public record R(int X) : I<int>;
public class Base { }
""",
        },
        "I",
        {"N.A A.cs:2", "N.S A.cs:7", "N.R A.cs:8"},
        "N.A",
        {"N.Base", "N.I"},
    ),
    "swift": (
        {
            "P.swift": "protocol P {\n  func run()\n}\nclass Base {}\n",
            "A.swift": """class A: Base {
  func more() {}
}
struct S: P, Codable {
  func run() {}
}
enum E: String, P { case x }
""",
            "More.swift": "extension A: P {\n  func run() {}\n}\n",
        },
        "P",
        {"A A.swift:1", "S A.swift:4", "E A.swift:7"},
        "A",
        {"Base", "P"},
    ),
    "php": (
        {
            "src/I.php": "<?php\nnamespace App;\ninterface I { function run(); }\n",
            "src/T.php": "<?php\nnamespace App;\ntrait T { }\n",
            "src/A.php": """<?php
namespace App;
class A implements I {
    use T;
    function run() {}
}
class B extends A {}
function make() { return new class implements I { function run() {} }; }
""",
        },
        "I",
        {"App.A src/A.php:3", "App.B src/A.php:7", "App.make (anonymous) src/A.php:8"},
        "App.A",
        {"App.I", "App.T"},
    ),
    "ruby": (
        {
            "mod.rb": "module Mod\n  def run; end\nend\n",
            "a.rb": """class A < Base
  include Comparable, Mod
  def run; end
end
class B < A
end
C = Class.new(A) do
end
class Base
end
""",
            "b.rb": """mock { Class.new(::A) }
mock { Class.new(::A) }
""",
        },
        "Mod",
        {"A a.rb:1", "B a.rb:5", "C a.rb:7", "b.rb b.rb:1"},
        "A",
        {"Base", "Mod"},
    ),
    "elixir": (
        {
            "beh.ex": "defmodule Beh do\n  @callback run(x :: term) :: term\nend\n",
            "a.ex": """defmodule A do
  @behaviour Beh
  use GenServer
  @impl true
  def run(x), do: x
end
""",
        },
        "Beh",
        {"A a.ex:1"},
        "A",
        {"Beh"},
    ),
    "elixir callback": (
        {
            "beh.ex": "defmodule Beh do\n  @callback run(x :: term) :: term\nend\n",
            "a.ex": "defmodule A do\n  @behaviour Beh\n  def run(x), do: x\nend\n",
        },
        "Beh.run",
        {"A.run a.ex:3"},
        "A.run",
        {"Beh.run"},
    ),
    "elixir protocol": (
        {
            "p.ex": "defprotocol P do\n  def size(x)\nend\n",
            "a.ex": "defimpl P, for: Map do\n  def size(x), do: 1\nend\n",
        },
        "P",
        {"Map.P a.ex:1"},
        "Map.P",
        {"P"},
    ),
    "cpp": (
        {
            "i.h": "#include <string>\nclass I {\npublic:\n  I();\n  virtual void run() = 0;\n};\n",
            "i.cpp": '#include "i.h"\nI::I() {}\n',
            "I.md": "# I\n",
            "a.cpp": """#include "i.h"
class A : public Base, private ns::I {
  void run() override;
};
template <class T> struct G : I {
};
struct Base {};
void A::run() {}
""",
        },
        "I",
        {"A a.cpp:2", "G a.cpp:5"},
        "A",
        {"Base", "I"},
    ),
    "haskell": (
        {
            "S.hs": """module S where
class Shape a where
  area :: a -> Double
data Circle = Circle Double deriving (Eq)
instance Shape Circle where
  area (Circle r) = r
class (Show a, Shape a) => Solid a where
  volume :: a -> Double
"""
        },
        "Shape",
        {"Shape Circle S.hs:5", "Solid S.hs:7"},
        "Solid",
        {"Shape"},
    ),
    "haskell method": (
        {
            "S.hs": """module S where
class Shape a where
  area :: a -> Double
data Circle = Circle Double
instance Shape Circle where
  area (Circle r) = r
"""
        },
        "Shape.area",
        {"Shape Circle.area S.hs:6"},
        "Shape Circle.area",
        {"Shape.area"},
    ),
    "rust": (
        {
            "src/lib.rs": """mod a;
pub trait Run { fn run(&self); }
pub trait More: Run { fn more(&self); }
impl<T: Run> Run for Box<T> { fn run(&self) {} }
""",
            "src/a.rs": """use crate::{Run, More};
pub struct A;
pub enum E { X }
impl fmt::Display for A { fn fmt(&self) {} }
impl Run for A {
    fn run(&self) {}
}
impl<'a> Run for &'a E { fn run(&self) {} }
""",
        },
        "Run",
        {"More src/lib.rs:3", "A src/a.rs:2", "E src/a.rs:3", "Box<T> src/lib.rs:4"},
        "A",
        {"Run"},
    ),
    "rust crates": (
        {
            "crates/matcher/src/lib.rs": "pub trait Matcher {\n    fn find(&self);\n}\n",
            "crates/regex/src/lib.rs": "use grep_matcher::{Match, Matcher};\n"
            "pub struct Regex;\nimpl Matcher for Regex {\n    fn find(&self) {}\n}\n",
            "crates/other/src/lib.rs": "use foreign::Matcher;\npub struct Other;\n"
            "impl Matcher for Other {}\n",
        },
        "Matcher",
        {"Regex crates/regex/src/lib.rs:2"},
        "Regex",
        {"Matcher"},
    ),
    "rust method": (
        {
            "src/lib.rs": """pub trait Run { fn run(&self); }
pub struct A;
impl Run for A {
    fn run(&self) {}
}
pub struct B;
impl B {
    fn run(&self) {}
}
"""
        },
        "Run.run",
        {"A.run src/lib.rs:4"},
        "A.run",
        {"Run.run"},
    ),
    "go": (
        {
            "p/i.go": """package p

import "io"

type Runner interface {
	io.Closer
	Run(a, b int) error
}

type Wider interface {
	Runner
	More()
}
""",
            "p/a.go": """package p

type A struct{ x int }

func (a *A) Run(x int, y int) error { return nil }

type B struct {
	*A
}

type C struct{}

func (c C) Run() error { return nil }
func (c C) Close() error { return nil }
""",
            "p/close.go": "package p\n\nfunc (a *A) Close() error { return nil }\n",
        },
        "Runner",
        {"A p/a.go:3", "B p/a.go:7", "Wider p/i.go:10"},
        "B",
        {"A", "Runner"},
    ),
    "go method": (
        {
            "p/i.go": "package p\n\ntype Runner interface {\n\tRun() error\n}\n",
            "p/a.go": "package p\n\ntype A struct{}\n\nfunc (a *A) Run() error { return nil }\n",
        },
        "Runner.Run",
        {"A.Run p/a.go:5"},
        "A.Run",
        {"Runner.Run"},
    ),
}


@pytest.mark.parametrize("case", _CASES)
def test_implementations_and_bases(tmp_path: Path, case: str) -> None:
    tree, name, implementations, child, bases = _CASES[case]
    root = write_tree(tmp_path / "tree", tree)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        down = project.references.implementations(InheritanceRequest(name=name))
        up = project.references.bases(InheritanceRequest(name=child))
    assert {f"{each.name} {each.path}:{each.line}" for each in down.edges} == implementations
    assert {each.name for each in up.edges} == bases
    assert down.direction is Direction.IMPLEMENTATIONS
    assert (down.truncated, up.truncated) == (False, False)
    assert [each for each in (*down.edges, *up.edges) if each.certainty is Certainty.NAME] == []


def test_classes_without_a_name_keep_their_lines(tmp_path: Path) -> None:
    text = """class A {
  static I make(int x) {
    return new I() { };
  }
  static I make() {
    return new I() { };
  }
}
interface I { }
"""
    root = write_tree(tmp_path / "tree", {"A.java": text})
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        [edge] = project.references.implementations(InheritanceRequest(name="I")).edges
    assert (edge.name, edge.line, edge.call_lines) == ("A.make (anonymous)", 3, (3, 6))


def test_a_depth_and_a_limit_cut(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "tree", _PYTHON)
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        ask = project.references.implementations
        direct = ask(InheritanceRequest(name="Base", depth=1))
        assert {each.name for each in direct.edges} == {"Child", "Dotted"}
        assert direct.truncated is False
        cut = ask(InheritanceRequest(name="Base", limit=1))
        assert (len(cut.edges), cut.total, cut.truncated) == (1, 4, True)
        nothing = ask(InheritanceRequest(name="nowhere"))
        assert (nothing.definitions, nothing.edges) == ((), ())
        outside = project.references.bases(InheritanceRequest(name="Foreign"))
        assert outside.edges == ()
        assert outside.notes == ("bases outside of the project: Base",)


def test_circles_of_bases_end(tmp_path: Path) -> None:
    text = "class A(B):\n    def f(self): ...\n\n\nclass B(A):\n    def f(self): ...\n"
    root = write_tree(tmp_path / "tree", {"a.py": text})
    with catalog_in(tmp_path / "home") as catalog:
        project = catalog.create(str(root))
        project.index()
        for direction in (Direction.IMPLEMENTATIONS, Direction.BASES):
            for name, other in (("A", "B"), ("A.f", "B.f")):
                answer = project.references.follow(InheritanceRequest(name=name), direction)
                assert [each.name for each in answer.edges] == [other]
