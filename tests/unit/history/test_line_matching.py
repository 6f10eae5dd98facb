"""Matching the lines of two versions: runs are true, in order, and ranges are mapped by them."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.history.line_diff import matching_runs
from engine.history.line_matching import (
    Range,
    kept_lines,
    lost_lines,
    merged,
    replaced_lines,
)

_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b""]), max_size=20)


@_patient
@given(TEXTS, TEXTS)
def test_runs_are_equal_lines_in_order(old: list[bytes], new: list[bytes]) -> None:
    at = new_at = 0
    for run in matching_runs(old, new):
        assert run.old >= at
        assert run.new >= new_at
        assert run.length > 0
        at, new_at = run.old + run.length, run.new + run.length
        assert old[run.old : at] == new[run.new : new_at]
    assert at <= len(old)
    assert new_at <= len(new)


@_patient
@given(TEXTS, st.integers(0, 20), TEXTS)
def test_lines_around_one_change_are_matched(
    text: list[bytes], place: int, added: list[bytes]
) -> None:
    new = [*text[:place], *added, *text[place:]]
    assert sum(run.length for run in matching_runs(text, new)) == len(text)


@_patient
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


def test_moved_lines_are_matched_in_the_longest_order() -> None:
    runs = matching_runs([b"1", b"2", b"3", b"4", b"5"], [b"5", b"2", b"x", b"3", b"4"])
    assert [(run.old, run.new) for run in runs] == [(1, 1), (2, 3), (3, 4)] or [
        (run.old, run.new, run.length) for run in runs
    ] == [(1, 1, 1), (2, 3, 2)]


def test_ranges_that_touch_are_one() -> None:
    assert merged([Range(4, 6), Range(0, 2), Range(2, 3)]) == [Range(0, 3), Range(4, 6)]


def test_blocks_that_are_alike_are_matched_though_no_line_stands_once() -> None:
    block = [b"items = [", b"]", b"check()", b""]
    old = [b"1", *block, *block, b"2"]
    new = [b"x", *block, *block, *block, b"y"]
    assert sum(run.length for run in matching_runs(old, new)) == 2 * len(block)
