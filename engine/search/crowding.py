"""Lowers further places of one file, so that an answer shows more than one file."""

from collections import defaultdict
from collections.abc import Callable

from engine.search.breakdown import Part
from engine.search.rank import Candidate


def sort_spread(candidates: list[Candidate], worth_of: Callable[[int], float]) -> None:
    """Sort, best first, ties by path and line, each further place of a file lowered by the crowd.

    Args:
        candidates: With their breakdowns, in any order.
        worth_of: Gives what a place keeps of its score with so many of its file before it.
    """
    candidates.sort(key=_order)
    taken: dict[str, int] = defaultdict(int)
    for candidate in candidates:
        path, breakdown = candidate.chunk.path, candidate.breakdown
        value = worth_of(taken[path])
        taken[path] += 1
        if value < 1:
            crowding = Part("crowding", value, f"place {taken[path]} of its file")
            candidate.breakdown = breakdown._replace(factors=(*breakdown.factors, crowding))
            candidate.score = candidate.breakdown.score
    candidates.sort(key=_order)


def _order(candidate: Candidate) -> tuple[float, str, int]:
    return (-candidate.score, candidate.chunk.path, candidate.chunk.line_start)
