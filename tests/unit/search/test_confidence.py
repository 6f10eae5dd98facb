"""The confidence in hits: absolute, so that answers can be compared."""

from dataclasses import replace

from engine.search.cache import WordCounts
from engine.search.confidence import confidences
from engine.search.features import Breakdown, factor_part, share_part
from engine.search.rank import Candidate
from engine.store.chunks import ChunkFacts

_CHUNK = ChunkFacts(1, 1, 1, "a.py", "python", False, 0, 9, 1, 2, None)
_WORDS = ('"session"', '"refresh"')
_COUNTS = WordCounts(1000, {'"session"': 20, '"refresh"': 5})


def _candidate(
    *, lexical: float = 14.0, cosine: float | None = 0.6, score: float = 4.0
) -> Candidate:
    breakdown = Breakdown((share_part("path", 0.5),))
    return Candidate(_CHUNK, lexical, (), cosine, 0.1, None, score, breakdown)


def test_good_evidence_gives_more_confidence_than_the_best_of_nonsense() -> None:
    [good] = confidences([_candidate()], _WORDS, _COUNTS)
    [poor] = confidences([_candidate(lexical=0.4, cosine=0.2)], _WORDS, _COUNTS)
    assert good > 0.4
    assert poor < 0.2


def test_confidence_falls_with_the_score_and_for_tests() -> None:
    best, next_ = _candidate(), _candidate(score=2.0)
    test = replace(best, breakdown=Breakdown(factors=(factor_part("test", 0.3),)), score=1.2)
    of_best, of_next, of_test = confidences([best, next_, test], _WORDS, _COUNTS)
    assert of_best > of_next
    assert of_best > of_test
    assert 0 < of_next < 1


def test_other_places_of_its_file_say_nothing_of_a_place() -> None:
    alone = _candidate(score=3.0)
    breakdown = alone.breakdown._replace(factors=(factor_part("crowding", 0.09),))
    third = replace(alone, breakdown=breakdown, score=0.27)
    _, of_alone, of_third = confidences([_candidate(), alone, third], _WORDS, _COUNTS)
    assert of_third == of_alone


def test_what_is_lowered_twice_is_less_likely_than_what_is_lowered_once() -> None:
    best = _candidate()
    test = replace(best, breakdown=Breakdown(factors=(factor_part("test", 0.3),)), score=1.2)
    factors = (factor_part("test", 0.3), factor_part("document", 0.3))
    data = replace(best, breakdown=Breakdown(factors=factors), score=0.36)
    _, of_test, of_data = confidences([best, test, data], _WORDS, _COUNTS)
    assert of_data < of_test


def test_words_that_nothing_has_lower_the_confidence() -> None:
    candidates = [_candidate()]
    [known] = confidences(candidates, _WORDS, _COUNTS)
    [unknown] = confidences(candidates, (*_WORDS, '"zyxwv"'), _COUNTS)
    assert unknown < known


def test_words_alone_and_meaning_alone_are_estimated_too() -> None:
    [by_words] = confidences([_candidate(cosine=None)], _WORDS, _COUNTS)
    [by_meaning] = confidences([_candidate(lexical=0.0)], _WORDS, _COUNTS)
    [of_nothing] = confidences([_candidate(lexical=0.0, cosine=0.0)], (), WordCounts(0, {}))
    assert of_nothing < min(by_words, by_meaning)
    assert confidences([], _WORDS, _COUNTS) == []
