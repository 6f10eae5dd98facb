"""Chunks as search candidates: where they are and what they define."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.fulltext import CHUNK_WEIGHTS


class ChunkFacts(NamedTuple):
    """A chunk with the file that shows it."""

    id: int
    blob_id: int
    file_id: int
    path: str
    language: str
    is_generated: bool
    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    symbol_id: int | None


class SymbolFacts(NamedTuple):
    """A symbol as ranking sees it."""

    id: int
    name: str
    qualified_name: str
    kind: str
    signature: str
    line_start: int
    line_end: int


class Span(NamedTuple):
    """Where a chunk is in its text."""

    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    symbol_id: int | None
    symbol: SymbolFacts | None  # that of symbol_id


_COLUMNS = """c.id, c.blob_id, f.id, f.path, b.language, b.is_generated,
  c.byte_start, c.byte_end, c.line_start, c.line_end, c.symbol_id"""
_JOINS = """CROSS JOIN blobs b ON b.id = c.blob_id CROSS JOIN files f ON f.id = {}"""


def match_chunks(
    handle: Handle, match: str, filters: Filters, limit: int
) -> list[tuple[ChunkFacts, float]]:
    """Give the best chunks for an FTS5 expression with their scores, filters before the limit.

    SQLite walks the matches in rank order and stops at the limit, so a filter that lets most
    rows pass costs a look-up for each row given, not for each row matched.
    """
    rows = handle.execute(
        f"""SELECT -t.rank, {_COLUMNS}
            FROM chunk_terms t CROSS JOIN chunks c ON c.id = t.rowid
            {_JOINS.format(filters.shown_file.format("c"))}
            WHERE t.chunk_terms MATCH :match AND t.rank MATCH 'bm25{CHUNK_WEIGHTS}'
              AND {filters.chunk_condition}
            ORDER BY t.rank LIMIT :limit""",  # noqa: S608 - constant fragments
        {"match": match, "limit": limit, **filters.values},
    )
    return [(_facts_of(row), score) for score, *row in rows]


def count_chunks(handle: Handle) -> int:
    """Give the number of chunks, of all branches."""
    return int(handle.execute("SELECT count(*) FROM chunks").get)


def read_chunks(handle: Handle, ids: Sequence[int], filters: Filters) -> dict[int, ChunkFacts]:
    """Give the facts of chunks; those that no file passing the filters shows are left out."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS}
            FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
            {_JOINS.format(filters.shown_file.format("c"))}
            WHERE {filters.chunk_condition}""",  # noqa: S608 - constant fragments
        {"ids": json.dumps(ids), **filters.values},
    )
    return {row[0]: _facts_of(row) for row in rows}


def read_spans(handle: Handle, ids: Sequence[int]) -> dict[int, Span]:
    """Give where chunks are in their text, each with the symbol that it belongs to."""
    rows = handle.execute(
        """SELECT c.id, c.byte_start, c.byte_end, c.line_start, c.line_end, c.symbol_id, s.name,
                  s.qualified_name, s.kind, s.signature, s.line_start, s.line_end
           FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
           LEFT JOIN symbols s ON s.id = c.symbol_id""",
        {"ids": str(list(ids))},
    )
    spans = {}
    for chunk_id, start, end, line_start, line_end, symbol_id, *symbol in rows:
        owner = None if symbol[0] is None else SymbolFacts(symbol_id, *symbol)
        spans[chunk_id] = Span(start, end, line_start, line_end, symbol_id, owner)
    return spans


def matching(handle: Handle, match: str, ids: Sequence[int]) -> set[int]:
    """Give those of the chunks that match an FTS5 expression."""
    rows = handle.execute(
        """SELECT t.rowid FROM chunk_terms t WHERE t.chunk_terms MATCH :match
             AND +t.rowid IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(ids), "match": match},
    )
    return {chunk_id for (chunk_id,) in rows}


def hashes_on_lines(
    handle: Handle, blob_id: int, line_start: int, line_end: int
) -> dict[int, bytes]:
    """Give the hashes of the chunks of a blob that have one of these lines, by id, in order."""
    rows = handle.execute(
        """SELECT id, hash FROM chunks WHERE blob_id = :blob_id AND line_start <= :line_end
             AND line_end >= :line_start ORDER BY byte_start""",
        {"blob_id": blob_id, "line_start": line_start, "line_end": line_end},
    )
    return dict(rows)


def read_hashes(handle: Handle, ids: Sequence[int]) -> dict[int, bytes]:
    """Give the hashes of the texts of chunks."""
    rows = handle.execute(
        """SELECT c.id, c.hash FROM json_each(:ids) wanted
           CROSS JOIN chunks c ON c.id = wanted.value""",
        {"ids": json.dumps(ids)},
    )
    return dict(rows)


def read_passing_symbols(
    handle: Handle, ids: Sequence[int], filters: Filters
) -> dict[int, SymbolFacts]:
    """Give, for each chunk, the first of its symbols that passes the filters."""
    rows = handle.execute(
        f"""SELECT c.id, s.id, s.name, s.qualified_name, s.kind, s.signature, s.line_start,
                   s.line_end
            FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
            JOIN symbols s ON s.id = c.symbol_id OR s.id BETWEEN c.first_symbol_id
                                                 AND c.first_symbol_id + c.symbol_count - 1
            WHERE {filters.symbol_condition} ORDER BY s.id DESC""",  # noqa: S608 - constants
        {"ids": json.dumps(ids), **filters.values},
    )
    return {chunk_id: SymbolFacts(*symbol) for chunk_id, *symbol in rows}


def _facts_of(row: Sequence[Any]) -> ChunkFacts:
    id_, blob_id, file_id, path, *rest = row
    return ChunkFacts(id_, blob_id, file_id, os.fsdecode(path), *rest)


def read_symbols(handle: Handle, ids: Iterable[int]) -> dict[int, SymbolFacts]:
    """Give symbols by id."""
    rows = handle.execute(
        """SELECT s.id, s.name, s.qualified_name, s.kind, s.signature, s.line_start, s.line_end
           FROM json_each(:ids) wanted CROSS JOIN symbols s ON s.id = wanted.value""",
        {"ids": json.dumps(list(ids))},
    )
    return {row[0]: SymbolFacts(*row) for row in rows}


def chunks_of_files(handle: Handle, file_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Give, for each file, the first and last chunk id of its blob; empty files are left out."""
    rows = handle.execute(
        """SELECT f.id, min(c.id), max(c.id) FROM json_each(:ids) wanted
           CROSS JOIN files f ON f.id = wanted.value CROSS JOIN chunks c ON c.blob_id = f.blob_id
           GROUP BY f.id""",
        {"ids": json.dumps(file_ids)},
    )
    return {file_id: (first, last) for file_id, first, last in rows}


def chunks_at(handle: Handle, symbol_ids: Sequence[int]) -> dict[int, int]:
    """Give, for each symbol, the chunk in which it starts."""
    rows = handle.execute(
        """SELECT s.id, (SELECT c.id FROM chunks c
                         WHERE c.blob_id = s.blob_id AND c.byte_start <= s.byte_start
                         ORDER BY c.byte_start DESC LIMIT 1)
           FROM json_each(:ids) wanted CROSS JOIN symbols s ON s.id = wanted.value""",
        {"ids": str(list(symbol_ids))},
    )
    return dict(rows)
