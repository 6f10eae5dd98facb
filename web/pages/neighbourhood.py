"""A small graph of calls as SVG: callers on the left, a definition in the middle, callees right.

Only positions are made here; ``templates/parts/neighbourhood.html`` draws them.
"""

from collections.abc import Sequence
from typing import NamedTuple

_MOST = 8  # functions a side
_WIDTH = 264  # of a box
_HEIGHT = 30
_GAP = 10  # between boxes
_BETWEEN = 84  # between columns, for the lines
_MARGIN = 6
_CHARS = 30  # of a name in a box


class Neighbour(NamedTuple):
    """A function that calls, or is called."""

    name: str
    note: str  # shown beside it where there is room
    address: str
    certainty: str  # class of its line: exact, likely or name
    title: str


class Box(NamedTuple):
    """A box with a name."""

    x: int
    y: int
    width: int
    height: int
    label: str
    note: str
    title: str
    address: str  # empty: it leads nowhere
    kind: str  # class: caller, callee, symbol or more

    @property
    def middle(self) -> int:
        """The height of its middle."""
        return self.y + self.height // 2

    @property
    def text_x(self) -> int:
        """Where its text begins; that of the middle one is centred."""
        return self.x + (self.width // 2 if self.kind == "symbol" else 10)


class Line(NamedTuple):
    """A call between two boxes."""

    path: str  # of SVG
    certainty: str


class Neighbourhood(NamedTuple):
    """The graph."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def neighbourhood_of(
    name: str,
    callers: Sequence[Neighbour],
    callees: Sequence[Neighbour],
    *,
    totals: tuple[int, int],
    lists: tuple[str, str],
) -> Neighbourhood:
    """Lay out a graph.

    Args:
        name: Of the definition in the middle.
        callers: Those that call it, the most important first.
        callees: Those that it calls.
        totals: The number of callers and callees that there are.
        lists: Addresses of the whole lists, for those that are left out.
    """
    sides = [
        _side(callers, totals[0], lists[0], "caller"),
        _side(callees, totals[1], lists[1], "callee"),
    ]
    rows = max(1, *map(len, sides))
    height = 2 * _MARGIN + rows * (_HEIGHT + _GAP) - _GAP
    columns = [_MARGIN + number * (_WIDTH + _BETWEEN) for number in range(3)]
    own = Neighbour(name, "", "", "", name)
    middle = _box(columns[1], (height - _HEIGHT) // 2, own, "symbol")
    boxes = [middle]
    lines = []
    for side, x in zip(sides, (columns[0], columns[2]), strict=True):
        top = (height - len(side) * (_HEIGHT + _GAP) + _GAP) // 2
        for number, (neighbour, kind) in enumerate(side):
            y = top + number * (_HEIGHT + _GAP)
            box = _box(x, y, neighbour, kind)
            boxes.append(box)
            if kind == "more":
                continue
            ends = (box, middle) if x < middle.x else (middle, box)
            lines.append(Line(_curve(*ends), neighbour.certainty))
    return Neighbourhood(columns[2] + _WIDTH + _MARGIN, height, tuple(boxes), tuple(lines))


def _side(
    neighbours: Sequence[Neighbour], total: int, whole: str, kind: str
) -> list[tuple[Neighbour, str]]:
    """Return the functions of a side, and how many more there are."""
    side = [(each, kind) for each in neighbours[:_MOST]]
    if (left := total - len(side)) > 0:
        side.append((Neighbour(f"+{left:,} more", "", whole, "", "the whole list"), "more"))
    return side


def _box(x: int, y: int, shown: Neighbour, kind: str) -> Box:
    """Return a box; of a long name the end is shown, which tells methods apart."""
    name = shown.name
    label = name if len(name) <= _CHARS else f"…{name[1 - _CHARS :]}"
    note = shown.note if len(name) + len(shown.note) <= _CHARS else ""
    return Box(x, y, _WIDTH, _HEIGHT, label, note, shown.title, shown.address, kind)


def _curve(start: Box, end: Box) -> str:
    """Return the path from the right side of a box to the left side of another."""
    x, to = start.x + start.width, end.x
    half = (x + to) // 2
    return f"M{x} {start.middle} C{half} {start.middle} {half} {end.middle} {to} {end.middle}"
