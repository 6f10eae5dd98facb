"""What a model gives → unit vectors that the store can keep, or a reason why not."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.embedding.embedder import Vectors

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
