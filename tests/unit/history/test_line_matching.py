"""Ranges of lines are mapped from one version to another: each line is kept or lost."""

from hypothesis import given
from hypothesis import strategies as st

from engine.history.line_diff import matching_runs
from engine.history.line_matching import (
    Range,
    kept_lines,
    lost_lines,
    merged,
    replaced_lines,
)
from tests.support.line_texts import TEXTS, patient


@patient
@given(TEXTS, TEXTS, st.integers(0, 20), st.integers(0, 20))
def test_each_line_is_kept_or_lost(
    old: list[bytes], new: list[bytes], one: int, other: int
) -> None:
    start, end = sorted((min(one, len(new)), min(other, len(new))))
    ranges = [Range(start, end)] if start < end else []
    matches = matching_runs(old, new)
    kept = sum(each.end - each.start for each in kept_lines(matches, ranges))
    lost = lost_lines(matches, ranges)
    assert kept + sum(each.end - each.start for each in lost) == end - start
    if lost:
        assert replaced_lines(matches, ranges, len(old), len(new)) is not None


def test_lines_in_place_of_which_others_stand() -> None:
    old, new = [b"a", b"b", b"c", b"d"], [b"a", b"x", b"c", b"d"]
    matches = matching_runs(old, new)
    assert replaced_lines(matches, [Range(1, 2)], 4, 4) == [Range(1, 2)]
    assert replaced_lines(matches, [Range(2, 4)], 4, 4) is None
    without = matching_runs(old, [b"a", b"d"])
    assert replaced_lines(without, [Range(0, 2)], 4, 2) == [Range(1, 3)]
    assert replaced_lines(without, [Range(0, 1)], 4, 2) is None
    added = matching_runs([b"a", b"d"], old)
    assert replaced_lines(added, [Range(1, 3)], 2, 4) == []


def test_ranges_that_touch_are_one() -> None:
    assert merged([Range(4, 6), Range(0, 2), Range(2, 3)]) == [Range(0, 3), Range(4, 6)]
