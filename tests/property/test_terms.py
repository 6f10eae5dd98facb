"""Words, whatever the text: the way by known runs gives what the pattern gives over the whole."""

from hypothesis import given
from hypothesis import strategies as st

from engine.syntax.terms import terms_of, words_of

LETTERS = st.text("abABzZ019_- .\n", max_size=60)


@given(LETTERS | st.text(st.characters(codec="ascii"), max_size=80))
def test_runs_split_alone_give_the_words_of_the_whole(text: str) -> None:
    assert terms_of(text) == " ".join(words_of(text))
