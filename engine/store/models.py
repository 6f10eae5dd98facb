"""Embedding models and their vector tables: which model answers, which vectors are missing.

A model has two sqlite-vec tables, ``chunk_vectors_<id>`` and ``file_vectors_<id>``, whose rows are
deleted with their chunks and files. Whether a row exists is looked up in their shadow table
``…_rowids``, an ordinary table: sqlite-vec itself would read the vector.

Each model also has the axes on which a project's files are mapped by meaning.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.store.connection import Handle
from engine.store.vector_format import row_bytes_of

#: Vectors that sqlite-vec has in one blob. Of 192 numbers they fill three pages, and a project of
#: ten chunks does not pay for a thousand.
BLOCK = 120
#: Rows of a dropped table deleted in one transaction of some 10 ms.
_DROPPED_AT_ONCE = 1500


class ModelRow(NamedTuple):
    """A model whose vectors are stored."""

    id: int
    identity: str
    name: str
    dimension: int

    @property
    def chunk_table(self) -> str:
        """Name of the table with the vectors of chunks."""
        return f"chunk_vectors_{self.id:d}"

    @property
    def file_table(self) -> str:
        """Name of the table with the vectors of files."""
        return f"file_vectors_{self.id:d}"


def read_current_model(handle: Handle) -> ModelRow | None:
    """Return the current model, whose vectors answer, or None."""
    row = handle.execute(
        """SELECT m.id, m.identity, m.name, m.dimension
           FROM project p JOIN models m ON m.id = p.model_id"""
    ).fetchone()
    return ModelRow(*row) if row else None


def when_made(handle: Handle, model: ModelRow) -> int:
    """Return when the tables of a model were made, in milliseconds."""
    return int(handle.execute("SELECT created_at_ms FROM models WHERE id = ?", (model.id,)).get)


def read_models(handle: Handle) -> list[ModelRow]:
    """Return all models that have tables."""
    rows = handle.execute("SELECT id, identity, name, dimension FROM models ORDER BY id")
    return [ModelRow(*row) for row in rows]


def add_model(handle: Handle, *, identity: str, name: str, dimension: int, now_ms: int) -> ModelRow:
    """Return the row of a model, created with its empty tables when new."""
    for model in read_models(handle):
        if model.identity == identity:
            return model
    model_id = handle.execute(
        """INSERT INTO models (identity, name, dimension, created_at_ms)
           VALUES (:identity, :name, :dimension, :now_ms) RETURNING id""",
        {"identity": identity, "name": name, "dimension": dimension, "now_ms": now_ms},
    ).get
    model = ModelRow(int(model_id), identity, name, dimension)
    create_table(handle, model, is_of_chunks=True)
    create_table(handle, model, is_of_chunks=False)
    return model


def switch_model(handle: Handle, model: ModelRow) -> None:
    """Make a model the current one, whose vectors answer."""
    handle.execute("UPDATE project SET model_id = :id", {"id": model.id})


def shrink_model(handle: Handle, model: ModelRow) -> bool:
    """Delete a piece of a model that does not answer, at last the model itself.

    Returns:
        Whether something is left.
    """
    for table in (model.chunk_table, model.file_table):
        rows = handle.execute(
            f"SELECT rowid FROM {table}_rowids LIMIT :limit",  # noqa: S608 - our own name
            {"limit": _DROPPED_AT_ONCE},
        ).fetchall()
        if rows:
            handle.executemany(f"DELETE FROM {table} WHERE rowid = ?", rows)  # noqa: S608
            return True
    _drop(handle, model)
    return False


def drop_models(handle: Handle) -> None:
    """Delete all models with their vectors."""
    handle.execute("UPDATE project SET model_id = NULL")
    for model in read_models(handle):
        _drop(handle, model)


def empty_file_vectors(handle: Handle) -> None:
    """Delete the vectors of all files, of all models."""
    for model in read_models(handle):
        handle.execute(f"DROP TABLE {model.file_table}")
        create_table(handle, model, is_of_chunks=False)


def delete_chunk_vectors(handle: Handle, blob_ids: Sequence[int]) -> None:
    """Delete the vectors of the chunks of blobs, of all models."""
    models = read_models(handle)
    if not models:
        return
    rows = handle.execute(
        "SELECT id FROM chunks WHERE blob_id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(blob_ids)},
    ).fetchall()
    for model in models:
        handle.executemany(f"DELETE FROM {model.chunk_table} WHERE rowid = ?", rows)  # noqa: S608


def delete_file_vectors(handle: Handle, file_ids: Iterable[int]) -> None:
    """Delete the vectors of files, of all models."""
    ids = list(file_ids)
    for model in read_models(handle) if ids else ():
        delete_file_vectors_of(handle, model, ids)


def delete_file_vectors_of(handle: Handle, model: ModelRow, file_ids: Iterable[int]) -> None:
    """Delete the vectors of files of one model."""
    rows = ((file_id,) for file_id in file_ids)
    handle.executemany(f"DELETE FROM {model.file_table} WHERE rowid = ?", rows)  # noqa: S608


def lacks_vectors(handle: Handle, model: ModelRow) -> bool:
    """Return whether a chunk or a file, of any branch, has no vector of a model.

    Vectors go with what they belong to, so it is enough to count.
    """
    return bool(
        handle.execute(
            f"""SELECT (SELECT count(*) FROM chunks)
                       <> (SELECT count(*) FROM {model.chunk_table}_rowids)
                    OR (SELECT count(*) FROM files)
                       <> (SELECT count(*) FROM {model.file_table}_rowids)"""  # noqa: S608
        ).get
    )


def count_lacking(handle: Handle, name: str) -> int:
    """Return the number of chunks, of any branch, without a vector of a name's newest model."""
    chunks = int(handle.execute("SELECT count(*) FROM chunks").get)
    found = [model for model in read_models(handle) if model.name == name]
    if not chunks or not found:
        return chunks
    table = f"{found[-1].chunk_table}_rowids"
    return chunks - int(handle.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608


def lacking_chunks(
    handle: Handle, model: ModelRow, *, of_each_text: bool, first: int = 0
) -> list[int]:
    """Return the ids of the chunks that have no vector of a model, rising.

    Args:
        handle: A read transaction.
        model: The model.
        of_each_text: Of chunks with the same text only the first.
        first: The first id that is asked about.
    """
    group = "GROUP BY hash" if of_each_text else "GROUP BY id"
    rows = handle.execute(
        f"""SELECT min(id) AS least FROM chunks
            WHERE id >= :first AND {_without(model.chunk_table)}
            {group} ORDER BY least""",  # noqa: S608 - constant fragments
        {"first": first},
    )
    return [chunk_id for (chunk_id,) in rows]


def lacking_files(
    handle: Handle, model: ModelRow, limit: int, *, first: int = 0
) -> list[tuple[int, bytes]]:
    """Return the first files that have no vector of a model, by id, with their paths.

    Args:
        handle: A read transaction.
        model: The model.
        limit: How many at most.
        first: The first id that is asked about.
    """
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT id, path FROM files WHERE id >= :first AND {_without(model.file_table)}
            ORDER BY id LIMIT :limit""",  # noqa: S608 - our own name
        {"first": first, "limit": limit},
    ).fetchall()
    return rows


def copied_vectors(handle: Handle, model: ModelRow) -> list[tuple[int, int]]:
    """Return chunks without a vector and, for each, a chunk of the same text with one."""
    rows = handle.execute(
        f"""WITH lacking AS MATERIALIZED
              (SELECT id, hash FROM chunks WHERE {_without(model.chunk_table)})
            SELECT l.id, min(c.id) FROM chunks c CROSS JOIN lacking l ON l.hash = c.hash
            WHERE c.id IN (SELECT rowid FROM {model.chunk_table}_rowids)
              AND EXISTS (SELECT 1 FROM lacking)
            GROUP BY l.id"""  # noqa: S608 - our own names
    )
    return list(rows)


def copy_vectors(handle: Handle, model: ModelRow, pairs: Sequence[tuple[int, int]]) -> None:
    """Copy vectors to chunks from others: (id, the other's)."""
    table = model.chunk_table
    rows = handle.execute(
        f"""SELECT w.value ->> 0, v.signs, v.exact FROM json_each(:pairs) w
            CROSS JOIN {table} v ON v.rowid = w.value ->> 1""",  # noqa: S608 - our own name
        {"pairs": json.dumps(pairs)},
    ).fetchall()
    insert_rows(handle, table, rows)


def count_vectors(handle: Handle, model: ModelRow, branch_id: int) -> int:
    """Return the number of chunks in files of a branch that have a vector."""
    return int(
        handle.execute(
            f"""WITH live AS (SELECT DISTINCT blob_id AS id FROM files WHERE branch_id = :branch_id)
                SELECT count(*) FROM live CROSS JOIN chunks c ON c.blob_id = live.id
                WHERE c.id IN (SELECT rowid FROM {model.chunk_table}_rowids)""",  # noqa: S608
            {"branch_id": branch_id},
        ).get
    )


def embedded_share(handle: Handle, model: ModelRow, branch_id: int) -> float:
    """Return the share of the chunks in files of a branch that have a vector."""
    if not lacks_vectors(handle, model):
        return 1.0
    chunks = handle.execute(
        """SELECT count(*) FROM chunks
           WHERE blob_id IN (SELECT blob_id FROM files WHERE branch_id = :branch_id)""",
        {"branch_id": branch_id},
    ).get
    return count_vectors(handle, model, branch_id) / chunks if chunks else 1.0


def is_embedded(handle: Handle, blob_id: int) -> bool:
    """Return whether all chunks of a blob have a vector of the current model."""
    model = read_current_model(handle)
    if model is None:
        return False
    lacking = f"SELECT 1 FROM chunks WHERE blob_id = ? AND {_without(model.chunk_table)}"  # noqa: S608
    return handle.execute(f"{lacking} LIMIT 1", (blob_id,)).fetchone() is None


def sparse_blocks(handle: Handle, table: str) -> list[int]:
    """Return the numbers of the blocks to empty, the emptiest first.

    None while less than three tenths of a table are holes, so that it never has much more than 1.5
    times the blocks that it needs. sqlite-vec appends to the last block only and frees a block when
    its last row goes.

    Args:
        handle: A read transaction.
        table: ``chunk_table`` or ``file_table`` of a model.
    """
    sizes: tuple[Any, ...] = handle.execute(
        f"SELECT (SELECT count(*) FROM {table}_chunks), (SELECT count(*) FROM {table}_rowids)"  # noqa: S608
    ).fetchall()[0]
    room = (sizes[0] - 1) * BLOCK  # the last block is still being filled
    if (room - sizes[1]) * 10 < room * 3 or room <= 0:
        return []
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT chunk_id, count(*) FROM {table}_rowids GROUP BY chunk_id
            ORDER BY chunk_id"""  # noqa: S608 - our own name
    ).fetchall()
    sparse = sorted((number, block) for block, number in rows[:-1] if number < BLOCK)
    return [block for _, block in sparse]


def empty_block(handle: Handle, table: str, block: int) -> None:
    """Move the rows of a block to the end of the table."""
    columns = "v.signs, v.exact" if table.startswith("chunk_") else "v.exact"
    rows = handle.execute(
        f"""SELECT r.rowid, {columns} FROM {table}_rowids r CROSS JOIN {table} v
            ON v.rowid = r.rowid WHERE r.chunk_id = :block""",  # noqa: S608 - our own names
        {"block": block},
    ).fetchall()
    ids = ((row[0],) for row in rows)
    handle.executemany(f"DELETE FROM {table} WHERE rowid = ?", ids)  # noqa: S608
    insert_rows(handle, table, rows)


def insert_rows(handle: Handle, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert stored vectors as they are: (id, signs, numbers) of chunks, (id, numbers) of files."""
    if table.startswith("chunk_"):
        into = "(rowid, signs, exact) VALUES (?, vec_bit(?), vec_int8(?))"
    else:
        into = "(rowid, exact) VALUES (?, vec_int8(?))"
    handle.executemany(f"INSERT INTO {table} {into}", rows)


def create_table(handle: Handle, model: ModelRow, *, is_of_chunks: bool) -> None:
    """Make an empty table for the vectors of a model, those of chunks or those of files."""
    signs = f"signs bit[{model.dimension}], " if is_of_chunks else ""
    table = model.chunk_table if is_of_chunks else model.file_table
    handle.execute(
        f"""CREATE VIRTUAL TABLE {table} USING vec0 (
              {signs}exact int8[{row_bytes_of(model.dimension)}], chunk_size={BLOCK})"""
    )


def _drop(handle: Handle, model: ModelRow) -> None:
    handle.execute(f"DROP TABLE IF EXISTS {model.chunk_table}")
    handle.execute(f"DROP TABLE IF EXISTS {model.file_table}")
    handle.execute("DELETE FROM models WHERE id = :id", {"id": model.id})


def _without(table: str) -> str:
    return f"id NOT IN (SELECT rowid FROM {table}_rowids)"  # noqa: S608 - our own name


def read_axes(handle: Handle, model: ModelRow) -> bytes | None:
    """Return the numbers as they were written, or None when there are none yet."""
    row = handle.execute(
        "SELECT numbers FROM map_axes WHERE model_id = :id", {"id": model.id}
    ).fetchone()
    return row[0] if row else None


def write_axes(handle: Handle, model: ModelRow, numbers: bytes) -> None:
    """Write the axes of a model, in the place of those before; nothing when the model is gone."""
    handle.execute(
        """INSERT INTO map_axes (model_id, numbers)
           SELECT id, :numbers FROM models WHERE id = :id AND identity = :identity
           ON CONFLICT (model_id) DO UPDATE SET numbers = excluded.numbers""",
        {"id": model.id, "identity": model.identity, "numbers": numbers},
    )
