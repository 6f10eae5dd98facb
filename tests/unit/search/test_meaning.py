"""Cosines of cached vectors: exact, in bounded memory, and the most similar of many."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.search.branch_vectors import CachedSimilarities, CachedVectors
from engine.search.weights import FILE_SHARE, MAX_BY_MEANING
from engine.store.models import ModelRow
from engine.store.vector_rows import QueryVector
from engine.store.vectors import StoredVectors, quantized

DIMENSION = 256
MODEL = ModelRow(1, "a", "a", DIMENSION)


def random_vectors(number: int, seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((number, DIMENSION)).astype(np.float32)


def kept(vectors: NDArray[np.float32]) -> CachedVectors:
    ids = np.arange(len(vectors))
    return CachedVectors(ids, StoredVectors(ids, quantized(vectors)))


def test_the_nearest_of_sixty_thousand_are_those_of_the_given_vectors() -> None:
    given = random_vectors(60_000, 1)
    rows = kept(given)
    lengths = np.linalg.norm(given, axis=1)
    found = 0
    for question in random_vectors(20, 2):
        cosines = given @ question / lengths / np.linalg.norm(question)
        near = rows.cosines(QueryVector.of(MODEL, question.tolist()))
        assert np.abs(near - cosines).max() <= 0.06
        ten = np.argsort(-cosines)[:10]
        places = CachedSimilarities(near, np.zeros(len(near))).nearest(0.01)
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
    stored = StoredVectors(np.array([10, 12, 99]), quantized(given))
    rows = CachedVectors(np.array([9, 10, 11, 12, 13]), stored)
    near = rows.cosines(QueryVector.of(MODEL, given[1].tolist()))
    assert (near != 0).tolist() == [False, True, False, True, False]
    assert near[3] == pytest.approx(1, abs=0.01)
    assert rows.count == 2
    nothing = QueryVector.of(MODEL, [0.0] * DIMENSION)
    assert not rows.cosines(nothing).any()
    assert not CachedVectors(np.array([1]), stored).cosines(nothing).any()


def test_the_nearest_are_so_by_text_and_path_and_near_enough() -> None:
    cosines = np.array([0.5, 0.2, 0.0, -0.1, 0.4])
    of_files = np.array([0.0, 0.9, 0.9, 0.9, 0.0])
    near = CachedSimilarities(cosines, of_files)
    nearness = cosines + FILE_SHARE * of_files
    for least in (0.3, 0.42, 0.6, 0.9):
        assert near.nearest(least) == np.flatnonzero(nearness >= least).tolist()
    assert near.cosines_at([1, 3]) == ([0.2, -0.1], [0.9, 0.9])


def test_of_equal_ones_the_first_are_given() -> None:
    near = CachedSimilarities(np.full(500, 0.7), np.zeros(500))
    assert near.nearest(0.3) == list(range(MAX_BY_MEANING))
