"""Sizes → rectangles that tile a rectangle, each with an area in proportion to its size.

Squarified treemaps after M. Bruls, K. Huizing and J. J. van Wijk, "Squarified Treemaps" (2000): the
sizes, the largest first, are laid in rows along the shorter side of what is left, and a row is
ended when another one in it would make its worst rectangle longer. So they are nearly squares.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Rectangle(NamedTuple):
    """A rectangle; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> float:
        """Width times height."""
        return self.width * self.height

    def within(self, *, edge: float, top: float) -> "Rectangle":
        """Give what is left inside an edge and a strip at the top; nothing at the least."""
        width = max(self.width - 2 * edge, 0.0)
        height = max(self.height - edge - top, 0.0)
        return Rectangle(self.x + edge, self.y + top, width, height)


def squarified(sizes: Sequence[float], frame: Rectangle) -> list[Rectangle]:
    """Tile a frame.

    Args:
        sizes: The largest first.
        frame: What to tile.

    Returns:
        A rectangle for each size, in their order.
    """
    total = sum(sizes)
    if not (total and frame.area):
        return [Rectangle(frame.x, frame.y, 0.0, 0.0) for _ in sizes]
    scale = frame.area / total
    areas = [size * scale for size in sizes]
    tiles: list[Rectangle] = []
    left = frame
    while len(tiles) < len(areas):
        row = _row_of(areas[len(tiles) :], min(left.width, left.height))
        laid, left = _laid(row, left)
        tiles += laid
    return tiles


def _row_of(areas: Sequence[float], side: float) -> Sequence[float]:
    """Give the first areas, as many as make the best row along a side."""
    number, total = 1, areas[0]
    worst = _worst(areas[0], areas[0], total, side)
    while number < len(areas):
        longer = total + areas[number]
        next_worst = _worst(areas[0], areas[number], longer, side)
        if next_worst > worst:
            break
        number, total, worst = number + 1, longer, next_worst
    return areas[:number]


def _worst(largest: float, smallest: float, total: float, side: float) -> float:
    """Give the worst ratio of the sides of rectangles that lie in a row."""
    if not (side and smallest):
        return 1.0
    depth = total / side
    return max(largest / depth**2, depth**2 / smallest)


def _laid(row: Sequence[float], left: Rectangle) -> tuple[list[Rectangle], Rectangle]:
    """Lay a row along the shorter side, and give what is left beside it."""
    total = sum(row)
    x, y, width, height = left
    tiles = []
    if width >= height:
        depth = min(total / height, width) if height else width
        for area in row:
            length = height * area / total
            tiles.append(Rectangle(x, y, depth, length))
            y += length
        return tiles, Rectangle(x + depth, left.y, width - depth, height)
    depth = min(total / width, height) if width else height
    for area in row:
        length = width * area / total
        tiles.append(Rectangle(x, y, length, depth))
        x += length
    return tiles, Rectangle(left.x, y + depth, width, height - depth)
