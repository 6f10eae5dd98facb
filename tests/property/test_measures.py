"""The measures equal their definition, written down a second time and more slowly."""

import math

from hypothesis import given
from hypothesis import strategies as st

from engine.evaluation.evaluate import is_named, ndcg_of, ranks_of, recall_of
from engine.evaluation.golden import Target
from tests.unit.evaluation.test_evaluate_measures import Lines

_PATHS = st.lists(st.sampled_from(["a", "b", "a.py", "ab"]), min_size=1, max_size=3).map("/".join)
_NUMBERS = st.integers(1, 12)
_HITS = st.lists(
    st.builds(lambda path, one, other: Lines(path, *sorted((one, other))), _PATHS, *[_NUMBERS] * 2),
    max_size=14,
)
_TARGETS = st.lists(
    st.builds(
        lambda path, first, more: Target(
            path=path, line_start=first, line_end=None if more is None else first + more
        ),
        _PATHS,
        _NUMBERS,
        st.none() | st.integers(0, 5),
    ),
    min_size=1,
    max_size=12,
)


def _is_tail(path: str, end: str) -> bool:
    parts, ends = path.split("/"), end.split("/")
    return parts[-len(ends) :] == ends


def _defined(hits: list[Lines], targets: list[Target], depth: int) -> tuple[float, float]:
    """Give NDCG and recall, target by target and line by line."""
    first_hits = []
    for target in targets:
        last = 1000 if target.line_end is None else target.line_end
        wanted = set(range(target.line_start, last + 1))
        meeting = [
            number
            for number, hit in enumerate(hits)
            if number < depth
            and _is_tail(hit.path, target.path)
            and wanted & set(range(hit.line_start, hit.line_end + 1))
        ]
        first_hits += meeting[:1]
    gain = sum(math.log(2) / math.log(number + 2) for number in set(first_hits))
    perfect = sum(math.log(2) / math.log(n + 2) for n in range(depth) if n < len(targets))
    return gain / perfect, len(first_hits) / len(targets)


@given(_HITS, _TARGETS, st.integers(1, 12))
def test_ndcg_and_recall_are_what_they_are_defined_to_be(
    hits: list[Lines], targets: list[Target], depth: int
) -> None:
    ranks = ranks_of(hits, targets, depth)
    ndcg, recall = _defined(hits, targets, depth)
    assert math.isclose(ndcg_of(ranks, depth), ndcg, abs_tol=1e-12)
    assert recall_of(ranks) == recall
    assert 0 <= ndcg <= 1 + 1e-12


@given(_PATHS, _PATHS)
def test_a_file_is_named_by_whole_names_at_its_end(path: str, by: str) -> None:
    assert is_named(path, by) == _is_tail(path, by)
    assert is_named(path, by, {by}) == (path == by)
