"""Identifiers into words."""

import pytest

from engine.syntax.terms import name_terms_of, terms_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getUserById", ["get", "user", "by", "id"]),
        ("get_user_by_id", ["get", "user", "by", "id"]),
        ("getHTTPResponse", ["get", "http", "response"]),
        ("HTTPServer", ["http", "server"]),
        ("parseJSON5", ["parse", "json", "5"]),
        ("sha256sum", ["sha", "256", "sum"]),
        ("SCREAMING_SNAKE", ["screaming", "snake"]),
        ("std::vector<int>", ["std", "vector", "int"]),
        ("a b c", []),  # single letters carry no meaning
        ("", []),
        ("Größe überprüfen", ["größe", "überprüfen"]),
        ("проверка связи", ["проверка", "связи"]),
        ("日本語 text", ["日本語", "text"]),
        ("\x00\ud800", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words
    assert terms_of(text) == " ".join(words)


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("getUserById", "get user by id getuserbyid"),
        ("Router", "router"),
        ("x", ""),
        ("MAX_RETRIES", "max retries"),
        ("Größe_Über", "größe über größeüber"),
    ],
)
def test_name_terms_hold_the_joined_name(name: str, terms: str) -> None:
    assert name_terms_of(name) == terms
