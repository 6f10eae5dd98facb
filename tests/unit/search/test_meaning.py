"""Cosines of cached vectors: exact, in bounded memory, and the most similar of many."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.search.branch_index import BranchIndex, ChunkPlaces
from engine.search.branch_vectors import (
    FIRST_SHARE,
    BranchVectors,
    CachedSimilarities,
    CachedVectors,
    Compared,
)
from engine.search.weights import FILE_SHARE, MAX_BY_MEANING
from engine.store.models import ModelRow
from engine.store.quantization import Stored, quantized, rows_of
from engine.store.vector_rows import QueryVector
from engine.store.vectors import PackedVectors

DIMENSION = 256
MODEL = ModelRow(1, "a", "a", DIMENSION)


def random_vectors(number: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((number, DIMENSION)).astype(np.float32)


def packed(ids: NDArray[np.int64], stored: Stored) -> PackedVectors:
    rows = np.frombuffer(b"".join(rows_of(stored)), np.uint8)
    return PackedVectors(ids, rows.reshape(len(ids), -1))


def kept(vectors: NDArray[np.float32]) -> CachedVectors:
    ids = np.arange(len(vectors))
    return CachedVectors(ids, [packed(ids, quantized(vectors))], vectors.shape[1], FIRST_SHARE)


def similarities(
    question: QueryVector,
    places: CachedVectors,
    files: CachedVectors | None = None,
    is_in: NDArray[np.bool_] | None = None,
) -> CachedSimilarities:
    """Compare places with a question; each is in a file of its own, the last is first by path."""
    number = len(places.cosines(question))
    files = files or kept(np.zeros((number, DIMENSION), np.float32))
    alone = np.arange(number)
    of_chunks = ChunkPlaces(alone, np.ones_like(alone), alone[::-1], number)
    if is_in is not None:
        of_chunks = of_chunks.part(alone[::-1], is_in)
    return CachedSimilarities(Compared(question, places, files), alone, of_chunks)


def along_first(number: int, seed: int, share: float) -> NDArray[np.float32]:
    """Make vectors whose first numbers hold such a share of their length."""
    numbers = random_vectors(number, seed)
    numbers[:, : DIMENSION // 4] *= share
    return numbers


def test_the_nearest_of_sixty_thousand_are_those_of_the_given_vectors() -> None:
    given = random_vectors(60_000, 1)
    rows = kept(given)
    lengths = np.linalg.norm(given, axis=1)
    found = 0
    for question in random_vectors(20, 2):
        cosines = given @ question / lengths / np.linalg.norm(question)
        asked = QueryVector.of(MODEL, question.tolist())
        near = rows.cosines(asked)
        assert np.abs(near - cosines).max() <= 0.06
        ten = np.argsort(-cosines)[:10]
        places = similarities(asked, rows).nearest(0.01)
        assert len(places) == MAX_BY_MEANING
        assert places == sorted(places)
        found += len(set(ten.tolist()) & set(places))
    assert found == 200


def test_a_cosine_does_not_depend_on_where_its_row_is() -> None:
    given = np.repeat(random_vectors(7, 3), 1001, axis=0)
    near = kept(given).cosines(QueryVector.of(MODEL, random_vectors(1, 4)[0].tolist()))
    assert len(set(near.tolist())) == 7


def test_rows_without_a_vector_are_not_near() -> None:
    given = random_vectors(3, 5)
    stored = [packed(np.array([10, 12, 99]), quantized(given))]
    rows = CachedVectors(np.array([9, 10, 11, 12, 13]), stored, DIMENSION)
    near = rows.cosines(QueryVector.of(MODEL, given[1].tolist()))
    assert (near != 0).tolist() == [False, True, False, True, False]
    assert near[3] == pytest.approx(1, abs=0.01)
    assert rows.count == 2
    nothing = QueryVector.of(MODEL, [0.0] * DIMENSION)
    assert not rows.cosines(nothing).any()
    assert not CachedVectors(np.array([1]), stored, DIMENSION).cosines(nothing).any()


@pytest.mark.parametrize("share", [0.5, 1.0, 4.0, 9.0])
def test_the_nearest_are_so_by_text_and_path_and_near_enough(share: float) -> None:
    places, files = kept(along_first(3000, 6, share)), kept(along_first(3000, 7, share))
    assert places.tells_early == (share > 2)
    for question in along_first(12, 8, share):
        asked = QueryVector.of(MODEL, question.tolist())
        near = similarities(asked, places, files)
        nearness = places.cosines(asked) + FILE_SHARE * files.cosines(asked)
        is_in = np.arange(3000) % 3 > 0
        for least in (0.01, 0.2, 0.3, 0.9):
            for among, of_those in ((None, nearness), (is_in, np.where(is_in, nearness, -1))):
                order = np.lexsort((np.arange(3000), -of_those))[:MAX_BY_MEANING]
                found = similarities(asked, places, files, among).nearest(least)
                assert found == sorted(order[of_those[order] >= least])
        at = [7, 3, 2999, 7]
        assert near.cosines_at(at) == (
            places.cosines(asked)[at].tolist(),
            files.cosines(asked)[at].tolist(),
        )


def test_of_equal_ones_the_first_by_path_are_given() -> None:
    rows = kept(np.repeat(random_vectors(1, 9), 500, axis=0))
    asked = QueryVector.of(MODEL, random_vectors(1, 9)[0].tolist())
    assert similarities(asked, rows).nearest(0.3) == list(range(500 - MAX_BY_MEANING, 500))


def test_what_was_computed_for_the_latest_question_is_counted() -> None:
    number = 3000
    alone = np.arange(number)
    of_chunks = ChunkPlaces(alone, np.ones_like(alone), alone, number)
    branch_index = BranchIndex(alone, alone, alone, of_chunks, number)
    places, files = kept(along_first(number, 6, 4.0)), kept(along_first(number, 7, 4.0))
    held = BranchVectors(branch_index, places, files, alone)
    before = held.size_bytes
    for seed in (8, 9):
        asked = QueryVector.of(MODEL, random_vectors(1, seed)[0].tolist())
        held.similarities(asked).nearest(0.3)
        assert held.size_bytes - before == number * (8 + 4 + 4 + 4)  # of paths; of texts thrice
        held.similarities(asked).alike(5)
        assert held.size_bytes - before == number * (8 + 4 + 4 + 4 + 8)
