"""Vectors as they are stored: signed bytes, and the bits of their signs."""

import numpy as np
from numpy.typing import NDArray

#: Rows of signed bytes, one a vector.
Stored = NDArray[np.int8]


def quantized(vectors: NDArray[np.float32]) -> Stored:
    """Scale each row so that its largest number becomes ±127, and round."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scale = np.divide(127.0, largest, out=np.zeros_like(largest), where=largest > 0)
    stored: Stored = np.rint(vectors * scale).astype(np.int8)
    return stored


def signs(vectors: NDArray[np.int8] | NDArray[np.float32]) -> NDArray[np.uint8]:
    """Give the bits of the signs, (rows × dimension / 8), 1 for a number above 0."""
    return np.packbits(vectors > 0, axis=1, bitorder="little")
