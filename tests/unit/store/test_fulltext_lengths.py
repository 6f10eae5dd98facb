"""BM25 of a memory as it would be among memories of another mean length."""

import apsw
import pytest

from engine.store.fulltext import at_mean_length, rarity
from engine.store.memories import MemoryTerms, count_words, insert_words, read_lengths
from engine.store.memories import read_word_scores as scores_of

_NOTE = MemoryTerms("tokens expire", "decision", "token " * 3)


def _words_of(*others: str) -> apsw.Connection:
    """Return the keyword index of memories: the note, and others."""
    handle = apsw.Connection(":memory:")
    handle.execute(
        """CREATE VIRTUAL TABLE memory_terms USING fts5 (summary, tags, description,
             content = '', contentless_delete = 1, tokenize = 'porter ascii')"""
    )
    insert_words(handle, 1, _NOTE)
    for number, description in enumerate(others, 2):
        insert_words(handle, number, MemoryTerms("", "", description))
    return handle


def _mean(handle: apsw.Connection, rows: int) -> float:
    return count_words(handle) / rows


def test_lengths_are_counted_as_the_keyword_index_does() -> None:
    handle = _words_of("word " * 1000, "")
    assert read_lengths(handle, [1, 2, 3, 4]) == {1: 6, 2: 1000, 3: 0}
    assert count_words(handle) == 1006
    handle.execute("DELETE FROM memory_terms WHERE rowid = 2")
    assert count_words(handle) == 6
    assert count_words(_words_of()) == 6


@pytest.mark.parametrize("others", [("word",), ("word " * 300, "token"), ("token " * 9,) * 5])
def test_a_score_becomes_that_among_others(others: tuple[str, ...]) -> None:
    here, there = _words_of("word " * 20), _words_of(*others)
    [(_, score)] = scores_of(here, '"token"')
    with_word = scores_of(there, '"token"')
    other_score = dict(with_word)[1] / rarity(len(others) + 1, len(with_word))
    mean, other_mean = _mean(here, 2), _mean(there, len(others) + 1)
    found = at_mean_length(score / rarity(2, 1), 6, mean, other_mean)
    assert found == pytest.approx(other_score)
    assert at_mean_length(1.0, 6, mean, mean) == 1.0
