"""Chunks as a model reads them: their texts, and the symbols whose words they have."""

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.records import Symbol
from engine.store.connection import Handle


class Piece(NamedTuple):
    """A chunk: where its text is, and the names that its words come from."""

    chunk_id: int
    blob_id: int
    byte_start: int
    byte_end: int
    owner: str  # qualified name of the symbol that it belongs to; empty for none
    symbols: list[Symbol]  # that start in it, in text order; their parents are not told


def read_pieces(handle: Handle, chunk_ids: Sequence[int]) -> list[Piece]:
    """Give chunks, by rising id; those that are gone are left out."""
    ids = {"ids": json.dumps(chunk_ids)}
    symbols: dict[int, list[Symbol]] = {}
    for chunk_id, *symbol in handle.execute(
        """SELECT c.id, s.name, s.qualified_name, s.kind, s.signature, s.doc, s.byte_start,
                  s.byte_end, s.line_start, s.line_end, -1, s.is_exported
           FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
           CROSS JOIN symbols s ON s.id BETWEEN c.first_symbol_id
                                           AND c.first_symbol_id + c.symbol_count - 1
           ORDER BY c.id, s.id""",
        ids,
    ):
        symbols.setdefault(chunk_id, []).append(Symbol(*symbol))
    rows: list[tuple[Any, ...]] = handle.execute(
        """SELECT c.id, c.blob_id, c.byte_start, c.byte_end, coalesce(s.qualified_name, '')
           FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
           LEFT JOIN symbols s ON s.id = c.symbol_id ORDER BY c.id""",
        ids,
    ).fetchall()
    return [
        Piece(id_, blob_id, start, end, owner, symbols.get(id_, []))
        for id_, blob_id, start, end, owner in rows
    ]


def a_path_of(handle: Handle, chunk_id: int) -> str:
    """Give the path of a file that has a chunk; empty when there is none."""
    row: tuple[Any, ...] | None = handle.execute(
        """SELECT f.path FROM chunks c JOIN files f ON f.blob_id = c.blob_id
           WHERE c.id = :chunk_id LIMIT 1""",
        {"chunk_id": chunk_id},
    ).fetchone()
    return os.fsdecode(row[0]) if row else ""
