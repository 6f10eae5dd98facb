"""The BM25 scores of words in the memory of a process, and the best places of several words.

A place is a number from 0: of a chunk of a cached branch, or of a path. To list where a word occurs
costs a tenth of what its scores cost, so a score is read when it is first needed, and kept.

The best places are found as in "MaxScore" (H. Turtle, J. Flood, "Query Evaluation: Strategies and
Optimizations", 1995): a word adds no more than its rarity allows. The places that could have the
highest totals are scored first; then only those that could still exceed the last of the best. So
the result is the same as that of scoring every place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.cache import LruCache
from engine.store import fulltext
from engine.store.connection import Handle
from engine.store.vectors import highest

Places = NDArray[np.int32]
Scores = NDArray[np.float64]

#: Places that are scored first, as a multiple of the wanted number.
_LIKELY = 10
#: Of a word in so many places, or of so large a share of its places, all scores are read at once.
_FEW_PLACES = 4000
_LARGE_SHARE = 1 / 4
#: Of so few rows, all scores of a word are read with its places, in one statement.
_FEW_ROWS = 20_000
_BYTES_A_PLACE = 12
_BYTES_A_WORD = 512
# Totals of bounds are rounded.
_SLACK = 1 + 1e-5


@dataclass(slots=True)
class Postings:
    """Where a word occurs."""

    word: str  # quoted, or a phrase
    places: Places  # rising
    scores: Scores  # of these places; 0 is one that was not read yet
    rows: int  # that have the word, also those without a place
    most: float  # that any of the scores can be
    is_read: bool = False  # all scores are known


class PostingsSource(Protocol):
    """What postings are read from; rows have ids there."""

    @property
    def rows(self) -> int:
        """The number of all rows, also of those that have no place."""

    @property
    def table(self) -> fulltext.WordTable:
        """The keyword index that has them."""

    def places_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of each of some rising ids, -1 for none."""

    def ids_of(self, places: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the id of the row at each place."""

    def in_order(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rising places in an order that does not depend on ids."""


class Chosen(Protocol):
    """The places that may be found, and their order."""

    @property
    def is_visible(self) -> NDArray[np.bool_] | None:
        """Of each place, whether it may be found; None if all may."""

    def in_order(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rising places in an order that does not depend on ids."""


class WordScores:
    """The scores of words in places, read when they are needed. Thread-safe.

    Args:
        source: Where they are read from.
        count: The number of all places.
        max_bytes: How much is kept.
        few_rows: Of so few rows, all scores of a word are read at once.
    """

    def __init__(
        self,
        source: PostingsSource,
        count: int,
        max_bytes: int,
        *,
        few_rows: int = _FEW_ROWS,
    ) -> None:
        self._source = source
        self._count = count
        self._known: LruCache[str, Postings] = LruCache(max_bytes)
        self._reads_whole = source.rows <= few_rows

    @property
    def size_bytes(self) -> int:
        """The memory of what is kept."""
        return self._known.size_bytes

    def count_rows(self, handle: Handle, word: str) -> int:
        """Return the number of rows with a quoted word or phrase, also of those without a place."""
        return self._postings(handle, word).rows

    def best(
        self,
        handle: Handle,
        words: Sequence[str],
        number: int,
        also: Sequence[int] = (),
        chosen: Chosen | None = None,
    ) -> tuple[list[int], list[float]]:
        """Return the places with the highest total scores, rising, and the totals.

        Args:
            handle: A read transaction on the state that this belongs to.
            words: Quoted words or phrases, any of which may match.
            number: How many places to return; among equal ones the first in order.
            also: Places whose scores will be asked for next, and are read on the way.
            chosen: The places that may be found; None for all.
        """
        found = self._all_postings(handle, words)
        is_in = chosen.is_visible if chosen else None
        if all(each.is_read for each in found):
            of_all = np.zeros(self._count)
            for each in found:
                of_all[each.places] += each.scores
            if is_in is not None:
                of_all *= is_in
            likely = np.flatnonzero(of_all)
            totals = of_all[likely]
        else:
            others = np.array(also, np.int64)
            likely = self._likely(handle, found, number, others, is_in)
            at = np.concatenate([likely, others])
            totals = self._totals(handle, found, at)[: len(likely)]
        best = np.sort(highest(likely, totals, number, (chosen or self._source).in_order))
        return likely[best].tolist(), totals[best].tolist()

    def _likely(
        self,
        handle: Handle,
        found: Sequence[Postings],
        number: int,
        also: NDArray[np.int64],
        is_in: NDArray[np.bool_] | None,
    ) -> NDArray[np.int64]:
        """Return all places that may be among the best, and few others.

        To read some scores of a word walks all places that have it, so what is asked for next is
        read together with the first ones: often no second walk is needed.
        """
        guesses = np.zeros(self._count, np.float32)  # of totals
        above = np.zeros(self._count, np.float32)  # how much more they may be
        for each in found:
            unread = np.where(each.scores > 0, 0.0, each.most / 2)
            guesses[each.places] += np.maximum(each.scores, unread)
            above[each.places] += unread
        if is_in is not None:
            guesses *= is_in
        chosen = np.flatnonzero(guesses)
        likely = _LIKELY * number
        if len(chosen) <= likely:
            return chosen
        of_chosen = guesses[chosen]
        first = chosen[np.argpartition(of_chosen, -likely)[-likely:]]
        at = np.concatenate([first, also])
        least = np.partition(self._totals(handle, found, at)[:likely], -number)[-number]
        near: NDArray[np.int64] = chosen[(of_chosen + above[chosen]) * _SLACK >= least]
        return near

    def totals_at(self, handle: Handle, words: Sequence[str], places: Sequence[int]) -> list[float]:
        """Return the total score of words in each of some places."""
        found = self._all_postings(handle, words)
        totals: list[float] = self._totals(handle, found, np.array(places, np.int64)).tolist()
        return totals

    def columns_at(
        self, handle: Handle, words: Sequence[str], places: Sequence[int]
    ) -> list[list[float]]:
        """Return, for each word alone, its score in each of some places."""
        at = np.array(places, np.int64)
        found = self._all_postings(handle, words)
        return [self._scores(handle, each, at).tolist() for each in found]

    def _all_postings(self, handle: Handle, words: Sequence[str]) -> list[Postings]:
        return [self._postings(handle, word) for word in words]

    def _postings(self, handle: Handle, word: str) -> Postings:
        found = self._known.get(word)
        if found is None:
            found = self._whole(handle, word) if self._reads_whole else self._unread(handle, word)
            self._known.put(word, found, _BYTES_A_WORD + _BYTES_A_PLACE * len(found.places))
        return found

    def _whole(self, handle: Handle, word: str) -> Postings:
        rows = fulltext.read_scores(handle, self._source.table, word)
        ids, scores = zip(*rows, strict=True) if rows else ((), ())
        of_ids = self._source.places_of(np.array(ids, np.int64))
        is_shown = of_ids >= 0
        places = of_ids[is_shown].astype(np.int32)
        order = np.argsort(places, kind="stable")  # at once for those that rise already
        of_places = np.array(scores, np.float64)[is_shown][order]
        return Postings(word, places[order], of_places, len(ids), 0.0, is_read=True)

    def _unread(self, handle: Handle, word: str) -> Postings:
        ids = numbers_in(fulltext.read_ids(handle, self._source.table, word))
        of_ids = self._source.places_of(ids)
        places = np.sort(of_ids[of_ids >= 0].astype(np.int32), kind="stable")
        most = fulltext.highest_score(self._source.rows, len(ids)) if len(ids) else 0.0
        return Postings(word, places, np.zeros(len(places)), len(ids), most)

    def _totals(self, handle: Handle, found: Sequence[Postings], at: NDArray[np.int64]) -> Scores:
        totals = np.zeros(len(at))
        for each in found:
            if len(each.places):
                totals += self._scores(handle, each, at)
        return totals

    def _scores(self, handle: Handle, found: Postings, at: NDArray[np.int64]) -> Scores:
        """Return the score in each of some places, 0 without the word; read what is not known."""
        number = len(found.places)
        if not number:
            return np.zeros(len(at))
        where = found.places.searchsorted(at)
        np.minimum(where, number - 1, out=where)
        is_there = found.places[where] == at
        scores = found.scores[where]
        if not found.is_read:
            unread = where[is_there & (scores == 0)]
            if len(unread):
                self._read(handle, found, unread)
                scores = found.scores[where]
        scores *= is_there
        return scores

    def _read(self, handle: Handle, found: Postings, unread: NDArray[np.intp]) -> None:
        """Read some of the scores, or all of them if that takes as long."""
        number, table = len(found.places), self._source.table
        is_whole = number <= _FEW_PLACES or len(unread) > _LARGE_SHARE * number
        among = None if is_whole else self._source.ids_of(found.places[unread]).tolist()
        rows = fulltext.read_scores(handle, table, found.word, among)
        ids, scores = zip(*rows, strict=True) if rows else ((), ())
        places = self._source.places_of(np.array(ids, np.int64))
        is_shown = places >= 0
        where = np.searchsorted(found.places, places[is_shown])
        found.scores[where] = np.array(scores, np.float64)[is_shown]
        found.is_read = found.is_read or is_whole


def numbers_in(text: str) -> NDArray[np.int64]:
    """Return the whole numbers in a text that joins them by commas."""
    return np.fromstring(text, np.int64, sep=",") if text else np.zeros(0, np.int64)
