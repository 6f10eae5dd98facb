"""Stored vectors as bytes: writing, and comparing a query with a few of them, without numpy.

numpy takes 45 ms to import, which is more than comparing the vectors of a project with some
thousands of files. Cosines are the same to the last bit as those of ``vectors``: products and
squares are sums of whole numbers, and the rest is the same arithmetic.
"""

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from operator import mul
from typing import Any, NamedTuple, Protocol

from engine.store import chunks, files
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import BLOCK, ModelRow
from engine.store.vector_format import SUM_BYTES, StoredRows

#: Candidates by sign bits that are compared exactly, as a multiple of the wanted number.
_LOOKED_AT = 10
_LEAST_LOOKED_AT = 500
_QUERY_LARGEST = 127
#: Up to so many vectors of chunks are compared without numpy; one of a file, which is compared
#: exactly and not by its signs, counts as twenty.
_FEW = 60_000
_FILE_COUNTS_AS = 20

# The numbers in a byte, as bytes of their own, and the sum of their squares.
_FIRST = bytes([(byte & 15) - 8 & 255 for byte in range(256)])
_SECOND = bytes([(byte >> 4) - 8 & 255 for byte in range(256)])
_SQUARES = [((byte & 15) - 8) ** 2 + ((byte >> 4) - 8) ** 2 for byte in range(256)]


#: Puts ids into an order that does not depend on when they came into the index.
InOrder = Callable[[list[int]], list[int]]


class QueryVector(NamedTuple):
    """The vector of a query, and its model."""

    model: ModelRow
    numbers: "array[int]"  # (dimension,), as int8
    length: float

    @classmethod
    def of(cls, model: ModelRow, vector: Sequence[float]) -> "QueryVector":
        """Round the vector of a query, scaled so that its largest number becomes ±127."""
        largest = max(map(abs, vector), default=0.0)
        scale = _QUERY_LARGEST / largest if largest else 0.0
        numbers = array("b", [round(number * scale) for number in vector])
        return cls(model, numbers, math.sqrt(sum(map(mul, numbers, numbers))))


class VectorReader(Protocol):
    """Compares one query with the vectors in the database; chunks and files are given by id."""

    def nearest_chunks(self, limit: int, filters: Filters) -> list[int]:
        """Return the chunks nearest to the query, best first; of equal last ones the first by path.

        The filters hold before the nearest are taken. Of what they let pass, those chunks whose
        signs agree best with the query's are compared exactly: ``limit`` × 10, at least 500.
        """

    def nearest_files(self, limit: int, filters: Filters) -> list[int]:
        """Return the files with the nearest vectors; filters and ties as in ``nearest_chunks``."""

    def chunk_cosines(self, ids: Sequence[int]) -> dict[int, float]:
        """Return the cosines of chunks; those without a vector are left out."""

    def file_cosines(self, ids: Sequence[int]) -> dict[int, float]:
        """Return the cosines of files; those without a vector are left out."""


class FewVectors:
    """A ``VectorReader`` for a project with few vectors.

    Args:
        handle: A read transaction.
        query_vector: The query.
    """

    def __init__(self, handle: Handle, query_vector: QueryVector) -> None:
        self._handle = handle
        self._model = query_vector.model
        self._length = query_vector.length
        self._first, self._second = query_vector.numbers[0::2], query_vector.numbers[1::2]
        self._signs = signs_of(query_vector.numbers)
        self._chunks: dict[int, float] = {}  # cosines, once computed
        self._files: dict[int, float] = {}

    def nearest_chunks(self, limit: int, filters: Filters) -> list[int]:
        """See ``VectorReader``."""
        wanted = looked_at(limit)
        ids = allowed_chunks(self._handle, filters)

        def by_path(equal: list[int]) -> list[int]:
            return chunks.by_path(self._handle, equal, filters)

        if ids is None or len(ids) > wanted:
            ids = self._likely(wanted, ids, by_path)
        return _best(self.chunk_cosines(ids), limit, by_path)

    def nearest_files(self, limit: int, filters: Filters) -> list[int]:
        """See ``VectorReader``."""
        cosines = self.file_cosines(allowed_files(self._handle, filters))
        return _best(cosines, limit, lambda equal: files.by_path(self._handle, equal))

    def chunk_cosines(self, ids: Sequence[int]) -> dict[int, float]:
        """See ``VectorReader``."""
        return self._cosines(self._chunks, self._model.chunk_table, ids)

    def file_cosines(self, ids: Sequence[int]) -> dict[int, float]:
        """See ``VectorReader``."""
        return self._cosines(self._files, self._model.file_table, ids)

    def _likely(self, wanted: int, allowed: Sequence[int] | None, by_path: InOrder) -> list[int]:
        """Return the chunks whose sign bits agree best with the query's."""
        size = self._model.dimension // 8
        among = None if allowed is None else frozenset(allowed)
        distances = [
            ((int.from_bytes(row, "little") ^ self._signs).bit_count(), chunk_id)
            for chunk_id, row in _used_rows(self._handle, self._model.chunk_table, "00", size)
            if among is None or chunk_id in among
        ]
        return _nearest(distances, wanted, by_path)

    def _cosines(self, known: dict[int, float], table: str, ids: Sequence[int]) -> dict[int, float]:
        missing = [id_ for id_ in ids if id_ not in known]
        if missing:
            for id_, row in read_rows(self._handle, table, missing):
                known[id_] = self._cosine(row[:-SUM_BYTES])
        return {id_: known[id_] for id_ in ids if id_ in known}

    def _cosine(self, row: bytes) -> float:
        scale = math.sqrt(sum(map(_SQUARES.__getitem__, row))) * self._length
        if not scale:
            return 0.0
        product: int = sum(map(mul, self._first, array("b", row.translate(_FIRST))))
        product += sum(map(mul, self._second, array("b", row.translate(_SECOND))))
        return product / scale


def insert_chunk_rows(
    handle: Handle, model: ModelRow, chunk_ids: Iterable[int], rows: StoredRows
) -> None:
    """Insert the vectors of chunks."""
    handle.executemany(
        f"INSERT INTO {model.chunk_table} (rowid, signs, exact)"  # noqa: S608 - our own name
        " VALUES (?, vec_bit(?), vec_int8(?))",
        zip(chunk_ids, rows.signs, rows.exact, strict=True),
    )


def insert_file_rows(
    handle: Handle, model: ModelRow, file_ids: Iterable[int], exact: Sequence[bytes]
) -> None:
    """Insert the vectors of files, which have no signs."""
    handle.executemany(
        f"INSERT INTO {model.file_table} (rowid, exact) VALUES (?, vec_int8(?))",  # noqa: S608
        zip(file_ids, exact, strict=True),
    )


def has_few_vectors(handle: Handle, model: ModelRow) -> bool:
    """Return whether comparing with all vectors of a model takes less than to import numpy."""
    of_chunks, of_files = (
        BLOCK * int(handle.execute(f"SELECT count(*) FROM {table}_chunks").get)  # noqa: S608
        for table in (model.chunk_table, model.file_table)
    )
    return of_chunks + _FILE_COUNTS_AS * of_files <= _FEW


def looked_at(limit: int) -> int:
    """Return how many chunks are compared exactly to find the nearest."""
    return max(limit * _LOOKED_AT, _LEAST_LOOKED_AT)


def signs_of(numbers: Sequence[int]) -> int:
    """Return the signs of numbers as bits, the first one lowest; 1 for a number above 0."""
    return sum(1 << at for at, number in enumerate(numbers) if number > 0)


def numbers_of(row: bytes) -> list[int]:
    """Return the numbers of a stored row."""
    packed = row[:-SUM_BYTES]
    numbers = [0] * (2 * len(packed))
    numbers[0::2] = array("b", packed.translate(_FIRST))
    numbers[1::2] = array("b", packed.translate(_SECOND))
    return numbers


def allowed_chunks(handle: Handle, filters: Filters) -> list[int] | None:
    """Return the chunks that pass, or None when all stored ones do."""
    if filters.is_branch_only and _shows_all(handle, filters):
        return None
    return _ids(
        handle,
        f"""SELECT DISTINCT c.id FROM files f CROSS JOIN chunks c ON c.blob_id = f.blob_id
            WHERE {filters.file_condition} AND {filters.chunk_condition}""",  # noqa: S608
        filters,
    )


def allowed_files(handle: Handle, filters: Filters) -> list[int]:
    """Return the files that pass."""
    return _ids(handle, f"SELECT f.id FROM files f WHERE {filters.file_condition}", filters)  # noqa: S608


def read_rows(handle: Handle, table: str, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return stored vectors as (id, row with its checksum); those not stored are left out.

    Args:
        handle: A read transaction.
        table: ``chunk_table`` or ``file_table`` of a model.
        ids: Of chunks or files.
    """
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT v.rowid, v.exact FROM json_each(:ids) wanted
            CROSS JOIN {table} v ON v.rowid = wanted.value""",  # noqa: S608 - our own name
        {"ids": json.dumps(sorted(set(ids)))},
    ).fetchall()
    return rows


def read_blocks(handle: Handle, table: str, column: str) -> list[tuple[Any, ...]]:
    """Return the blocks of a table of sqlite-vec, in order: (which rows are used, ids, bytes).

    Args:
        handle: A read transaction.
        table: ``chunk_table`` or ``file_table`` of a model.
        column: Of the table, as two digits.
    """
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT c.validity, c.rowids, v.vectors FROM {table}_chunks c
            CROSS JOIN {table}_vector_chunks{column} v ON v._rowid_ = c.chunk_id
            ORDER BY c.chunk_id"""  # noqa: S608 - our own names
    ).fetchall()
    return rows


def _used_rows(handle: Handle, table: str, column: str, size: int) -> Iterator[tuple[int, bytes]]:
    for used, ids, rows in read_blocks(handle, table, column):
        is_used = int.from_bytes(used, "little")
        for at, id_ in enumerate(array("q", ids)):
            if is_used >> at & 1:
                yield id_, rows[at * size : (at + 1) * size]


def _shows_all(handle: Handle, filters: Filters) -> bool:
    """Return whether each blob has a file that passes."""
    return bool(
        handle.execute(
            f"""SELECT (SELECT count(*) FROM blobs)
                     = (SELECT count(DISTINCT f.blob_id) FROM files f
                        WHERE {filters.file_condition})""",  # noqa: S608 - constant fragments
            dict(filters.values),
        ).get
    )


def _ids(handle: Handle, query: str, filters: Filters) -> list[int]:
    return [row[0] for row in handle.execute(query, dict(filters.values))]


def _best(cosines: dict[int, float], limit: int, in_order: InOrder) -> list[int]:
    return _nearest([(-value, id_) for id_, value in cosines.items()], limit, in_order)


def _nearest(distances: Sequence[tuple[float, int]], limit: int, in_order: InOrder) -> list[int]:
    """Return the ids with the smallest distances; of equal last ones the first in order."""
    best = nsmallest(limit, distances)
    if len(best) < len(distances):
        last = best[-1][0]
        nearer = [id_ for distance, id_ in best if distance < last]
        equal = [id_ for distance, id_ in distances if distance == last]
        if len(nearer) + len(equal) > limit:
            return nearer + in_order(equal)[: limit - len(nearer)]
    return [id_ for _, id_ in best]
