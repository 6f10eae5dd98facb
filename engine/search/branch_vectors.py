"""The vectors of a cached branch, and the similarity of its places to the meaning of a query.

The only module of this package that computes with vectors. It imports numpy, and is therefore
imported only by a process that answers several queries by meaning.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.search.branch_index import BranchIndex, ChunkPlaces
from engine.search.features import Cosines
from engine.search.meaning import cosines_of, near_chunks, reader_of
from engine.search.weights import FILE_SHARE, MAX_BY_MEANING
from engine.store import chunks, quantization, vectors
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import ModelRow
from engine.store.vector_rows import QueryVector

#: Larger branches, of more than 500,000 places with 256 dimensions, are not cached.
MAX_BYTES = 128 << 20
#: The share of the numbers of a vector by which it is compared at first.
FIRST_SHARE = 1 / 3
#: Of the squared length of vectors, the share that the other numbers may have on average.
_MAX_REST = 0.45
#: Places that are compared first, as a multiple of the wanted number; of every so many one is
#: looked at to find them.
_LIKELY = 4
_SAMPLED = 8
_ROUNDING = 1e-5
#: Up to so many places are all compared by all numbers.
_FEW = 1 << 15
_BEYOND = 9.0  # more than any similarity


class CachedVectors:
    """Vectors in memory, one per row, most of their numbers packed as they are stored.

    Args:
        ids: What the rows belong to, rising.
        stored: Vectors of some of these ids, or of others too, in parts. A row without one has
            cosine 0.
        dimension: Of the vectors.
        first_share: The share of the numbers of each row that is kept apart, to compare by these
            alone at first.
    """

    def __init__(
        self,
        ids: NDArray[np.int64],
        stored: Iterable[vectors.PackedVectors],
        dimension: int,
        first_share: float = 1.0,
    ) -> None:
        size = dimension // 2
        first = max(1, int(size * first_share))  # bytes, of two numbers each
        self._first: quantization.Stored = np.zeros((len(ids), 2 * first), np.int8)
        self._others = np.full((len(ids), size - first), quantization.ZEROS, np.uint8)
        squares = np.zeros(len(ids))
        for found, rows in stored:
            at, wanted = _rows_for(ids, found, rows)
            self._first[at] = quantization.unpacked_numbers(wanted[:, :first])
            self._others[at] = wanted[:, first:size]
            squares[at] = vectors.packed_squares(wanted[:, :first])
        of_others = vectors.packed_squares(self._others)
        squares += of_others
        has_length = squares > 0
        self._lengths = np.sqrt(squares)
        self.count = int(np.count_nonzero(has_length))
        one = np.float32(1)
        #: Of each row, one divided by its length, and the share of it that its other numbers have.
        self._scales = np.divide(
            one,
            self._lengths,
            out=np.zeros(len(ids), np.float32),
            where=has_length,
            casting="unsafe",
        )
        self._rests = np.sqrt(of_others) * self._scales
        tells = float((self._rests**2).sum()) < _MAX_REST * self.count
        #: Whether the first numbers hold so much that they tell which rows may be near.
        self.tells_early = tells and size > first

    @property
    def size_bytes(self) -> int:
        """The memory of the vectors."""
        numbers = self._first.nbytes + self._others.nbytes
        lengths = self._lengths.nbytes + self._scales.nbytes + self._rests.nbytes
        return int(numbers + lengths)

    @property
    def has_vector(self) -> NDArray[np.bool_]:
        """Whether each row has a vector."""
        found: NDArray[np.bool_] = self._scales > 0
        return found

    def cosines(self, query_vector: QueryVector) -> vectors.Cosines:
        """Return the cosine of each row."""
        of_first, of_others = self._split(query_vector)
        products = vectors.products(self._first, of_first)
        if self._others.shape[1]:
            products += vectors.packed_products(self._others, of_others)
        return vectors.scaled(products, self._lengths, query_vector)

    def cosines_at(
        self, query_vector: QueryVector, rows: NDArray[np.intp], of_first: vectors.Products
    ) -> vectors.Cosines:
        """Return the cosines of some rows; the same numbers as of ``cosines``.

        Args:
            query_vector: The query.
            rows: The numbers of the rows.
            of_first: Of all rows, what ``first_products`` returns.
        """
        products = of_first[rows]
        if self._others.shape[1]:
            of_others = self._split(query_vector)[1]
            products += vectors.packed_products(self._others[rows], of_others)
        return vectors.scaled(products, self._lengths[rows], query_vector)

    def first_products(self, query_vector: QueryVector) -> vectors.Products:
        """Return the product of the first numbers of each row."""
        return vectors.products(self._first, self._split(query_vector)[0])

    def estimates(
        self, query_vector: QueryVector, of_first: vectors.Products
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return of each row what its first numbers add to the cosine, and what others may add.

        Args:
            query_vector: The query.
            of_first: What ``first_products`` returns.
        """
        others = self._split(query_vector)[1]
        length = query_vector.length or 1.0
        adds = of_first * self._scales
        adds *= np.float32(1 / length)
        return adds, self._rests * np.float32(np.linalg.norm(others) / length)

    def _split(self, query_vector: QueryVector) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        numbers = np.frombuffer(query_vector.numbers, np.int8).astype(np.float32)
        return numbers[: self._first.shape[1]], numbers[self._first.shape[1] :]


def _rows_for(
    ids: NDArray[np.int64], found: NDArray[np.int64], rows: NDArray[np.uint8]
) -> tuple[slice | NDArray[np.intp], NDArray[np.uint8]]:
    """Return where in rising ids each row belongs, and the rows that belong to any."""
    begin = int(np.searchsorted(ids, found[0])) if len(found) else 0
    run = slice(begin, begin + len(found))
    if np.array_equal(ids[run], found):  # as after a first run
        return run, rows
    at = np.searchsorted(ids, found)
    is_wanted = np.append(ids, -1)[at] == found
    return at[is_wanted], rows[is_wanted]


class BranchVectors:
    """The vectors of a branch, by place and by file. Thread-safe.

    Args:
        branch_index: The branch.
        of_chunks: The vectors of its places.
        of_files: The vectors of the paths of its files, those that are not shown too.
        file_ids: Of these files, rising.
    """

    def __init__(
        self,
        branch_index: BranchIndex,
        of_chunks: CachedVectors,
        of_files: CachedVectors,
        file_ids: NDArray[np.int64],
    ) -> None:
        self._branch_index = branch_index
        self._places, self._files, self._file_ids = of_chunks, of_files, file_ids
        self._file_of = self._files_of(branch_index)
        self._latest: Compared | None = None
        self.embedded = of_chunks.count / branch_index.count if branch_index.count else 1.0

    @property
    def size_bytes(self) -> int:
        """The memory of the vectors, and of what was computed for the latest query."""
        vectors_bytes = self._places.size_bytes + self._files.size_bytes
        latest = self._latest
        compared = latest.size_bytes if latest else 0
        return self._file_of.nbytes + self._file_ids.nbytes + vectors_bytes + compared

    def similarities(
        self, query_vector: QueryVector, part: BranchIndex | None = None
    ) -> "CachedSimilarities":
        """Compare all places with a query.

        Args:
            query_vector: The query.
            part: The part of the branch that may be found; None for all of it.
        """
        shown = part or self._branch_index
        is_same = part is None or part.file_ids is self._branch_index.file_ids
        file_of = self._file_of if is_same else self._files_of(shown)
        compared = self._latest  # a question can be asked of several parts
        if compared is None or compared.query_vector != query_vector:
            self._latest = compared = Compared(query_vector, self._places, self._files)
        return CachedSimilarities(compared, file_of, shown.chunks)

    def _files_of(self, shown: BranchIndex) -> NDArray[np.int32]:
        """Return of each place the row of the path of its file."""
        rows = self._file_ids.searchsorted(shown.file_ids).astype(np.int32)
        return np.repeat(rows, shown.chunks.counts)

    def near_chunks(
        self, handle: Handle, query_vector: QueryVector, filters: Filters, least: float
    ) -> list[ChunkFacts]:
        """Return the most similar chunks that pass filters on files, of those that are visible.

        At most ``MAX_BY_MEANING`` of them, of at least the similarity ``least``, unordered; exact,
        unlike the function ``near_chunks``.
        """
        part = self._branch_index.part(handle, filters)
        places = self.similarities(query_vector, part).nearest(least)
        ids = part.chunks.ids_of(np.array(places, np.int64)).tolist()
        return list(chunks.read_chunks(handle, ids, filters).values())

    def most_alike(self, query_vector: QueryVector, number: int) -> dict[int, float]:
        """Return the chunks with the most similar texts, with their cosines; exact."""
        places, cosines = self.similarities(query_vector).alike(number)
        ids = self._branch_index.chunks.ids_of(places)
        return dict(zip(ids.tolist(), cosines.tolist(), strict=True))


class Estimates(NamedTuple):
    """What the first numbers of the vectors of places tell of their similarities to a query."""

    file_of: NDArray[np.integer[Any]]  # the file of each place, whose share is added
    similarities: NDArray[np.float32]  # by the first numbers
    rests: NDArray[np.float32]  # what the others may add


class Compared:
    """A query and the vectors of a branch; what is computed holds for all parts of it.

    Args:
        query_vector: The query.
        places: The vectors of places.
        files: The vectors of the paths of files.
    """

    def __init__(
        self, query_vector: QueryVector, places: CachedVectors, files: CachedVectors
    ) -> None:
        self.query_vector, self.places, self._files = query_vector, places, files
        self._of_files: vectors.Cosines | None = None
        self._of_places: vectors.Cosines | None = None
        self._of_first: vectors.Products | None = None
        self._estimates: Estimates | None = None

    @property
    def size_bytes(self) -> int:
        """The memory of what was computed."""
        computed = (self._of_files, self._of_places, self._of_first, *(self._estimates or ())[1:])
        return sum(each.nbytes for each in computed if each is not None)

    @property
    def of_files(self) -> vectors.Cosines:
        """The cosine of each path."""
        if self._of_files is None:
            self._of_files = self._files.cosines(self.query_vector)
        return self._of_files

    @property
    def of_places(self) -> vectors.Cosines:
        """The cosine of each place."""
        if self._of_places is None:
            self._of_places = self.places.cosines(self.query_vector)
        return self._of_places

    @property
    def of_first(self) -> vectors.Products:
        """The product of the first numbers of each place."""
        if self._of_first is None:
            self._of_first = self.places.first_products(self.query_vector)
        return self._of_first

    def places_at(self, places: NDArray[np.intp]) -> vectors.Cosines:
        """Return the cosines of some places."""
        return self.places.cosines_at(self.query_vector, places, self.of_first)

    def estimates(self, file_of: NDArray[np.integer[Any]]) -> Estimates:
        """Return what the first numbers of places tell.

        Most parts of a branch show a text in the same file, so its share is added once for them.

        Args:
            file_of: The file of each place.
        """
        known = self._estimates
        if known is None or known.file_of is not file_of:
            adds, rests = self.places.estimates(self.query_vector, self.of_first)
            adds += (FILE_SHARE * self.of_files).astype(np.float32)[file_of]
            self._estimates = known = Estimates(file_of, adds, rests)
        return known


class CachedSimilarities:
    """The similarities of a query to the places of a branch.

    Args:
        compared: The query and the vectors.
        file_of: The file of each place.
        of_chunks: The places.
    """

    def __init__(
        self,
        compared: Compared,
        file_of: NDArray[np.integer[Any]],
        of_chunks: ChunkPlaces,
    ) -> None:
        self._compared, self._places, self._file_of = compared, compared.places, file_of
        self._is_visible, self._in_order = of_chunks.is_visible, of_chunks.in_order

    def nearest(self, least: float) -> list[int]:
        """Return the most similar places, by number; of equal last ones the first by path.

        The first numbers of a vector hold most of its length if the model puts its main directions
        there, as the built-in one does. What the others may add is bounded by their length
        (Cauchy-Schwarz), so only places that can be among the nearest are compared by all numbers.

        Args:
            least: The similarity that they must have.
        """
        shares = FILE_SHARE * self._compared.of_files
        if self._places.tells_early:
            near = self._likely(shares, least)
            found = self._similarities(shares, near)
        else:
            found = self._compared.of_places + shares[self._file_of]
            if self._is_visible is not None:
                found[~self._is_visible] = -_BEYOND
            near = np.arange(len(found))
        places: list[int] = np.sort(self._best(near, found, least, MAX_BY_MEANING)).tolist()
        return places

    def alike(self, number: int) -> tuple[NDArray[np.intp], vectors.Cosines]:
        """Return the places whose texts alone are the most similar, unordered; their cosines."""
        found = self._compared.of_places
        is_in = self._places.has_vector
        if self._is_visible is not None:
            is_in = is_in & self._is_visible
        places = np.flatnonzero(is_in)
        near = self._best(places, found[places], -_BEYOND, number)
        return near, found[near]

    def _best(
        self,
        places: NDArray[np.intp],
        similarities: vectors.Cosines,
        least: float,
        number: int,
    ) -> NDArray[np.intp]:
        is_near = similarities >= least
        near, found = places[is_near], similarities[is_near]
        return near[vectors.highest(near, found, number, self._in_order)]

    def _likely(self, shares: vectors.Cosines, least: float) -> NDArray[np.intp]:
        """Return all places that may be among the nearest, and few others."""
        is_in = self._is_visible
        known = self._compared.estimates(self._file_of)
        estimates = known.similarities.copy()
        if is_in is not None:
            estimates[~is_in] = -_BEYOND
        some = estimates[::_SAMPLED]
        number = _LIKELY * MAX_BY_MEANING // _SAMPLED
        if len(some) > number:
            likely = max(np.partition(some, -number)[-number], 1 - _BEYOND)  # of those to be found
            first = np.flatnonzero(estimates >= likely)
            if len(first) >= MAX_BY_MEANING:
                found = self._similarities(shares, first)
                least = max(least, np.partition(found, -MAX_BY_MEANING)[-MAX_BY_MEANING])
        estimates += known.rests
        return np.flatnonzero(estimates >= np.float32(least - _ROUNDING))

    def _similarities(self, shares: vectors.Cosines, at: NDArray[np.intp]) -> vectors.Cosines:
        of_files: vectors.Cosines = shares[self._file_of[at]]
        return self._compared.places_at(at) + of_files

    def cosines_at(self, places: Sequence[int]) -> Cosines:
        """Return the cosines of places."""
        at = np.array(places, np.int64)
        compared = self._compared
        of_places = compared.places_at(at) if self._places.tells_early else compared.of_places[at]
        return Cosines(of_places.tolist(), compared.of_files[self._file_of[at]].tolist())


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
        found = self._branch_index.files_at(self._handle, places)
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
    of_chunks = branch_index.chunks
    shifts = of_chunks.first_chunks - of_chunks.first_places
    chunk_ids = np.arange(branch_index.count) + np.repeat(shifts, of_chunks.counts)
    file_ids = np.sort(branch_index.all_file_ids)
    share = FIRST_SHARE if branch_index.count > _FEW else 1.0
    return BranchVectors(
        branch_index,
        CachedVectors(chunk_ids, vectors.iter_packed_chunks(handle, model), model.dimension, share),
        CachedVectors(file_ids, vectors.iter_packed_files(handle, model), model.dimension),
        file_ids,
    )
