"""Words of a question → FTS5 expressions."""

import pytest

from engine.search import lexical
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
    found = lexical_of(parse_query("getUserById"))
    assert '"get user by id"' in found.chunk_match
    assert '"user"' in found.chunk_match
    assert found.is_symbol_query


def test_a_phrase_is_required_and_other_words_rank() -> None:
    match = lexical_of(parse_query('alpha "beta gamma"')).chunk_match
    assert match.startswith('("beta gamma" *) AND (')


def test_negated_terms_are_excluded() -> None:
    match = lexical_of(parse_query('alpha -beta -"gamma delta"')).chunk_match
    assert match == '("alpha") NOT ("beta")'  # phrases are refused by the text, letter by letter


@pytest.mark.parametrize("token", ["a/", ".", "~/", "x", "a.1", "/a ", "a@"])
def test_a_long_token_is_read_once(token: str) -> None:
    """Not once from each of its characters, which for these would take hours."""
    assert not lexical.named_files(f"{token * 400_000} .")


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("in src/app/main.py", [("src", "app", "main.py")]),
        ('File "app.py", line 3', [("app.py",)]),
        ("at C:\\x\\y.cs:12", [("x", "y.cs")]),
        ("(lib.rs:10)", [("lib.rs",)]),
        ("./.eslintrc.js:1", [(".eslintrc.js",)]),
        (".eslintrc.js:1", [(".eslintrc.js",)]),
        ("../up/a.go", [("up", "a.go")]),
        ("app.py alone", []),
    ],
)
def test_files_with_folders_or_a_line_are_named(text: str, files: list[tuple[str, ...]]) -> None:
    assert list(lexical.named_files(text)) == files
