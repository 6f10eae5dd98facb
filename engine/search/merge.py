"""One ranking over several projects: scores of their answers made comparable.

Inside a project a share is relative to the best of the answer, and the rarity of a word is that in
the project. So the best of each project would be as good as that of any other, and a project where
a word is rare would come first with it. Here words get the rarity that they have in all projects
together, and shares become relative to the best of all.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from engine.search.cache import MissingName, WordCounts
from engine.search.features import Breakdown, scaled_part
from engine.search.rank import Peaks
from engine.search.weights import MERGED_MEANING_POWER, MERGED_WORDS_POWER, MIN_SIMILARITY
from engine.search_records import Hit, SearchAnswer
from engine.store import fulltext

#: Hits of each project that are compared at least.
LEAST_DEPTH = 10
_BY_WORDS = frozenset({"words", "file", "file_words", "history"})  # shares of the best by words
_BY_MEANING = frozenset({"meaning", "file_meaning"})


class ProjectAnswer(NamedTuple):
    """The answer of a project with what is needed to compare its scores with those of others."""

    answer: SearchAnswer
    breakdowns: Sequence[Breakdown]  # of the hits
    peaks: Peaks | None  # None: its scores are absolute already
    counts: WordCounts
    looser: tuple[str, ...] = ()  # notes on the looser reading of the query, if that found it
    missing: Sequence[MissingName] = ()
    unknown: Sequence[MissingName] = ()  # names in filters that the project neither has nor uses
    detailed: Sequence[int] = ()  # the numbers of the hits with details


def without_looser(answers: Sequence[ProjectAnswer]) -> list[ProjectAnswer]:
    """Return the answers, those of looser readings without hits if any other has hits."""
    if not any(each.answer.hits and not each.looser for each in answers):
        return list(answers)
    return [_without_hits(each) if each.looser else each for each in answers]


def _without_hits(found: ProjectAnswer) -> ProjectAnswer:
    notes = tuple(note for note in found.answer.notes if note not in found.looser)
    answer = replace(found.answer, hits=(), total=0, truncated=False, notes=notes)
    return found._replace(answer=answer, breakdowns=())


def comparable_hits(answers: Sequence[ProjectAnswer]) -> list[Hit]:
    """Return the hits of all projects with comparable scores, the best first.

    The first of them are the same however many are asked for, so that pages fit together: the n-th
    is the best of the first n of each project, or of the first ``LEAST_DEPTH``.
    """
    ranked = [answer for answer in answers if answer.peaks]
    total = sum(each.counts.chunks for each in ranked)
    in_all: Counter[str] = Counter()
    for each in ranked:
        in_all.update(each.counts.with_word)
    by_words = [_strength_of_words(answer, total, in_all) for answer in ranked]
    by_meaning = [max(each.peaks.similarity, MIN_SIMILARITY) for each in ranked if each.peaks]
    best_words, best_meaning = max(by_words, default=0.0), max(by_meaning, default=0.0)
    lists = [list(answer.answer.hits) for answer in answers if not answer.peaks]
    for answer, words, meaning in zip(ranked, by_words, by_meaning, strict=True):
        of_words = (words / best_words) ** MERGED_WORDS_POWER if best_words else 1.0
        of_meaning = (meaning / best_meaning) ** MERGED_MEANING_POWER
        factors = dict.fromkeys(_BY_WORDS, of_words) | dict.fromkeys(_BY_MEANING, of_meaning)
        lists.append(
            [
                _rescored(hit, breakdown, factors)
                for hit, breakdown in zip(answer.answer.hits, answer.breakdowns, strict=True)
            ]
        )
    return list(_best_first(lists))


def _best_first(lists: Sequence[Sequence[Hit]]) -> Iterator[Hit]:
    """Yield the hits of ranked lists, each the best of those that are at hand by then."""
    at_hand = [
        (-hit.score, number, place)
        for number, hits in enumerate(lists)
        for place, hit in enumerate(hits[:LEAST_DEPTH])
    ]
    heapify(at_hand)
    for depth in range(sum(map(len, lists))):
        if depth >= LEAST_DEPTH:
            for number, hits in enumerate(lists):
                if depth < len(hits):
                    heappush(at_hand, (-hits[depth].score, number, depth))
        _, number, place = heappop(at_hand)
        yield lists[number][place]


def _strength_of_words(answer: ProjectAnswer, total: int, in_all: Mapping[str, int]) -> float:
    """Return the best BM25 of a project, with the rarity that its words have in all projects."""
    here = answer.counts
    of_all = sum(fulltext.rarity(total, in_all[word]) for word in here.with_word)
    of_project = sum(fulltext.rarity(here.chunks, number) for number in here.with_word.values())
    best = answer.peaks.bm25 if answer.peaks else 0.0
    return best * of_all / of_project if of_project else 0.0


def _rescored(hit: Hit, breakdown: Breakdown, factors: Mapping[str, float]) -> Hit:
    shares = tuple([scaled_part(part, factors.get(part.name, 1.0)) for part in breakdown.shares])
    new = breakdown._replace(shares=shares)
    explain = hit.explain and replace(
        hit.explain, score=new.score, shares={part.name: part.value for part in shares}
    )
    return replace(hit, score=round(new.score, 4), why=new.why, explain=explain)
