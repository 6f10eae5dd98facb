"""Which files the commits that answer a query changed: a feature of ranking.

A commit says in the words of people what files are about. Commits are found by words (BM25), and
each adds its score to the files that it changed, less to each the more they are, and less the more
of the others are newer. So neither depends on the order in which commits were read.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import nlargest
from math import sqrt
from typing import TYPE_CHECKING

from engine.cache import LruCache
from engine.search.weights import MAX_CHANGED_FILES, MAX_COMMITS
from engine.store import history
from engine.store.connection import Handle

if TYPE_CHECKING:
    from engine.search.postings import WordScores

_WORDS_BYTES = 8 << 20
_PATHS_BYTES = 2 << 20
_COMMIT_BYTES = 256  # of memory per commit
_PATH_BYTES = 96


class PastChanges:
    """The commits of a project in one state. Thread-safe."""

    def __init__(self) -> None:
        self._words: WordScores | None = None
        self._ids: list[int] = []  # of all commits, the newest first
        self._paths: LruCache[int, tuple[str, ...]] = LruCache(_PATHS_BYTES)

    @property
    def size_bytes(self) -> int:
        """The approximate memory of what is kept."""
        words = self._words.size_bytes if self._words else 0
        return words + self._paths.size_bytes + 36 * len(self._ids)

    def shares(
        self, handle: Handle, words: Sequence[str], *, keeps_words: bool
    ) -> Mapping[str, float]:
        """Return how much commits speak for files, by path; the best has 1.

        Args:
            handle: A read transaction on the state that this belongs to.
            words: Quoted words, any of which may match.
            keeps_words: Whether to keep the words for other queries, which needs numpy.
        """
        found = self._best_kept(handle, words) if keeps_words else _best(handle, words)
        paths = self._paths_of(handle, [commit_id for commit_id, _ in found])
        totals: dict[str, float] = defaultdict(float)
        for place, (commit_id, score) in enumerate(found):
            of_commit = paths[commit_id]
            if of_commit:
                value = score / sqrt(len(of_commit)) / (place + 3)
                for path in of_commit:
                    totals[path] += value
        best = max(totals.values(), default=1.0)
        return {path: total / best for path, total in totals.items()}

    def _best_kept(self, handle: Handle, words: Sequence[str]) -> list[tuple[int, float]]:
        if self._words is None:
            self._ids = history.read_ids(handle)
            self._words = _word_scores(self._ids)
        places, scores = self._words.best(handle, words, MAX_COMMITS)
        return [(self._ids[place], score) for place, score in zip(places, scores, strict=True)]

    def _paths_of(self, handle: Handle, ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        known = {id_: paths for id_ in ids if (paths := self._paths.get(id_)) is not None}
        unread = [id_ for id_ in ids if id_ not in known]
        if unread:
            read = history.read_changed_paths(handle, unread, MAX_CHANGED_FILES)
            for commit_id, paths in read.items():
                size = _COMMIT_BYTES + _PATH_BYTES * len(paths)
                self._paths.put(commit_id, paths, size)
            known.update(read)
        return known


def _best(handle: Handle, words: Sequence[str]) -> list[tuple[int, float]]:
    """Return the commits with the best scores, the newest first, as of equal scores too."""
    totals: dict[int, float] = defaultdict(float)
    for word in words:
        for commit_id, score in history.read_word_scores(handle, word):
            totals[commit_id] += score
    least = min(nlargest(MAX_COMMITS, totals.values()), default=0.0)
    newest = history.read_ids(handle, [id_ for id_, total in totals.items() if total >= least])
    best = sorted(newest, key=totals.__getitem__, reverse=True)[:MAX_COMMITS]  # a stable order
    chosen = set(best)
    return [(id_, totals[id_]) for id_ in newest if id_ in chosen]


def _word_scores(ids: Sequence[int]) -> "WordScores":
    import numpy as np

    from engine.search.branch_index import CommitPlaces
    from engine.search.postings import WordScores

    places = CommitPlaces(np.array(ids, np.int64), len(ids))
    return WordScores(places, len(ids), _WORDS_BYTES)
