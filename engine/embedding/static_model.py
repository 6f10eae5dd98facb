"""The built-in model for chunks and paths; see ``static``.

A word that occurs n times in a field of a chunk counts n to a power, times the factor of the field;
both stand in the weights file.
"""

import functools
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from engine.embedding.static_weights import Splitter, Weights

_MAX_DERIVED: Final = 32_768  # cached rows of words that have none of their own
_ROOM: Final = 2048  # for the distinct words of one text
_TINY: Final = np.float32(1e-12)

Floats = NDArray[np.float32]


class _WordRows(dict[str, int]):
    """Words with their rows; a word without a row gets one made of its pieces.

    Args:
        words: The words and pieces of the model, with their rows.
        splitter: Cuts other words into those.
        levels: Their rows.
        scales: The scale of each.
    """

    def __init__(
        self, words: Mapping[str, int], splitter: Splitter, levels: NDArray[np.int8], scales: Floats
    ) -> None:
        super().__init__(words)
        self._splitter = splitter
        count, dimension = len(levels), levels.shape[1]
        #: The rows, with room for ``_MAX_DERIVED`` more and a last one of zeros.
        self.levels = np.zeros((count + _MAX_DERIVED + 1, dimension), np.int8)
        self.levels[:count] = levels
        self.scales = np.zeros(len(self.levels), np.float32)
        self.scales[:count] = scales
        self._first = self._next = count
        self._none = len(self.levels) - 1

    def make_room(self) -> Self:
        """Drop the rows that were made if the words of one more text might not fit."""
        if self._next > self._none - _ROOM:
            for word in [word for word, row in self.items() if row >= self._first]:
                del self[word]
            self._next = self._first
        return self

    def __missing__(self, word: str) -> int:
        rows = self._splitter.rows(word)
        row = self._next
        if not rows or row == self._none:
            return self._none
        made = (self.levels[rows] * self.scales[rows, None]).sum(axis=0)
        self.levels[row], self.scales[row] = quantised(made)
        self[word] = row
        self._next += 1
        return row


class _CountWeights(dict[int, float]):
    """The weight of a word that occurs n times in a field."""

    def __init__(self, factor: float, power: float) -> None:
        super().__init__()
        self._factor = factor
        self._power = power

    def __missing__(self, count: int) -> float:
        weight: float = self._factor * count**self._power
        self[count] = weight
        return weight


class StaticModel:
    """Texts → vectors of length 1; all zeros for a text without words.

    Args:
        weights: The weights, whose rows are not copied before chunks are embedded.
    """

    def __init__(self, weights: Weights) -> None:
        header = weights.header
        self.dimension = header.dimension
        levels = np.frombuffer(weights.data, np.int8, offset=weights.rows_at)
        self._levels = levels.reshape(header.rows, header.dimension)
        scales = np.frombuffer(weights.data, "<f2", header.rows, weights.scales_at)
        self._scales = scales.astype(np.float32)
        self._weights = weights
        self._folder_factor, self._stem_factor = header.path_factors
        self._lock = threading.Lock()  # making vectors can add rows
        self._curves = [
            _CountWeights(factor, header.count_power) for factor in header.field_factors
        ]

    def embed_path(self, folders: str, stem: str) -> Floats:
        """Return the vector of a path.

        Args:
            folders: The words of its folders, as ``terms_of`` gives them.
            stem: The words of its name up to the first dot.
        """
        weights = dict.fromkeys(folders.split(), self._folder_factor)
        for word in dict.fromkeys(stem.split()):
            weights[word] = weights.get(word, 0.0) + self._stem_factor
        return self._vector(weights)

    def embed_chunks(self, rows: Sequence[tuple[str, str, str]]) -> Floats:
        """Return the vectors of chunks, one per row; about 85 µs each.

        Args:
            rows: The name, signature and body terms of each, as ``syntax.analysis`` gives them.
        """
        sums = np.zeros((len(rows), self.dimension), np.float32)
        for total, fields in zip(sums, rows, strict=True):
            with self._lock:
                self._add(total, fields)
        return normalised(sums)

    def _add(self, total: Floats, fields: tuple[str, str, str]) -> None:
        """Add the words of a chunk to its sum."""
        rows = self._rows.make_room()
        row_of = rows.__getitem__
        words: list[int] = []
        weights: list[float] = []
        for field, curve in zip(fields, self._curves, strict=True):
            counts = Counter(field.split())
            words += map(row_of, counts)
            weights += map(curve.__getitem__, counts.values())
        if words:
            taken = np.array(words)
            factors = np.array(weights, np.float32) * rows.scales[taken]
            total += factors @ rows.levels[taken].astype(np.float32)

    @functools.cached_property
    def _rows(self) -> _WordRows:
        """The rows that chunks use: those of the file, and others made as words need them."""
        return _WordRows(self._weights.rows, self._weights.splitter, self._levels, self._scales)

    def _vector(self, weights: Mapping[str, float]) -> Floats:
        """Return the vector of weighted words."""
        words = [
            (row, weights[word]) for word in weights for row in self._weights.splitter.rows(word)
        ]
        if not words:
            return np.zeros(self.dimension, np.float32)
        rows, factors = zip(*words, strict=True)
        taken = np.array(rows)
        weighted = np.array(factors, np.float32) * self._scales[taken]
        return _unit(weighted @ self._levels[taken].astype(np.float32))


def _unit(vector: Floats) -> Floats:
    """Scale one vector to length 1."""
    scaled: Floats = vector / max(float(np.sqrt(vector @ vector)), float(_TINY))
    return scaled.astype(np.float32, copy=False)


def normalised(sums: Floats) -> Floats:
    """Scale rows to length 1; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    scaled: Floats = sums / np.maximum(lengths, _TINY)[:, None]
    return scaled


def quantised(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Quantise rows, or one row, to integers from -127 to 127 and a scale per row."""
    scales = np.maximum(np.abs(rows).max(axis=-1) / np.float32(127), _TINY)
    return np.rint(rows / scales[..., None]).astype(np.int8), scales
