"""Map ranges of lines from one version of a text to another by the lines that both have."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.history.line_diff import Match


class Range(NamedTuple):
    """Lines from ``start`` to before ``end``, from 0."""

    start: int
    end: int


def kept_lines(matches: Iterable[Match], ranges: Sequence[Range]) -> list[Range]:
    """Return where the lines of some ranges of the new version stand in the old one."""
    found = []
    for run in matches:
        for start, end in ranges:
            first, last = max(start, run.new), min(end, run.new + run.length)
            if first < last:
                found.append(Range(first - run.new + run.old, last - run.new + run.old))
    return merged(found)


def lost_lines(matches: Iterable[Match], ranges: Sequence[Range]) -> list[Range]:
    """Return the lines of some ranges of the new version that the old one lacks."""
    left = list(ranges)
    for run in matches:
        rest = []
        for start, end in left:
            first, last = max(start, run.new), min(end, run.new + run.length)
            if first >= last:
                rest.append(Range(start, end))
                continue
            rest += [Range(*each) for each in ((start, first), (last, end)) if each[0] < each[1]]
        left = rest
    return left


def replaced_lines(
    matches: Sequence[Match], ranges: Sequence[Range], old_lines: int, new_lines: int
) -> list[Range] | None:
    """Return the lines of the old version in place of which lines of some ranges stand.

    Returns:
        They may be none, where lines were only added; None: the ranges were not changed at all.
        Lines that were removed between two lines of a range count.
    """
    found = []
    is_changed = False
    at = new_at = 0
    for run in (*matches, Match(old_lines, new_lines, 0)):
        for start, end in ranges:
            if new_at < end and start < run.new:
                is_changed = is_changed or new_at < run.new or at < run.old
                found.append(Range(at, run.old))
        at, new_at = run.old + run.length, run.new + run.length
    return [each for each in merged(found) if each.start < each.end] if is_changed else None


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Return ranges in order, those that overlap or touch as one."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1].end:
            found[-1] = Range(found[-1].start, max(end, found[-1].end))
        else:
            found.append(Range(start, end))
    return found
