"""The names found like a text are those that comparing it with all names finds."""

import random
from collections.abc import Sequence

import numpy as np  # without which all names are compared
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import fuzz, process

from engine.search.similar_names import SimilarNames
from engine.search.weights import MAX_FUZZY_NAMES, MIN_FUZZY_LIKENESS
from tests.support.budget import examples

assert np

PARTS = (
    *"get set open close connect connection conn user users by id parse parser".split(),
    "é",
    "x",
)
JOINTS = ("_", "", "", ".", " ", "\x1f", "-")


def make_names(chance: random.Random, number: int) -> list[str]:
    """Make names of a few parts each, some with typing errors."""
    found: dict[str, None] = {}
    while len(found) < number:
        name = chance.choice(JOINTS).join(chance.choices(PARTS, k=chance.randint(1, 7)))
        for _ in range(chance.choice((0, 0, 1, 3))):
            place = chance.randrange(len(name) + 1)
            name = name[:place] + chance.choice("aeioust_ ") + name[place + chance.randint(0, 2) :]
        found[name] = None
    return list(found)


NAMES = make_names(random.Random(20), 4000)
SIMILAR = SimilarNames(NAMES)


def check(similar: SimilarNames, names: Sequence[str], text: str) -> None:
    wanted = process.extract(
        text, names, scorer=fuzz.WRatio, limit=MAX_FUZZY_NAMES, score_cutoff=MIN_FUZZY_LIKENESS
    )
    assert similar.find(text) == [(name, likeness) for name, likeness, _ in wanted]


@settings(max_examples=examples(300))
@given(
    st.one_of(
        st.text("abcdeginopstu_", min_size=1, max_size=40),
        st.text(min_size=1, max_size=8),
        st.integers(0, 2**32).map(lambda seed: make_names(random.Random(seed), 1)[0]),
    )
)
def test_the_same_names_are_found_as_by_comparing_all(text: str) -> None:
    check(SIMILAR, NAMES, text)


def test_few_names_and_none_are_compared_too() -> None:
    for names in ([], ["connection", "conn"], NAMES[:1999], NAMES[:2000]):
        check(SimilarNames(names), names, "connectoin")


def test_most_names_are_left_out_before_they_are_compared() -> None:
    left = SIMILAR._candidates("connectionparser")
    assert 0 < len(left) < len(NAMES) / 2
