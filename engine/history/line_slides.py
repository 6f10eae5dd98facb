"""Where a group of changed lines stands best, of the places that say the same.

A group can move down by a line if the line after it is its first one, and up likewise. It is left
where the other version changed too, or else where it suits the indentation and the blank lines
around it (as in ``git``; M. Haggerty measured the numbers on many repositories).
"""

from collections.abc import Sequence, Set
from typing import Final, NamedTuple

_MOST_MOVES: Final = 100
_MOST_BLANKS: Final = 20  # that are looked at
_MOST_INDENT: Final = 200
_TAB: Final = 8
_BLANK: Final = -1  # in place of an indent

# What speaks against a place, from measuring.
_AT_START: Final = 1
_AT_END: Final = 21
_PER_BLANK: Final = -30
_PER_BLANK_AFTER: Final = 6
_INDENTED: Final = (-4, 10)  # more than the line before; with blank lines around
_OUTDENTED: Final = (24, 17)  # less, and less than the line after
_DEDENTED: Final = (23, 17)  # less
_PER_INDENT: Final = 60


class Group(NamedTuple):
    """Lines that are changed."""

    gap: int  # how many lines before it are not
    start: int
    end: int


def slid(lines: Sequence[bytes], groups: Sequence[Group], others: Set[int]) -> list[Group]:
    """Return groups of changed lines where they stand best.

    Args:
        lines: The text.
        groups: In order; they never touch.
        others: The gaps at which the other version has groups.
    """
    found: list[Group] = []
    rest = list(reversed(groups))
    while rest:
        _Slide(lines, found, rest).settle(others)
    return found


class _Slide:
    """One group on its way.

    Args:
        lines: The text.
        before: The groups before it, to which it is added.
        after: It and the groups after it, the last ones first; it is taken away.
    """

    def __init__(self, lines: Sequence[bytes], before: list[Group], after: list[Group]) -> None:
        self._lines = lines
        self._before, self._after = before, after
        self._gap, self._start, self._end = after.pop()

    def settle(self, others: Set[int]) -> None:
        """Move the group to where it stands best."""
        size = 0
        highest = 0  # where it can end
        with_other = False
        while size != self._end - self._start:  # it has become one with another group
            size = self._end - self._start
            while self._move_up():
                pass
            highest = self._end
            with_other = self._gap in others
            while self._move_down():
                with_other = with_other or self._gap in others
        if self._end > highest:
            if with_other:
                while self._gap not in others:
                    self._move_up()
            else:
                best = self._best_end(max(highest, self._end - size - 1, self._end - _MOST_MOVES))
                while self._end > best:
                    self._move_up()
        self._before.append(Group(self._gap, self._start, self._end))

    def _move_up(self) -> bool:
        start, end, lines = self._start, self._end, self._lines
        if start == 0 or lines[start - 1] != lines[end - 1]:
            return False
        self._gap, self._start, self._end = self._gap - 1, start - 1, end - 1
        if self._before and self._before[-1].end == self._start:
            self._start = self._before.pop().start
        return True

    def _move_down(self) -> bool:
        start, end, lines = self._start, self._end, self._lines
        if end == len(lines) or lines[start] != lines[end]:
            return False
        self._gap, self._start, self._end = self._gap + 1, start + 1, end + 1
        if self._after and self._after[-1].start == self._end:
            self._end = self._after.pop().end
        return True

    def _best_end(self, first: int) -> int:
        """Return the end, from the first on, that suits the lines around best; the last of such."""
        size = self._end - self._start
        best, best_indent, best_penalty = -1, 0, 0
        for end in range(first, self._end + 1):
            indent, penalty = _cost_of(self._lines, end)
            at_start = _cost_of(self._lines, end - size)
            indent, penalty = indent + at_start[0], penalty + at_start[1]
            more = (indent > best_indent) - (indent < best_indent)
            if best < 0 or _PER_INDENT * more + penalty - best_penalty <= 0:
                best, best_indent, best_penalty = end, indent, penalty
        return best


def _cost_of(lines: Sequence[bytes], at: int) -> tuple[int, int]:
    """Return how far the line at an edge of a group is indented, and what else is against it."""
    indent = _indent_of(lines[at]) if at < len(lines) else _BLANK
    blanks_before, indent_before = _next_indent(lines, range(at - 1, -1, -1))
    blanks_after, indent_after = _next_indent(lines, range(at + 1, len(lines)))
    penalty = 0
    if indent_before == _BLANK and blanks_before == 0:
        penalty += _AT_START
    if at >= len(lines):
        penalty += _AT_END
    blanks_after = 1 + blanks_after if indent == _BLANK else 0
    blanks = blanks_before + blanks_after
    penalty += _PER_BLANK * blanks + _PER_BLANK_AFTER * blanks_after
    if indent == _BLANK:
        indent = indent_after
    has_blanks = blanks != 0
    if _BLANK not in {indent, indent_before}:
        if indent > indent_before:
            penalty += _INDENTED[has_blanks]
        elif indent < indent_before and indent_after > indent:
            penalty += _OUTDENTED[has_blanks]
        elif indent < indent_before:
            penalty += _DEDENTED[has_blanks]
    return indent, penalty


def _next_indent(lines: Sequence[bytes], places: range) -> tuple[int, int]:
    """Return how many blank lines come first, and the indent of the line after them."""
    for blanks, place in enumerate(places):
        indent = _indent_of(lines[place])
        if indent != _BLANK:
            return blanks, indent
        if blanks + 1 == _MOST_BLANKS:
            return _MOST_BLANKS, 0
    return len(places), _BLANK


def _indent_of(line: bytes) -> int:
    indent = 0
    for char in line:
        if char == 0x20:
            indent += 1
        elif char == 0x09:
            indent += _TAB - indent % _TAB
        elif char not in b"\n\v\f\r":
            return indent
        if indent >= _MOST_INDENT:
            return _MOST_INDENT
    return _BLANK
