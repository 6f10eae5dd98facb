"""The loss of a batch and its gradient, by hand.

A question's score for an answer is the cosine with the chunk plus a share of the cosine with its
path. The loss is InfoNCE (van den Oord et al. 2018) over the answers of the batch, in both
directions, at several leading dimensions at once (Matryoshka, Kusupati et al. 2022).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

FORWARD_SHARE = 0.7  # of the direction question → answer
_TINY = 1e-6


class Scored(NamedTuple):
    """A loss with its gradients with respect to the sums of the three kinds of bags."""

    value: float
    queries: Floats
    answers: Floats
    paths: Floats


def contrast(
    sums: tuple[Floats, Floats, Floats],
    masked: NDArray[np.bool_],
    *,
    temperature: float,
    path_share: float,
    sizes: tuple[int, ...],
) -> Scored:
    """Give the loss of a batch.

    Args:
        sums: Weighted sums of the rows of the questions, answers and paths, n × dimension each.
            Answer i with path i belongs to question i; a path may be all zeros.
        masked: n × n, the pairs that do not count as negatives; its diagonal is False.
        temperature: Divides the scores.
        path_share: How much the path's cosine counts.
        sizes: Leading dimensions at which the loss is taken; their losses are averaged.
    """
    gradients = [np.zeros_like(each) for each in sums]
    value = 0.0
    for size in sizes:
        units = [normalised(each[:, :size]) for each in sums]
        (queries, _), (answers, _), (paths, _) = units
        targets = answers + np.float32(path_share) * paths
        logits = queries @ targets.T
        logits /= np.float32(temperature)
        logits[masked] = -1e9
        loss, slope = _cross_entropy(logits)
        value += loss / len(sizes)
        slope /= np.float32(temperature * len(sizes))
        d_targets = slope.T @ queries
        slopes = (slope @ targets, d_targets, np.float32(path_share) * d_targets)
        for gradient, d_unit, (unit, length) in zip(gradients, slopes, units, strict=True):
            gradient[:, :size] += _through_norm(d_unit, unit, length)
    return Scored(value, *gradients)


def normalised(sums: Floats) -> tuple[Floats, Floats]:
    """Scale rows to length 1; gives the lengths, n × 1, as well. Rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None] + np.float32(_TINY)
    return sums / lengths, lengths


def _through_norm(slope: Floats, unit: Floats, length: Floats) -> Floats:
    along = np.einsum("ij,ij->i", slope, unit)[:, None]
    passed: Floats = (slope - unit * along) / length
    return passed


def _cross_entropy(logits: Floats) -> tuple[float, Floats]:
    """Give the loss of both directions and its gradient with respect to the logits."""
    count = len(logits)
    right = np.diagonal(logits)
    value = 0.0
    slope = np.zeros_like(logits)
    for axis, share in ((1, FORWARD_SHARE), (0, 1 - FORWARD_SHARE)):
        top = logits.max(axis=axis, keepdims=True)
        powers = np.exp(logits - top)
        sums = powers.sum(axis=axis, keepdims=True)
        value += share * float((np.log(sums) + top).ravel().mean() - right.mean())
        powers *= np.float32(share / count) / sums
        slope += powers
    slope[np.arange(count), np.arange(count)] -= np.float32(1 / count)
    return value, slope
