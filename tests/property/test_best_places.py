"""The best places found by bounds are those found by scoring all; few scores are read."""

import json
from heapq import nsmallest
from random import Random
from typing import Any

import apsw
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.branch_index import ChunkPlaces
from engine.search.postings import WordScores
from engine.store import fulltext
from tests.support.budget import examples

ROWS = 6000  # so that words in more than 4,000 places are common ones
HIDDEN = range(300, 700)  # chunks that no file of the branch shows
WORDS = ("alpha", "beta", "gamma", "delta")
EVERYWHERE = range(ROWS - len(HIDDEN))


def database(random: Random, shares: list[float]) -> apsw.Connection:
    """Make a keyword index in which each word is in such a share of the rows."""
    handle = apsw.Connection("")
    handle.execute(
        "CREATE VIRTUAL TABLE chunk_terms USING fts5 (name, signature, body, content = '',"
        " contentless_delete = 1, tokenize = 'porter ascii')"
    )
    rows = []
    for id_ in range(1, ROWS + 1):
        found = [word for word, share in zip(WORDS, shares, strict=True) if random.random() < share]
        name, signature, body = (
            " ".join(random.choices([*found, "other"], k=random.randint(1, 9))) for _ in range(3)
        )
        rows.append((id_, name, signature, body))
    fulltext.insert_chunk_terms(handle, rows)
    return handle


def places() -> ChunkPlaces:
    """Two files with a hidden one between them; the later one is the first by its path."""
    firsts = np.array([1, HIDDEN.stop])
    counts = np.array([HIDDEN.start - 1, ROWS - HIDDEN.stop + 1])
    return ChunkPlaces(firsts, counts, np.array([1, 0]), ROWS)


def check(handle: apsw.Connection, kept: WordScores, words: list[str], number: int) -> None:
    found, totals = kept.best(handle, words, number, also=[5, 3])
    ids = places().ids_of(np.array(EVERYWHERE)).tolist()
    every = WordScores(places(), len(EVERYWHERE), 1 << 20)  # reads words whole
    scores = every.totals_at(handle, words, list(EVERYWHERE))
    matching = [place for place in EVERYWHERE if scores[place]]
    later = range(HIDDEN.start - 1, len(EVERYWHERE))  # places of the file that is first by path
    wanted = nsmallest(
        number, matching, key=lambda place: (-scores[place], place not in later, place)
    )
    assert found == sorted(wanted)
    assert totals == [scores[place] for place in found]
    of_all = dict(fulltext.read_scores(handle, fulltext.CHUNK_WORDS, " OR ".join(words)))
    assert np.allclose(scores, [of_all.get(id_, 0.0) for id_ in ids], rtol=1e-9)


@settings(max_examples=examples(25))
@given(
    seed=st.integers(0, 1000),
    shares=st.lists(st.sampled_from([0.0, 0.002, 0.05, 0.95, 1.0]), min_size=4, max_size=4),
    questions=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, unique=True), min_size=1),
    number=st.integers(1, 60),
)
def test_the_best_places_are_the_best(
    seed: int, shares: list[float], questions: list[list[str]], number: int
) -> None:
    handle = database(Random(seed), shares)
    kept = WordScores(places(), len(EVERYWHERE), 1 << 20, few_rows=0)
    for words in questions[:4]:  # later ones know some scores already
        check(handle, kept, [json.dumps(word) for word in words], number)


def test_nothing_that_is_kept_is_needed() -> None:
    handle = database(Random(1), [0.99, 0.95, 0.01, 0.7])
    for kept_bytes in (1, 60_000, 1 << 20):
        check(
            handle,
            WordScores(places(), len(EVERYWHERE), kept_bytes, few_rows=0),
            ['"alpha"', '"beta"'],
            20,
        )


def test_of_common_words_only_scores_that_count_are_read() -> None:
    handle = database(Random(2), [0.99, 0.8, 0.03, 0.98])
    kept = WordScores(places(), len(EVERYWHERE), 1 << 20, few_rows=0)
    kept.best(handle, ['"alpha"', '"gamma"'], 10)
    among: list[int] = []

    def note(_cursor: apsw.Cursor, _statement: str, values: Any) -> bool:
        if values and "ids" in values:
            among.append(len(json.loads(values["ids"])))
        return True

    handle.exec_trace = note
    kept.best(handle, ['"alpha"', '"gamma"'], 10)
    assert not among
    kept.best(handle, ['"alpha"', '"delta"', '"gamma"'], 10)
    assert among
    assert max(among) < ROWS / 4
