"""Vectors of chunks and files: writing, reading and nearest neighbours.

A vector is stored with four bits a number and a checksum; a chunk's vector also as its sign bits,
by which a search preselects candidates (see ``quantization`` and ``vector_format``).

Reading takes whole blocks from the shadow tables of sqlite-vec, ``…_chunks`` (the rows of a block)
and ``…_vector_chunksNN`` (their numbers), a hundred times as fast as row by row. Neighbours are
found in the same way: comparing the sign bits of all chunks in numpy costs less than the KNN of
sqlite-vec for any k, and a filter is one more array (figures in ``tests/benchmark``).

A query is rounded to integers from -127 to 127. So a product is a sum of integers, which 32-bit
floats hold exactly up to 18,000 dimensions: a cosine is the same wherever and in whatever order it
is computed, with cached vectors and with those of the database.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.store import chunks, files
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import ModelRow
from engine.store.quantization import ABOVE, LOW, Stored, rows_of, signs, stored_rows, unpacked
from engine.store.vector_format import row_bytes_of
from engine.store.vector_rows import (
    InOrder,
    QueryVector,
    allowed_chunks,
    allowed_files,
    insert_chunk_rows,
    insert_file_rows,
    looked_at,
    read_blocks,
    read_rows,
)

Cosines = NDArray[np.float64]
Products = NDArray[np.float32]

# Bytes are converted to floats a block at a time, which stays in the processor's cache: 0.6 ms for
# 10,000 vectors of 256 numbers, 7 ms for 100,000. Stored floats would take four times the memory,
# and as long or longer once other work has driven them out of the processor's cache.
_BLOCK_NUMBERS = 1 << 18
_PACKED_BLOCK_BYTES = 1 << 16
#: Blocks that are read together, some 2 MB of vectors with 192 numbers.
_BLOCKS_AT_ONCE = 200

Ids = NDArray[np.int64]
Place = TypeVar("Place", bound=np.integer[Any])


class StoredVectors(NamedTuple):
    """Vectors with what they belong to, by rising id."""

    ids: Ids
    vectors: Stored  # (ids × dimension)


class PackedVectors(NamedTuple):
    """Vectors as they are stored, with what they belong to."""

    ids: Ids
    rows: NDArray[np.uint8]  # (ids × bytes), each with its checksum


def insert_chunk_vectors(
    handle: Handle, model: ModelRow, chunk_ids: Iterable[int], vectors: Stored
) -> None:
    """Insert the vectors of chunks."""
    insert_chunk_rows(handle, model, chunk_ids, stored_rows(vectors))


def insert_file_vectors(
    handle: Handle, model: ModelRow, file_ids: Iterable[int], vectors: Stored
) -> None:
    """Insert the vectors of files."""
    insert_file_rows(handle, model, file_ids, rows_of(vectors))


def read_chunk_vectors(handle: Handle, model: ModelRow) -> StoredVectors:
    """Return the vectors of all chunks."""
    return _read_all(handle, model.chunk_table, "01", model.dimension)


def iter_packed_chunks(handle: Handle, model: ModelRow) -> Iterator[PackedVectors]:
    """Yield the vectors of all chunks in batches, unordered, in little memory."""
    return _iter_packed(handle, model.chunk_table, "01", model.dimension)


def read_packed_chunks(handle: Handle, model: ModelRow, chunk_ids: Sequence[int]) -> PackedVectors:
    """Return the vectors of those of some chunks that have one."""
    rows = read_rows(handle, model.chunk_table, chunk_ids)
    flat = np.frombuffer(b"".join([row for _, row in rows]), np.uint8)
    return PackedVectors(
        _ids_of([id_ for id_, _ in rows]), flat.reshape(-1, row_bytes_of(model.dimension))
    )


def iter_packed_files(handle: Handle, model: ModelRow) -> Iterator[PackedVectors]:
    """Yield the vectors of all files in batches, unordered."""
    return _iter_packed(handle, model.file_table, "00", model.dimension)


def _iter_packed(
    handle: Handle, table: str, column: str, dimension: int
) -> Iterator[PackedVectors]:
    after = -1
    while True:
        rows: list[tuple[Any, ...]] = handle.execute(
            f"""SELECT c.validity, c.rowids, v.vectors, c.chunk_id FROM {table}_chunks c
                CROSS JOIN {table}_vector_chunks{column} v ON v._rowid_ = c.chunk_id
                WHERE c.chunk_id > :after ORDER BY c.chunk_id LIMIT :limit""",  # noqa: S608
            {"after": after, "limit": _BLOCKS_AT_ONCE},
        ).fetchall()
        if not rows:
            return
        after = rows[-1][3]
        yield PackedVectors(*_used_rows(rows, row_bytes_of(dimension)))


def read_file_vectors(handle: Handle, model: ModelRow) -> StoredVectors:
    """Return the vectors of all files."""
    return _read_all(handle, model.file_table, "00", model.dimension)


class ManyVectors:
    """A ``VectorReader`` for any number of vectors.

    Args:
        handle: A read transaction.
        query_vector: The query.
    """

    def __init__(self, handle: Handle, query_vector: QueryVector) -> None:
        self._handle = handle
        self._model = query_vector.model
        self._query_vector = query_vector

    def nearest_chunks(self, limit: int, filters: Filters) -> list[int]:
        """See ``VectorReader``."""

        def by_path(equal: list[int]) -> list[int]:
            return chunks.by_path(self._handle, equal, filters)

        ids = self._likely(looked_at(limit), allowed_chunks(self._handle, filters), by_path)
        return self._best(_read_some(self._handle, self._model.chunk_table, ids), limit, by_path)

    def nearest_files(self, limit: int, filters: Filters) -> list[int]:
        """See ``VectorReader``."""
        stored = read_file_vectors(self._handle, self._model)
        is_in = np.isin(stored.ids, _ids_of(allowed_files(self._handle, filters)))
        passing = StoredVectors(stored.ids[is_in], stored.vectors[is_in])
        return self._best(passing, limit, lambda equal: files.by_path(self._handle, equal))

    def chunk_cosines(self, ids: Sequence[int]) -> dict[int, float]:
        """See ``VectorReader``."""
        return self._cosines(self._model.chunk_table, ids)

    def file_cosines(self, ids: Sequence[int]) -> dict[int, float]:
        """See ``VectorReader``."""
        return self._cosines(self._model.file_table, ids)

    def _cosines(self, table: str, ids: Sequence[int]) -> dict[int, float]:
        stored = _read_some(self._handle, table, ids)
        found = cosines(stored.vectors, lengths(stored.vectors), self._query_vector)
        return dict(zip(stored.ids.tolist(), found.tolist(), strict=True))

    def _best(self, stored: StoredVectors, limit: int, in_order: InOrder) -> list[int]:
        found = cosines(stored.vectors, lengths(stored.vectors), self._query_vector)
        return _nearest(stored.ids, found, limit, in_order)

    def _likely(
        self, wanted: int, allowed: Sequence[int] | None, by_path: InOrder
    ) -> Sequence[int]:
        """Return the chunks whose sign bits agree best with the query's."""
        if allowed is not None and len(allowed) <= wanted:
            return allowed
        size = self._model.dimension // 8
        ids, flat = _used_rows(read_blocks(self._handle, self._model.chunk_table, "00"), size)
        if allowed is not None:
            is_in = np.isin(ids, _ids_of(allowed))
            ids, flat = ids[is_in], flat[is_in]
        if len(ids) <= wanted:
            all_of_them: list[int] = ids.tolist()
            return all_of_them
        query = np.frombuffer(self._query_vector.numbers, np.int8)
        distances = _different_bits(flat, signs(query[np.newaxis, :]))
        return _nearest(ids, -distances.astype(np.int32), wanted, by_path)


def _nearest(ids: Ids, values: NDArray[Any], limit: int, in_order: InOrder) -> list[int]:
    """Return the ids with the highest values, best first; of equal last ones the first in order."""
    at = highest(ids, values, limit, lambda equal: in_order(equal.tolist()))
    best: list[int] = ids[at[np.argsort(-values[at], kind="stable")]].tolist()
    return best


def highest(
    places: NDArray[Place],
    values: NDArray[Any],
    number: int,
    in_order: Callable[[NDArray[Place]], Sequence[int] | NDArray[Place]],
) -> NDArray[np.intp]:
    """Return where the highest values are.

    Args:
        places: What the values belong to, each once.
        values: Of these places.
        number: How many are wanted.
        in_order: Gives equal places an order; of the last ones the first by it are returned, so,
            and after the others.
    """
    if len(values) <= number:
        return np.arange(len(values))
    least = np.partition(values, -number)[-number]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    wanted = number - len(above)
    if len(equal) > wanted:
        equal = equal[np.argsort(places[equal])]
        equal = equal[np.searchsorted(places[equal], in_order(places[equal])[:wanted])]
    return np.concatenate([above, equal])


def cosines(rows: Stored, of_rows: Cosines, query_vector: QueryVector) -> Cosines:
    """Return the cosine of each row with a query; 0 where either is a zero vector.

    Args:
        rows: Vectors.
        of_rows: Their lengths.
        query_vector: The query.
    """
    query = np.frombuffer(query_vector.numbers, np.int8).astype(np.float32)
    return scaled(products(rows, query), of_rows, query_vector)


def products(rows: Stored, numbers: NDArray[np.float32]) -> Products:
    """Return the product of each row, or of a part of each, with as many whole numbers."""
    found = np.empty(len(rows), np.float32)
    size = max(1, _BLOCK_NUMBERS // max(1, rows.shape[1]))
    block = np.empty((min(size, len(rows)), rows.shape[1]), np.float32)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        floats = block[: len(part)]
        np.copyto(floats, part)
        np.dot(floats, numbers, out=found[start : start + size])
    return found


def scaled(found: Products, of_rows: Cosines, query_vector: QueryVector) -> Cosines:
    """Return the cosines of products; 0 where either is a zero vector.

    Args:
        found: The products of rows with the query.
        of_rows: The lengths of the rows.
        query_vector: The query.
    """
    scale = of_rows * query_vector.length
    return np.divide(found, scale, out=np.zeros(len(found)), where=scale > 0)


def packed_products(rows: NDArray[np.uint8], numbers: NDArray[np.float32]) -> Products:
    """Return the product of each packed row, or of a part of each, with as many numbers.

    Args:
        rows: Two numbers a byte, without checksums.
        numbers: Whole numbers from -127 to 127.
    """
    results = np.empty(len(rows), np.float32)
    first, second = np.ascontiguousarray(numbers[0::2]), np.ascontiguousarray(numbers[1::2])
    for part, half, floats, found in _blocks(rows, results):
        np.copyto(floats, np.bitwise_and(part, LOW, out=half))
        np.dot(floats, first, out=found)
        np.copyto(floats, np.right_shift(part, 4, out=half))
        np.add(found, floats @ second, out=found)
    results -= np.float32(ABOVE) * numbers.sum()
    return results


def packed_squares(rows: NDArray[np.uint8]) -> Products:
    """Return the square of the length of each packed row, or of a part of each."""
    squares = np.empty(len(rows), np.float32)
    ones = np.ones(rows.shape[1], np.float32)
    for part, half, floats, found in _blocks(rows, squares):
        np.copyto(floats, np.bitwise_and(part, LOW, out=half))
        np.square(np.subtract(floats, ABOVE, out=floats), out=floats)
        np.dot(floats, ones, out=found)
        np.copyto(floats, np.right_shift(part, 4, out=half))
        np.square(np.subtract(floats, ABOVE, out=floats), out=floats)
        np.add(found, floats @ ones, out=found)
    return squares


def _blocks(
    rows: NDArray[np.uint8], results: Products
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.uint8], Products, Products]]:
    """Yield blocks of rows that stay in the processor's cache.

    Each with room for one half of its numbers, as bytes and as floats, and with its results.
    """
    width = rows.shape[1]
    size = min(len(rows), max(1, _PACKED_BLOCK_BYTES // max(1, width)))
    half, floats = np.empty((size, width), np.uint8), np.empty((size, width), np.float32)
    for start in range(0, len(rows), max(1, size)):
        part = rows[start : start + size]
        yield part, half[: len(part)], floats[: len(part)], results[start : start + size]


def lengths(rows: Stored) -> Cosines:
    """Return the length of each row."""
    squares = np.empty(len(rows), np.float64)
    for start in range(0, len(rows), 4096):
        part = rows[start : start + 4096].astype(np.float32)
        np.einsum("ij,ij->i", part, part, out=squares[start : start + 4096], casting="unsafe")
    return np.sqrt(squares)


def _different_bits(rows: NDArray[np.uint8], one: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Count, for each row, the bits that differ from those of one; in words of the widest kind."""
    width = next(width for width in (8, 4, 2, 1) if rows.shape[1] % width == 0)
    words, wanted = rows.view(f"u{width}"), one.view(f"u{width}")[0]
    distances = np.zeros(len(rows), np.uint16)
    for column, word in enumerate(wanted):
        distances += np.bitwise_count(words[:, column] ^ word)
    return distances


def _read_some(handle: Handle, table: str, ids: Sequence[int]) -> StoredVectors:
    rows = read_rows(handle, table, ids)
    if not rows:
        return StoredVectors(_ids_of([]), np.zeros((0, 1), np.int8))
    flat = np.frombuffer(b"".join([row for _, row in rows]), np.uint8)
    return StoredVectors(_ids_of([id_ for id_, _ in rows]), unpacked(flat.reshape(len(rows), -1)))


def _read_all(handle: Handle, table: str, column: str, dimension: int) -> StoredVectors:
    ids, flat = _used_rows(read_blocks(handle, table, column), row_bytes_of(dimension))
    vectors = unpacked(flat)
    if (ids[1:] < ids[:-1]).any():  # rows that came later than their neighbours
        order = np.argsort(ids)
        return StoredVectors(ids[order], vectors[order])
    return StoredVectors(ids, vectors)


def _used_rows(rows: Sequence[tuple[Any, ...]], row_bytes: int) -> tuple[Ids, NDArray[np.uint8]]:
    """Return the used ids and bytes of blocks: (which are used, ids, bytes) of each."""
    used = np.frombuffer(b"".join([row[0] for row in rows]), np.uint8)
    ids = np.frombuffer(b"".join([row[1] for row in rows]), np.int64)
    flat = np.frombuffer(b"".join([row[2] for row in rows]), np.uint8).reshape(-1, row_bytes)
    is_used = np.unpackbits(used, bitorder="little").astype(np.bool_)
    number = int(np.count_nonzero(is_used))
    if is_used[:number].all():  # as after a first run: only the last block has room
        return ids[:number], flat[:number]
    return ids[is_used], flat[is_used]


def _ids_of(ids: Sequence[int]) -> Ids:
    return np.array(ids, dtype=np.int64)
