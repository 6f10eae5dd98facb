"""Words of a question → FTS5 expressions."""

import pytest

from engine.search.lexical import lexical_of, looks_like_identifier
from engine.search.query import parse_query


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("getUser", True),
        ("get_user", True),
        ("Router", True),
        ("Sinatra::Base", True),
        ("app.route", True),
        ("sha256", True),
        ("router", False),
        ("C++", False),
        ("42", False),
        ("", False),
    ],
)
def test_what_looks_like_an_identifier(token: str, expected: bool) -> None:
    assert looks_like_identifier(token) is expected


def test_question_words_are_left_out() -> None:
    assert lexical_of(parse_query("how are the routes registered")).words == (
        "routes",
        "registered",
    )


def test_question_words_count_when_nothing_else_is_asked() -> None:
    assert lexical_of(parse_query("how to")).words == ("how", "to")


def test_an_identifier_is_its_words_and_their_phrase() -> None:
    lexical = lexical_of(parse_query("getUserById"))
    assert '"get user by id"' in lexical.chunk_match
    assert '"user"' in lexical.chunk_match
    assert lexical.is_symbol_query


def test_a_phrase_is_required_and_other_words_rank() -> None:
    match = lexical_of(parse_query('alpha "beta gamma"')).chunk_match
    assert match.startswith('("beta gamma" *) AND (')


def test_negated_terms_are_excluded() -> None:
    match = lexical_of(parse_query('alpha -beta -"gamma delta"')).chunk_match
    assert match == '("alpha") NOT ("beta")'  # phrases are refused by the text, letter by letter
