"""Rust: what is defined inside calls of macros that stand where items do."""

from typing import Any

import pytest
from tree_sitter import Node

from engine.syntax.analysis import analyse
from engine.syntax.parser import MAX_MACRO_DEPTH, MAX_MACROS, _root_of, parse
from tests.support.symbol_rows import rows_of

_MACROS = """
//! Networks.

cfg_net! {
    /// A stream.
    ///
    /// Of bytes.
    #[derive(Debug)]
    pub struct Stream<T> {
        io: T,
    }

    pub(crate) async fn open(address: &str) -> io::Result<()> { close!{ fn no() {} } }

    impl<T> Stream<T> {
        pub fn new(io: T) -> Self { Self { io } }
    }
}

impl<T> Stream<T> {
    cfg_wasi! {
        /// Connects.
        pub fn connect(&self) -> bool { true }
        const LIMIT: usize = 1;
    }

    cfg_time! { fn wait(&self) {} }
}

pub mod unix {
    cfg_rt! {
        crate::cfg_unix! {
            /// Both.
            pub enum Pair { Left, Right }
        }
        pub use self::inner::Other;
        pub trait Watch { fn watch(&self); }
    }
}

cfg_net! { pub fn last() {} };
pub fn after() {}
"""


def test_definitions_in_macros() -> None:
    assert rows_of(_MACROS, "rust") == [
        ("struct", "Stream", 7, 10, True, -1, "pub struct Stream<T>", "A stream.\n\nOf bytes."),
        (
            "function",
            "open",
            12,
            12,
            True,
            -1,
            "pub(crate) async fn open(address: &str) -> io::Result<()>",
            "",
        ),
        ("method", "Stream.new", 15, 15, True, 0, "pub fn new(io: T) -> Self", ""),
        (
            "method",
            "Stream.connect",
            22,
            22,
            True,
            0,
            "pub fn connect(&self) -> bool",
            "Connects.",
        ),
        ("constant", "Stream.LIMIT", 23, 23, False, 0, "const LIMIT: usize = 1", ""),
        ("method", "Stream.wait", 26, 26, False, 0, "fn wait(&self)", ""),
        ("module", "unix", 29, 38, True, -1, "pub mod unix", ""),
        ("enum", "unix.Pair", 33, 33, True, 6, "pub enum Pair", "Both."),
        ("trait", "unix.Watch", 36, 36, True, 6, "pub trait Watch", ""),
        ("method", "unix.Watch.watch", 36, 36, True, 8, "fn watch(&self)", ""),
        ("function", "last", 40, 40, True, -1, "pub fn last()", ""),
        ("function", "after", 41, 41, True, -1, "pub fn after()", ""),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "m! { static ref A: u8 = 1; }",  # no item of the language
        "m! { pub fn a() { } pub struct }",
        "m! { fn a() }",
        "m! { a; fn b() {} }",  # a language of its own, in which there are items
        "m! { { fn a() {} } }",
        "m! { (fn a() {}) }",
        "m! { let a = { fn b() {} }; }",
        "m! { /* fn a() {} */ }",
        "m!( fn a() {} );",
        "m![ fn a() {} ];",
        "m! {}",
        "use m; macro_rules! m { () => { fn a() {} } }",
        "const A: Vec<u8> = vec! { fn a() {} };",
        "fn out() { m! { fn a() {} } }",
        "static A: u8 = m! { fn a() {} };",
        'const A: &str = "\nm! { fn a() {} }";',
    ],
)
def test_no_definitions(source: str) -> None:
    parsed = parse(source.encode(), "rust", deadline_ms=600_000)
    assert parsed.result == "ok"
    assert {symbol.name for symbol in parsed.symbols} <= {"A", "m", "out"}


def test_a_macro_that_cannot_be_read_harms_no_other() -> None:
    text = b"a! { fn b() {} }\nc! { fn d() -> }\ne! { f! { g -> h } fn i() {} }\nfn j() {}\n"
    parsed = parse(text, "rust", deadline_ms=600_000)
    assert [symbol.name for symbol in parsed.symbols] == ["b", "i", "j"]
    assert parsed.result == "ok"


def test_macros_of_a_broken_text_are_read() -> None:
    text = b"a! { fn b() {} }\n\nfn c() { let = ; }\n"
    parsed = parse(text, "rust", deadline_ms=600_000)
    assert parsed.result == "errors"
    assert [symbol.name for symbol in parsed.symbols] == ["b", "c"]


def test_offsets_are_those_of_the_text() -> None:
    text = "// é\r\na! {\r\n\t// 日本\r\n\tfn größe() {}\r\n\tfn b() {}\r\n}\r\n".encode()
    first, second = parse(text, "rust", deadline_ms=600_000).symbols
    assert text[first.byte_start : first.byte_end] == "fn größe() {}".encode()
    assert (first.name, first.doc, first.line_start) == ("größe", "日本", 4)
    assert (second.name, second.line_start, second.line_end) == ("b", 5, 5)


def test_a_macro_larger_than_the_window_is_read_whole() -> None:
    inner = b"".join(b"    fn f%05d() {}\n" % number for number in range(8000))
    text = b"fn a() {}\nm! {\n" + inner + b"}\nn! { fn z() {} }\n"
    symbols = parse(text, "rust", deadline_ms=600_000).symbols
    assert [symbol.name for symbol in symbols[1:-1]] == [f"f{number:05}" for number in range(8000)]
    assert symbols[-2].line_start == 8002
    assert symbols[-1].name == "z"


def test_chunks_follow_what_is_defined_in_macros() -> None:
    body = b"        let value = compute(1, 2, 3);\n" * 12
    text = b"cfg! {\n" + b"".join(
        b"    pub fn f%d() {\n" % number + body + b"    }\n\n" for number in range(8)
    )
    analysis = analyse(text + b"}\n", "rust", deadline_ms=600_000)
    names = [analysis.symbols[chunk.span.symbol].name for chunk in analysis.chunks]
    assert names == [f"f{number}" for number in range(8)]
    assert [chunk.symbol_count for chunk in analysis.chunks] == [1] * 8


def test_macros_nested_too_deep_are_left_out() -> None:
    text = b"".join(b"m! { fn f%d() {} " % depth for depth in range(100)) + b"}" * 100
    parsed = parse(text, "rust", deadline_ms=600_000)
    assert parsed.result == "too_deep"
    names = [symbol.name for symbol in parsed.symbols]
    assert names == [f"f{depth}" for depth in range(MAX_MACRO_DEPTH)]


def test_more_macros_than_anybody_writes_are_left_out() -> None:
    text = b"mod a {\n" + b"    m! { fn b() {} }\n" * (MAX_MACROS + 1) + b"}\nfn c() {}\n"
    parsed = parse(text, "rust", deadline_ms=600_000)
    assert parsed.result == "too_deep"
    assert [symbol.name for symbol in parsed.symbols] == ["a", *["b"] * MAX_MACROS, "c"]


HOSTILE = {
    "nested": b"m!{" * 100_000 + b"}" * 100_000,
    "nested with items": b"m!{fn f(){}" * 100_000 + b"}" * 100_000,
    "nested in bounds": b"m!{fn f(){}" * 9000 + b"}" * 9000,
    "one after another": b"m!{}" * 100_000,
    "one after another with items": b"m!{fn f(){}}" * 100_000,
    "in a module": b"mod a{" + b"m!{fn f(){}}" * 100_000 + b"}",
    "in a macro": b"m!{" + b"m!{fn f(){}}" * 80_000 + b"}",
    "in an impl": b"impl A{" + b"m!{fn f(){}}" * 80_000 + b"}",
    "modules": b"mod a{m!{fn f(){}}" * 20_000 + b"}" * 20_000,
    "modules in macros": b"m!{mod a{" * 9000 + b"}}" * 9000,
    "open": b"m!{fn f(){" * 80_000,
    "words": b"m!{" + b"fn " * 300_000 + b"}",
    "broken": b"m!{fn)(}" * 100_000,
    "comments": b"m!{/*fn*/" * 50_000 + b"}" * 50_000,
    "calls": b"fn f(){" + b"vec!{fn a(){}};" * 60_000 + b"}",
    "type arguments": b"m!{fn f(){" + b"a<" * 200_000 + b"}}",
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_macros_are_read_once_for_each_level(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many trees are made, over so many bytes, however long the parser may take."""
    sizes: list[int] = []

    def root_of(text: bytes, *rest: Any) -> Node:
        part = rest[2] if len(rest) > 2 else None
        sizes.append(part.end_byte - part.start_byte if part else len(text))
        return _root_of(text, *rest)

    monkeypatch.setattr("engine.syntax.parser._root_of", root_of)
    parsed = parse(HOSTILE[name], "rust", deadline_ms=1000)
    assert len(sizes) <= 1 + MAX_MACROS
    assert sum(sizes) <= (1 + MAX_MACRO_DEPTH) * len(HOSTILE[name])
    assert parsed.result in {"ok", "errors", "timeout", "too_deep"}
