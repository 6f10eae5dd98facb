"""Chunks tile any text, and parsing never fails."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.records import ChunkSpan, Symbol
from engine.syntax.chunker import MAX_BYTES, chunks_of
from engine.syntax.languages import KINDS, LANGUAGES
from engine.syntax.outline import SCANNED_LANGUAGES
from engine.syntax.parser import parse
from tests.support.budget import examples

_LANGUAGES = st.sampled_from(sorted(LANGUAGES))
_PARSED = st.sampled_from(
    [
        *sorted(name for name, item in LANGUAGES.items() if item.grammar is not None),
        "json",
        "jupyter",
        *sorted(SCANNED_LANGUAGES),
        "markdown",
        "restructuredtext",
        "toml",
        "yaml",
    ]
)
_WORDS = (
    *"(){}[]<>;:,.=#@'\"`\\/*-+|&!?$~^%",
    *("\n", "\r\n", "\r", "\n\n", "    ", "\t", " ", "x", "é", "日本", "\U0001f600", "\x00"),
    *("def f():\n", "class A:\n", "class A {\n", "function f() {", "fn f() {}", "func F() {}"),
    *("impl A {", "namespace a {", "end\n", "module A\n", "defmodule A do\n", "def f do\n"),
    *("# head\n", "head\n====\n", "```\n", '"""', "/* c */", "// c\n", "-- c\n", "#if A\n"),
    *("export ", "const a = ", "private\n", "template <class T> ", "#define A 1\n", "EXTERN int "),
    *('"a": {\n', '"b": [', "}\n", "a:\n", "  b: c\n", "- name: d\n", "---\n", "[a.b]\n"),
    *("kind: K\n", "apiVersion: v\n", "metadata:\n  name: n\n", "scripts:\n", "'''", "[[c]]\n"),
    *(
        "# %% [python] cell 1\n",
        "\n# %% [markdown] cell 2\n",
        "# %% [r] cell 3\n",
        "%%bash\n",
        "!ls\n",
    ),
    *("template<", "=> ", "where ", "instance A B where\n", "x = 1\n", "let x = 1", "case ", "do "),
    *("type t = A of a\n", "(** d *)\n", "val f : a -> b\n", "struct S\n", "@m f(x) = 1\n"),
    *('resource "a" "b" {\n', "locals {\n", "a: b\n\tc\n", "define a\n", "endef\n", "X += 1\n"),
    *("FROM a AS b\n", "ENV A=1 B=2\n", "RUN <<A\n", "\nA\n", ".a > #b {", "&__c {", "--x: y;"),
    *("<h1>a</h1>", "<div id=a>", "</div>", "<script>", "CREATE TABLE a (b int, c int);\n"),
    *("CREATE FUNCTION a() AS $$\n", "END;\n", "-- name: a\n", "ALTER TABLE a ADD b int;\n"),
)
_TEXTS = st.lists(st.sampled_from(_WORDS) | st.text(max_size=5), max_size=40).map("".join)
_LONG = st.builds(lambda text, times: text * times, _TEXTS, st.integers(1, 400)).map(
    lambda text: text[:20_000]
)


def _check_tiles(text: bytes, spans: list[ChunkSpan], symbol_count: int) -> None:
    position, previous = 0, b""
    for span in spans:
        assert span.byte_start == position < span.byte_end
        assert span.byte_end - span.byte_start <= MAX_BYTES
        assert span.line_start == text.count(b"\n", 0, span.byte_start) + 1
        assert span.line_end == text.count(b"\n", 0, span.byte_end - 1) + 1
        assert -1 <= span.symbol < symbol_count
        text[span.byte_start : span.byte_end].decode()
        if position and text[position - 1] != 10:  # within a line, which is too long for a chunk
            assert b"\n" not in previous
            assert len(previous) > MAX_BYTES - 4
        previous = text[span.byte_start : span.byte_end]
        position = span.byte_end
    assert position == len(text)


@st.composite
def _nested_symbols(draw: st.DrawFn, size: int) -> list[Symbol]:
    spans = draw(
        st.lists(st.tuples(st.integers(0, size), st.integers(0, size)), max_size=12)
        if size
        else st.just([])
    )
    kinds = st.sampled_from(sorted(KINDS))
    ordered = sorted({(min(pair), -max(pair)) for pair in spans if pair[0] != pair[1]})
    return [
        Symbol("a", "a", draw(kinds), "a", "", start, -end, 1, 1, -1, True)
        for start, end in ordered
    ]


@settings(max_examples=examples(300))
@given(st.data(), _LONG, _LANGUAGES)
def test_any_spans_over_any_text(data: st.DataObject, source: str, language: str) -> None:
    text = source.encode("utf-8", "replace")
    symbols = data.draw(_nested_symbols(len(text)))
    _check_tiles(text, chunks_of(text, symbols, language), len(symbols))


@settings(max_examples=examples(300))
@given(_LONG, _PARSED)
def test_parsed_text(source: str, language: str) -> None:
    text = source.encode("utf-8", "replace")
    parsed = parse(text, language, deadline_ms=200)
    assert parsed.result in {"ok", "errors", "timeout", "too_deep"}
    starts = [(symbol.byte_start, -symbol.byte_end) for symbol in parsed.symbols]
    assert starts == sorted(starts)
    for symbol in parsed.symbols:
        assert symbol.name
        assert f".{symbol.qualified_name}".endswith(f".{symbol.name}")  # the store keeps the rest
        assert symbol.kind in KINDS
        assert len(symbol.signature) <= 300
        assert "\n" not in symbol.signature
        assert len(symbol.doc) <= 1000
        assert 0 <= symbol.byte_start < symbol.byte_end <= len(text)
        assert symbol.line_start == text.count(b"\n", 0, symbol.byte_start) + 1
        assert symbol.line_end == text.count(b"\n", 0, symbol.byte_end - 1) + 1
        assert -1 <= symbol.parent < len(parsed.symbols)
    _check_tiles(text, chunks_of(text, parsed.symbols, language), len(parsed.symbols))
