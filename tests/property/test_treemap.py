"""Treemaps of any sizes: areas in proportion, nothing outside, nothing twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.pages.treemap import Rectangle, squarify

_SIZES = st.lists(st.integers(1, 10**12), min_size=1, max_size=60).map(
    lambda sizes: sorted(sizes, reverse=True)
)
_FRAMES = st.builds(
    Rectangle,
    st.integers(-50, 50),
    st.integers(-50, 50),
    st.integers(1, 2000),
    st.integers(1, 2000),
)
_SLACK = 1e-6


@given(_SIZES, _FRAMES)
def test_areas_are_in_proportion_and_fill_the_frame(sizes: list[int], frame: Rectangle) -> None:
    tiles = squarify(sizes, frame)
    assert len(tiles) == len(sizes)
    for size, tile in zip(sizes, tiles, strict=True):
        wanted = frame.area * size / sum(sizes)
        assert tile.area == pytest.approx(wanted, rel=1e-6, abs=frame.area * 1e-9)
    assert sum(tile.area for tile in tiles) == pytest.approx(frame.area)


@given(_SIZES, _FRAMES)
def test_all_is_inside_and_nothing_overlaps(sizes: list[int], frame: Rectangle) -> None:
    tiles = squarify(sizes, frame)
    for tile in tiles:
        assert tile.width >= 0
        assert tile.height >= 0
        assert tile.x >= frame.x - _SLACK
        assert tile.y >= frame.y - _SLACK
        assert tile.x + tile.width <= frame.x + frame.width + _SLACK
        assert tile.y + tile.height <= frame.y + frame.height + _SLACK
    for number, one in enumerate(tiles):
        for other in tiles[number + 1 :]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert min(across, down) <= _SLACK


@given(st.integers(1, 60), st.integers(10, 2000), st.integers(10, 2000))
def test_tiles_of_one_size_are_nearly_squares(number: int, width: int, height: int) -> None:
    ratio = max(width, height) / min(width, height)
    tiles = squarify([1] * number, Rectangle(0, 0, width, height))
    worst = max(max(tile.width / tile.height, tile.height / tile.width) for tile in tiles)
    assert worst <= max(3.0, ratio) + _SLACK
