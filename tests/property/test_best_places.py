"""The best places found by slices are those found by scoring every place."""

from heapq import nsmallest
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.branch_index import best_places, impact_of, total_of
from tests.support.budget import examples

SIZE = 700  # so that words in more than 128 places are common ones

Word = dict[int, float]


def check(words: list[Word], number: int) -> None:
    impacts = [
        impact_of(sorted(word), [word[place] for place in sorted(word)], SIZE) for word in words
    ]
    places, found = best_places(impacts, number)
    everywhere = range(SIZE)
    scores = dict(zip(everywhere, total_of(impacts, everywhere), strict=True))
    matching = [place for place in everywhere if any(place in word for word in words)]
    wanted = nsmallest(number, matching, key=lambda place: (-scores[place], place))
    assert places == sorted(wanted)
    assert found == [scores[place] for place in places]


def scattered(random: Random, share: float) -> Word:
    return {place: 1e-6 + 9 * random.random() for place in range(SIZE) if random.random() < share}


_SPARSE = st.dictionaries(st.integers(0, SIZE - 1), st.floats(0.001, 9), max_size=20)
_REGULAR = st.builds(
    lambda step, score: dict.fromkeys(range(0, SIZE, step), score),
    st.integers(1, 4),
    st.floats(0.00001, 20),
)


@settings(max_examples=examples(100), deadline=None)
@given(words=st.lists(_SPARSE | _REGULAR, max_size=5), number=st.integers(1, 60))
def test_the_best_places_are_the_best(words: list[Word], number: int) -> None:
    check(words, number)


def test_rounding_hides_none_of_them() -> None:
    for seed in range(200):
        random = Random(seed)
        check([scattered(random, 0.6) for _ in range(2 + seed % 4)], random.randint(1, 60))
