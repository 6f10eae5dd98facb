"""Reading for searches by pattern: all texts that pass, and what is around the places found."""

import json
import os
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

from engine.store.chunks import SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.fulltext import CHUNK_WEIGHTS


class ShownFile(NamedTuple):
    """The file that stands for a blob."""

    file_id: int
    path: str
    language: str
    is_generated: bool


class ChunkSpanRow(NamedTuple):
    """Where a chunk is."""

    id: int
    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    symbol_id: int | None


class SymbolSpan(NamedTuple):
    """A symbol with its place in the text."""

    byte_start: int
    byte_end: int
    facts: SymbolFacts


_OF_FILES = "{} IN (SELECT f.blob_id FROM files f WHERE {})"
_OF_A_FILE = "EXISTS (SELECT 1 FROM files f WHERE f.blob_id = {} AND {})"
_AMONG = "{} IN (SELECT value FROM json_each(:among))"
_HAS_CHUNK = "EXISTS (SELECT 1 FROM chunks c WHERE c.blob_id = {} AND {})"


def read_packed(
    handle: Handle, filters: Filters, among: Sequence[int] | None = None
) -> Generator[tuple[int, bytes]]:
    """Give the packed texts of blobs that a passing file shows, one after the other, by id.

    Args:
        handle: A read transaction; it must outlive the iterator.
        filters: What a search may see; a blob without a passing chunk is left out.
        among: Only these blobs.
    """
    conditions, values = _conditions("t.blob_id", filters, among)
    yield from handle.execute(
        f"""SELECT t.blob_id, t.packed FROM blob_texts t
            WHERE {conditions} ORDER BY t.blob_id""",  # noqa: S608 - constant fragments
        values,
    )


def count_bytes(handle: Handle, filters: Filters, among: Sequence[int] | None = None) -> int:
    """Give the size of all texts that ``read_packed`` gives."""
    conditions, values = _conditions("b.id", filters, among)
    rows = handle.execute(
        f"""SELECT coalesce(sum(b.size_bytes), 0) FROM blobs b
            WHERE {conditions}""",  # noqa: S608 - constant fragments
        values,
    )
    return int(rows.get)


def text_marks(handle: Handle, size: int) -> list[tuple[int, bytes]]:
    """Give the ids of all texts, rising, each with the first bytes of its hash."""
    rows = handle.execute(
        "SELECT id, substr(text_hash, 1, :size) FROM blobs ORDER BY id", {"size": size}
    )
    return list(rows)


def marked_texts(
    handle: Handle, blob_ids: Sequence[int], size: int
) -> list[tuple[int, bytes, bytes]]:
    """Give those of some texts that are there still: id, the first bytes of its hash, packed."""
    rows = handle.execute(
        """SELECT b.id, substr(b.text_hash, 1, :size), t.packed
           FROM json_each(:ids) wanted CROSS JOIN blobs b ON b.id = wanted.value
           CROSS JOIN blob_texts t ON t.blob_id = b.id""",
        {"size": size, "ids": json.dumps(blob_ids)},
    )
    return list(rows)


def _conditions(
    column: str, filters: Filters, among: Sequence[int] | None
) -> tuple[str, dict[str, object]]:
    values = dict(filters.values)
    of_files = _OF_FILES if among is None else _OF_A_FILE  # files are looked up for a few blobs
    parts = [of_files.format(column, filters.file_condition)]
    if filters.chunk_condition != "TRUE":
        parts.append(_HAS_CHUNK.format(column, filters.chunk_condition))
    if among is not None:
        parts.append(_AMONG.format(column))
        values["among"] = json.dumps(among)
    return " AND ".join(parts), values


def shown_files(
    handle: Handle, blob_ids: Sequence[int], filters: Filters
) -> Iterator[tuple[int, ShownFile]]:
    """Give the blobs in the order of their paths, each with its shortest path of those that pass.

    Made as they are taken, for most callers take the first few of thousands.
    """
    rows = handle.execute(
        f"""SELECT b.id, f.id, f.path, b.language, b.is_generated FROM json_each(:ids) wanted
            CROSS JOIN blobs b ON b.id = wanted.value
            CROSS JOIN files f ON f.blob_id = b.id
            WHERE {filters.file_condition}""",  # noqa: S608 - constant fragments
        {"ids": json.dumps(blob_ids), **filters.values},
    )
    best: dict[int, tuple[bytes, tuple[Any, ...]]] = {}
    for row in rows:
        path = row[2]
        known = best.get(row[0])
        if known is None or (len(path), path) < (len(known[0]), known[0]):
            best[row[0]] = path, row
    for path, (blob_id, file_id, _, language, is_generated) in sorted(best.values()):
        yield blob_id, ShownFile(file_id, os.fsdecode(path), language, bool(is_generated))


def chunks_of_blob(handle: Handle, blob_id: int, filters: Filters) -> list[ChunkSpanRow]:
    """Give the chunks of a blob that pass, in text order."""
    rows = handle.execute(
        f"""SELECT c.id, c.byte_start, c.byte_end, c.line_start, c.line_end, c.symbol_id
            FROM chunks c WHERE c.blob_id = :blob_id AND {filters.chunk_condition}
            ORDER BY c.byte_start""",  # noqa: S608 - constant fragments
        {"blob_id": blob_id, **filters.values},
    )
    return [ChunkSpanRow(*row) for row in rows]


def symbols_of_chunks(
    handle: Handle, chunk_ids: Sequence[int], filters: Filters
) -> dict[int, list[SymbolSpan]]:
    """Give, for each chunk, the symbols that it defines or is a part of and that pass, in order."""
    rows = handle.execute(
        f"""SELECT c.id, s.byte_start, s.byte_end, s.id, s.name, s.qualified_name, s.kind,
                   s.signature, s.line_start, s.line_end
            FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
            JOIN symbols s ON s.id = c.symbol_id OR s.id BETWEEN c.first_symbol_id
                                                 AND c.first_symbol_id + c.symbol_count - 1
            WHERE {filters.symbol_condition} ORDER BY c.id, s.id""",  # noqa: S608 - constants
        {"ids": json.dumps(chunk_ids), **filters.values},
    )
    symbols: dict[int, list[SymbolSpan]] = {}
    for chunk_id, byte_start, byte_end, *facts in rows:
        span = SymbolSpan(byte_start, byte_end, SymbolFacts(*facts))
        symbols.setdefault(chunk_id, []).append(span)
    return symbols


def scores_among(handle: Handle, match: str, chunk_ids: Sequence[int]) -> dict[int, float]:
    """Give the keyword scores of those of the chunks that match an FTS5 expression.

    All matches are walked once, and only these are scored: looked up by id, each would begin the
    search anew (12 ms for 100 of 15,000 chunks, against 0.5 ms).
    """
    rows = handle.execute(
        f"""SELECT t.rowid, -t.rank FROM chunk_terms t
            WHERE t.chunk_terms MATCH :match AND t.rank MATCH 'bm25{CHUNK_WEIGHTS}'
              AND +t.rowid IN (SELECT value FROM json_each(:ids))""",  # noqa: S608
        {"match": match, "ids": json.dumps(chunk_ids)},
    )
    return dict(rows)
