"""The built-in model for chunks and paths; see ``static``.

A word that occurs n times in a field of a chunk counts n to a power, times the factor of the field;
both stand in the weights file.

Sums are exact, so that a vector is the same to the last bit whatever is embedded with it and in
whatever order: rows are whole numbers up to 127, the weights of a text are rounded to whole numbers
with a sum below 2 ** 17, and 32-bit floats hold whole numbers up to 2 ** 24.
"""

import functools
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.embedding.static_weights import Splitter, Weights
from engine.embedding.word_cache import WordCache, split

_TEXTS_AT_ONCE: Final = 32  # their distinct words fit the processor's cache
_MAX_MADE: Final = 50_000  # remembered words without a row of their own
_MAX_COUNT: Final = 4095  # a word that occurs more often counts so
_UNIT: Final = 1 << 30  # weights are first rounded to this part of one
_WEIGHTS_OF_A_TEXT: Final = 1 << 17  # their sum at most
_GROUP_SHIFT: Final = 32
_ID_MASK: Final = (1 << _GROUP_SHIFT) - 1
_TINY: Final = np.float32(1e-12)

Floats = NDArray[np.float32]
_Doubles = NDArray[np.float64]
_Ids = NDArray[np.int64]


class _WordIds(dict[str, int]):
    """Words with their ids: a row, or from ``first`` on the number of a word made of pieces.

    Args:
        words: The words and pieces of the model, with their rows.
        splitter: Cuts other words into those.
    """

    def __init__(self, words: Mapping[str, int], splitter: Splitter) -> None:
        super().__init__(words)
        self._splitter = splitter
        self._words: list[str] = []
        self.first = len(words)
        #: The rows of each word without a row of its own; none for data.
        self.pieces: list[list[int]] = []

    def __missing__(self, word: str) -> int:
        self[word] = number = self.first + len(self.pieces)
        self.pieces.append(self._splitter.rows(word))
        self._words.append(word)
        return number

    def make_room(self) -> bool:
        """Forget the words that were made of pieces if there are many; return whether it did."""
        if len(self._words) <= _MAX_MADE:
            return False
        for word in self._words:
            del self[word]
        self._words, self.pieces = [], []
        return True


class StaticModel:
    """Texts → vectors of length 1; all zeros for a text without words.

    Args:
        weights: The weights, whose rows are not copied.
    """

    def __init__(self, weights: Weights) -> None:
        header = weights.header
        self.dimension = header.dimension
        levels = np.frombuffer(weights.data, np.int8, offset=weights.rows_at)
        self._levels = levels.reshape(header.rows, header.dimension)
        scales = np.frombuffer(weights.data, "<f2", header.rows, weights.scales_at)
        self._scales = scales.astype(np.float64)
        self._weights = weights
        self._places = np.zeros(header.rows, np.int64)  # see ``_distinct``
        self._known = WordCache()
        self._lock = threading.Lock()  # embedding remembers words, and uses ``_places``
        powers = [count**header.count_power for count in range(_MAX_COUNT + 1)]
        # The weight of a word by field and count.
        self._chunk_weights = np.outer(header.field_factors, powers)
        self._path_weights = np.outer(header.path_factors, np.ones(_MAX_COUNT + 1))

    def embed_paths(self, paths: Sequence[tuple[str, str]]) -> Floats:
        """Return the vectors of paths, one per row.

        Args:
            paths: The words of the folders of each, as ``terms_of`` returns them, and those of its
                name up to the first dot. A word counts once in each of the two.
        """
        return self._embed(paths, self._path_weights)

    def embed_chunks(self, rows: Sequence[tuple[str, str, str]]) -> Floats:
        """Return the vectors of chunks, one per row; about 40 µs each.

        Args:
            rows: The name, signature and body terms of each, as ``syntax.analysis`` returns them.
        """
        return self._embed(rows, self._chunk_weights)

    def _embed(self, texts: Sequence[tuple[str, ...]], weights: _Doubles) -> Floats:
        """Embed the fields of texts by the weight of a word in each field, by its count there."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            some = texts[start : start + _TEXTS_AT_ONCE]
            with self._lock:
                number, ids, counts = self._counted(chain.from_iterable(some))
                text, field = np.divmod(number, len(weights))
                of_words = weights[field, np.minimum(counts, _MAX_COUNT)]
                sums = self._sums(text, ids, of_words, len(some))
            vectors[start : start + len(some)] = sums
        return normalised(vectors)

    def load(self) -> None:
        """Read the words of the model now, not with the first chunk."""
        self._ids.make_room()
        self._weights.splitter.prepare()

    @functools.cached_property
    def _ids(self) -> _WordIds:
        return _WordIds(self._weights.rows, self._weights.splitter)

    def _counted(self, fields: Iterable[str]) -> tuple[_Ids, _Ids, _Ids]:
        """Return the number of a field, the id and the count of each of its distinct words."""
        if self._ids.make_room():
            self._known.clear()
        field, words = split(fields)
        keys, counts = np.unique_counts(field << _GROUP_SHIFT | self._known.ids(words, self._ids))
        return keys >> _GROUP_SHIFT, keys & _ID_MASK, counts

    def _sums(self, text: _Ids, ids: _Ids, weights: _Doubles, number: int) -> Floats:
        """Return the weighted sum of the rows of words for each text, at a scale of its own."""
        text, ids, weights = self._with_pieces(text, ids, weights)
        weights = np.rint(weights * self._scales[ids] * _UNIT)
        totals = np.bincount(text, weights, number)
        weights = np.floor(weights * _WEIGHTS_OF_A_TEXT / np.maximum(totals, 1)[text])
        rows, columns = self._distinct(ids)
        places = text * len(rows) + columns
        table = np.bincount(places, weights, number * len(rows)).astype(np.float32)
        products: Floats = table.reshape(number, len(rows)) @ self._levels[rows].astype(np.float32)
        return products

    def _distinct(self, ids: _Ids) -> tuple[_Ids, _Ids]:
        """Return the distinct rows, in any order, and the place of each id among them.

        A table of all rows takes less time than sorting; what it holds before does not matter.
        """
        places, numbers = self._places, np.arange(len(ids))
        places[ids] = numbers
        rows = ids[places[ids] == numbers]
        places[rows] = numbers[: len(rows)]
        return rows, places[ids]

    def _with_pieces(self, text: _Ids, ids: _Ids, weights: _Doubles) -> tuple[_Ids, _Ids, _Doubles]:
        """Put the pieces of the words that have no row in their place."""
        first, pieces = self._ids.first, self._ids.pieces
        is_made = ids >= first
        if not is_made.any():
            return text, ids, weights
        made = [pieces[number] for number in (ids[is_made] - first).tolist()]
        sizes = np.fromiter(map(len, made), np.intp, len(made))
        rows = np.fromiter(chain.from_iterable(made), np.int64, int(sizes.sum()))
        is_row = ~is_made
        return (
            np.concatenate([text[is_row], np.repeat(text[is_made], sizes)]),
            np.concatenate([ids[is_row], rows]),
            np.concatenate([weights[is_row], np.repeat(weights[is_made], sizes)]),
        )


def normalised(sums: Floats) -> Floats:
    """Scale rows to length 1; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    scaled: Floats = sums / np.maximum(lengths, _TINY)[:, None]
    return scaled
