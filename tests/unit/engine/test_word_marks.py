"""Marks follow the words by which the keyword index finds a text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.store.fulltext import stem_of
from engine.syntax.terms import words_of
from engine.word_marks import words_in


def _marked(text: str, *words: str) -> list[str]:
    return [text[low:high] for low, high in words_in(text, words)]


def test_whole_words_of_names_are_marked_in_all_their_forms() -> None:
    text = "class SecureCookieSession: signing of cookie, design, COOKIES, assigned"
    assert _marked(text, "signed", "cookies") == ["Cookie", "signing", "cookie", "COOKIES"]
    assert _marked("getHTTPResponse httpd http_2", "http") == ["HTTP", "http"]
    assert _marked("queries of a query, queried", "query") == ["queries", "query", "queried"]


def test_words_in_a_row_follow_each_other() -> None:
    text = "cookie_sessions, cookie: Session; session cookie, CookieJarSession"
    assert _marked(text, "cookie session") == ["cookie_sessions", "cookie: Session"]
    assert _marked(text, "cookie session", "cookie") == [
        "cookie_sessions",
        "cookie: Session",
        "cookie",
        "Cookie",
    ]


def test_a_name_written_as_one_word_or_with_single_letters_is_marked_whole() -> None:
    assert _marked("getUserById(getUser)", "getuserbyid") == ["getUserById"]
    assert _marked("x1 = 1 + x11", "x1") == ["x1"]


@pytest.mark.parametrize("text", ["sign" * 50_000, "signX" * 50_000, "sign_" * 50_000, "s1" * 9])
def test_data_is_passed_over(text: str) -> None:
    assert len(words_in(text, ["sign up", "sig"])) == 0


@given(st.text("aAbeEsSinNgd_ 1é\n", max_size=60), st.text("abesingd1é", min_size=2, max_size=6))
def test_what_the_index_finds_is_marked_and_nothing_else(text: str, word: str) -> None:
    asked = words_of(word)
    if asked != [word]:
        return
    marked = _marked(text, word)
    runs = re.findall(r"[^\W_]+", text)
    joined = {run for run in runs if run.lower() == word and len(words_of(run)) > 1}
    assert joined <= set(marked)
    others = [stem_of(each.lower()) for each in marked if each not in joined]
    assert set(others) <= {stem_of(word)}
    if not joined:
        assert len(others) == [*map(stem_of, words_of(text))].count(stem_of(word))
