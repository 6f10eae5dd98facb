"""Snippets and their budget."""

from engine.search.snippet import cut_to_tokens, snippet_of


def test_a_snippet_is_its_lines() -> None:
    assert snippet_of(b"one\ntwo\r\nthree\n", 4, 9) == "two"


def test_cutting_keeps_whole_lines_inside_the_budget() -> None:
    assert cut_to_tokens("abc\ndef\nghi", 100) == ("abc\ndef\nghi", 4)
    assert cut_to_tokens("abc\ndef\nghi", 3) == ("abc\ndef", 3)
    assert cut_to_tokens("abc\ndef\nghi", 1) == ("abc", 1)
    assert cut_to_tokens("abcdef", 1) == ("", 0)


def test_bytes_count_not_characters() -> None:
    assert cut_to_tokens("ääää", 2)[0] == ""
    assert cut_to_tokens("ääää", 3)[0] == "ääää"
