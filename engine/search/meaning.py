"""How near places are to what a question means: cosines of stored vectors.

The only module of this room that computes with vectors, and so the only one that imports numpy; it
is imported when a question has to be answered by meaning, and not before.

Vectors are stored as whole numbers from -7 to 7, and a question is rounded to such from -127 to
127. So a product is a sum of whole numbers, which 32-bit floats hold exactly up to 18,000
dimensions: a cosine is the same wherever and in whatever order it is computed, and what a process
keeps answers as the database does.
"""

from collections.abc import Sequence
from heapq import nlargest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.search.branch_index import Tree
from engine.search.features import Cosines
from engine.search.weights import FILE_SHARE, MOST_BY_MEANING
from engine.store import chunks, files, vectors
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import ModelRow
from engine.store.vectors import Stored, StoredVectors

#: Whole numbers, as float32 for the sake of matrix products.
Whole = NDArray[np.float32]
Numbers = NDArray[np.float64]

#: Above so many bytes of vectors, 500,000 places of 256 dimensions, a process keeps none of them.
MOST_BYTES = 128 << 20
# Bytes are made floats a block at a time, which stays in the processor's cache: 0.6 ms for 10,000
# places of 256 dimensions, 7 ms for 100,000. Floats that are kept take four times the memory, and
# as long or longer once other work has driven them out of the cache.
_BLOCK_NUMBERS = 1 << 18
_QUESTION_LARGEST = 127
# What the database is asked for, to find the nearest among.
_NEAR_CHUNKS = MOST_BY_MEANING
_NEAR_FILES = 20
_MOST_OF_FILE = 50  # chunks


class Asked(NamedTuple):
    """What is searched for, as the vector of a model."""

    model: ModelRow
    vector: Whole  # (dimension,)
    length: float

    @classmethod
    def of(cls, model: ModelRow, vector: NDArray[np.float32]) -> "Asked":
        """Round the vector of a question."""
        whole = vectors.quantized(vector[np.newaxis, :].astype(np.float32), _QUESTION_LARGEST)[0]
        whole = whole.astype(np.float32)
        return cls(model, whole, float(_lengths(whole[np.newaxis, :])[0]))


class KeptVectors:
    """Vectors in memory, a row each.

    Args:
        ids: What the rows belong to.
        stored: The vectors there are, of more or of fewer; a row without one has cosine 0.
    """

    def __init__(self, ids: NDArray[np.int64], stored: StoredVectors) -> None:
        dimension = stored.vectors.shape[1]
        self._rows: Stored = np.zeros((len(ids), dimension), np.int8)
        if len(stored.ids):
            at = np.minimum(np.searchsorted(stored.ids, ids), len(stored.ids) - 1)
            is_there = stored.ids[at] == ids
            self._rows[is_there] = stored.vectors[at[is_there]]
        self._lengths = _lengths(self._rows)
        self.count = int(np.count_nonzero(self._lengths))

    @property
    def size_bytes(self) -> int:
        """What they take."""
        return self._rows.nbytes + self._lengths.nbytes

    def cosines(self, asked: Asked) -> Numbers:
        """Give the cosine of each row."""
        return _cosines(self._rows, self._lengths, asked)


class TreeVectors:
    """The vectors of a branch, by place and by file. For any number of threads.

    Args:
        tree: The branch.
        of_chunks: The vectors of its chunks, or of more.
        of_files: The vectors of its paths, or of more.
    """

    def __init__(self, tree: Tree, of_chunks: StoredVectors, of_files: StoredVectors) -> None:
        self._tree = tree
        self._blobs = np.array([file.blob_id for file in tree.files], np.int64)
        counts = np.array([file.place_count for file in tree.files], np.int64)
        # The chunks of a file have ids without a gap, and so have the places of a tree.
        shifts = np.array([file.first_chunk - file.first_place for file in tree.files], np.int64)
        self._file_of = np.repeat(np.arange(len(counts)), counts)
        self._places = KeptVectors(np.arange(tree.count) + np.repeat(shifts, counts), of_chunks)
        file_ids = np.array([file.file_id for file in tree.files], np.int64)
        self._files = KeptVectors(file_ids, of_files)
        self.embedded = self._places.count / tree.count if tree.count else 1.0

    @property
    def size_bytes(self) -> int:
        """What they take."""
        own = self._blobs.nbytes + self._file_of.nbytes
        return own + self._places.size_bytes + self._files.size_bytes

    def near(self, asked: Asked) -> "NearPlaces":
        """Compare all places with a question."""
        return NearPlaces(self._places.cosines(asked), self._files.cosines(asked)[self._file_of])

    def near_chunks(
        self, handle: Handle, asked: Asked, filters: Filters, least: float
    ) -> list[ChunkFacts]:
        """Find the chunks that pass filters on files and are nearest, and near enough.

        At most ``MOST_BY_MEANING`` of them, in no order; exact, unlike ``near_chunks`` below.
        """
        passing = np.array(files.read_passing_blobs(handle, filters), np.int64)
        is_in = np.isin(self._blobs, passing)[self._file_of]
        places = self.near(asked).among(is_in).nearest(least)
        found = self._tree.files_at(places)
        ids = [file.chunk_of(place) for file, place in zip(found, places, strict=True)]
        return list(chunks.read_chunks(handle, ids, filters).values())


class NearPlaces:
    """How near a question is to the places of a tree."""

    def __init__(self, cosines: Numbers, of_files: Numbers) -> None:
        self._cosines = cosines
        self._of_files = of_files

    def among(self, is_in: NDArray[np.bool_]) -> "NearPlaces":
        """Leave out all other places."""
        return NearPlaces(np.where(is_in, self._cosines, -1), np.where(is_in, self._of_files, -1))

    def nearest(self, least: float) -> list[int]:
        """Give the nearest places that are near enough, in their order; of equal ones the first."""
        nearness = self._cosines + FILE_SHARE * self._of_files
        places: list[int] = np.sort(_largest(nearness, MOST_BY_MEANING, least)).tolist()
        return places

    def cosines_at(self, places: Sequence[int]) -> Cosines:
        """Give the cosines of places."""
        at = np.array(places, np.int64)
        return Cosines(self._cosines[at].tolist(), self._of_files[at].tolist())


class StoredPlaces:
    """The same for a tree whose vectors are too many to be kept: the database is asked."""

    def __init__(self, handle: Handle, asked: Asked, filters: Filters, tree: Tree) -> None:
        self._handle = handle
        self._asked = asked
        self._filters = filters
        self._tree = tree

    def nearest(self, least: float) -> list[int]:
        """Give the nearest places that are near enough, in their order."""
        found = near_chunks(self._handle, self._asked, self._filters, least)
        places = [self._tree.place_of(chunk.id) for chunk in found]
        return sorted(place for place in places if place is not None)

    def cosines_at(self, places: Sequence[int]) -> Cosines:
        """Give the cosines of places."""
        found = self._tree.files_at(places)
        pairs = [
            (file.chunk_of(place), file.file_id) for file, place in zip(found, places, strict=True)
        ]
        return cosines_of(self._handle, self._asked, pairs)


#: How near a question is to the places of a tree.
Near = NearPlaces | StoredPlaces


def read_tree_vectors(handle: Handle, model: ModelRow, tree: Tree) -> TreeVectors | None:
    """Read the vectors of a branch; None when they are too many to be kept."""
    if tree.count * model.dimension > MOST_BYTES:
        return None
    of_chunks = vectors.read_chunk_vectors(handle, model)
    return TreeVectors(tree, of_chunks, vectors.read_file_vectors(handle, model))


def near_chunks(handle: Handle, asked: Asked, filters: Filters, least: float) -> list[ChunkFacts]:
    """Find the chunks that pass filters and are nearest, and near enough, in the database.

    At most ``MOST_BY_MEANING`` of them, in no order.

    They are looked for among the chunks nearest by themselves and those of the nearest files, so
    that of many thousands one whose text and path are both only fairly near can be missed.
    """
    if not asked.length:
        return []
    near = vectors.nearest_chunks(handle, asked.model, asked.vector, _NEAR_CHUNKS, filters)
    ids = {id_ for id_, _ in near}
    near_files = vectors.nearest_files(handle, asked.model, asked.vector, _NEAR_FILES, filters)
    ranges = chunks.chunks_of_files(handle, [file_id for file_id, _ in near_files])
    for first, last in ranges.values():
        ids.update(_nearest_of(handle, asked, range(first, last + 1)))
    found = list(chunks.read_chunks(handle, sorted(ids), filters).values())
    found.sort(key=_by_id)
    cosines = cosines_of(handle, asked, [(chunk.id, chunk.file_id) for chunk in found])
    nearness = np.array(cosines.places) + FILE_SHARE * np.array(cosines.files)
    return [found[at] for at in _largest(nearness, MOST_BY_MEANING, least)]


def near_by_text(handle: Handle, asked: Asked, filters: Filters, number: int) -> dict[int, float]:
    """Give the cosines of the chunks whose text is nearest, paths apart."""
    near = vectors.nearest_chunks(handle, asked.model, asked.vector, number, filters)
    return _chunk_cosines(handle, asked, [chunk_id for chunk_id, _ in near])


def asked_of_chunks(handle: Handle, model: ModelRow, chunk_ids: Sequence[int]) -> Asked | None:
    """Make a question of chunks: what they mean together; None when they have no vectors."""
    stored = vectors.read_some_vectors(handle, model, chunk_ids).vectors
    lengths = _lengths(stored)[:, np.newaxis]
    units = np.divide(stored, lengths, out=np.zeros(stored.shape), where=lengths > 0)
    asked = Asked.of(model, units.sum(axis=0).astype(np.float32))
    return asked if asked.length else None


def _nearest_of(handle: Handle, asked: Asked, chunk_ids: Sequence[int]) -> Sequence[int]:
    """Give the nearest chunks of one file: all of them unless it is a large one."""
    if len(chunk_ids) <= _MOST_OF_FILE:
        return chunk_ids
    cosines = _chunk_cosines(handle, asked, chunk_ids)
    return nlargest(_MOST_OF_FILE, cosines, key=cosines.__getitem__)


def cosines_of(handle: Handle, asked: Asked, pairs: Sequence[tuple[int, int]]) -> Cosines:
    """Give the cosines of chunks and of the files that show them, from the database.

    Args:
        handle: A read transaction.
        asked: The question.
        pairs: Ids of a chunk and of a file.
    """
    of_chunks = _chunk_cosines(handle, asked, [chunk_id for chunk_id, _ in pairs])
    file_ids = sorted({file_id for _, file_id in pairs})
    of_files = _by_id_of(vectors.read_some_file_vectors(handle, asked.model, file_ids), asked)
    return Cosines(
        [of_chunks.get(chunk_id, 0.0) for chunk_id, _ in pairs],
        [of_files.get(file_id, 0.0) for _, file_id in pairs],
    )


def _chunk_cosines(handle: Handle, asked: Asked, chunk_ids: Sequence[int]) -> dict[int, float]:
    """Give the cosines of chunks, from the database; those without a vector are left out."""
    return _by_id_of(vectors.read_some_vectors(handle, asked.model, chunk_ids), asked)


def _by_id_of(stored: StoredVectors, asked: Asked) -> dict[int, float]:
    cosines = _cosines(stored.vectors, _lengths(stored.vectors), asked)
    return dict(zip(stored.ids.tolist(), cosines.tolist(), strict=True))


def _cosines(rows: Stored, lengths: Numbers, asked: Asked) -> Numbers:
    """Give the cosine of each row and a question; 0 where either is nothing."""
    products = np.empty(len(rows), np.float32)
    size = max(1, _BLOCK_NUMBERS // rows.shape[1])
    block = np.empty((size, rows.shape[1]), np.float32)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        floats = block[: len(part)]
        np.copyto(floats, part)
        np.dot(floats, asked.vector, out=products[start : start + size])
    scale = lengths * asked.length
    return np.divide(products, scale, out=np.zeros(len(rows)), where=scale > 0)


def _lengths(rows: Stored) -> Numbers:
    squares = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096].astype(np.float32)
        np.einsum("ij,ij->i", part, part, out=squares[start : start + 4096], casting="unsafe")
    return np.sqrt(squares)


def _largest(nearness: Numbers, number: int, least: float) -> NDArray[np.intp]:
    """Give where the largest are, those that are near enough, in no order; first ones of equal."""
    near = np.flatnonzero(nearness >= least)
    if len(near) <= number:
        return near
    last = np.partition(nearness[near], len(near) - number)[len(near) - number]
    above = near[nearness[near] > last]
    equal = near[nearness[near] == last]
    return np.concatenate([above, equal[: number - len(above)]])


def _by_id(chunk: ChunkFacts) -> int:
    return chunk.id
