"""The layout of treemaps: the example of the paper, and empty areas."""

import pytest

from web.pages.treemap import Rectangle, squarify


def test_the_example_of_the_paper() -> None:
    tiles = squarify([6, 6, 4, 3, 2, 2, 1], Rectangle(0, 0, 6, 4))
    assert [tuple(round(each, 3) for each in tile) for tile in tiles] == [
        (0, 0, 3, 2),
        (0, 2, 3, 2),
        (3, 0, 1.714, 2.333),
        (4.714, 0, 1.286, 2.333),
        (3, 2.333, 1.2, 1.667),
        (4.2, 2.333, 1.2, 1.667),
        (5.4, 2.333, 0.6, 1.667),
    ]


@pytest.mark.parametrize("sizes", [[], [0], [0, 0]])
def test_nothing_has_no_area(sizes: list[float]) -> None:
    tiles = squarify(sizes, Rectangle(0, 0, 6, 4))
    assert [tile.area for tile in tiles] == [0] * len(sizes)


def test_a_frame_without_extent_has_flat_tiles() -> None:
    tiles = squarify([3, 2, 1], Rectangle(5, 5, 0, 4))
    assert [tile.area for tile in tiles] == [0, 0, 0]


def test_the_inside_of_a_tile() -> None:
    assert Rectangle(1, 2, 30, 40).within(edge=3, top=20) == Rectangle(4, 22, 24, 17)
    assert Rectangle(1, 2, 5, 20).within(edge=3, top=20).area == 0
