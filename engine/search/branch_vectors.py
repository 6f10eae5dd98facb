"""The vectors of a cached branch, and the similarity of its places to the meaning of a query.

The only module of this package that computes with vectors. It imports numpy, and is therefore
imported only by a process that answers several queries by meaning.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.search.branch_index import BranchIndex
from engine.search.features import Cosines
from engine.search.meaning import cosines_of, near_chunks, reader_of
from engine.search.weights import FILE_SHARE, MAX_BY_MEANING
from engine.store import chunks, files, vectors
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import ModelRow
from engine.store.vector_rows import QueryVector
from engine.store.vectors import Stored, StoredVectors

#: Larger branches, of more than 500,000 places with 256 dimensions, are not cached.
MAX_BYTES = 128 << 20


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
        self._lengths = vectors.lengths(self._rows)
        self.count = int(np.count_nonzero(self._lengths))

    @property
    def size_bytes(self) -> int:
        """The memory of the vectors."""
        return self._rows.nbytes + self._lengths.nbytes

    def cosines(self, query_vector: QueryVector) -> vectors.Cosines:
        """Return the cosine of each row."""
        return vectors.cosines(self._rows, self._lengths, query_vector)


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
        self._blobs = branch_index.blob_ids
        counts = branch_index.chunks.counts
        self._file_of = np.repeat(np.arange(len(counts)), counts)
        self._places = CachedVectors(
            branch_index.chunks.ids_of(np.arange(branch_index.count)), of_chunks
        )
        self._files = CachedVectors(branch_index.file_ids, of_files)
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

    def __init__(self, cosines: vectors.Cosines, of_files: vectors.Cosines) -> None:
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
        self._reader = reader_of(handle, query_vector)
        self._filters = filters
        self._branch_index = branch_index

    def nearest(self, least: float) -> list[int]:
        """Return the most similar places of at least ``least``, by number."""
        found = near_chunks(self._handle, self._reader, self._filters, least)
        places = [self._branch_index.place_of(chunk.id) for chunk in found]
        return sorted(place for place in places if place is not None)

    def cosines_at(self, places: Sequence[int]) -> Cosines:
        """Return the cosines of places."""
        found = self._branch_index.files_at(places)
        pairs = [
            (file.chunk_of(place), file.file_id) for file, place in zip(found, places, strict=True)
        ]
        return cosines_of(self._reader, pairs)


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


def _most_similar(similarities: vectors.Cosines, number: int, least: float) -> NDArray[np.intp]:
    """Return the positions of the largest from ``least`` on, unordered; the first of equals."""
    near = np.flatnonzero(similarities >= least)
    if len(near) <= number:
        return near
    last = np.partition(similarities[near], len(near) - number)[len(near) - number]
    above = near[similarities[near] > last]
    equal = near[similarities[near] == last]
    return np.concatenate([above, equal[: number - len(above)]])
