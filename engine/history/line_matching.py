"""Match the lines of two versions of a text, and map ranges of lines from one to the other.

Lines that stand once in both versions are matched in the longest order that both have, then what is
between them in the same way, and where no line stands once, by the shortest edit (Myers 1986). The
work grows with the number of lines, whatever they are.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_MOST_LEVELS: Final = 12  # of matching between matches
_STEPS: Final = 16  # in search of shortest edits, for each line of both versions


class Match(NamedTuple):
    """A run of lines that both versions have."""

    old: int  # where it begins
    new: int
    length: int


class Range(NamedTuple):
    """Lines from ``start`` to before ``end``, from 0."""

    start: int
    end: int


class _Gap(NamedTuple):
    old: Range
    new: Range
    level: int


def matching_runs(old: Sequence[bytes], new: Sequence[bytes]) -> list[Match]:
    """Return the runs of lines that both versions have, in order."""
    found: list[Match] = []
    gaps = [_Gap(Range(0, len(old)), Range(0, len(new)), 0)]
    steps = _STEPS * (len(old) + len(new))
    while gaps:
        (start, end), (new_start, new_end), level = gaps.pop()
        head = 0
        most = min(end - start, new_end - new_start)
        while head < most and old[start + head] == new[new_start + head]:
            head += 1
        tail = 0
        while tail < most - head and old[end - 1 - tail] == new[new_end - 1 - tail]:
            tail += 1
        if head:
            found.append(Match(start, new_start, head))
        if tail:
            found.append(Match(end - tail, new_end - tail, tail))
        if level == _MOST_LEVELS or head + tail == most:
            continue
        at, new_at = start + head, new_start + head
        for old_line, new_line in _anchors(
            old, new, Range(at, end - tail), Range(new_at, new_end - tail)
        ):
            found.append(Match(old_line, new_line, 1))
            gaps.append(_Gap(Range(at, old_line), Range(new_at, new_line), level + 1))
            at, new_at = old_line + 1, new_line + 1
        if at > start + head:
            gaps.append(_Gap(Range(at, end - tail), Range(new_at, new_end - tail), level + 1))
            continue
        edit = ShortestEdit(old[at : end - tail], new[new_at : new_end - tail], steps)
        found += [Match(at + line, new_at + new_line, 1) for line, new_line in edit.kept]
        steps = edit.left
    return sorted(found)


def _anchors(
    old: Sequence[bytes], new: Sequence[bytes], in_old: Range, in_new: Range
) -> list[tuple[int, int]]:
    """Return the lines that stand once in both ranges, as many as have the same order."""
    old_counts = Counter(old[in_old.start : in_old.end])
    new_counts = Counter(new[in_new.start : in_new.end])
    place = {
        old[number]: number
        for number in range(*in_old)
        if old_counts[old[number]] == new_counts[old[number]] == 1
    }
    lasts: list[int] = []  # the smallest last line of a chain of each length
    chains: list[tuple[int, int, int]] = []  # old line, new line, place of the one before
    ends: list[int] = []
    for number in range(*in_new):
        at = place.get(new[number])
        if at is None:
            continue
        length = bisect_left(lasts, at)
        chains.append((at, number, ends[length - 1] if length else -1))
        lasts[length : length + 1] = [at]
        ends[length : length + 1] = [len(chains) - 1]
    chosen: list[tuple[int, int]] = []
    link = ends[-1] if ends else -1
    while link >= 0:
        at, number, link = chains[link]
        chosen.append((at, number))
    return chosen[::-1]


class ShortestEdit:
    """The lines that the shortest edit of a text keeps; none if there are not steps enough.

    Args:
        old: The text before.
        new: The text after.
        steps: How many steps it may take.
    """

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes], steps: int) -> None:
        self.left = steps
        self.kept: list[tuple[int, int]] = []  # lines of both, the last ones first
        # How far each diagonal was reached, after each number of edits.
        reached: list[dict[int, int]] = [{1: 0}]
        for edits in range(len(old) + len(new) + 1):
            before, after = reached[-1], {}
            for diagonal in range(-edits, edits + 1, 2):
                at = _next(before, diagonal, edits)
                first = at
                while at < len(old) and at - diagonal < len(new) and old[at] == new[at - diagonal]:
                    at += 1
                after[diagonal] = at
                self.left -= 1 + at - first
                if at >= len(old) and at - diagonal >= len(new):
                    self._keep(reached, at, diagonal)
                    return
            if self.left <= 0:
                return
            reached.append(after)

    def _keep(self, reached: list[dict[int, int]], at: int, diagonal: int) -> None:
        for edits in range(len(reached) - 1, -1, -1):
            first = _next(reached[edits], diagonal, edits)
            self.kept += [(each, each - diagonal) for each in range(at - 1, first - 1, -1)]
            is_added = first == reached[edits].get(diagonal + 1)
            at = first if is_added else first - 1
            diagonal += 1 if is_added else -1


def _next(before: dict[int, int], diagonal: int, edits: int) -> int:
    """Return where a diagonal is entered by one more edit, as far on as possible."""
    added, removed = before.get(diagonal + 1, -1), before.get(diagonal - 1, -1) + 1
    return added if edits == 0 or added >= removed else removed


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
