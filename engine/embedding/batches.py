"""Batches of passages, and the unit vectors that come back.

A batch begins small, grows while answers are quick, shrinks when they are slow, and never again
reaches a size that was refused. So nobody has to configure what a server or a machine can take.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.embedding.embedder import Vectors
from engine.records import tokens_of

_FIRST_ITEMS = 8
_QUICK_S = 1.0
_SLOW_S = 3.0

#: The store packs one sign bit of each number into bytes.
_MULTIPLE = 8
#: The largest dimension that the store accepts.
MAX_DIMENSION = 8192


def tokens_in(text: str) -> int:
    """Estimate the number of tokens in a text, at least 1."""
    return max(1, tokens_of(len(text.encode("utf-8", "replace"))))


def valid_utf8(text: str) -> str:
    """Return a text that UTF-8 can encode: each surrogate becomes ``?``.

    Those stand for bytes of file names that are not UTF-8, or come from JSON with half a pair.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class BadNumbersError(ValueError):
    """A vector of the right form whose numbers mean nothing."""


class BatchSize:
    """The number of passages in a batch, adapted to the backend.

    Args:
        max_items: The maximum number of passages.
        max_tokens: The maximum number of tokens, each passage counted as long as the longest of its
            batch, because models pad them; a single longer passage is a batch of its own.
    """

    def __init__(self, max_items: int, max_tokens: int) -> None:
        self._max_items = max_items
        self._max_tokens = max_tokens
        self._items = min(_FIRST_ITEMS, max_items)

    @property
    def items(self) -> int:
        """The maximum number of passages in the next batch."""
        return self._items

    def record_success(self, items: int, took_s: float) -> None:
        """Adapt to the time that a batch took."""
        if took_s > _SLOW_S:
            self._items = max(1, min(self._items, items // 2))
        elif took_s < _QUICK_S and items >= self._items:
            self._items = min(self._items * 2, self._max_items)

    def record_refusal(self, items: int, tokens: int) -> None:
        """Adapt to the refusal of a batch of which half was accepted."""
        self._max_items = max(1, min(self._max_items, items // 2))
        self._max_tokens = max(1, min(self._max_tokens, tokens // 2))
        self._items = min(self._items, self._max_items)

    def fits(self, items: int, longest_tokens: int) -> bool:
        """Return whether so many passages make a batch."""
        return items == 1 or (items <= self._items and items * longest_tokens <= self._max_tokens)


def batches_of(texts: Sequence[str], size: BatchSize) -> Iterator[list[int]]:
    """Yield the indexes of each batch, the longest texts first, to keep padding small.

    The size is read anew for each batch, so what is learned counts at once.
    """
    tokens = [tokens_in(text) for text in texts]
    order = sorted(range(len(texts)), key=lambda index: -tokens[index])
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and size.fits(end + 1 - start, tokens[order[start]]):
            end += 1
        yield order[start:end]
        start = end


def padded(dimension: int) -> int:
    """Return the dimension with which a model's vectors are stored.

    It is the next multiple of 8; the added numbers are 0 and do not change cosines.
    """
    return -(-dimension // _MULTIPLE) * _MULTIPLE


def unit_rows(
    given: ArrayLike, *, count: int, dimension: int | None = None, may_be_zero: bool = False
) -> Vectors:
    """Check vectors and scale each to length 1, as (count × padded dimension).

    Args:
        given: One row per passage, from a model or a server.
        count: The expected number of rows.
        dimension: The expected dimension before padding; None while unknown.
        may_be_zero: Whether rows of zeros are kept as they are, and not refused.

    Raises:
        ValueError: The check failed; the text describes the actual value, as the end of a sentence.
        BadNumbersError: It is the numbers of at least one row, and not the form of the rows.
    """
    rows = _matrix(given)
    if len(rows) != count:
        raise ValueError(f"{len(rows)} vectors for {count} passages")
    if rows.ndim != 2:
        raise ValueError("something other than rows of numbers")
    if not 0 < rows.shape[1] <= MAX_DIMENSION:
        raise ValueError(f"vectors of {rows.shape[1]} numbers, wanted 1 to {MAX_DIMENSION}")
    if dimension is not None and rows.shape[1] != dimension:
        raise ValueError(f"vectors of {rows.shape[1]} numbers, wanted {dimension}")
    if not np.isfinite(rows).all():
        raise BadNumbersError("numbers that are not finite")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise BadNumbersError("numbers that are too large")
    if not may_be_zero and not (lengths > 0).all():
        raise BadNumbersError("vectors of length 0")
    unit = np.zeros((count, padded(rows.shape[1])), np.float32)
    unit[:, : rows.shape[1]] = rows / np.where(lengths > 0, lengths, 1)
    return unit


def _matrix(given: ArrayLike) -> NDArray[np.float64]:
    try:
        rows: NDArray[np.float64] = np.asarray(given, np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError("vectors of unequal length, or no numbers at all") from error
    return np.atleast_1d(rows)
