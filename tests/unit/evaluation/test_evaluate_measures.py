"""The measures of an answer, computed by hand."""

from typing import NamedTuple

import pytest

from engine.evaluation.evaluate import (
    interval_of,
    is_named,
    ndcg_of,
    percentiles_of,
    ranks_of,
    recall_of,
)
from engine.evaluation.golden import Target


class Lines(NamedTuple):
    path: str
    line_start: int
    line_end: int


@pytest.mark.parametrize(
    ("path", "by", "named"),
    [
        ("src/a.py", "src/a.py", True),
        ("src/a.py", "a.py", True),
        ("a.py", "lib/src/a.py", False),  # another file, with the same name
        ("src/a.py", "lib/a.py", False),
        ("src/data.py", "a.py", False),
        ("a.py", "", False),
        ("whole.py", "whole.py", True),
        ("src/whole.py", "whole.py", False),
    ],
)
def test_a_file_is_named_by_its_path_or_the_end_of_it(path: str, by: str, named: bool) -> None:
    assert is_named(path, by, {"whole.py"}) is named


def test_a_hit_meets_a_target_when_their_lines_overlap() -> None:
    hits = [Lines("a.py", 1, 9), Lines("b.py", 1, 5), Lines("a.py", 10, 20), Lines("a.py", 21, 30)]
    assert ranks_of(hits, [Target(path="a.py")], 10) == (1,)
    assert ranks_of(hits, [Target(path="a.py", line_start=10)], 10) == (3,)
    assert ranks_of(hits, [Target(path="a.py", line_start=20, line_end=25)], 10) == (3,)
    assert ranks_of(hits, [Target(path="a.py", line_start=31)], 10) == (None,)
    assert ranks_of(hits, [Target(path="b.py"), Target(path="c.py")], 10) == (2, None)
    assert ranks_of(hits, [Target(path="b.py")], 1) == (None,)


def test_a_whole_path_is_met_by_no_file_of_the_same_name() -> None:
    hits = [Lines("lib/a.py", 1, 9), Lines("a.py", 1, 9)]
    assert ranks_of(hits, [Target(path="a.py")], 10) == (1,)
    assert ranks_of(hits, [Target(path="a.py")], 10, {"a.py"}) == (2,)


def test_ndcg_by_hand() -> None:
    # Gains by rank: 1 → 1, 2 → 1/log2(3) = 0.63093, 3 → 0.5.
    assert ndcg_of((1,), 10) == 1
    assert ndcg_of((3,), 10) == 0.5
    assert ndcg_of((None,), 10) == 0
    assert ndcg_of((1, 2), 10) == 1
    # One target at rank 3, the other missing: 0.5 of a possible 1.63093.
    assert ndcg_of((3, None), 10) == pytest.approx(0.5 / 1.6309297535714575)
    # One hit meets both: its rank counts once.
    assert ndcg_of((1, 1), 10) == pytest.approx(1 / 1.6309297535714575)
    # More targets than hits that count: two of them at 1 and 2 are perfect.
    assert ndcg_of((2, 1, None), 2) == 1


def test_recall_by_hand() -> None:
    assert recall_of((1, None, 1, 7)) == 0.75


def test_percentiles_are_times_that_were_measured() -> None:
    figures = percentiles_of(float(number) for number in range(100, 0, -1))
    assert (figures.p50_ms, figures.p90_ms, figures.p99_ms) == (50, 90, 99)
    alone = percentiles_of([7.0])
    assert (alone.p50_ms, alone.p90_ms, alone.p99_ms) == (7, 7, 7)


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    differences = [0.1, 0.2, -0.1, 0.0, 0.3, 0.25, 0.05, 0.0] * 5
    low, high = interval_of(differences)
    assert low < sum(differences) / len(differences) < high
    assert (low, high) == interval_of(differences)
    # The mean of 40 values with standard deviation 0.1332 has an error of 0.0211: ± 1.96 of it.
    assert high - low == pytest.approx(2 * 1.96 * 0.0211, rel=0.05)


def test_equal_differences_leave_no_doubt() -> None:
    assert interval_of([0.25] * 3) == (0.25, 0.25)
    assert interval_of([0.0]) == (0.0, 0.0)
