"""Vectors of chunks and of files, one pair of sqlite-vec tables a model.

A vector is stored as signed bytes, scaled so that its largest number becomes 127, which the cosine
does not see; a chunk's also as the bits of its signs, by which a search finds what is worth a look.
"""

import json
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.store.connection import Handle
from engine.store.filters import Filters

#: Rows of signed bytes, one a vector.
Stored = NDArray[np.int8]
#: Vectors that sqlite-vec keeps in one blob.
_BLOCK = 256


class ModelRow(NamedTuple):
    """A model whose vectors are stored."""

    id: int
    identity: str
    name: str
    dimension: int


class StoredVectors(NamedTuple):
    """Vectors with what they belong to, by rising id."""

    ids: NDArray[np.int64]
    vectors: Stored  # (ids × dimension)


def quantized(vectors: NDArray[np.float32]) -> Stored:
    """Scale each row so that its largest number becomes ±127, and round."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scale = np.divide(127.0, largest, out=np.zeros_like(largest), where=largest > 0)
    stored: Stored = np.rint(vectors * scale).astype(np.int8)
    return stored


def signs(vectors: Stored) -> NDArray[np.uint8]:
    """Give the bits of the signs, (rows × dimension / 8), 1 for a number above 0."""
    return np.packbits(vectors > 0, axis=1, bitorder="little")


def read_current_model(handle: Handle) -> ModelRow | None:
    """Give the model whose vectors answer; None while no model is complete."""
    row = handle.execute(
        """SELECT m.id, m.identity, m.name, m.dimension
           FROM project p JOIN models m ON m.id = p.model_id"""
    ).fetchone()
    return ModelRow(*row) if row else None


def add_model(handle: Handle, *, identity: str, name: str, dimension: int, now_ms: int) -> ModelRow:
    """Give the row of a model, made with its empty tables when new."""
    row = handle.execute(
        "SELECT id, identity, name, dimension FROM models WHERE identity = :identity",
        {"identity": identity},
    ).fetchone()
    if row:
        return ModelRow(*row)
    model_id = handle.execute(
        """INSERT INTO models (identity, name, dimension, created_at_ms)
           VALUES (:identity, :name, :dimension, :now_ms) RETURNING id""",
        {"identity": identity, "name": name, "dimension": dimension, "now_ms": now_ms},
    ).get
    model = ModelRow(int(model_id), identity, name, dimension)
    handle.execute(
        f"""CREATE VIRTUAL TABLE {_chunk_table(model)} USING vec0 (
              signs bit[{dimension}], exact int8[{dimension}] distance_metric=cosine,
              chunk_size={_BLOCK})"""
    )
    handle.execute(
        f"""CREATE VIRTUAL TABLE {_file_table(model)} USING vec0 (
              exact int8[{dimension}] distance_metric=cosine, chunk_size={_BLOCK})"""
    )
    return model


def switch_model(handle: Handle, model: ModelRow) -> None:
    """Let the vectors of a model answer from now on."""
    handle.execute("UPDATE project SET model_id = :id", {"id": model.id})


def drop_models(handle: Handle, *, kept: ModelRow) -> None:
    """Delete all models but one, with their vectors."""
    rows = handle.execute(
        "SELECT id, identity, name, dimension FROM models WHERE id <> :id", {"id": kept.id}
    ).fetchall()
    for model in map(ModelRow._make, rows):
        handle.execute(f"DROP TABLE IF EXISTS {_chunk_table(model)}")
        handle.execute(f"DROP TABLE IF EXISTS {_file_table(model)}")
        handle.execute("DELETE FROM models WHERE id = :id", {"id": model.id})


def insert_chunk_vectors(
    handle: Handle, model: ModelRow, chunk_ids: Iterable[int], vectors: Stored
) -> None:
    """Insert the vectors of chunks."""
    bits = signs(vectors)
    handle.executemany(
        f"INSERT INTO {_chunk_table(model)} (rowid, signs, exact)"  # noqa: S608 - our own name
        " VALUES (?, vec_bit(?), vec_int8(?))",
        (
            (chunk_id, bit.tobytes(), vector.tobytes())
            for chunk_id, bit, vector in zip(chunk_ids, bits, vectors, strict=True)
        ),
    )


def insert_file_vectors(
    handle: Handle, model: ModelRow, file_ids: Iterable[int], vectors: Stored
) -> None:
    """Insert the vectors of files."""
    handle.executemany(
        f"INSERT INTO {_file_table(model)} (rowid, exact) VALUES (?, vec_int8(?))",  # noqa: S608
        ((file_id, vector.tobytes()) for file_id, vector in zip(file_ids, vectors, strict=True)),
    )


def read_chunk_vectors(handle: Handle, model: ModelRow) -> StoredVectors:
    """Give the vectors of all chunks."""
    return _read_all(handle, _chunk_table(model), model.dimension)


def read_file_vectors(handle: Handle, model: ModelRow) -> StoredVectors:
    """Give the vectors of all files."""
    return _read_all(handle, _file_table(model), model.dimension)


def read_some_vectors(handle: Handle, model: ModelRow, chunk_ids: Sequence[int]) -> StoredVectors:
    """Give the vectors of some chunks; those without one are left out."""
    rows = handle.execute(
        f"""SELECT v.rowid, v.exact FROM json_each(:ids) wanted
            CROSS JOIN {_chunk_table(model)} v ON v.rowid = wanted.value""",  # noqa: S608
        {"ids": json.dumps(sorted(chunk_ids))},
    ).fetchall()
    return _stacked(rows, model.dimension)


def nearest_chunks(
    handle: Handle,
    model: ModelRow,
    query: NDArray[np.float32],
    limit: int,
    filters: Filters,
) -> list[tuple[int, float]]:
    """Give the chunks nearest to a vector with their cosines, best first.

    The filters hold before the nearest are taken.
    """
    wanted = quantized(query[np.newaxis, :])
    rows = handle.execute(
        f"""SELECT rowid, 1 - distance FROM {_chunk_table(model)}
            WHERE exact MATCH vec_int8(:query) AND k = :limit AND rowid IN (
              SELECT c.id FROM files f CROSS JOIN chunks c ON c.blob_id = f.blob_id
              WHERE {filters.file_condition} AND {filters.chunk_condition})
            ORDER BY distance""",  # noqa: S608 - constant fragments
        {"query": wanted.tobytes(), "limit": limit, **filters.values},
    )
    return [(chunk_id, score) for chunk_id, score in rows]


def nearest_files(
    handle: Handle,
    model: ModelRow,
    query: NDArray[np.float32],
    limit: int,
    filters: Filters,
) -> list[tuple[int, float]]:
    """Give the files whose vectors are nearest, with their cosines; filters hold before that."""
    wanted = quantized(query[np.newaxis, :])
    rows = handle.execute(
        f"""SELECT rowid, 1 - distance FROM {_file_table(model)}
            WHERE exact MATCH vec_int8(:query) AND k = :limit AND rowid IN (
              SELECT f.id FROM files f WHERE {filters.file_condition})
            ORDER BY distance""",  # noqa: S608 - constant fragments
        {"query": wanted.tobytes(), "limit": limit, **filters.values},
    )
    return [(file_id, score) for file_id, score in rows]


def _read_all(handle: Handle, table: str, dimension: int) -> StoredVectors:
    rows = handle.execute(f"SELECT rowid, exact FROM {table}").fetchall()  # noqa: S608
    return _stacked(sorted(rows, key=itemgetter(0)), dimension)


def _stacked(rows: Sequence[tuple[Any, ...]], dimension: int) -> StoredVectors:
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    flat = np.frombuffer(b"".join([row[1] for row in rows]), dtype=np.int8)
    return StoredVectors(ids, flat.reshape(-1, dimension))


def _chunk_table(model: ModelRow) -> str:
    return f"chunk_vectors_{model.id:d}"


def _file_table(model: ModelRow) -> str:
    return f"file_vectors_{model.id:d}"
