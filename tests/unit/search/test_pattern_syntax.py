"""Tokens of patterns and the literals that they require."""

import pytest

from engine.search.pattern_syntax import Kind, required_literals, tokens_of


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"func \w+Handler", ("Handler",)),
        ("TODO|FIXME", ("TODO", "FIXME")),
        ("[Tt]odo", ("Todo", "todo")),
        (r"^\bfoo\b$", ("foo",)),
        ("a(b|c)d", ("abd", "acd")),
        ("(foo)+bar?", ("foo",)),
        ("x{3}y", ("xxx",)),
        ("(ab){2,}", ("abab",)),
        ("ab{0,}cde", ("cde",)),
        ("(abc|.*)", ()),
        ("(abc)?", ("abc", "")),
        ("abc*", ("ab",)),
        ("(?:get|set)Id", ("getId", "setId")),
        (r"\Qa.b\E+", ("a.",)),
        (r"\x{41}\101\x41b\/", ("AAAb/",)),
        (r"a\tb", ("a\tb",)),
        (r"[]a]x|[\]b]x", ("]x", "ax", "bx")),
        ("[a-z]xyz[^a]", ("xyz",)),
        ("(?P<name>abc)d(?i)e", ("abcde",)),
        ("a{,3}", ("a{,3}",)),
        ("abc{\u0663}", ("abc{\u0663}",)),  # no repetition: its digit is Arabic
        ("foobar(?i)*", ("fooba",)),  # what is repeated is the r
        ("foobar(?s)(?U)?x", ("foobarx", "foobax")),
        ("(?P<a\u0301>foo)bar", ("foobar",)),
        (r"\pL\p{Greek}\dabc", ("abc",)),
        ("[[:alpha:]]abc", ("abc",)),
        ("(((abc)))", ("abc",)),
        ("a|b|c|d|e", ()),
        (".*", ()),
        ("", ("",)),
    ],
)
def test_the_best_of_the_required_literals_comes_first(
    pattern: str, literals: tuple[str, ...]
) -> None:
    found = required_literals(tokens_of(pattern))
    assert found[:1] == ((literals,) if all(literals) and literals else ())


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"func \w+Handler", {("func ",), ("Handler",)}),
        (r"class (\w+)(Error|Warning):", {("class ",), ("Error:", "Warning:")}),
        ("(foo.*bar)+", {("foo",), ("bar",)}),
        ("foo(.*bar)?", {("foo",)}),
        ("(ab.c|ab.d)e", {("ab",), ("e",)}),
        ("(ab){2}c", {("ab",), ("abab",), ("c",)}),
        (r"\{$\n\s+return", {("{",), ("return",)}),  # the line break may be \r\n
        (r"a$|b\nc", {("a", "b")}),
        (r"a\nb", {("a\nb",)}),
    ],
)
def test_all_that_is_required_is_told(pattern: str, literals: set[tuple[str, ...]]) -> None:
    assert set(required_literals(tokens_of(pattern))) == literals


def test_the_size_of_what_is_spelled_out_is_bounded() -> None:
    (many, *_) = required_literals(tokens_of("[ab]" * 60 + "xyz"))
    assert many == ("aaxyz", "abxyz", "baxyz", "bbxyz")
    assert len(required_literals(tokens_of(".".join(f"a{n}b" for n in range(99))))) == 16
    (long, *_) = required_literals(tokens_of("(abc){1000}"))
    assert max(map(len, long)) <= 64
    assert required_literals(tokens_of("|".join("abcdef"))) == ()


@pytest.mark.parametrize(
    ("pattern", "crosses"),
    [
        (r"a\nb", True),
        ("a\nb", True),
        (r"a\x0ab", True),
        (r"[\n]", True),
        (r"[^\n]", False),
        (r"[\s\S]", True),
        (r"[\w\W]", True),
        (r"[^\s\S]", False),
        (r"\s[^x]", False),
        ("(?s)a.b", True),
        ("(?is:a.b)", True),
        ("(?-s)a", False),
        (r"\\n", False),
        (r"\Q\n\E", False),
        (r"(?P<s>a)", False),
    ],
)
def test_a_pattern_says_whether_it_crosses_lines(pattern: str, crosses: bool) -> None:
    assert any(token.is_multiline for token in tokens_of(pattern)) is crosses


@pytest.mark.parametrize(
    ("pattern", "line_ends"), [("a$", 1), (r"\$[$]", 0), ("($|b$)", 2), (r"\Q$\E$", 1)]
)
def test_line_ends_are_told_from_dollar_signs(pattern: str, line_ends: int) -> None:
    assert sum(token.kind is Kind.LINE_END for token in tokens_of(pattern)) == line_ends
