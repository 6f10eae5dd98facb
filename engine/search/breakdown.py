"""How a score comes about: shares that are added, then factors that lower the sum."""

import math
from typing import NamedTuple


class Part(NamedTuple):
    """One number that goes into a score."""

    name: str  # stands for the rule; once among the shares, once among the factors
    value: float
    why: str = ""  # for people; empty when the part says nothing to them


class Breakdown(NamedTuple):
    """All numbers of one score."""

    shares: tuple[Part, ...] = ()
    factors: tuple[Part, ...] = ()

    @property
    def score(self) -> float:
        """The score: the sum of the shares times the product of the factors."""
        return sum(part.value for part in self.shares) * math.prod(
            part.value for part in self.factors
        )

    @property
    def why(self) -> tuple[str, ...]:
        """The parts in words, in their order."""
        return tuple([part.why for part in self.shares + self.factors if part.why])


#: Of a place that no rule has seen yet.
NOT_SCORED = Breakdown()


def raised(name: str, value: float, why: str = "") -> Part:
    """Make a share, in words ``why +0.25``; its name when no other words are given."""
    return Part(name, value, f"{why or name} +{value:.2f}")


def lowered(name: str, value: float) -> Part:
    """Make a factor, in words ``name ×0.5``."""
    return Part(name, value, f"{name} ×{value:g}")
