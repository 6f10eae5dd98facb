"""Vectors → places on a plane: the two principal components, on axes that stay.

Principal components have no sign of their own, and change a little with every file. So the axes
are made once and kept. Each points to where its largest number is positive, and the places of
files that have not changed stay the same to the last bit. Axes are given up only when they show
less than ``_LEAST_WORTH`` of what new ones would: a tree that has become another one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float32]

#: Of the spread that the best two axes would show, so much is shown by those that are kept.
_LEAST_WORTH = 0.8
#: On each side, one file in two hundred may lie outside the frame, and is drawn on its edge.
_OUTSIDE_PERCENT = 0.5
_LEAST_WIDTH = 1e-6
_SKEW = 1e-3  # that rounding can give to directions of length 1 at right angles


class Axes(NamedTuple):
    """Where the plane lies among the vectors."""

    centre: Numbers  # (dimension)
    directions: Numbers  # (2 × dimension), of length 1, at right angles
    low: Numbers  # (2) where the frame begins, from the centre
    high: Numbers  # (2) where it ends

    def as_bytes(self) -> bytes:
        """Give the numbers, to be kept."""
        parts = (self.centre, self.directions.ravel(), self.low, self.high)
        return np.concatenate(parts).astype("<f4").tobytes()


class Spread(NamedTuple):
    """How vectors differ."""

    centre: Numbers  # (dimension)
    covariance: Numbers  # (dimension × dimension)


def axes_from(numbers: bytes, dimension: int) -> Axes | None:
    """Read axes that were kept; None when they are not of this dimension, or cannot be axes."""
    if len(numbers) != 4 * (3 * dimension + 4):
        return None
    flat = np.frombuffer(numbers, "<f4").astype(np.float32)
    if not np.isfinite(flat).all():
        return None
    centre, directions, frame = np.split(flat, [dimension, 3 * dimension])
    axes = Axes(centre, directions.reshape(2, dimension), frame[:2], frame[2:])
    both = axes.directions.astype(np.float64)  # whose products no number of theirs can overflow
    is_plane = np.allclose(both @ both.T, np.eye(2), atol=_SKEW)
    return axes if is_plane and (axes.low < axes.high).all() else None


def spread_of(vectors: Numbers) -> Spread:
    """Say how vectors differ (files × dimension)."""
    centre = vectors.mean(axis=0)
    away = vectors - centre
    return Spread(centre, away.T @ away / np.float32(max(len(vectors), 1)))


def axes_of(vectors: Numbers, spread: Spread) -> Axes:
    """Give the two principal components of some vectors, at least two, of which the spread is."""
    _, components = np.linalg.eigh(spread.covariance)
    directions = components[:, ::-1][:, :2].T  # the last ones are the longest
    largest = np.abs(directions).argmax(axis=1)
    signs = np.where(directions[np.arange(2), largest] < 0, -1.0, 1.0)
    directions = np.asarray(directions * signs[:, np.newaxis], np.float32)
    found = (vectors - spread.centre) @ directions.T
    low, high = np.percentile(found, [_OUTSIDE_PERCENT, 100 - _OUTSIDE_PERCENT], axis=0)
    ends = (low, np.maximum(high, low + _LEAST_WIDTH))
    return Axes(spread.centre, directions, *(np.asarray(end, np.float32) for end in ends))


def places_of(vectors: Numbers, axes: Axes) -> Numbers:
    """Give where vectors lie in the frame: (files × 2), 0 to 1 from the left and from the top."""
    found = (vectors - axes.centre) @ axes.directions.T
    across = np.clip((found - axes.low) / (axes.high - axes.low), 0.0, 1.0)
    across[:, 1] = 1 - across[:, 1]
    return np.asarray(across, np.float32)


def fidelity_of(spread: Spread, axes: Axes) -> float:
    """Give how much of a spread axes show, 0 to 1."""
    whole = float(np.trace(spread.covariance))
    shown = float(np.sum((axes.directions @ spread.covariance) * axes.directions))
    return min(max(shown / whole, 0.0), 1.0) if whole > 0 else 1.0


def still_fit(spread: Spread, kept: Axes) -> bool:
    """Say whether axes that were kept are still worth it."""
    best = float(np.linalg.eigvalsh(spread.covariance)[-2:].sum())
    whole = float(np.trace(spread.covariance))
    return whole <= 0 or fidelity_of(spread, kept) >= _LEAST_WORTH * best / whole
