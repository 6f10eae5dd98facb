"""Many words are looked up at once, with the same result as one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.embedding import word_cache
from engine.embedding.word_cache import WordCache, split

_WORDS = st.text("abé日", min_size=1, max_size=20)


class _Numbered(dict[str, int]):
    """Words with numbers in the order in which they were asked for."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


@given(st.lists(st.lists(st.lists(_WORDS, max_size=9), max_size=4), max_size=4))
def test_ids_are_those_of_a_dictionary(groups: list[list[list[str]]]) -> None:
    numbers, cache = _Numbered(), WordCache()
    for fields in groups:
        field, words = split(map(" ".join, fields))
        ids = cache.ids(words, numbers)
        expected = [(place, numbers[word]) for place, row in enumerate(fields) for word in row]
        assert list(zip(field.tolist(), ids.tolist(), strict=True)) == expected


def test_words_in_one_place_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_cache, "_PLACE_BITS", 1)
    numbers, cache = _Numbered(), WordCache()
    texts = ["a b c d e", "e d c b a", "abcdefgh abcdefghi abcdefghj", "abcdefghj abcdefgh"]
    for text in texts:
        _, words = split([text])
        assert cache.ids(words, numbers).tolist() == [numbers[word] for word in text.split()]


def test_a_known_word_is_not_asked_for_again() -> None:
    cache = WordCache()
    _, words = split(["session", "", "close  session"])
    cache.ids(words, {"session": 3, "close": 5})
    assert cache.ids(words, {}).tolist() == [3, 5, 3]


def test_forgotten_words_are_asked_for_again() -> None:
    cache = WordCache()
    _, words = split(["session"])
    cache.ids(words, {"session": 3})
    cache.clear()
    assert cache.ids(words, {"session": 4}).tolist() == [4]
