"""Snippets, the lines around matches, and summaries."""

import time

import pytest

from engine.search.hits import Excerpt, excerpt_of, snippet_of
from engine.search.naming import summary_of
from engine.search_records import MatchSpan
from engine.store.chunks import ChunkFacts, SymbolFacts


def excerpt(text: str, *words: str, line: int = 1, with_snippet: bool = True) -> Excerpt:
    """Show the first place of each word in a chunk that is the whole text."""
    data = text.encode()
    chunk = ChunkFacts(1, 1, 1, "a.py", "python", False, 0, len(data), line, line, None)
    spans = [(at := data.index(word.encode()), at + len(word.encode())) for word in words]
    return excerpt_of(data, chunk, spans, with_snippet=with_snippet)


def test_a_snippet_is_its_lines() -> None:
    assert snippet_of(b"one\ntwo\r\nthree\n", 4, 9) == "two"


@pytest.mark.parametrize(
    ("doc", "summary"),
    [
        ("Read it.\n\nMore.", "Read it."),
        ("---\n* Read `it`:", "Read `it`:"),
        ("", None),
        ("----", None),
        ("x" * 130, "x" * 120 + "…"),
        ("jar_sweep\n\nDrop old ones.", "Drop old ones."),
        ("`Jar.jar_sweep()`:\nDrop old ones.", "Drop old ones."),
        ("jar_sweep drops old ones.", "jar_sweep drops old ones."),
        ("jar_sweep()", None),
    ],
)
def test_a_summary_is_the_first_line_that_says_more_than_the_name(
    doc: str, summary: str | None
) -> None:
    symbol = SymbolFacts(1, "jar_sweep", "Jar.jar_sweep", "method", "", 1, 2)
    assert summary_of(doc, symbol) == summary


def test_code_begins_at_the_definition_that_answers_and_what_is_joined_to_it() -> None:
    text = b"import os\n\n# Swept.\ndef sweep():\n    pass\n"
    chunk = ChunkFacts(1, 1, 1, "a.py", "python", False, 0, len(text), 11, 15, None)
    whole = excerpt_of(text, chunk, [], with_snippet=True)
    assert (whole.snippet.count("\n"), whole.snippet_line) == (4, None)
    part = excerpt_of(text, chunk, [], with_snippet=True, from_line=14)
    assert (part.line_start, part.line_end, part.snippet_line) == (11, 15, 13)
    assert part.snippet == "# Swept.\ndef sweep():\n    pass"
    assert excerpt_of(text, chunk, [], with_snippet=True, from_line=11).snippet == whole.snippet


def test_without_matches_a_place_shows_all_of_itself() -> None:
    assert excerpt("a\nb\n", line=7) == Excerpt(7, 7, "a\nb")
    assert excerpt("a\nb\n", line=7, with_snippet=False).snippet == ""


def test_matches_show_their_lines_with_one_around() -> None:
    shown = excerpt("one\ntwo\nthree\nfour\nfive\nsix\n", "hree", "four", line=10)
    assert (shown.line_start, shown.line_end) == (12, 13)
    assert (shown.snippet, shown.snippet_line) == ("two\nthree\nfour\nfive", 11)
    assert shown.matches == (
        MatchSpan(line=12, start=1, end=5),
        MatchSpan(line=13, start=0, end=4),
    )


def test_columns_count_characters() -> None:
    assert excerpt("äé😀 x\n", "x").matches == (MatchSpan(line=1, start=4, end=5),)
    assert excerpt("a\r\nbc\r\n", "bc\r").matches == (MatchSpan(line=2, start=0, end=2),)


def test_a_match_over_lines_is_a_span_on_each() -> None:
    shown = excerpt("if x\n{\n  y\n}\n", "x\n{\n  y")
    assert (shown.line_start, shown.line_end, shown.snippet_line) == (1, 3, None)
    assert shown.snippet == "if x\n{\n  y\n}"
    assert shown.matches == (
        MatchSpan(line=1, start=3, end=4),
        MatchSpan(line=2, start=0, end=1),
        MatchSpan(line=3, start=0, end=3),
    )
    assert [m.line for m in excerpt("a\nb\n", "a\n").matches] == [1]


def test_only_the_lines_are_told_when_no_code_is_wanted() -> None:
    shown = excerpt("a\nb\nc\n", "b", with_snippet=False)
    assert (shown.snippet, shown.snippet_line, shown.line_start) == ("", None, 2)
    assert shown.matches == (MatchSpan(line=2, start=0, end=1),)


def test_a_match_far_inside_a_long_line_is_shown() -> None:
    shown = excerpt("é" * 5000 + "needle" + "x" * 9000 + "\nend\n", "needle")
    assert "needle" in shown.snippet
    assert "\ufffd" not in shown.snippet
    assert len(shown.snippet.encode()) <= 4000
    assert shown.matches == (MatchSpan(line=1, start=5000, end=5006),)


@pytest.mark.parametrize("text", ["x" * 2000 + "\nfoo\n" + "y" * 2000 + "\n", "foo\n", "foo"])
def test_long_lines_around_a_match_are_left_out(text: str) -> None:
    assert excerpt(text, "foo").snippet == "foo"


def test_what_many_lines_show_is_bounded() -> None:
    lines = "".join(f"line {number} äöü\n" for number in range(1000))
    shown = excerpt(lines, "line 3 ", "line 900 ")
    assert len(shown.snippet.encode()) <= 4000
    assert shown.snippet.startswith("line 2 äöü\nline 3 ")
    assert shown.snippet.endswith("äöü")
    assert (shown.line_start, shown.line_end) == (4, 901)


def test_several_matches_share_a_line() -> None:
    data = "äb cb\r\näb\n".encode()
    chunk = ChunkFacts(1, 1, 1, "a.py", "python", False, 0, len(data), 1, 2, None)
    shown = excerpt_of(data, chunk, [(2, 3), (2, 11), (5, 6), (10, 11)], with_snippet=False)
    assert [(match.line, match.start, match.end) for match in shown.matches] == [
        (1, 1, 2),
        (1, 1, 5),
        (2, 0, 2),
        (1, 4, 5),
        (2, 1, 2),
    ]
    assert (shown.line_start, shown.line_end) == (1, 2)


def test_many_matches_of_a_very_long_line_take_linear_time() -> None:
    word, count = b"needle", 100
    data = ("é" * 100_000).encode().join([word] * count)
    chunk = ChunkFacts(1, 1, 1, "a.js", "javascript", False, 0, len(data), 1, 1, None)
    step = 200_000 + len(word)
    spans = [(number * step, number * step + len(word)) for number in range(count)]
    started = time.thread_time()
    shown = excerpt_of(data, chunk, spans, with_snippet=True)
    assert time.thread_time() - started < 0.5
    assert [match.start for match in shown.matches] == [n * 100_006 for n in range(count)]
