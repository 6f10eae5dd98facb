"""Conditions of the preprocessor that split a statement or a definition of C or C++."""

import pytest

from engine.syntax.conditions import without_splits
from engine.syntax.parser import parse
from engine.syntax.preprocess import Deadline, DeadlineReached


def _parsed(text: str, language: str = "c") -> tuple[list[tuple[str, int, int]], str]:
    found = parse(text.encode(), language, deadline_ms=600_000)
    return [(each.name, each.line_start, each.line_end) for each in found.symbols], found.result


def _readable(text: bytes, language: str = "c") -> bytes:
    return without_splits(text, language, Deadline(600_000))


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
    readable = _readable(text)
    assert b"if(used(1)) ;" in readable
    assert b"if(b) {" in readable


def test_linkage_is_of_cpp_alone() -> None:
    text = '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\n'
    assert b"extern" not in _readable(text.encode())
    assert b'extern "C" {' in _readable(text.encode(), "cpp")
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
    assert _readable(text.encode()).decode() == text


def test_lengths_and_lines_stay() -> None:
    text = "".join(_IN_BODY.values()).replace("\n", "\r\n").encode()
    readable = _readable(text)
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
        b'#if A\n{ "' + b'\\"' * 400_000 + b"\n#endif\n",
        b"#if A\n{ '" + b"\\'" * 400_000 + b"\n#endif\n",
        b'#if A\nR"(' * 9_000 + b"#endif\n",
        b"".join(b'R"%d(' % each for each in range(90_000)) + b"\n#if A\n#endif\n",
        b"#if 0\n(\n" * 4_000 + b"x" * 900_000 + b"\n" + b"#endif\n" * 4_000,
        b"#if A\n/* " * 9_000 + b"#endif\n" * 9_000,
    ],
)
def test_hostile_texts_are_read_to_their_end(text: bytes) -> None:
    assert len(without_splits(text, "c", Deadline(30_000))) == len(text)


def test_a_deadline_stops_the_search_for_conditions() -> None:
    with pytest.raises(DeadlineReached):
        without_splits(b"#if A\n#endif\n", "c", Deadline(-1))


_BRANCHES = (
    "#ifdef FAST\nint fast(void) { return 1; }\n#else\nint slow(void) { return 0; }\n#endif\n"
)


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize(
    "before",
    [
        "// Use the fast path,\n// otherwise the slow one.\n",
        "// Which one?\n// this\n",
        "// this, \\\n or that,\n// or none\n",
        "/* a, */ // b =\n/* c else */\n",
        "int url[] = { 1 }; // see http://example.org/?\n//\n",
    ],
)
def test_comments_are_no_parts_of_statements(before: str, language: str) -> None:
    assert [name for name in _names(before + _BRANCHES, language) if name != "url"] == [
        "fast",
        "slow",
    ]
    three = before + _BRANCHES.replace("#else", "#elif B\nint other(void) { return 2; }\n#else")
    assert [name for name in _names(three, language) if name != "url"] == ["fast", "other", "slow"]


def test_a_comment_at_the_end_of_a_branch_is_no_part_of_a_statement() -> None:
    text = _BRANCHES.replace("#else", "// ends here,\n// doesn't it?\n#else")
    assert _names(text) == ["fast", "slow"]


def test_whole_statements_stay_behind_an_open_one() -> None:
    body = "  if(a)\n    g();\n  else\n#ifdef X\n    used();\n#else\n    h();\n#endif\n"
    text = f"int f(int a)\n{{\n{body}}}\nint behind = 1;\n"
    assert _parsed(text) == ([("f", 1, 11), ("behind", 12, 12)], "ok")
    assert b"used();" in _readable(text.encode())


@pytest.mark.parametrize(
    "body",
    [
        "  a = b\n#ifdef X\n    && c;\n#else\n    && d;\n#endif\n",
        "  if(a) { g(); }\n#ifdef X\n  else { h(); }\n#else\n  else { i(); }\n#endif\n",
    ],
)
def test_one_of_two_ends_of_a_statement_stays(body: str) -> None:
    found, result = _parsed(f"int f(int a)\n{{\n{body}}}\nint behind = 1;\n")
    assert ([name for name, _, _ in found], result) == (["f", "behind"], "ok")


@pytest.mark.parametrize(
    ("body", "languages"),
    [
        ("  /* it was\n#else\n     here */\n  g();\n", ("c", "cpp")),
        ('  g(R"x(\n#else\n)" {\n)x");\n', ("cpp",)),
        ("  g(1'000, '{', u8'}');\n#ifdef X\n  g(2'000);\n#endif\n", ("cpp",)),
        (
            "  if (a) {\n#ifdef X\n    if (b) { g(); } } else {\n#else\n  } else {\n#endif\n"
            "    h();\n  }\n",
            ("c", "cpp"),
        ),
    ],
)
def test_directives_and_brackets_are_those_of_the_compiler(
    body: str, languages: tuple[str, ...]
) -> None:
    text = f"#ifndef H\nint f(int a, int b)\n{{\n{body}  return a;\n}}\nint behind = 1;\n#endif\n"
    for language in languages:
        found, result = _parsed(text, language)
        assert ([name for name, _, _ in found], result) == (["f", "behind"], "ok")
