"""Passages → batches: how many go together, learned from the answers.

A batch begins small, grows while answers are quick, shrinks when they are slow, and never again
reaches a size that was refused. So nobody has to know what a server or a machine can take.

What a model gives → unit vectors that the store can keep, or a reason why not.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.embedding.embedder import Vectors
from engine.records import tokens_of

_FIRST_ITEMS = 8
_QUICK_S = 1.0
_SLOW_S = 3.0


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text as budgets count them, at least 1."""
    return max(1, tokens_of(len(text.encode("utf-8", "replace"))))


def readable(text: str) -> str:
    """Give a text that UTF-8 can carry: bytes of file names that are not UTF-8 become ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class BatchSize:
    """How many passages go together.

    Args:
        most_items: Never more passages.
        most_tokens: Never more tokens, each passage counted as long as the longest of its batch,
            as models fill them up; a single longer passage is a batch of its own.
    """

    def __init__(self, most_items: int, most_tokens: int) -> None:
        self._most_items = most_items
        self._most_tokens = most_tokens
        self._items = min(_FIRST_ITEMS, most_items)

    @property
    def items(self) -> int:
        """Passages in the next batch at most."""
        return self._items

    def answered(self, items: int, took_s: float) -> None:
        """Take note of an answer and of the time it took."""
        if took_s > _SLOW_S:
            self._items = max(1, min(self._items, items // 2))
        elif took_s < _QUICK_S and items >= self._items:
            self._items = min(self._items * 2, self._most_items)

    def refused(self, items: int, tokens: int) -> None:
        """Take note that so many passages were too much, although half of them were not."""
        self._most_items = max(1, min(self._most_items, items // 2))
        self._most_tokens = max(1, min(self._most_tokens, tokens // 2))
        self._items = min(self._items, self._most_items)

    def fits(self, items: int, longest_tokens: int) -> bool:
        """Say whether so many passages go together."""
        return items == 1 or (items <= self._items and items * longest_tokens <= self._most_tokens)


def batches_of(texts: Sequence[str], size: BatchSize) -> Iterator[list[int]]:
    """Give the indexes of texts that go together, the longest first: equals share a batch.

    The size is asked for each batch anew, so what is learned counts at once.
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


#: The store keeps one bit a number and packs eight of them.
_MULTIPLE = 8
#: Most numbers in a vector that the store takes.
_MOST_NUMBERS = 8192


def padded(dimension: int) -> int:
    """Give the dimension that vectors of a model are stored with.

    It is the next multiple of 8; the numbers added are 0, which no cosine sees.
    """
    return -(-dimension // _MULTIPLE) * _MULTIPLE


def unit_rows(given: ArrayLike, *, count: int, dimension: int | None = None) -> Vectors:
    """Check vectors and scale each to length 1, as (count × padded dimension).

    Args:
        given: One row a passage, as a model or a server gave them.
        count: How many there have to be.
        dimension: How many numbers each has to have, before padding; None when not known yet.

    Raises:
        ValueError: They are not that; the text says what they are, as the end of a sentence.
    """
    rows = _matrix(given)
    if len(rows) != count:
        raise ValueError(f"{len(rows)} vectors for {count} passages")
    if rows.ndim != 2:
        raise ValueError("something else than rows of numbers")
    if not 0 < rows.shape[1] <= _MOST_NUMBERS:
        raise ValueError(f"vectors of {rows.shape[1]} numbers, wanted 1 to {_MOST_NUMBERS}")
    if dimension is not None and rows.shape[1] != dimension:
        raise ValueError(f"vectors of {rows.shape[1]} numbers, wanted {dimension}")
    if not np.isfinite(rows).all():
        raise ValueError("numbers that are not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (lengths > 0).all():
        raise ValueError("vectors of length 0")
    unit = np.zeros((count, padded(rows.shape[1])), np.float32)
    unit[:, : rows.shape[1]] = rows / lengths
    return unit


def _matrix(given: ArrayLike) -> NDArray[np.float64]:
    try:
        rows: NDArray[np.float64] = np.asarray(given, np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError("vectors of unequal length, or no numbers at all") from error
    return np.atleast_1d(rows)
