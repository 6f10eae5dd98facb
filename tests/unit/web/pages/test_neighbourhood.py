"""The layout of the graph of calls: boxes do not overlap, and lines join them."""

import itertools
import re

import pytest

from web.pages.neighbourhood import Neighbour, neighbourhood_of


def _neighbours(number: int, name: str = "f") -> list[Neighbour]:
    return [Neighbour(f"{name}{n}", "a.py", f"/p/{n}", "likely", f"t{n}") for n in range(number)]


@pytest.mark.parametrize(("callers", "callees"), [(0, 1), (1, 0), (3, 8), (8, 8), (30, 9)])
def test_boxes_are_within_the_picture_and_apart(callers: int, callees: int) -> None:
    graph = neighbourhood_of(
        "middle",
        _neighbours(callers),
        _neighbours(callees),
        totals=(callers, callees),
        lists=("#callers", "#callees"),
    )
    for box in graph.boxes:
        assert 0 <= box.x < box.x + box.width <= graph.width
        assert 0 <= box.y < box.y + box.height <= graph.height
    for one, other in itertools.combinations(graph.boxes, 2):
        assert (
            one.x + one.width <= other.x
            or other.x + other.width <= one.x
            or (abs(one.y - other.y) >= one.height)
        )
    assert len(graph.lines) == min(callers, 8) + min(callees, 8)
    starts = {(box.x + box.width, box.middle) for box in graph.boxes}
    ends = {(box.x, box.middle) for box in graph.boxes}
    for line in graph.lines:
        found = list(map(int, re.findall(r"\d+", line.path)))
        assert (found[0], found[1]) in starts
        assert (found[-2], found[-1]) in ends


def test_those_that_are_left_out_are_counted_and_linked() -> None:
    graph = neighbourhood_of(
        "m", _neighbours(8), _neighbours(2), totals=(1208, 2), lists=("#callers", "#callees")
    )
    [more] = [box for box in graph.boxes if box.kind == "more"]
    assert (more.label, more.address) == ("+1,200 more", "#callers")


def test_of_a_long_name_the_end_is_shown() -> None:
    [long] = _neighbours(1, "Class." + "x" * 50)
    graph = neighbourhood_of("m", [long], [], totals=(1, 0), lists=("", ""))
    box = graph.boxes[1]
    assert box.label == "…" + "x" * 28 + "0"
    assert (box.note, box.title) == ("", "t0")
