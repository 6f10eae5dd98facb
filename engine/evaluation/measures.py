"""What an answer is worth: ranks of targets, measures of them, and how sure a difference is.

A hit meets a target when their paths are equal, or one is the end of the other at a ``/``, and
their lines overlap. Each target takes the rank of the first hit that meets it. Hits are not made
distinct by file: a second place of a file takes up a rank and earns nothing.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.evaluation.golden import Percentiles, Target

_RESAMPLES = 10_000
_DRAWN_AT_ONCE = 1 << 20  # numbers, which bounds the memory to some 20 MB
_SEED = 20_000


class Place(Protocol):
    """Lines of a file, such as a hit."""

    @property
    def path(self) -> str:
        """Relative to some root, POSIX."""

    @property
    def line_start(self) -> int:
        """From 1."""

    @property
    def line_end(self) -> int:
        """Inclusive."""


def is_same_file(path: str, other: str) -> bool:
    """Say whether two paths are equal, or one is the end of the other at a ``/``."""
    longer, shorter = (path, other) if len(path) >= len(other) else (other, path)
    return longer == shorter or longer.endswith(f"/{shorter}")


def ranks_of(
    hits: Sequence[Place], targets: Iterable[Target], limit: int
) -> tuple[int | None, ...]:
    """Give the rank of each target among the first hits, from 1; None for one not found.

    Args:
        hits: Best first.
        targets: What answers the question.
        limit: How many hits count.
    """
    return tuple(_rank_of(hits[:limit], target) for target in targets)


def _rank_of(hits: Sequence[Place], target: Target) -> int | None:
    last = math.inf if target.line_end is None else target.line_end
    for rank, hit in enumerate(hits, 1):
        overlaps = hit.line_start <= last and target.line_start <= hit.line_end
        if overlaps and is_same_file(hit.path, target.path):
            return rank
    return None


def ndcg_of(ranks: Sequence[int | None], limit: int) -> float:
    """Give the discounted gain of the distinct ranks, as a share of that of a perfect answer.

    A perfect answer has every target at a rank of its own, as far as ``limit`` goes.
    """
    gain = sum(map(_discount, sorted({rank for rank in ranks if rank})))
    return gain / sum(map(_discount, range(1, min(limit, len(ranks)) + 1)))


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def recall_of(ranks: Sequence[int | None]) -> float:
    """Give the share of the targets that were found."""
    return sum(rank is not None for rank in ranks) / len(ranks)


def percentiles_of(times_ms: Iterable[float]) -> Percentiles:
    """Give p50, p90 and p99 by nearest rank; of at least one time."""
    ordered = sorted(times_ms)

    def at(share: int) -> float:
        return ordered[-(-len(ordered) * share // 100) - 1]

    return Percentiles(p50_ms=at(50), p90_ms=at(90), p99_ms=at(99))


def interval_of(differences: Sequence[float]) -> tuple[float, float]:
    """Give the 95 % interval of the mean of paired differences, by a percentile bootstrap.

    The same differences give the same interval: the draws are seeded.

    Args:
        differences: One a query, at least one.
    """
    import numpy as np  # takes 60 ms, and only comparisons need it

    values = np.asarray(differences)
    draws = np.random.default_rng(_SEED)
    means: list[float] = []
    while len(means) < _RESAMPLES:
        rows = min(_RESAMPLES - len(means), max(1, _DRAWN_AT_ONCE // len(values)))
        chosen = draws.integers(0, len(values), (rows, len(values)))
        means.extend(values[chosen].mean(axis=1).tolist())
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
