"""Patterns against a second engine, and what makes them fast against the plain search."""

import re
from dataclasses import replace

import re2
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.errors import InvalidQueryError
from engine.search.grep import Deadline, matches_in, matching_texts
from engine.search.ngram_filter import fold
from engine.search.patterns import Pattern, compile_pattern
from engine.search.query import Case, PatternTerm
from engine.store.compression import pack_text
from tests.support.budget import examples

_LETTERS = st.sampled_from("abcABC_ 01")
_ATOMS = st.one_of(
    _LETTERS,
    st.text("abc", min_size=2, max_size=5),
    st.sampled_from(
        [".", r"\w", r"\d", r"\s", "[ab]", "[^b]", "[a-c]", r"\.", r"\b", "^", "$", "ä"]
    ),
)
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda each: f"(?:{'|'.join(each)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda each: f"(?:{each[0]}){each[1]}"
        ),
        inner.map(lambda each: f"(?i:{each})"),
    ),
    max_leaves=8,
)
_LINES = st.lists(st.text("abcABC_ 01.äéß", max_size=14), max_size=8)
_SPECIAL = st.sampled_from(
    [r"\n", r"\Qa.b\E", r"[\s\S]", "(?s:.)", "[]a]", r"\x61", r"\141", "a{,2}"]
)


def go_on() -> None:
    """Never stop."""


def _compiled(pattern: str, case: Case = Case.YES) -> Pattern:
    return compile_pattern(PatternTerm(pattern, 0, False), case)


def _lines_found(pattern: str, text: bytes) -> set[int]:
    compiled = _compiled(pattern)
    found = set()
    at = 0
    while span := compiled.search(text, at, go_on):
        found.add(text.count(b"\n", 0, span[0]))
        at = text.find(b"\n", span[0]) + 1 or len(text) + 1
    return found


@settings(max_examples=examples(1500))
@given(_PATTERNS, _LINES)
def test_the_lines_that_match_are_those_of_the_standard_library(
    pattern: str, lines: list[str]
) -> None:
    other = re.compile(pattern, re.ASCII)
    expected = {number for number, line in enumerate(lines) if other.search(line)}
    assert _lines_found(pattern, "".join(f"{line}\n" for line in lines).encode()) == expected


_ANY = st.lists(st.one_of(_PATTERNS, _SPECIAL), min_size=1, max_size=4).map("".join)
_TEXTS = st.lists(
    st.one_of(st.text("abcABC_ 01.\n", max_size=30), st.sampled_from(["abc", "a.b", "ab\n"]))
).map("".join)
_CASES = st.sampled_from([Case.YES, Case.NO, Case.AUTO])


def _has_match(pattern: Pattern, text: bytes) -> bool:
    return bool(text) and pattern.search(text, 0, go_on) is not None


@settings(max_examples=examples(2000))
@given(_ANY, _TEXTS, _CASES)
def test_a_match_holds_one_of_the_literals(pattern: str, text: str, case: Case) -> None:
    compiled = _compiled(pattern, case)
    data = text.encode()
    if compiled.literals and _has_match(compiled, data):
        assert any(_has_match(literal, data) for literal in compiled.literals)


def _places(pattern: Pattern, text: bytes) -> list[tuple[int, bytes]]:
    """Give the line and the text of each match, with plain line breaks."""
    spans = [span for _, span in matches_in(text, [(0, len(text))], pattern, Deadline(1000), 999)]
    return [
        (text.count(b"\n", 0, start), text[start:end].replace(b"\r\n", b"\n"))
        for start, end in spans
    ]


@settings(max_examples=examples(2000))
@given(_ANY, _TEXTS, _CASES, st.booleans())
def test_a_pattern_with_line_ends_finds_the_same_whatever_the_line_breaks(
    pattern: str, text: str, case: Case, is_last: bool
) -> None:
    compiled = _compiled(f"(?:{pattern})$" if is_last else f"(?:$|x)?(?:{pattern})", case)
    plain, windows = text.encode(), text.replace("\n", "\r\n").encode()
    places = _places(compiled, plain)
    assert _places(compiled, windows) == places
    scan = matching_texts([(1, pack_text(windows))], [compiled], Deadline(1000), 1)
    assert scan.blob_ids == ([1] if places else [])
    if places:
        for choices in compiled.required:
            assert any(fold(each.encode()) in fold(windows) for each in choices)


_FOLDING = str.maketrans(
    {"a": "\u017f", "A": "K", "b": "sS", "B": "\u017fk", "c": "k\u212a", "C": "Ä"}
)


_ODD = st.sampled_from(["(?i)", "(?s)*", "(?U)?", "(?i){0}", "{2}", "{\u0662}", "*", "(?P<a>b)"])


@settings(max_examples=examples(3000))
@given(st.lists(st.one_of(_ANY, _ODD), max_size=4).map("".join), _TEXTS, _CASES, st.booleans())
def test_a_text_with_a_match_is_not_ruled_out(
    pattern: str, text: str, case: Case, folds: bool
) -> None:
    if folds:  # letters with partners outside ASCII
        pattern, text = pattern.translate(_FOLDING), text.translate(_FOLDING)
    try:
        compiled = _compiled(pattern, case)
    except InvalidQueryError:
        assume(False)
    data = text.encode()
    if _has_match(compiled, data):
        for choices in compiled.required:
            assert any(fold(each.encode()) in fold(data) for each in choices)


@settings(max_examples=examples(1000))
@given(
    st.lists(
        st.one_of(_ANY, st.sampled_from([r"\Aa", r"b\z", "(?-m)^a", "(?-m:c$)"])),
        min_size=1,
        max_size=2,
    ),
    st.lists(_TEXTS, max_size=12),
    _CASES,
    st.sampled_from([1, 2]),
)
def test_searching_many_texts_at_once_finds_what_searching_each_does(
    patterns: list[str], texts: list[str], case: Case, threads: int
) -> None:
    compiled = [_compiled(pattern, case) for pattern in patterns]
    data = [text.encode() for text in texts]
    rows = [(number, pack_text(text)) for number, text in enumerate(data)]
    scan = matching_texts(rows, compiled, Deadline(1000), threads)
    assert scan.blob_ids == [
        number
        for number, text in enumerate(data)
        if all(_has_match(pattern, text) for pattern in compiled)
    ]


@settings(max_examples=examples(1000))
@given(
    st.text("ab(|)[]{}*+?.^$\\dwsQEnpPLx0123:<>=!-,iéC", max_size=16),
    st.text("ab1é\n ", max_size=20),
)
def test_any_pattern_is_compiled_or_refused_inside_itself(pattern: str, text: str) -> None:
    position = 6
    compiled = None
    try:
        compiled = compile_pattern(PatternTerm(pattern, 5, False, places=((0, 6),)), Case.AUTO)
    except InvalidQueryError as error:
        position = error.position
    assert 6 <= position < 6 + max(1, len(pattern))
    if compiled is None:
        return
    data = text.encode()
    span = compiled.search(data, 0, go_on)
    assert span is None or data[slice(*span)].decode() in text
    options = re2.Options()
    options.log_errors = False
    re2.compile(pattern, options)  # what we take, RE2 takes


@settings(max_examples=examples(300))
@given(_PATTERNS, st.lists(st.text("abc\n", max_size=40), max_size=30))
def test_searching_in_pieces_finds_what_searching_at_once_does(
    pattern: str, pieces: list[str]
) -> None:
    text = "\n".join(pieces).encode()
    at_once = _compiled(pattern)
    assume(at_once.window_bytes is not None)
    in_pieces = replace(at_once, window_bytes=8)
    at = 0
    while True:
        span = at_once.search(text, at, go_on)
        assert in_pieces.search(text, at, go_on) == span
        if span is None:
            break
        at = max(span[1], span[0] + 1)
