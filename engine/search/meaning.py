"""Similarity of places to the meaning of a query: cosines of stored vectors.

The only module of this package that computes with vectors. It imports numpy, and is therefore
imported only when a query has to be answered by meaning.

Vectors are stored as integers from -7 to 7, and a query is rounded to integers from -127 to 127. So
a product is a sum of integers, which 32-bit floats hold exactly up to 18,000 dimensions: a cosine
is the same wherever and in whatever order it is computed, and cached vectors give the same answers
as the database.
"""

from collections.abc import Sequence
from heapq import nlargest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.search.branch_index import BranchIndex
from engine.search.features import Cosines
from engine.search.weights import (
    FILE_SHARE,
    MAX_BY_MEANING,
    MAX_CHUNKS_PER_SIMILAR_PATH,
    MAX_SIMILAR_PATHS,
)
from engine.store import chunks, files, vectors
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import ModelRow
from engine.store.vectors import Stored, StoredVectors

#: Integers, as float32 for matrix products.
Whole = NDArray[np.float32]
Numbers = NDArray[np.float64]

#: Larger branches, of more than 500,000 places with 256 dimensions, are not cached.
MAX_BYTES = 128 << 20
# Bytes are converted to floats a block at a time, which stays in the processor's cache: 0.6 ms for
# 10,000 places of 256 dimensions, 7 ms for 100,000. Stored floats would take four times the memory,
# and as long or longer once other work has driven them out of the processor's cache.
_BLOCK_NUMBERS = 1 << 18
_QUERY_LARGEST = 127


class QueryVector(NamedTuple):
    """The vector of a query, and its model."""

    model: ModelRow
    vector: Whole  # (dimension,)
    length: float

    @classmethod
    def of(cls, model: ModelRow, vector: NDArray[np.float32]) -> "QueryVector":
        """Round the vector of a query."""
        whole = vectors.quantized(vector[np.newaxis, :].astype(np.float32), _QUERY_LARGEST)[0]
        whole = whole.astype(np.float32)
        return cls(model, whole, float(_norms(whole[np.newaxis, :])[0]))


class CachedVectors:
    """Vectors in memory, one per row.

    Args:
        ids: What the rows belong to.
        stored: Vectors of some of these ids, or of others too; a row without one has cosine 0.
    """

    def __init__(self, ids: NDArray[np.int64], stored: StoredVectors) -> None:
        dimension = stored.vectors.shape[1]
        self._rows: Stored = np.zeros((len(ids), dimension), np.int8)
        if len(stored.ids):
            at = np.minimum(np.searchsorted(stored.ids, ids), len(stored.ids) - 1)
            is_stored = stored.ids[at] == ids
            self._rows[is_stored] = stored.vectors[at[is_stored]]
        self._norms = _norms(self._rows)
        self.count = int(np.count_nonzero(self._norms))

    @property
    def size_bytes(self) -> int:
        """The memory of the vectors."""
        return self._rows.nbytes + self._norms.nbytes

    def cosines(self, query_vector: QueryVector) -> Numbers:
        """Return the cosine of each row."""
        return _cosines(self._rows, self._norms, query_vector)


class BranchVectors:
    """The vectors of a branch, by place and by file. Thread-safe.

    Args:
        branch_index: The branch.
        of_chunks: The vectors of its chunks, or of more.
        of_files: The vectors of its paths, or of more.
    """

    def __init__(
        self, branch_index: BranchIndex, of_chunks: StoredVectors, of_files: StoredVectors
    ) -> None:
        self._branch_index = branch_index
        self._blobs = np.array([file.blob_id for file in branch_index.files], np.int64)
        counts = np.array([file.place_count for file in branch_index.files], np.int64)
        # Both the ids of a file's chunks and its places are consecutive.
        shifts = np.array(
            [file.first_chunk - file.first_place for file in branch_index.files], np.int64
        )
        self._file_of = np.repeat(np.arange(len(counts)), counts)
        self._places = CachedVectors(
            np.arange(branch_index.count) + np.repeat(shifts, counts), of_chunks
        )
        file_ids = np.array([file.file_id for file in branch_index.files], np.int64)
        self._files = CachedVectors(file_ids, of_files)
        self.embedded = self._places.count / branch_index.count if branch_index.count else 1.0

    @property
    def size_bytes(self) -> int:
        """The memory of the vectors."""
        own = self._blobs.nbytes + self._file_of.nbytes
        return own + self._places.size_bytes + self._files.size_bytes

    def similarities(self, query_vector: QueryVector) -> "CachedSimilarities":
        """Compare all places with a query."""
        return CachedSimilarities(
            self._places.cosines(query_vector), self._files.cosines(query_vector)[self._file_of]
        )

    def near_chunks(
        self, handle: Handle, query_vector: QueryVector, filters: Filters, least: float
    ) -> list[ChunkFacts]:
        """Return the most similar chunks that pass filters on files.

        At most ``MAX_BY_MEANING`` of them, of at least the similarity ``least``, unordered; exact,
        unlike the function ``near_chunks``.
        """
        passing = np.array(files.read_passing_blobs(handle, filters), np.int64)
        is_in = np.isin(self._blobs, passing)[self._file_of]
        places = self.similarities(query_vector).among(is_in).nearest(least)
        found = self._branch_index.files_at(places)
        ids = [file.chunk_of(place) for file, place in zip(found, places, strict=True)]
        return list(chunks.read_chunks(handle, ids, filters).values())


class CachedSimilarities:
    """The similarities of a query to the places of a branch."""

    def __init__(self, cosines: Numbers, of_files: Numbers) -> None:
        self._cosines = cosines
        self._of_files = of_files

    def among(self, is_in: NDArray[np.bool_]) -> "CachedSimilarities":
        """Leave out all other places."""
        return CachedSimilarities(
            np.where(is_in, self._cosines, -1), np.where(is_in, self._of_files, -1)
        )

    def nearest(self, least: float) -> list[int]:
        """Return the most similar places of at least ``least``, by number; the first of equals."""
        similarities = self._cosines + FILE_SHARE * self._of_files
        places: list[int] = np.sort(_most_similar(similarities, MAX_BY_MEANING, least)).tolist()
        return places

    def cosines_at(self, places: Sequence[int]) -> Cosines:
        """Return the cosines of places."""
        at = np.array(places, np.int64)
        return Cosines(self._cosines[at].tolist(), self._of_files[at].tolist())


class StoredSimilarities:
    """The same for a branch with too many vectors to cache: reads the database."""

    def __init__(
        self, handle: Handle, query_vector: QueryVector, filters: Filters, branch_index: BranchIndex
    ) -> None:
        self._handle = handle
        self._query_vector = query_vector
        self._filters = filters
        self._branch_index = branch_index

    def nearest(self, least: float) -> list[int]:
        """Return the most similar places of at least ``least``, by number."""
        found = near_chunks(self._handle, self._query_vector, self._filters, least)
        places = [self._branch_index.place_of(chunk.id) for chunk in found]
        return sorted(place for place in places if place is not None)

    def cosines_at(self, places: Sequence[int]) -> Cosines:
        """Return the cosines of places."""
        found = self._branch_index.files_at(places)
        pairs = [
            (file.chunk_of(place), file.file_id) for file, place in zip(found, places, strict=True)
        ]
        return cosines_of(self._handle, self._query_vector, pairs)


#: The similarities of a query to the places of a branch.
Similarities = CachedSimilarities | StoredSimilarities


def read_branch_vectors(
    handle: Handle, model: ModelRow, branch_index: BranchIndex
) -> BranchVectors | None:
    """Read the vectors of a branch; None when they are too large to cache."""
    if branch_index.count * model.dimension > MAX_BYTES:
        return None
    of_chunks = vectors.read_chunk_vectors(handle, model)
    return BranchVectors(branch_index, of_chunks, vectors.read_file_vectors(handle, model))


def near_chunks(
    handle: Handle, query_vector: QueryVector, filters: Filters, least: float
) -> list[ChunkFacts]:
    """Return the most similar chunks that pass filters, from the database.

    At most ``MAX_BY_MEANING`` of them, with at least the similarity ``least``, unordered.

    Candidates are the chunks with the most similar texts and those with the most similar paths, so
    among many thousands a chunk can be missed whose text and path are both only fairly similar.
    """
    if not query_vector.length:
        return []
    near = vectors.nearest_chunks(
        handle, query_vector.model, query_vector.vector, MAX_BY_MEANING, filters
    )
    ids = {id_ for id_, _ in near}
    near_files = vectors.nearest_files(
        handle, query_vector.model, query_vector.vector, MAX_SIMILAR_PATHS, filters
    )
    ranges = chunks.chunks_of_files(handle, [file_id for file_id, _ in near_files])
    for first, last in ranges.values():
        ids.update(_nearest_in_file(handle, query_vector, range(first, last + 1)))
    found = list(chunks.read_chunks(handle, sorted(ids), filters).values())
    found.sort(key=_by_id)
    cosines = cosines_of(handle, query_vector, [(chunk.id, chunk.file_id) for chunk in found])
    similarities = np.array(cosines.places) + FILE_SHARE * np.array(cosines.files)
    return [found[at] for at in _most_similar(similarities, MAX_BY_MEANING, least)]


def near_by_text(
    handle: Handle, query_vector: QueryVector, filters: Filters, number: int
) -> dict[int, float]:
    """Return the cosines of the chunks whose text is most similar, whatever their paths."""
    near = vectors.nearest_chunks(handle, query_vector.model, query_vector.vector, number, filters)
    return _chunk_cosines(handle, query_vector, [chunk_id for chunk_id, _ in near])


def query_vector_of_chunks(
    handle: Handle, model: ModelRow, chunk_ids: Sequence[int]
) -> QueryVector | None:
    """Return the sum of the unit vectors of chunks as a query; None when they have no vectors."""
    stored = vectors.read_some_vectors(handle, model, chunk_ids).vectors
    lengths = _norms(stored)[:, np.newaxis]
    units = np.divide(stored, lengths, out=np.zeros(stored.shape), where=lengths > 0)
    query_vector = QueryVector.of(model, units.sum(axis=0).astype(np.float32))
    return query_vector if query_vector.length else None


def _nearest_in_file(
    handle: Handle, query_vector: QueryVector, chunk_ids: Sequence[int]
) -> Sequence[int]:
    """Return the most similar chunks of one file; all of them unless it is large."""
    if len(chunk_ids) <= MAX_CHUNKS_PER_SIMILAR_PATH:
        return chunk_ids
    cosines = _chunk_cosines(handle, query_vector, chunk_ids)
    return nlargest(MAX_CHUNKS_PER_SIMILAR_PATH, cosines, key=cosines.__getitem__)


def cosines_of(
    handle: Handle, query_vector: QueryVector, pairs: Sequence[tuple[int, int]]
) -> Cosines:
    """Return the cosines of chunks and of the files that show them, from the database.

    Args:
        handle: A read transaction.
        query_vector: The query.
        pairs: Ids of a chunk and of a file.
    """
    of_chunks = _chunk_cosines(handle, query_vector, [chunk_id for chunk_id, _ in pairs])
    file_ids = sorted({file_id for _, file_id in pairs})
    of_files = _cosines_by_id(
        vectors.read_some_file_vectors(handle, query_vector.model, file_ids), query_vector
    )
    return Cosines(
        [of_chunks.get(chunk_id, 0.0) for chunk_id, _ in pairs],
        [of_files.get(file_id, 0.0) for _, file_id in pairs],
    )


def _chunk_cosines(
    handle: Handle, query_vector: QueryVector, chunk_ids: Sequence[int]
) -> dict[int, float]:
    """Return the cosines of chunks, from the database; those without a vector are left out."""
    return _cosines_by_id(
        vectors.read_some_vectors(handle, query_vector.model, chunk_ids), query_vector
    )


def _cosines_by_id(stored: StoredVectors, query_vector: QueryVector) -> dict[int, float]:
    cosines = _cosines(stored.vectors, _norms(stored.vectors), query_vector)
    return dict(zip(stored.ids.tolist(), cosines.tolist(), strict=True))


def _cosines(rows: Stored, lengths: Numbers, query_vector: QueryVector) -> Numbers:
    """Return the cosine of each row with a query; 0 where either is a zero vector."""
    products = np.empty(len(rows), np.float32)
    size = max(1, _BLOCK_NUMBERS // rows.shape[1])
    block = np.empty((size, rows.shape[1]), np.float32)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        floats = block[: len(part)]
        np.copyto(floats, part)
        np.dot(floats, query_vector.vector, out=products[start : start + size])
    scale = lengths * query_vector.length
    return np.divide(products, scale, out=np.zeros(len(rows)), where=scale > 0)


def _norms(rows: Stored) -> Numbers:
    squares = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096].astype(np.float32)
        np.einsum("ij,ij->i", part, part, out=squares[start : start + 4096], casting="unsafe")
    return np.sqrt(squares)


def _most_similar(similarities: Numbers, number: int, least: float) -> NDArray[np.intp]:
    """Return the positions of the largest from ``least`` on, unordered; the first of equals."""
    near = np.flatnonzero(similarities >= least)
    if len(near) <= number:
        return near
    last = np.partition(similarities[near], len(near) - number)[len(near) - number]
    above = near[similarities[near] > last]
    equal = near[similarities[near] == last]
    return np.concatenate([above, equal[: number - len(above)]])


def _by_id(chunk: ChunkFacts) -> int:
    return chunk.id
