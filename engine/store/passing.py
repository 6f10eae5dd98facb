"""What passes filters when nothing else is asked: files and definitions to list."""

import json
import os
from collections.abc import Sequence
from typing import NamedTuple

from engine.store.connection import Handle
from engine.store.filters import Filters


class PassingFile(NamedTuple):
    """A file that something passes of."""

    blob_id: int
    path: str
    is_generated: bool
    number: int  # of what passes in it


def files_with_chunks(handle: Handle, filters: Filters) -> list[PassingFile]:
    """Give the files that have a passing chunk, copies once by their shortest path, in no order."""
    return _files(
        handle,
        filters,
        f"""SELECT c.blob_id, 1 AS number FROM chunks c
            WHERE {filters.chunk_condition} GROUP BY c.blob_id""",  # noqa: S608 - constants
    )


def files_with_symbols(handle: Handle, filters: Filters) -> list[PassingFile]:
    """Give the files that have passing symbols, copies once by their shortest path, in no order."""
    return _files(
        handle,
        filters,
        f"""SELECT s.blob_id, count(*) AS number FROM symbols s
            WHERE {filters.symbol_condition} GROUP BY s.blob_id""",  # noqa: S608 - constants
    )


def _files(handle: Handle, filters: Filters, numbers: str) -> list[PassingFile]:
    rows = handle.execute(
        f"""SELECT f.blob_id, f.path, b.is_generated, passing.number
            FROM ({numbers}) passing JOIN files f ON f.blob_id = passing.blob_id
            JOIN blobs b ON b.id = f.blob_id
            WHERE {filters.file_condition}
            ORDER BY length(f.path) DESC, f.path DESC""",  # noqa: S608 - constant fragments
        filters.values,
    )
    shown = {row[0]: row for row in rows}  # of equal ones the last
    return [
        PassingFile(blob_id, os.fsdecode(path), bool(is_generated), number)
        for blob_id, path, is_generated, number in shown.values()
    ]


def first_chunks(handle: Handle, blob_ids: Sequence[int], filters: Filters) -> list[int]:
    """Give the first passing chunk of each of some blobs, in their order."""
    rows = handle.execute(
        f"""SELECT (SELECT c.id FROM chunks c
                    WHERE c.blob_id = wanted.value AND {filters.chunk_condition}
                    ORDER BY c.byte_start LIMIT 1)
            FROM json_each(:ids) wanted ORDER BY wanted.key""",  # noqa: S608 - constant fragments
        {"ids": json.dumps(blob_ids), **filters.values},
    )
    return [id_ for (id_,) in rows if id_ is not None]


def passing_symbols(
    handle: Handle, blob_ids: Sequence[int], filters: Filters, limit: int
) -> list[int]:
    """Give the passing symbols of some blobs, in the order of these and of their texts."""
    rows = handle.execute(
        f"""SELECT s.id FROM json_each(:ids) wanted CROSS JOIN symbols s
            ON s.blob_id = wanted.value WHERE {filters.symbol_condition}
            ORDER BY wanted.key, s.byte_start, s.id LIMIT :limit""",  # noqa: S608 - constants
        {"ids": json.dumps(blob_ids), "limit": limit, **filters.values},
    )
    return [id_ for (id_,) in rows]
