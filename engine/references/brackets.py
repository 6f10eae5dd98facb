"""The pairs of brackets of a text: by a stack, or by arrays where numpy is loaded."""

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from engine.syntax.references import Marks

if TYPE_CHECKING:
    from engine.references.bracket_arrays import Pairs

#: Of what closes a bracket, what opens it.
_OPENING = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
_BRACKET = re.compile(rb"[()\[\]{}]")


class Brackets:
    """The pairs of brackets of a text, without those in comments and literals.

    Args:
        text: The text.
        marks: Of the text.
    """

    def __init__(self, text: bytes, marks: Marks) -> None:
        pairs: Pairs | None = None
        if "numpy" in sys.modules:  # a short command takes less time than its import
            from engine.references.bracket_arrays import paired

            pairs = paired(text, marks)
        self.opens, self.ends, self.parents = pairs or paired_by_stack(text, marks)

    def around(self, offset: int) -> int:
        """Return the place of the innermost pair around an offset, or -1."""
        place = bisect_right(self.opens, offset - 1) - 1
        while place >= 0 and self.ends[place] < offset:
            place = self.parents[place]
        return place

    def stretch(self, place: int, size: int) -> tuple[int, int]:
        """Return the stretch of a pair; of -1 that of the text."""
        return (self.opens[place], self.ends[place]) if place >= 0 else (0, size)


def paired_by_stack(text: bytes, marks: Marks) -> "Pairs":
    """Return the brackets of a text, also if some lack the other one, or have a wrong one."""
    opens: list[int] = []
    ends: list[int] = []
    parents: list[int] = []
    stack: list[int] = []
    size = len(text)
    for start, end in _outside(marks.texts(), size):
        for match in _BRACKET.finditer(text, start, end):
            at = match.start()
            wanted = _OPENING.get(text[at])
            if wanted is None:
                parents.append(stack[-1] if stack else -1)
                stack.append(len(opens))
                opens.append(at)
                ends.append(size)
                continue
            while stack:  # conditions of the preprocessor can leave some open
                place = stack.pop()
                ends[place] = at
                if text[opens[place]] == wanted:
                    break
    return array("q", opens), array("q", ends), array("q", parents)


def _outside(stretches: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """Yield what lies between some stretches of a text, which are in order of their starts."""
    at = 0
    for start, end in stretches:
        if start > at:
            yield at, start
        at = max(at, end)
    yield at, size
