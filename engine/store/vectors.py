"""Vectors of chunks and files: quantization, writing, reading and nearest neighbours.

A vector is stored with four bits a number and a checksum; a chunk's vector also as its sign bits,
by which a search preselects candidates. A row is scaled so that its largest number becomes ±7,
which does not change the cosine. On the 29 repositories of the benchmark four bits rank as eight do
(NDCG@10 within 0.002), in half the space.

The checksum is the CRC-32 of the numbers. Only so is a flipped bit found whatever the model:
embedding again would need the model, may cost money, and rounds differently on another machine.

Reading takes whole blocks from the shadow tables of sqlite-vec, ``…_chunks`` (the rows of a block)
and ``…_vector_chunksNN`` (their numbers), a hundred times as fast as row by row. Neighbours are
found in the same way: comparing the sign bits of all chunks in numpy costs less than the KNN of
sqlite-vec for any k, and a filter is one more array (figures in ``tests/benchmark``).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import SUM_BYTES, ModelRow, read_current_model, row_bytes_of

__all__ = [
    "ModelRow",
    "Stored",
    "StoredVectors",
    "insert_chunk_vectors",
    "insert_file_vectors",
    "iter_chunk_vectors",
    "nearest_chunks",
    "nearest_files",
    "quantized",
    "read_chunk_vectors",
    "read_current_model",
    "read_file_vectors",
    "read_some_file_vectors",
    "read_some_vectors",
    "signs",
]

#: Rows of whole numbers from -7 to 7, one a vector.
Stored = NDArray[np.int8]
#: The largest number that is stored.
LARGEST = 7
_ABOVE = 8  # added to a number so that it fits four unsigned bits
_LOW = 15

#: Candidates by sign bits that are compared exactly, as a multiple of the wanted number.
_LOOKED_AT = 10
_LEAST_LOOKED_AT = 500
#: Blocks that are read together, some 2 MB of vectors with 192 numbers.
_BLOCKS_AT_ONCE = 200


def quantized(vectors: NDArray[np.float32], largest: int = LARGEST) -> Stored:
    """Scale each row so that its largest number becomes ±``largest``, and round."""
    most = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scale = np.divide(float(largest), most, out=np.zeros_like(most), where=most > 0)
    stored: Stored = np.rint(vectors * scale).astype(np.int8)
    return stored


def packed(vectors: Stored) -> NDArray[np.uint8]:
    """Put two numbers into a byte, the first into its lower half: (rows × dimension / 2)."""
    bits = (vectors + _ABOVE).view(np.uint8)
    return np.bitwise_or(bits[:, 0::2], np.left_shift(bits[:, 1::2], 4))


def rows_of(vectors: Stored) -> list[bytes]:
    """Return vectors in their stored form, each with its checksum."""
    numbers = [row.tobytes() for row in packed(vectors)]
    return [row + crc32(row).to_bytes(SUM_BYTES, "little") for row in numbers]


def has_valid_checksum(row: bytes) -> bool:
    """Return whether a stored row matches its checksum."""
    return crc32(row[:-SUM_BYTES]) == int.from_bytes(row[-SUM_BYTES:], "little")


def unpacked(rows: NDArray[np.uint8]) -> Stored:
    """Take the numbers out of stored rows: (rows × dimension)."""
    rows = rows[:, :-SUM_BYTES]
    vectors = np.empty((len(rows), 2 * rows.shape[1]), np.int8)
    vectors[:, 0::2] = rows & _LOW
    vectors[:, 1::2] = rows >> 4
    vectors -= _ABOVE
    return vectors


def signs(vectors: NDArray[np.int8] | NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the bits of the signs, (rows × dimension / 8), 1 for a number above 0."""
    return np.packbits(vectors > 0, axis=1, bitorder="little")


Ids = NDArray[np.int64]


class StoredVectors(NamedTuple):
    """Vectors with what they belong to, by rising id."""

    ids: Ids
    vectors: Stored  # (ids × dimension)


def insert_chunk_vectors(
    handle: Handle, model: ModelRow, chunk_ids: Iterable[int], vectors: Stored
) -> None:
    """Insert the vectors of chunks."""
    bits = signs(vectors)
    handle.executemany(
        f"INSERT INTO {model.chunk_table} (rowid, signs, exact)"  # noqa: S608 - our own name
        " VALUES (?, vec_bit(?), vec_int8(?))",
        (
            (chunk_id, bit.tobytes(), row)
            for chunk_id, bit, row in zip(chunk_ids, bits, rows_of(vectors), strict=True)
        ),
    )


def insert_file_vectors(
    handle: Handle, model: ModelRow, file_ids: Iterable[int], vectors: Stored
) -> None:
    """Insert the vectors of files."""
    handle.executemany(
        f"INSERT INTO {model.file_table} (rowid, exact) VALUES (?, vec_int8(?))",  # noqa: S608
        zip(file_ids, rows_of(vectors), strict=True),
    )


def read_chunk_vectors(handle: Handle, model: ModelRow) -> StoredVectors:
    """Return the vectors of all chunks."""
    return _read_all(handle, model.chunk_table, "01", model.dimension)


def iter_chunk_vectors(handle: Handle, model: ModelRow) -> Iterator[StoredVectors]:
    """Yield the vectors of all chunks in batches, unordered, in little memory."""
    table, after = model.chunk_table, -1
    while True:
        rows: list[tuple[Any, ...]] = handle.execute(
            f"""SELECT c.validity, c.rowids, v.vectors, c.chunk_id FROM {table}_chunks c
                CROSS JOIN {table}_vector_chunks01 v ON v._rowid_ = c.chunk_id
                WHERE c.chunk_id > :after ORDER BY c.chunk_id LIMIT :limit""",  # noqa: S608
            {"after": after, "limit": _BLOCKS_AT_ONCE},
        ).fetchall()
        if not rows:
            return
        after = rows[-1][3]
        ids, flat = _used_rows(rows, row_bytes_of(model.dimension))
        yield StoredVectors(ids, unpacked(flat))


def read_file_vectors(handle: Handle, model: ModelRow) -> StoredVectors:
    """Return the vectors of all files."""
    return _read_all(handle, model.file_table, "00", model.dimension)


def read_some_vectors(handle: Handle, model: ModelRow, chunk_ids: Sequence[int]) -> StoredVectors:
    """Return the vectors of some chunks; those without one are left out."""
    return _read_some(handle, model.chunk_table, chunk_ids, model.dimension)


def read_some_file_vectors(
    handle: Handle, model: ModelRow, file_ids: Sequence[int]
) -> StoredVectors:
    """Return the vectors of some files; those without one are left out."""
    return _read_some(handle, model.file_table, file_ids, model.dimension)


def nearest_chunks(
    handle: Handle,
    model: ModelRow,
    query: NDArray[np.float32],
    limit: int,
    filters: Filters,
) -> list[tuple[int, float]]:
    """Return the chunks nearest to a vector with their cosines, best first.

    The filters hold before the nearest are taken. Of what they let pass, those chunks whose signs
    agree best with the query's are compared exactly: ``limit`` × 10, at least 500.
    """
    wanted = max(limit * _LOOKED_AT, _LEAST_LOOKED_AT)
    ids = _likely(handle, model, query, wanted, _allowed_chunks(handle, filters))
    return _best(read_some_vectors(handle, model, ids.tolist()), query, limit)


def nearest_files(
    handle: Handle,
    model: ModelRow,
    query: NDArray[np.float32],
    limit: int,
    filters: Filters,
) -> list[tuple[int, float]]:
    """Return the files with the nearest vectors and their cosines; filtered first."""
    stored = read_file_vectors(handle, model)
    rows = handle.execute(
        f"SELECT f.id FROM files f WHERE {filters.file_condition}",  # noqa: S608 - constant
        dict(filters.values),
    ).fetchall()
    is_in = np.isin(stored.ids, _ids_of(rows))
    return _best(StoredVectors(stored.ids[is_in], stored.vectors[is_in]), query, limit)


def _allowed_chunks(handle: Handle, filters: Filters) -> Ids | None:
    """Return the chunks that pass, or None when all stored ones do."""
    if filters.is_branch_only and _shows_all(handle, filters):
        return None
    rows = handle.execute(
        f"""SELECT DISTINCT c.id FROM files f CROSS JOIN chunks c ON c.blob_id = f.blob_id
            WHERE {filters.file_condition} AND {filters.chunk_condition}""",  # noqa: S608
        dict(filters.values),
    ).fetchall()
    return _ids_of(rows)


def _shows_all(handle: Handle, filters: Filters) -> bool:
    """Return whether each blob has a file on the branch."""
    return bool(
        handle.execute(
            """SELECT (SELECT count(*) FROM blobs)
                    = (SELECT count(DISTINCT blob_id) FROM files WHERE branch_id = :branch_id)""",
            dict(filters.values),
        ).get
    )


def _likely(
    handle: Handle, model: ModelRow, query: NDArray[np.float32], wanted: int, allowed: Ids | None
) -> Ids:
    """Return the chunks whose sign bits agree best with a vector's, unordered."""
    if allowed is not None and len(allowed) <= wanted:
        return allowed
    ids, flat = _read_blocks(handle, model.chunk_table, "00", model.dimension // 8)
    if allowed is not None:
        is_in = np.isin(ids, allowed)
        ids, flat = ids[is_in], flat[is_in]
    if len(ids) <= wanted:
        return ids
    distances = _different_bits(flat, signs(query[np.newaxis, :]))
    return ids[np.argpartition(distances, wanted)[:wanted]]


def _different_bits(rows: NDArray[np.uint8], one: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Count, for each row, the bits that differ from those of one; in words of the widest kind."""
    width = next(width for width in (8, 4, 2, 1) if rows.shape[1] % width == 0)
    words, wanted = rows.view(f"u{width}"), one.view(f"u{width}")[0]
    distances = np.zeros(len(rows), np.uint16)
    for column, word in enumerate(wanted):
        distances += np.bitwise_count(words[:, column] ^ word)
    return distances


def _best(stored: StoredVectors, query: NDArray[np.float32], limit: int) -> list[tuple[int, float]]:
    """Return the ids with the highest cosines, best first, ties by lower id."""
    vectors = stored.vectors.astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors)) * np.float32(np.linalg.norm(query))
    products = vectors @ query
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    order = np.lexsort((stored.ids, -cosines))[:limit]
    return list(zip(stored.ids[order].tolist(), cosines[order].tolist(), strict=True))


def _read_some(handle: Handle, table: str, ids: Sequence[int], dimension: int) -> StoredVectors:
    rows = handle.execute(
        f"""SELECT v.rowid, v.exact FROM json_each(:ids) wanted
            CROSS JOIN {table} v ON v.rowid = wanted.value""",  # noqa: S608 - our own name
        {"ids": json.dumps(sorted(set(ids)))},
    ).fetchall()
    return _stacked(rows, dimension)


def _read_all(handle: Handle, table: str, column: str, dimension: int) -> StoredVectors:
    ids, flat = _read_blocks(handle, table, column, row_bytes_of(dimension))
    vectors = unpacked(flat)
    if (ids[1:] < ids[:-1]).any():  # rows that came later than their neighbours
        order = np.argsort(ids)
        return StoredVectors(ids[order], vectors[order])
    return StoredVectors(ids, vectors)


def _read_blocks(
    handle: Handle, table: str, column: str, row_bytes: int
) -> tuple[Ids, NDArray[np.uint8]]:
    """Return the ids and the bytes of all rows, in the order of the blocks of a table.

    Args:
        handle: A read transaction.
        table: A table of sqlite-vec.
        column: Its column, as two digits.
        row_bytes: Of one vector.
    """
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT c.validity, c.rowids, v.vectors FROM {table}_chunks c
            CROSS JOIN {table}_vector_chunks{column} v ON v._rowid_ = c.chunk_id
            ORDER BY c.chunk_id"""  # noqa: S608 - our own names
    ).fetchall()
    return _used_rows(rows, row_bytes)


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


def _stacked(rows: Sequence[tuple[Any, ...]], dimension: int) -> StoredVectors:
    flat = np.frombuffer(b"".join([row[1] for row in rows]), np.uint8)
    return StoredVectors(_ids_of(rows), unpacked(flat.reshape(-1, row_bytes_of(dimension))))


def _ids_of(rows: Sequence[tuple[Any, ...]]) -> Ids:
    return np.array([row[0] for row in rows], dtype=np.int64)
