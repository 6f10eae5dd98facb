"""Patterns: what they match, how letters compare, and how bad ones are reported."""

import contextlib

import pytest

from engine.errors import InvalidQueryError
from engine.search.patterns import Pattern, compile_pattern, patterns_of
from engine.search.query import Case, PatternTerm, parse_query


def make(text: str, *, case: Case = Case.AUTO, is_literal: bool = False) -> Pattern:
    return compile_pattern(PatternTerm(text, 0, False, is_literal, ((0, 0),)), case)


def go_on() -> None:
    """Never stop."""


def matches(pattern: Pattern, text: str | bytes) -> list[str]:
    """Return all non-empty matches."""
    data = text.encode() if isinstance(text, str) else text
    found = []
    at = 0
    while span := pattern.search(data, at, go_on):
        start, end = span
        found.append(data[start:end].decode())
        at = max(end, start + 1)
    return [each for each in found if each]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"func \w+Handler", "func openHandler()\nfunc x", ["func openHandler"]),
        ("^b$", "a\nb\nbb", ["b"]),
        ("b$", "ab\r\nb\rx\r\n", ["b\r"]),  # the carriage return of the line's end
        (r"a\z", "a\na", ["a"]),
        (r"\Aa", "a\na", ["a"]),
        (r"[^x]+", "ab\ncd", ["ab", "cd"]),  # a class does not leave its line
        (r"a\s*b", "a b a\nb", ["a b"]),
        (r"a\s*\n\s*b", "a  \n  b", ["a  \n  b"]),
        (r"a[\s\S]b", "a\nb", ["a\nb"]),
        (r"(?s)a.b", "a\nb", ["a\nb"]),
        ("a\nb", "a\nb", ["a\nb"]),
        (r"a[^\n]b", "a\nb axb", ["axb"]),
        (r"a\x0ab", "a\nb", ["a\nb"]),
        (r"\Qa.b\E+", "a.bb axb", ["a.bb"]),
        (r"\/\/ x", "// x", ["// x"]),
        ("ä+", "xäät", ["ää"]),
        (".", "é€😀", ["é", "€", "😀"]),
        (r"\p{Greek}+", "a λόγος", ["λόγος"]),
        (r"(?i)STRASSE", "strasse", ["strasse"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, text: str, expected: list[str]) -> None:
    assert matches(make(pattern), text) == expected


@pytest.mark.parametrize(
    ("pattern", "case", "expected"),
    [
        ("foo", Case.AUTO, ["foo", "Foo", "FOO"]),
        ("Foo", Case.AUTO, ["Foo"]),
        ("foo", Case.YES, ["foo"]),
        ("FOO", Case.NO, ["foo", "Foo", "FOO"]),
        (r"\bfoo\B?", Case.AUTO, ["foo", "Foo", "FOO"]),
        (r"f\Doo|f\Soo|foo\W", Case.AUTO, ["foo ", "Foo "]),
        (r"\x46oo", Case.AUTO, ["Foo"]),
        ("[F]oo", Case.AUTO, ["Foo"]),
        ("(?P<Name>foo)", Case.AUTO, ["foo", "Foo", "FOO"]),
        ("(?-i)foo", Case.AUTO, ["foo"]),
        ("(?i)Foo", Case.AUTO, ["foo", "Foo", "FOO"]),
        (r"foo[^\pL]", Case.AUTO, ["foo ", "Foo "]),
    ],
)
def test_letters_compare_exactly_when_one_is_upper_case(
    pattern: str, case: Case, expected: list[str]
) -> None:
    assert matches(make(pattern, case=case), "foo Foo FOO") == expected


def test_a_literal_is_found_as_it_is() -> None:
    text = "a.b(c)* = [\\d+]"
    assert matches(make(".b(c)* = [\\d+]", is_literal=True), text) == [".b(c)* = [\\d+]"]
    assert matches(make("a.b", is_literal=True), "axb A.B") == ["A.B"]


@pytest.mark.parametrize(
    ("query", "position", "message", "hint"),
    [
        ("x /a(b/", 4, "group is not closed", r"\("),
        ("/(a(b)/", 1, "group is not closed", r"\("),
        ("/a)b)/", 2, "unmatched )", r"\)"),
        ("/ab[c/", 3, "class is not closed", r"\["),
        ("/ab[z-a]/", 4, "z-a is not a character class", "a-z"),
        (r"/a\pX/", 2, r"\pX is not a character class", r"\pL"),
        ("/a|*b/", 3, "nothing before * to repeat", r"\*"),
        ("/ab**/", 3, "** repeats a repetition", "(?:"),
        ("/ab{1001}/", 3, "invalid repetition {1001}", "1,000"),
        ("/(a{1000}){1000}/", 3, "invalid repetition {1000}", "multiplied"),
        ("/a(?=b)/", 2, "look-around (?=…) is", "linear time"),
        ("/(?<!a)b/", 1, "look-around (?<!…) is", "-/pattern/"),
        (r"/(a)\1/", 4, r"back-reference \1 is", "linear time"),
        (r"/\\1(a)\1/", 7, r"back-reference \1 is", "linear time"),
        ("/(?P<a>x)(?P=a)/", 9, "back-reference (?P is", "linear time"),
        ("/a(?>b)/", 2, "(?>…) is not a valid group", "(?:"),
        ("/(?<a b>c)/", 1, "is not a valid group name", "(?P<name>"),
        (r"/a\Z/", 2, r"\Z is not a valid escape", r"\z"),
        (r"/\u0041/", 1, r"\u is not a valid escape", r"\x{"),
        (r"/a\ya/", 2, r"\y is not a valid escape", "punctuation"),
        (r"/ab\Cd/", 3, r"\C is a single byte", "."),
        (r"-/\pL{1000}/ b", 2, "the pattern is too large", "repeat fewer times"),
        (r"/(?s)(a.{0,300}b.{0,300}){3}/", 1, "the pattern is too large", r"without \n"),
    ],
)
def test_a_bad_pattern_is_refused_with_position_and_hint(
    query: str, position: int, message: str, hint: str
) -> None:
    with pytest.raises(InvalidQueryError) as caught:
        patterns_of(parse_query(query))
    assert caught.value.position == position
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_backslash_at_the_end_is_refused() -> None:
    with pytest.raises(InvalidQueryError, match="backslash") as caught:
        patterns_of(parse_query("ab\\", as_pattern=True))
    assert caught.value.position == 2


def test_a_long_text_is_searched_in_pieces_that_lose_nothing() -> None:
    line = b"x" * 99 + b"\n"
    text = line * 3000 + b"needle\n" + line * 3000 + b"needle"
    pattern = make(r"needle$|[a-c]{900}")
    assert pattern.window_bytes is not None
    assert pattern.window_bytes < len(text) // 4
    steps: list[int] = []
    assert pattern.search(text, 0, lambda: steps.append(0)) == (300_000, 300_006)
    assert pattern.search(text, 300_001, go_on) == (600_007, 600_013)
    assert len(steps) > 1


def test_a_line_longer_than_a_piece_is_not_cut() -> None:
    text = b"a" + b"x" * 500_000 + b"b\nc"
    assert make(r"ax+b|[d-f]{900}").search(text, 0, go_on) == (0, 500_002)


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("a", 2), ("a\n", 2), ("a\n\nb\n", 5), ("a\nb", 4)]
)
def test_there_is_no_line_past_the_last_line_break(text: str, expected: int) -> None:
    pattern = make("^|$")
    data = text.encode()
    starts = set()
    at = 0
    while span := pattern.search(data, at, go_on):
        starts.add(span[0])
        at = span[0] + 1
    assert len(starts) == expected


def test_literals_spare_the_search_of_most_texts() -> None:
    (literal,) = make(r"\w+Handler\(").literals
    assert literal.search(b"x openHandler()", 0, go_on)
    assert not literal.search(b"x openhandler()", 0, go_on)
    (literal,) = make(r"\w+handler\(").literals
    assert literal.search(b"x openHandler()", 0, go_on)
    assert not make("ab|.*").literals
    assert not make("abcdef").literals  # the pattern itself is as fast


EVIL = (
    r"(a+)+$",
    r"(a|aa)+$",
    r"(a|a?)+b",
    r"((a*)*)*b",
    r"(.*)*(.*)*(.*)*x!",
    r"(?:a?){500}a{500}x",
    r"(a{1000}){1000}",
    r"(a{1,30}){1,30}b",
    r"([a-z]{1,100}[A-Z]?){1,10}zq",
    r"(.{1,900}.)(.{1,900}.)x",
    r"(.?){1000}z{1000}",
    r"\pL{1000}x",
    r"(?i)(\pL{1,50}\s?){1,20}zq",
    r"[\s\S]{1000}x",
    r"(\w*\W*){50}zq!",
    "|".join(f"w{number}" for number in range(1000))[:4000],
    "|".join(f".*w{number}.*x" for number in range(400))[:4000],
    "(" * 1500 + "a" + ")" * 1500,
    "[" + "".join(chr(0x4E00 + 2 * number) for number in range(3000)) + "]{2,5}x",
    "(?:(?:e|er).{0,100}){8}zq",
    "x" * 4090,
    r"(?i)" + "[a-z]?" * 600,
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(e.{0,900}|r.{0,900}|t.{0,900}|a.{0,900})zq",
)


@pytest.mark.parametrize("pattern", EVIL)
def test_an_evil_pattern_is_answered_or_refused(pattern: str) -> None:
    texts = [
        b"a" * 20_000,
        b"word " * 4_000,
        ("ä" * 9_000).encode(),
        b"def f(a):\n    pass\n" * 999,
    ]
    with contextlib.suppress(InvalidQueryError):
        compiled = make(pattern[:4096])
        for text in texts:  # a backtracking engine would take years
            span = compiled.search(text, 0, go_on)
            assert span is None or 0 <= span[0] <= span[1] <= len(text)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a$", True),
        (r"(?i)$\n", True),
        ("a", False),
        (r"\$", False),
        (r"a\r$", False),
        (r"[^\r\n]$", False),
        (r"\x0d?$", False),
    ],
)
def test_a_pattern_with_line_ends_takes_all_line_breaks_for_one(
    pattern: str, expected: bool
) -> None:
    assert make(pattern).reads_crlf_as_lf is expected
