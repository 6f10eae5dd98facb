"""What the doctor asks of the tables of vectors.

sqlite-vec has no check of its own. Its tables are read as they lie: ``…_rowids`` says which row is
where, ``…_chunks`` which places of a block are taken and by whom, ``…_vector_chunksNN`` holds the
numbers. With a block's bits of validity lost, everything else looks sound and nothing is found.
"""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import apsw
import numpy as np

from engine.store.connection import Handle
from engine.store.models import BLOCK, ModelRow, read_models
from engine.store.quantize import has_its_sum, signs, unpacked
from engine.store.vector_rows import row_bytes_of

_BYTES_OF_ID = 8


class VectorTable(NamedTuple):
    """The vectors of a model, of chunks or of files."""

    model: ModelRow
    is_of_chunks: bool

    @property
    def name(self) -> str:
        """The table."""
        return self.model.chunk_table if self.is_of_chunks else self.model.file_table

    @property
    def owner(self) -> str:
        """The table of what the vectors belong to."""
        return "chunks" if self.is_of_chunks else "files"

    @property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """Number and bytes a row of each column; the last one has the numbers themselves."""
        exact = row_bytes_of(self.model.dimension)
        if self.is_of_chunks:
            return (("00", self.model.dimension // 8), ("01", exact))
        return (("00", exact),)


class Block(NamedTuple):
    """What is wrong with one block of vectors."""

    is_whole: bool  # its places agree with the table of rows
    flipped: tuple[int, ...]  # rows whose numbers are not what was written
    sound: int  # rows that are


def vector_tables(handle: Handle) -> list[VectorTable]:
    """Give all tables of vectors that there should be."""
    return [VectorTable(model, kind) for model in read_models(handle) for kind in (True, False)]


def is_there(handle: Handle, table: VectorTable) -> bool:
    """Say whether a table and all that sqlite-vec keeps beside it exist."""
    names = {name for (name,) in handle.execute("SELECT name FROM sqlite_schema")}
    parts = ["", "_info", "_chunks", "_rowids"]
    parts += [f"_vector_chunks{column}" for column, _ in table.columns]
    return all(f"{table.name}{part}" in names for part in parts)


def read_strange_tables(handle: Handle) -> list[str]:
    """Give tables of vectors that belong to no model."""
    known = {table.name for table in vector_tables(handle)}
    rows = handle.execute(
        """SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%vec0%'"""
    )
    return [name for (name,) in rows if name not in known]


def check_blocks(handle: Handle, table: VectorTable) -> Iterator[Block]:
    """Compare all that is said of each block, of those that only rows speak of too."""
    placed: dict[int, dict[int, int]] = {}
    rows = handle.execute(
        f"SELECT chunk_id, chunk_offset, rowid FROM {table.name}_rowids"  # noqa: S608 - our own name
    )
    for block, at, rowid in rows:
        placed.setdefault(block, {})[at] = rowid
    known: list[tuple[Any, ...]] = handle.execute(
        f"SELECT chunk_id FROM {table.name}_chunks"  # noqa: S608 - our own name
    ).fetchall()
    for block in sorted(placed.keys() | {block for (block,) in known}):
        yield _check_block(handle, table, block, placed.get(block, {}))


def read_sound_rows(handle: Handle, table: VectorTable) -> list[tuple[Any, ...]]:
    """Give the vectors that are as they were written and whose owner is there.

    Read from the blocks as they lie, with the places that the table of rows tells: so those are
    saved too whose bits of validity are lost. What is gone is left out.
    """
    with suppress(apsw.Error):
        return _sound_rows(handle, table)
    return []


def _sound_rows(handle: Handle, table: VectorTable) -> list[tuple[Any, ...]]:
    known = {id_ for (id_,) in handle.execute(f"SELECT id FROM {table.owner}")}  # noqa: S608
    places: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT rowid, chunk_id, chunk_offset FROM {table.name}_rowids
            ORDER BY chunk_id, rowid"""  # noqa: S608 - our own name
    ).fetchall()
    found: list[tuple[Any, ...]] = []
    for block, group in itertools.groupby(places, key=lambda place: place[1]):
        data = [_column_of(handle, table, block, *column) for column in table.columns]
        whole = [each for each in data if each is not None]
        if len(whole) < len(data):
            continue
        sound = _sound_places(table, whole)
        for rowid, _, at in group:
            if rowid in known and at in sound:
                parts = [
                    column[at * size : (at + 1) * size]
                    for column, (_, size) in zip(whole, table.columns, strict=True)
                ]
                found.append((rowid, *parts))
    return found


def _check_block(handle: Handle, table: VectorTable, block: int, placed: dict[int, int]) -> Block:
    row: tuple[Any, ...] | None = handle.execute(
        f"SELECT validity, rowids FROM {table.name}_chunks WHERE chunk_id = ?",  # noqa: S608
        (block,),
    ).fetchone()
    data = [_column_of(handle, table, block, *column) for column in table.columns]
    if row is None or any(each is None for each in data):
        return Block(False, tuple(placed.values()), 0)
    if len(row[0]) * 8 < BLOCK or len(row[1]) != BLOCK * _BYTES_OF_ID:
        return Block(False, tuple(placed.values()), 0)
    valid = np.unpackbits(np.frombuffer(row[0], np.uint8), bitorder="little")[:BLOCK]
    ids = np.frombuffer(row[1], np.int64)
    taken = {int(at): int(ids[at]) for at in np.flatnonzero(valid)}
    sound = _sound_places(table, [each for each in data if each is not None])
    flipped = tuple(rowid for at, rowid in placed.items() if at not in sound)
    return Block(taken == placed, flipped, len(placed) - len(flipped))


def _column_of(
    handle: Handle, table: VectorTable, block: int, column: str, row_bytes: int
) -> bytes | None:
    """Give the numbers of a block; None when they are missing or not as many as they must be."""
    row: tuple[Any, ...] | None = handle.execute(
        f"SELECT vectors FROM {table.name}_vector_chunks{column} WHERE rowid = ?",  # noqa: S608
        (block,),
    ).fetchone()
    if row is None or len(row[0]) != BLOCK * row_bytes:
        return None
    return bytes(row[0])


def _sound_places(table: VectorTable, data: list[bytes]) -> set[int]:
    """Give the places whose numbers have their sum, and the bits that go with them."""
    size = table.columns[-1][1]
    rows = [data[-1][at : at + size] for at in range(0, len(data[-1]), size)]
    sound = {at for at, row in enumerate(rows) if has_its_sum(row)}
    if not table.is_of_chunks:
        return sound
    numbers = np.frombuffer(data[-1], np.uint8).reshape(BLOCK, size)
    bits = np.frombuffer(data[0], np.uint8).reshape(BLOCK, -1)
    agreeing = (signs(unpacked(numbers)) == bits).all(axis=1)
    return sound & set(np.flatnonzero(agreeing).tolist())


def read_lost_vectors(handle: Handle, table: VectorTable) -> list[int]:
    """Give the vectors whose chunk or file is gone."""
    rows = handle.execute(
        f"""SELECT rowid FROM {table.name}_rowids
            WHERE rowid NOT IN (SELECT id FROM {table.owner})"""  # noqa: S608 - our own names
    )
    return [rowid for (rowid,) in rows]


def read_vectorless(handle: Handle, table: VectorTable) -> list[int]:
    """Give the chunks or files that have no vector."""
    rows = handle.execute(
        f"""SELECT id FROM {table.owner}
            WHERE id NOT IN (SELECT rowid FROM {table.name}_rowids)"""  # noqa: S608 - our own names
    )
    return [id_ for (id_,) in rows]


def read_some_rows(handle: Handle, table: VectorTable, number: int) -> list[int]:
    """Give rows of a table, evenly spread."""
    rows = handle.execute(f"SELECT rowid FROM {table.name}_rowids ORDER BY rowid")  # noqa: S608
    ids = [rowid for (rowid,) in rows]
    return ids[:: max(1, -(-len(ids) // number))]


def finds_itself(handle: Handle, table: VectorTable, rowid: int) -> bool:
    """Say whether a vector is the nearest to itself, or one that equals it."""
    found = handle.execute(
        f"""SELECT distance FROM {table.name} WHERE exact MATCH vec_int8(
              (SELECT exact FROM {table.name} WHERE rowid = ?)) AND k = 1""",  # noqa: S608
        (rowid,),
    ).fetchall()
    return found == [(0.0,)]
