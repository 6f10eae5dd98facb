"""How words and meaning are weighed against each other, with the arithmetic."""

import pytest

from engine.search.lexical import Lexical, lexical_of
from engine.search.query import parse_query
from engine.search.rank import Candidate, rank
from engine.search.weights import (
    FILE_SHARE,
    MAX_SHALLOW_DEPTH,
    MEANING_WEIGHTS,
    MIN_SIMILARITY,
    NAME_BY_BOTH,
    PROSE_BY_BOTH,
    WORD_WEIGHTS,
    Weights,
    weights_of,
)
from engine.search_records import Mode
from engine.store.chunks import ChunkFacts

PLAIN = Weights(coherence=0.0, meaning=2.0, meaning_power=2.0, words_power=1.0, path=0.0)


def lexical(text: str) -> Lexical:
    return lexical_of(parse_query(text))


def candidate(path: str, bm25: float, cosine: float, of_file: float = 0.0) -> Candidate:
    chunk = ChunkFacts(1, 1, 1, path, "python", False, 0, 1, 1, 9, None)
    return Candidate(chunk=chunk, lexical=bm25, cosine=cosine, file_cosine=of_file)


def scores(weights: Weights, *candidates: Candidate) -> list[float]:
    rank(list(candidates), lexical("zeta"), weights)
    for each in candidates:
        assert each.breakdown.score == pytest.approx(each.score)
    return [each.score for each in candidates]


@pytest.mark.parametrize("name", ["SessionStore", "Session::open"])
def test_a_name_leans_on_where_it_is_defined(name: str) -> None:
    assert weights_of(lexical(name), Mode.HYBRID, has_meaning=True) is NAME_BY_BOTH
    assert NAME_BY_BOTH.meaning < PROSE_BY_BOTH.meaning


@pytest.mark.parametrize("text", ["where is SessionStore closed", "Where Session"])
def test_weights_depend_on_the_mode(text: str) -> None:
    prose = lexical(text)
    assert weights_of(prose, Mode.HYBRID, has_meaning=True) is PROSE_BY_BOTH
    assert weights_of(prose, Mode.MEANING, has_meaning=True) is MEANING_WEIGHTS
    assert weights_of(prose, Mode.HYBRID, has_meaning=False) is WORD_WEIGHTS


def test_meaning_is_a_power_of_the_share_of_the_nearest() -> None:
    by_words, by_meaning = candidate("a.py", 4.0, 0.2), candidate("b.py", 1.0, 0.8)
    # 4/4 + 2 × (0.2/0.8)², and 1/4 + 2 × (0.8/0.8)².
    assert scores(PLAIN, by_words, by_meaning) == pytest.approx([1.125, 2.25])
    assert by_words.breakdown.why == ("words 1.00", "meaning 0.20")


def test_a_path_counts_in_the_nearness_of_its_places() -> None:
    here, there = candidate("a.py", 0.0, 0.6, 0.4), candidate("b.py", 0.0, 0.6, 0.0)
    near = 0.6 + FILE_SHARE * 0.4
    assert scores(PLAIN, here, there) == pytest.approx([2.0, 2 * (0.6 / near) ** 2])


def test_being_near_in_many_places_raises_a_file() -> None:
    weights = PLAIN._replace(meaning=0.0, file_meaning=1.0, file_meaning_power=2.0, crowding=1.0)
    once = candidate("a.py", 0.0, 0.8)
    twice = [candidate("b.py", 0.0, 0.8), candidate("b.py", 0.0, 0.8)]
    assert scores(weights, once, *twice) == pytest.approx([0.5, 1.0, 1.0])
    assert twice[0].breakdown.why == ("meaning of the file +1.00",)


def test_the_words_of_a_file_count_however_far_apart() -> None:
    weights = PLAIN._replace(meaning=0.0, file_words=1.0)
    one = candidate("a.py", 0.0, 0.0)
    apart = [candidate("b.py", 0.0, 0.0), candidate("b.py", 0.0, 0.0)]
    one.word_scores = (3.0, 0.0)
    apart[0].word_scores, apart[1].word_scores = (3.0, 0.0), (1.0, 3.0)
    assert scores(weights, one, *apart)[:2] == pytest.approx([0.5, 1.0])
    assert apart[0].breakdown.why == ("words of the file +1.00",)


def test_a_file_near_the_root_counts_a_little_more() -> None:
    weights = PLAIN._replace(meaning=0.0, shallow=0.1)
    deep = "/".join("abcdefgh")
    near, far, farther = [
        candidate(path, 1.0, 0.0) for path in ("x/a.py", f"{deep}/b.py", f"{deep}/c/d.py")
    ]
    first, second, third = scores(weights, near, far, farther)
    assert first - second == pytest.approx(0.1 * (MAX_SHALLOW_DEPTH - 1))
    assert second == third
    assert "near the root +0.50" in near.breakdown.why


def test_what_points_away_adds_nothing() -> None:
    assert scores(PLAIN, candidate("a.py", 0.0, 0.8), candidate("b.py", 0.0, -0.8)) == [2.0, 0.0]


def test_the_nearest_of_nothing_near_does_not_count_in_full() -> None:
    half = MIN_SIMILARITY / 2
    assert scores(PLAIN, candidate("a.py", 0.0, half)) == pytest.approx([2 * 0.25])


def test_places_without_meaning_are_ranked_as_before() -> None:
    one = candidate("a.py", 1.0, 0.0)
    one.cosine = one.file_cosine = None
    assert scores(WORD_WEIGHTS._replace(path=0.0), one) == pytest.approx(
        [1 + WORD_WEIGHTS.coherence]
    )
