"""Conditions of the preprocessor that split a statement or a definition of C or C++."""

import pytest

from engine.syntax.conditions import without_splits
from engine.syntax.parser import parse


def _parsed(text: str, language: str = "c") -> tuple[list[tuple[str, int, int]], str]:
    found = parse(text.encode(), language, deadline_ms=600_000)
    return [(each.name, each.line_start, each.line_end) for each in found.symbols], found.result


def _names(text: str, language: str = "c") -> list[str]:
    return [name for name, _, _ in _parsed(text, language)[0]]


_IN_BODY = {
    "both branches open": "#ifdef X\n  if(a) {\n#else\n  if(!a) {\n#endif\n    g();\n  }\n",
    "opened and closed under one condition": (
        "#ifdef X\n  if(a) {\n#endif\n    g();\n#ifdef X\n  }\n#endif\n"
    ),
    "closed under the opposite": (
        "#ifdef X\n  if(a) {\n#endif\n    g();\n#ifndef X\n#else\n  }\n#endif\n"
    ),
    "one of three": "#if X\n  if(a) {\n#elif Y\n  if(b) {\n#else\n  {\n#endif\n    g();\n  }\n",
    "a further case": "  if(a) {\n    g();\n#ifdef X\n  } else if(b) {\n    g();\n#endif\n  }\n",
    "within a condition": "  if(a &&\n#ifdef X\n     b) {\n#else\n     g()) {\n#endif\n  }\n",
    "within an expression": "  a = g() |\n#ifdef X\n    b |\n#endif\n    2;\n",
    "a value of two": "  a =\n#if X /* one\n       line */\n    1\n#else\n    g()\n#endif\n    ;\n",
    "an assignment left out": "#if X > 1\n  a =\n#endif\n    g();\n",
    "an alternative": "#ifdef X\n  if(a)\n    g();\n  else\n#endif\n    h();\n",
    "heads of one block": "#ifdef X\n  if(a)\n#else\n  if(!a)\n#endif\n  {\n    g();\n  }\n",
    "arguments": '  g("a"\n#ifdef X\n    ", b"\n#endif\n    ", c");\n',
}


@pytest.mark.parametrize("body", _IN_BODY.values(), ids=_IN_BODY)
@pytest.mark.parametrize("language", ["c", "cpp"])
def test_a_split_statement_loses_nothing(body: str, language: str) -> None:
    text = f"static int f(int a, int b)\n{{\n{body}  return a;\n}}\n\nint behind = 1;\n"
    lines = text.count("\n")
    found, result = _parsed(text, language)
    assert found == [("f", 1, lines - 2), ("behind", lines, lines)]
    assert result == "ok"


@pytest.mark.parametrize("first_line", ["", "#ifndef HEADER\n#define HEADER\n\n"])
def test_both_heads_of_a_body_are_found(first_line: str) -> None:
    guard = "#endif\n" if first_line else ""
    for opening, body in ((" {", ""), ("", "{\n")):
        text = (
            f"{first_line}#ifdef X\nint one(int a){opening}\n#else\nint two(int a){opening}\n"
            f"#endif\n{body}  return a;\n}}\nint behind(void) {{ return 2; }}\n{guard}"
        )
        assert [name for name in _names(text) if name != "HEADER"] == ["one", "two", "behind"]


def test_what_a_dropped_branch_uses_is_still_found() -> None:
    text = b"int f(void) {\n#ifdef X\n  if(used(1)) {\n#else\n  if(b) {\n#endif\n    g();\n  }\n}\n"
    readable = without_splits(text, "c")
    assert b"if(used(1)) ;" in readable
    assert b"if(b) {" in readable


def test_linkage_is_of_cpp_alone() -> None:
    text = '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\n'
    assert b"extern" not in without_splits(text.encode(), "c")
    assert b'extern "C" {' in without_splits(text.encode(), "cpp")
    for language in ("c", "cpp"):
        assert _parsed(text, language) == ([("f", 4, 4)], "ok")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int a;\n",
        "#ifdef X\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n",
        "void f(void) {\n#ifdef X\n  a();\n#else\n  b();\n#endif\n}\n",
        "#if A\n/* { */ // {\n#define B {\n#define C(a) \\\n  { a,\n#endif\n",
        "#if A\nchar *d = \"{\", e = '{';\n#endif\n",
        "enum e {\n#if A\n  B\n#endif\n};\n",
        "#endif\n#else\n",
        "#if A\n{\n",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert without_splits(text.encode(), "c").decode() == text


def test_lengths_and_lines_stay() -> None:
    text = "".join(_IN_BODY.values()).replace("\n", "\r\n").encode()
    readable = without_splits(text, "c")
    assert readable != text
    assert len(readable) == len(text)
    assert [len(line) for line in readable.splitlines()] == [len(x) for x in text.splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        b"#if A\n{\n" * 9_000,
        b"#if A\n" + b"{" * 100_000 + b"\n#else\n" * 9_000 + b"#endif\n",
        b"#if A\n/*\n#else\n" * 6_000 + b"#endif\n" * 6_000,
        b"#if A /*\n" * 9_000,
        b"#if A\n" + b"a &&\n" * 100_000 + b"#endif\n",
        b"#if A\n  \\\n" * 9_000,
    ],
)
def test_hostile_texts_are_read_to_their_end(text: bytes) -> None:
    assert len(without_splits(text, "c")) == len(text)
