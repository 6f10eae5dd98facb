"""What is no use of a definition, or a use of it by its name alone, is not told as a sure one."""

from pathlib import Path

import pytest

from tests.support.references import found_in

#: By path, line and column: the use, the certainty and the qualified name of the definition.
_Uses = dict[str, tuple[str, str, str]]


def _uses_in(root: Path, tree: dict[str, str], name: str) -> _Uses:
    return {
        f"{each.path}:{each.line}:{each.column}": (
            each.use.value,
            each.certainty.value,
            each.target or "",
        )
        for each in found_in(root, tree, name)
    }


def _places(uses: _Uses, use: str) -> list[str]:
    return sorted(place for place, (said, _, _) in uses.items() if said == use)


@pytest.mark.parametrize(
    ("path", "text", "definition"),
    [
        ("a.rb", "class A\n  def self.shout\n    1\n  end\nend\n", "a.rb:2:12"),
        ("a.lua", "local M = {}\nfunction M.shout()\n  return 1\nend\nreturn M\n", "a.lua:2:12"),
        ("a.kt", "fun String.shout(): String = this\n", "a.kt:1:12"),
        ("a.js", "function User() {}\nUser.shout = function () {\n  return 1\n}\n", "a.js:2:6"),
        ("a.py", "@app.shout\ndef shout():\n    return 1\n", "a.py:2:5"),
        ("a.py", "@shout.setter\ndef shout():\n    return 1\n", "a.py:2:5"),
    ],
)
def test_a_definition_behind_a_dot_is_no_use_of_itself(
    tmp_path: Path, path: str, text: str, definition: str
) -> None:
    uses = _uses_in(tmp_path, {path: text}, "shout")
    assert _places(uses, "definition") == [definition]
    assert len(uses) == (2 if path == "a.py" else 1)


def test_the_prefix_of_a_literal_is_no_use(tmp_path: Path) -> None:
    text = 'def f(x):\n    return f"{x}" + rf"{f}"\n\n\nf(1)\n'
    uses = _uses_in(tmp_path, {"a.py": text}, "f")
    assert set(uses) == {"a.py:1:5", "a.py:2:25", "a.py:5:1"}


def test_a_class_with_a_constructor_is_the_only_one_of_its_name(tmp_path: Path) -> None:
    tree = {
        "src/main/java/shop/Token.java": "package shop;\n\npublic class Token {\n"
        "  public Token(int size) {\n  }\n}\n",
        "src/test/java/shop/TokenTest.java": "package shop;\n\npublic class TokenTest {\n"
        "  Token kept;\n  void run() {\n    kept = new Token(1);\n  }\n}\n",
    }
    heir = "src/main/java/shop/Heir.java"
    tree[heir] = "package shop;\n\nclass Heir extends Token {\n  Token other;\n}\n"
    uses = _uses_in(tmp_path, tree, "Token")
    assert uses[f"{heir}:3:20"] == ("inherit", "exact", "Token")
    assert uses[f"{heir}:4:3"] == ("type", "exact", "Token")
    test = "src/test/java/shop/TokenTest.java"
    assert uses[f"{test}:4:3"] == ("type", "likely", "Token")
    assert uses[f"{test}:6:16"] == ("call", "likely", "Token")


def test_a_chain_of_one_method_tells_nothing_of_its_type(tmp_path: Path) -> None:
    text = """class Sink {
  Sink grow(int size) {
    return this;
  }
  static Sink make() {
    return new Sink();
  }
}

class Other {
  Other grow(int size) {
    return this;
  }
}

class Uses {
  void own() {
    Sink.make().grow(1).grow(2);
    new Sink().grow(1).grow(2).grow(3);
  }
  void foreign(Object all) {
    unknown(all).grow(1).grow(2);
    unknown(all).first().grow(1).grow(2).grow(3);
  }
}
"""
    found = _uses_in(tmp_path, {"Sink.java": text}, "grow")
    certainties = {
        (int(place.split(":")[1]), certainty)
        for place, (use, certainty, _) in found.items()
        if use == "call"
    }
    assert certainties == {(18, "likely"), (19, "likely"), (22, "name"), (23, "name")}
    own = [target for place, (_, _, target) in found.items() if ":18:" in place or ":19:" in place]
    assert set(own) == {"Sink.grow"}


_FIELDS = {
    "entry.rs": """pub struct Entry {
    path: String,
}

impl Entry {
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn show(&self) -> String {
        let of = Entry::path;
        format!("{} {} {}", self.path(), of(self), self.path)
    }
}
""",
    "Builder.java": """class Builder {
  private boolean strict;

  Builder strict() {
    this.strict = true;
    strict = !strict;
    other().strict = true;
    return this;
  }

  java.util.function.Supplier<Builder> later() {
    return this::strict;
  }
}
""",
    "list.php": """<?php

class Items
{
    private array $items = [];

    public function items(): array
    {
        return $this->items[0] ?? self::items() ?? $this->items();
    }
}
""",
}


@pytest.mark.parametrize(
    ("path", "name", "sure"),
    [
        ("entry.rs", "path", {"entry.rs:11:25", "entry.rs:12:34"}),
        ("Builder.java", "strict", {"Builder.java:12:18"}),
        ("list.php", "items", {"list.php:9:41", "list.php:9:59"}),
    ],
)
def test_a_field_is_no_use_of_the_method_of_its_name(
    tmp_path: Path, path: str, name: str, sure: set[str]
) -> None:
    uses = _uses_in(tmp_path, {path: _FIELDS[path]}, name)
    found = {
        place
        for place, (use, certainty, _) in uses.items()
        if use != "definition" and certainty != "name"
    }
    assert found == sure


def test_the_arrow_of_a_lambda_is_no_receiver(tmp_path: Path) -> None:
    tree = {
        "shop/Token.java": "package shop;\n\nclass Token {\n  Token() {\n  }\n"
        "  static int make() {\n    return 1;\n  }\n}\n",
        "shop/Uses.java": "package shop;\n\nclass Uses {\n  void run() {\n"
        "    later(() -> Token.make());\n  }\n}\n",
    }
    uses = _uses_in(tmp_path, tree, "Token")
    assert uses["shop/Uses.java:5:17"] == ("use", "exact", "Token")


_GO = {
    "go.mod": "module example.com/shop\n",
    "tool.go": """package shop

func tmpl(text string) string {
	return text
}

type tool struct {
	size, tmpl string
	run  func(tmpl string) error
	list [limit]int
}

const limit = 2

type Command struct {
	Title string
}

func (c *Command) Usage() string {
	return tmpl(c.Title)
}

func (c *Command) Flag(name string) *Command {
	return c
}

type wrapped struct {
	*Command
}
""",
    "docs.go": """package shop

import "example.org/flag"

type page struct {
	Usage string
}

func docs(f *flag.Flag, c *Command, w wrapped) string {
	p := page{}
	p.Usage = f.Usage
	return c.Usage() + w.Usage() + p.Usage
}
""",
}


def test_a_field_of_go_is_no_function_or_method_of_its_name(tmp_path: Path) -> None:
    found = _uses_in(tmp_path / "a", _GO, "tmpl")
    sure = {place for place, (_, certainty, _) in found.items() if certainty != "name"}
    assert sure == {"tool.go:3:6", "tool.go:20:9"}
    assert _uses_in(tmp_path / "b", _GO, "limit")["tool.go:10:8"] == ("use", "exact", "limit")
    found = _uses_in(tmp_path / "c", _GO, "Usage")
    sure = {place for place, (_, certainty, _) in found.items() if certainty != "name"}
    assert sure == {"tool.go:19:19", "docs.go:12:11", "docs.go:12:23"}


_PACKAGE = {
    "java": (
        ("shop/A.java", "package shop;\n\nclass A {\n  private static final int MAX = 1;\n"
         "  static class Part {\n  }\n}\n"),
        ("shop/B.java", "package shop;\n\nclass B<Part> {\n  Part part;\n  int size = MAX;\n"
         "  A.Part other;\n}\n"),
    ),
    "kotlin": (
        ("shop/A.kt", "package shop\n\nclass A {\n  companion object {\n"
         "    private const val MAX = 1\n  }\n  class Part\n}\n"),
        ("shop/B.kt", "package shop\n\nclass B<Part> {\n  val part: Part? = null\n"
         "  val size = MAX\n  val other: A.Part? = null\n}\n"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", _PACKAGE)
def test_what_a_class_has_is_seen_in_it_alone(tmp_path: Path, language: str) -> None:
    tree = dict(_PACKAGE[language])
    path = next(each for each in tree if "B." in each)
    found = _uses_in(tmp_path / "a", tree, "MAX")
    assert [each[1] for place, each in found.items() if place.startswith(path)] == ["name"]
    found = _uses_in(tmp_path / "b", tree, "Part")
    sure = {place.split(":")[1] for place, each in found.items() if each[1] != "name"}
    assert {line for line in sure if f"{path}:{line}:" in str(found)} >= {"6"}
    assert [each[1] for place, each in found.items() if place.startswith(f"{path}:4")] == ["name"]


@pytest.mark.parametrize(
    ("path", "text", "sure"),
    [
        ("A.java", "class Box {}\nclass Own<Box> {\n  Box kept;\n}\nclass Use {\n  Box kept;\n}\n"
         "class Made {\n  <T, Box extends T> Box make(Box of) {\n    return of;\n  }\n"
         "  Box other;\n}\n", {"1", "6", "12"}),
        ("a.kt", "class Box\nclass Own<Box> {\n  val kept: Box? = null\n}\nclass Use {\n"
         "  val kept: Box? = null\n}\nfun <Box> make(of: Box): Box {\n  return of\n}\n",
         {"1", "6"}),
        ("a.cs", "class Box {}\nclass Own<Box> {\n  Box kept;\n}\nclass Use {\n  Box kept;\n"
         "  Box Make<Box>(Box of) { return of; }\n}\n", {"1", "6"}),
        ("a.ts", "class Box {}\nclass Own<Box> {\n  kept: Box | null = null\n}\nclass Use {\n"
         "  kept: Box | null = null\n}\nfunction make<Box>(of: Box): Box {\n  return of\n}\n"
         "const list = new Map<Box, number>()\n", {"1", "6", "11"}),
    ],
)  # fmt: skip
def test_a_type_parameter_is_no_class_of_its_name(
    tmp_path: Path, path: str, text: str, sure: set[str]
) -> None:
    found = _uses_in(tmp_path, {path: text}, "Box")
    assert {place.split(":")[1] for place, each in found.items() if each[1] != "name"} == sure


_RUST = {
    "src/lib.rs": """use std::path::Path;

pub enum Source {
    File(String),
    Named { path: String },
}

pub struct Line {
    pub path: Option<u64>,
}

pub fn show(sources: Vec<Source>, lines: Vec<(u64, String)>) -> Option<String> {
    for path in names() {
        print(&path);
    }
    for (at, path) in lines {
        print(&path);
    }
    if let Some(path) = names().pop() {
        print(&path);
    }
    match sources.first() {
        Some(Source::File(path)) => return Some(path.clone()),
        Some(Source::Named { path }) => {
            return Some(path.clone());
        }
        None => {}
    }
    let (first, path) = pair();
    let made = Line { path: None };
    lines.iter().map(|(at, path)| path.len());
    Some(path)
}
""",
    "src/other.rs": """pub fn run() {}

#[cfg(test)]
mod tests {
    #[test]
    fn path() {}

    fn again() {
        path();
        for path in names() {
            print(path);
        }
    }

    fn then() {
        path();
    }
}
""",
}


def test_what_patterns_of_rust_bind_and_tests_of_other_files_are_no_uses(tmp_path: Path) -> None:
    uses = _uses_in(tmp_path, _RUST, "path")
    sure = {place for place, (_, certainty, _) in uses.items() if certainty != "name"}
    assert sure == {"src/other.rs:6:8", "src/other.rs:9:9", "src/other.rs:16:9"}


def test_patterns_of_rust_hold_in_their_block(tmp_path: Path) -> None:
    text = """fn size() -> u64 { 1 }

impl Made for Sizes {
    fn made(&self, size: u64) -> u64 {
        size
    }
}

fn run(all: Vec<u64>, one: Option<u64>) -> u64 {
    for size in all {
        print(size);
    }
    if let Some(size) = one {
        print(size);
    }
    match one {
        Some(size) => print(size),
        None => print(size),
    }
    print(size);
    size()
}
"""
    uses = _uses_in(tmp_path, {"a.rs": text}, "size")
    sure = {place for place, (_, certainty, _) in uses.items() if certainty != "name"}
    assert sure == {"a.rs:1:4", "a.rs:18:23", "a.rs:20:11", "a.rs:21:5"}


def test_rust_sees_a_function_of_another_file_by_an_import(tmp_path: Path) -> None:
    tree = {
        "src/names.rs": "pub fn first() {}\n\nmod tests {\n    pub fn second() {}\n}\n",
        "src/all.rs": "use crate::names::*;\n\nfn run() {\n    first();\n    second();\n}\n",
        "src/none.rs": "fn run() {\n    first();\n    second();\n}\n",
    }
    first = _uses_in(tmp_path / "a", tree, "first")
    assert (first["src/all.rs:4:5"][1], first["src/none.rs:2:5"][1]) == ("likely", "name")
    second = _uses_in(tmp_path / "b", tree, "second")
    assert (second["src/all.rs:5:5"][1], second["src/none.rs:3:5"][1]) == ("name", "name")


def test_a_long_word_of_rust_is_read_once(tmp_path: Path) -> None:
    """Read anew from each of its letters, it would take minutes."""
    long = "fn run() {\n    first();\n}\n" + "// short\n" * 20_000 + f"// {'a' * 100_000}\n"
    tree = {"src/names.rs": "pub fn first() {}\n", "src/long.rs": long}
    assert _uses_in(tmp_path, tree, "first")["src/long.rs:2:5"][1] == "name"


def test_what_a_pattern_of_rust_is_matched_with_does_not_see_its_names(tmp_path: Path) -> None:
    text = "fn host() -> Option<u64> { None }\n\nfn run() {\n    if let Some(host) = host() {\n"
    text += "        print(host);\n    }\n}\n"
    uses = _uses_in(tmp_path, {"a.rs": text}, "host")
    sure = {place for place, (_, certainty, _) in uses.items() if certainty != "name"}
    assert sure == {"a.rs:1:4", "a.rs:4:25"}
