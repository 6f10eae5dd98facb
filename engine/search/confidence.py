"""The confidence of hits: the estimated probability that a place answers, whatever else is found.

Scores compare places of one answer; the best of nonsense scores as high as the best of a good
query. A logistic regression estimates instead how often a place with such evidence answered:
``COEFFICIENTS`` were fitted on descriptions of real changes (32 repositories), on annotated
questions (29), and on as many questions asked of repositories that they are not about. That other
places of its file come before a place says nothing of it, so its evidence is without that factor.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.search.cache import WordCounts
from engine.search.rank import Candidate
from engine.search_records import Mode
from engine.store import fulltext

_MAX_BM25 = 3.0  # per unit of rarity
_MIN_FACTOR = 0.3  # of tests; below it, none of 155 places among the first 50 answered
_DIGITS = 3


class Evidence(NamedTuple):
    """What tells whether a place answers."""

    words: float  # BM25 divided by the rarity of all words of the query
    cosine: float
    relative: float  # share of the best score
    path: float  # share of the score for words in the path
    definition: float  # share of the score for defining a name of the query
    factor: float  # logarithm of what tests, documents and the like are lowered by


class Coefficients(NamedTuple):
    """Of a logistic regression."""

    constant: float
    of: Evidence


#: By what the answer is ranked by. On repositories that were left out of the fit, the best hits of
#: questions and of foreign questions are told apart with an AUC of 0.878, 0.848 and 0.844.
COEFFICIENTS: Mapping[Mode, Coefficients] = {
    Mode.HYBRID: Coefficients(-9.268, Evidence(0.890, 3.244, 5.905, 0.437, 0.193, -2.679)),
    Mode.KEYWORD: Coefficients(-7.919, Evidence(1.452, 0.0, 5.351, 0.268, 0.295, -2.319)),
    Mode.MEANING: Coefficients(-9.327, Evidence(0.0, 6.936, 3.996, 0.0, 0.0, -1.918)),
}


def confidences(
    candidates: Sequence[Candidate], words: Sequence[str], counts: WordCounts
) -> list[float]:
    """Return the confidence in each candidate.

    Args:
        candidates: Of one answer, the best first, with their breakdowns.
        words: The quoted words of the query.
        counts: How common they are.
    """
    has_words = any(candidate.lexical for candidate in candidates)
    has_cosines = any(candidate.cosine is not None for candidate in candidates)
    mode = Mode.KEYWORD if not has_cosines else Mode.HYBRID if has_words else Mode.MEANING
    constant, of = COEFFICIENTS[mode]
    return [
        round(1 / (1 + math.exp(-constant - sum(map(float.__mul__, of, evidence)))), _DIGITS)
        for evidence in evidence_of(candidates, words, counts)
    ]


def evidence_of(
    candidates: Sequence[Candidate], words: Sequence[str], counts: WordCounts
) -> list[Evidence]:
    """Return the evidence for each candidate; parameters as of ``confidences``."""
    best = max((candidate.score for candidate in candidates), default=0.0) or 1.0
    rarity = sum(fulltext.rarity(counts.chunks, counts.with_word.get(word, 0)) for word in words)
    return [
        Evidence(
            min(candidate.lexical / rarity, _MAX_BM25) if rarity > 0 else 0.0,
            candidate.cosine or 0.0,
            candidate.score / crowding / best,
            _share(candidate, "path"),
            _share(candidate, "definition"),
            math.log(max(factor, _MIN_FACTOR)),
        )
        for candidate, (factor, crowding) in zip(
            candidates, map(_factors_of, candidates), strict=True
        )
    ]


def _factors_of(candidate: Candidate) -> tuple[float, float]:
    """Return the product of the factors without crowding, and crowding."""
    factor = crowding = 1.0
    for part in candidate.breakdown.factors:
        if part.name == "crowding":
            crowding *= part.value
        else:
            factor *= part.value
    return factor, crowding


def _share(candidate: Candidate, name: str) -> float:
    return sum(part.value for part in candidate.breakdown.shares if part.name == name)
