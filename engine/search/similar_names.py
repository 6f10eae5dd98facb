"""The symbol names of an index that are like a text, for a process that answers several queries.

Two names are alike by ``WRatio``: they differ by a few characters, or the shorter one does so from
a part of the longer one; names of several words are compared word by word too. That takes 1 µs a
name. Most are excluded sooner, by their longest common subsequence with the text: its length bounds
the likeness of names that are one word.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from engine.search.weights import MAX_FUZZY_NAMES, MIN_FUZZY_LIKENESS
from engine.store import symbols
from engine.store.connection import Handle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Finds the names in an index that are like a lower-case text, with their likeness, of 100.
FindSimilar = Callable[[Handle, str], list[tuple[str, float]]]

#: Of WRatio: what parts of names count, and from which ratio of lengths on; names with a larger
#: ratio than the last one are never alike.
_PART_FACTOR = 0.9
_PART_RATIO = 1.5
_MAX_RATIO = 8

_NAME_BYTES = 80  # of memory per name, without its characters
_FEW_NAMES = 2000  # which are all compared; loading numpy would take longer for some 60,000
_SLACK = 0.999  # for rounding; what passes is compared again


def find_similar(handle: Handle, text: str) -> list[tuple[str, float]]:
    """Return the names in an index that are most like a lower-case text; see ``SimilarNames``."""
    return SimilarNames(symbols.read_names(handle)).find(text)


class SimilarNames:
    """All names in one state of the index. Thread-safe.

    Args:
        names: Each once, in lower case.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.size_bytes = sum(map(len, names)) + _NAME_BYTES * len(names)

    def find(self, text: str) -> list[tuple[str, float]]:
        """Return the names most like a lower-case text with their likeness, of 100; best first."""
        from rapidfuzz import fuzz, process  # only when a name is not there

        is_small = len(self._names) < _FEW_NAMES or "numpy" not in sys.modules
        names = self._names if is_small or text.split() != [text] else self._candidates(text)
        found = process.extract(
            text, names, scorer=fuzz.WRatio, limit=MAX_FUZZY_NAMES, score_cutoff=MIN_FUZZY_LIKENESS
        )
        return [(name, likeness) for name, likeness, _ in found]

    @cached_property
    def _columns(self) -> "tuple[NDArray[np.object_], NDArray[np.int64], NDArray[np.bool_]]":
        """The names, their lengths, and which are one word."""
        import numpy as np

        number = len(self._names)
        names = np.empty(number, np.object_)
        names[:] = self._names
        lengths = np.fromiter(map(len, self._names), np.int64, number)
        words = np.fromiter((name.split() == [name] for name in self._names), np.bool_, number)
        return names, lengths, words

    def _candidates(self, text: str) -> list[str]:
        """Return the names that can be like a word, in order."""
        import numpy as np
        from rapidfuzz import fuzz, process
        from rapidfuzz.distance import LCSseq

        names, lengths, are_words = self._columns
        size = len(text)
        may_pass = (lengths <= _MAX_RATIO * size) & (size <= _MAX_RATIO * lengths)
        compared = np.flatnonzero(may_pass & are_words)
        lengths = lengths[compared]
        common = process.cdist([text], names[compared].tolist(), scorer=LCSseq.similarity)[0]
        may_pass[compared] = 200 * common >= _SLACK * MIN_FUZZY_LIKENESS * (size + lengths)
        shorter = np.minimum(lengths, size)
        least = _SLACK * MIN_FUZZY_LIKENESS / _PART_FACTOR
        # A part is at most as long as the shorter name, and at least as long as what is common.
        has_part = (np.maximum(lengths, size) >= _PART_RATIO * shorter) & (
            (200 - least) * common >= least * shorter
        )
        compared = compared[has_part]
        likeness = process.cdist(
            [text],
            names[compared].tolist(),
            scorer=fuzz.partial_ratio,
            score_cutoff=least,
            dtype=np.float64,
        )[0]
        may_pass[compared] |= likeness >= least
        passing: list[str] = names[may_pass].tolist()
        return passing
