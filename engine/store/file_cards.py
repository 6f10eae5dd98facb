"""Indexed files one by one, as those who list them or name them by their id see them."""

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.memories import Moment


class FileCard(NamedTuple):
    """A file of a branch; ``uuid`` is its id for others."""

    id: int
    uuid: bytes
    path: str
    language: str
    blob_id: int
    size_bytes: int  # of the stored text
    token_count: int
    created_at_ms: int
    updated_at_ms: int


_COLUMNS = """f.id, f.uuid, f.path, b.language, f.blob_id, b.size_bytes, b.token_count,
  f.created_at_ms, f.updated_at_ms"""


def find_card(handle: Handle, branch_id: int, uuid: bytes) -> FileCard | None:
    """Give the file of a branch that has an id (0.1 s among 265,000: ids have no index)."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
            WHERE f.branch_id = :branch_id AND f.uuid = :uuid LIMIT 1""",  # noqa: S608
        {"branch_id": branch_id, "uuid": uuid},
    )
    return next((_card_of(row) for row in rows), None)


def read_cards(handle: Handle, file_ids: Sequence[int]) -> dict[int, FileCard]:
    """Give files by id; those that are gone are left out."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM json_each(:ids) wanted
            CROSS JOIN files f ON f.id = wanted.value
            CROSS JOIN blobs b ON b.id = f.blob_id""",  # noqa: S608 - a constant
        {"ids": json.dumps(file_ids)},
    )
    return {row[0]: _card_of(row) for row in rows}


def read_places(
    handle: Handle, filters: Filters, after: Moment, limit: int
) -> list[tuple[Moment, int]]:
    """Give where the next files that pass stand in the list of all checkpoints, with their ids."""
    rows = handle.execute(
        f"""SELECT f.created_at_ms, f.uuid, f.id FROM files f
            WHERE {filters.file_condition} AND (f.created_at_ms, f.uuid) < (:at_ms, :uuid)
            ORDER BY f.created_at_ms DESC, f.uuid DESC LIMIT :limit""",  # noqa: S608 - constants
        {**filters.values, **after._asdict(), "limit": limit},
    )
    return [(Moment(at_ms, uuid), file_id) for at_ms, uuid, file_id in rows]


def count_passing(handle: Handle, filters: Filters) -> int:
    """Give the number of files that pass."""
    return int(
        handle.execute(
            f"SELECT count(*) FROM files f WHERE {filters.file_condition}",  # noqa: S608
            dict(filters.values),
        ).get
    )


def _card_of(row: tuple[Any, ...]) -> FileCard:
    file_id, uuid, path, *rest = row
    return FileCard(file_id, uuid, os.fsdecode(path), *rest)
