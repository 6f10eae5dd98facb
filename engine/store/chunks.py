"""Chunks and texts as candidates of a search: by keyword, by pattern, and by filters alone."""

import json
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from engine.store.connection import Handle
from engine.store.filters import COPY_ORDER, Filters
from engine.store.fulltext import CHUNK_WEIGHTS, first_ranked

_COLUMNS = """c.id, c.blob_id, f.id, f.path, b.language, b.is_generated,
  c.byte_start, c.byte_end, c.line_start, c.line_end, c.symbol_id"""
_JOINS = """CROSS JOIN blobs b ON b.id = c.blob_id CROSS JOIN files f ON f.id = {}"""

_OF_FILES = "{} IN (SELECT f.blob_id FROM files f WHERE {})"
_OF_A_FILE = "EXISTS (SELECT 1 FROM files f WHERE f.blob_id = {} AND {})"
_AMONG = "{} IN (SELECT value FROM json_each(:among))"
_HAS_CHUNK = "EXISTS (SELECT 1 FROM chunks c WHERE c.blob_id = {} AND {})"


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
    """The position of a chunk in its text."""

    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    symbol_id: int | None
    symbol: SymbolFacts | None  # the one with symbol_id


def match_chunks(
    handle: Handle, match: str, filters: Filters, limit: int
) -> list[tuple[ChunkFacts, float]]:
    """Return the best chunks for an FTS5 expression with scores, filtered before the limit.

    The matches are walked in rank order until the limit is reached, so a filter that lets most
    rows pass costs a look-up for each row given, not for each row matched. Of equally good ones it
    gives the first by path, however they came into the index.
    """
    rows = handle.execute(
        f"""SELECT -t.rank, {_COLUMNS}
            FROM chunk_terms t CROSS JOIN chunks c ON c.id = t.rowid
            {_JOINS.format(filters.shown_file.format("c"))}
            WHERE t.chunk_terms MATCH :match AND t.rank MATCH 'bm25{CHUNK_WEIGHTS}'
              AND {filters.chunk_condition}
            ORDER BY t.rank""",  # noqa: S608 - constant fragments
        {"match": match, **filters.values},
    )
    found = first_ranked(rows, limit, _by_path)
    return [(_facts_of(row), score) for score, *row in found]


def _by_path(row: Sequence[Any]) -> tuple[bytes, int, int]:
    _, id_, _, file_id, path, *_ = row
    return path, file_id, id_


def count_chunks(handle: Handle) -> int:
    """Return the number of chunks, of all branches."""
    return int(handle.execute("SELECT count(*) FROM chunks").get)


def read_ranges(handle: Handle) -> tuple[str, str, str]:
    """Return rising blobs, the first chunk of each, and how many it has; joined by commas.

    The ids of a blob's chunks have no gap.
    """
    columns: tuple[Any, ...] = handle.execute(
        """SELECT group_concat(blob_id), group_concat(first), group_concat(number)
           FROM (SELECT blob_id, min(id) AS first, count(*) AS number
                 FROM chunks GROUP BY blob_id ORDER BY blob_id)"""
    ).fetchall()[0]
    blobs, first, number = (column or "" for column in columns)
    return blobs, first, number


def read_ranges_of(handle: Handle, blob_ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the same of some blobs, as rows."""
    rows = handle.execute(
        """SELECT c.blob_id, min(c.id), count(*) FROM json_each(:ids) wanted
           CROSS JOIN chunks c ON c.blob_id = wanted.value GROUP BY c.blob_id""",
        {"ids": json.dumps(blob_ids)},
    )
    return list(rows)


def read_chunks(handle: Handle, ids: Sequence[int], filters: Filters) -> dict[int, ChunkFacts]:
    """Return the facts of chunks; those without a file that passes the filters are left out."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS}
            FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
            {_JOINS.format(filters.shown_file.format("c"))}
            WHERE {filters.chunk_condition}""",  # noqa: S608 - constant fragments
        {"ids": json.dumps(ids), **filters.values},
    )
    return {row[0]: _facts_of(row) for row in rows}


def by_path(handle: Handle, ids: Sequence[int], filters: Filters) -> list[int]:
    """Return chunks in the order of their paths; those that do not pass are left out."""
    rows = handle.execute(
        f"""SELECT c.id FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
            {_JOINS.format(filters.shown_file.format("c"))}
            WHERE {filters.chunk_condition} ORDER BY f.path, f.id, c.id""",  # noqa: S608
        {"ids": json.dumps(ids), **filters.values},
    )
    return [chunk_id for (chunk_id,) in rows]


def read_spans(handle: Handle, ids: Sequence[int]) -> dict[int, Span]:
    """Return the positions of chunks in their text, each with the symbol it belongs to."""
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
    """Return those of the chunks that match an FTS5 expression."""
    rows = handle.execute(
        """SELECT t.rowid FROM chunk_terms t WHERE t.chunk_terms MATCH :match
             AND +t.rowid IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(ids), "match": match},
    )
    return {chunk_id for (chunk_id,) in rows}


def hashes_on_lines(
    handle: Handle, blob_id: int, line_start: int, line_end: int
) -> dict[int, bytes]:
    """Return the hashes of the chunks of a blob that overlap these lines, by id, in order."""
    rows = handle.execute(
        """SELECT id, hash FROM chunks WHERE blob_id = :blob_id AND line_start <= :line_end
             AND line_end >= :line_start ORDER BY byte_start""",
        {"blob_id": blob_id, "line_start": line_start, "line_end": line_end},
    )
    return dict(rows)


def read_hashes(handle: Handle, ids: Sequence[int]) -> dict[int, bytes]:
    """Return the hashes of the texts of chunks."""
    rows = handle.execute(
        """SELECT c.id, c.hash FROM json_each(:ids) wanted
           CROSS JOIN chunks c ON c.id = wanted.value""",
        {"ids": json.dumps(ids)},
    )
    return dict(rows)


def read_passing_symbols(
    handle: Handle, ids: Sequence[int], filters: Filters
) -> dict[int, SymbolFacts]:
    """Return, for each chunk, the first of its symbols that passes the filters."""
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
    """Return symbols by id."""
    rows = handle.execute(
        """SELECT s.id, s.name, s.qualified_name, s.kind, s.signature, s.line_start, s.line_end
           FROM json_each(:ids) wanted CROSS JOIN symbols s ON s.id = wanted.value""",
        {"ids": json.dumps(list(ids))},
    )
    return {row[0]: SymbolFacts(*row) for row in rows}


def chunks_of_files(handle: Handle, file_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return, for each file, the first and last chunk id of its blob; empty files are left out."""
    rows = handle.execute(
        """SELECT f.id, min(c.id), max(c.id) FROM json_each(:ids) wanted
           CROSS JOIN files f ON f.id = wanted.value CROSS JOIN chunks c ON c.blob_id = f.blob_id
           GROUP BY f.id""",
        {"ids": json.dumps(file_ids)},
    )
    return {file_id: (first, last) for file_id, first, last in rows}


def passing_among(
    handle: Handle, file_ids: Iterable[int], filters: Filters
) -> dict[int, list[int]]:
    """Return, for each of some files, its chunks that pass, in order."""
    rows = handle.execute(
        f"""SELECT f.id, c.id FROM json_each(:ids) wanted
            CROSS JOIN files f ON f.id = wanted.value CROSS JOIN chunks c ON c.blob_id = f.blob_id
            WHERE {filters.chunk_condition} ORDER BY c.id""",  # noqa: S608 - constant fragments
        {"ids": json.dumps(list(file_ids)), **filters.values},
    )
    passing: dict[int, list[int]] = {}
    for file_id, chunk_id in rows:
        passing.setdefault(file_id, []).append(chunk_id)
    return passing


def chunks_at(handle: Handle, symbol_ids: Sequence[int]) -> dict[int, int]:
    """Return, for each symbol, the chunk in which it starts."""
    rows = handle.execute(
        """SELECT s.id, (SELECT c.id FROM chunks c
                         WHERE c.blob_id = s.blob_id AND c.byte_start <= s.byte_start
                         ORDER BY c.byte_start DESC LIMIT 1)
           FROM json_each(:ids) wanted CROSS JOIN symbols s ON s.id = wanted.value""",
        {"ids": str(list(symbol_ids))},
    )
    return dict(rows)


class ShownFile(NamedTuple):
    """The file that stands for a blob."""

    file_id: int
    path: str
    language: str
    is_generated: bool


class ChunkSpanRow(NamedTuple):
    """The position of a chunk and its symbol."""

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


def read_packed(
    handle: Handle, filters: Filters, among: Sequence[int] | None = None
) -> Generator[tuple[int, bytes]]:
    """Yield the packed texts of blobs that a passing file shows, by id.

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
    """Return the total size of the texts that ``read_packed`` yields."""
    conditions, values = _conditions("b.id", filters, among)
    rows = handle.execute(
        f"""SELECT coalesce(sum(b.size_bytes), 0) FROM blobs b
            WHERE {conditions}""",  # noqa: S608 - constant fragments
        values,
    )
    return int(rows.get)


def read_hash_prefixes(handle: Handle, size: int) -> list[tuple[int, bytes]]:
    """Return the ids of all texts, rising, each with the first bytes of its hash."""
    rows = handle.execute(
        "SELECT id, substr(text_hash, 1, :size) FROM blobs ORDER BY id", {"size": size}
    )
    return list(rows)


def read_prefixed_texts(
    handle: Handle, blob_ids: Sequence[int], size: int
) -> list[tuple[int, bytes, bytes]]:
    """Return those of some texts that still exist: id, first bytes of the hash, packed text."""
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
    """Return the blobs in path order, each with the file that stands for it (``Filters``).

    Made as they are taken, for most callers take the first few of thousands.
    """
    rows = handle.execute(
        f"""SELECT b.id, f.id, f.path, b.language, b.is_generated FROM json_each(:ids) wanted
            CROSS JOIN blobs b ON b.id = wanted.value
            CROSS JOIN files f ON f.blob_id = b.id
            WHERE {filters.file_condition} ORDER BY {COPY_ORDER}""",  # noqa: S608 - constants
        {"ids": json.dumps(blob_ids), **filters.values},
    )
    shown: dict[int, tuple[Any, ...]] = {}
    for row in rows:
        shown.setdefault(row[0], row)
    for row in sorted(shown.values(), key=itemgetter(2)):
        blob_id, file_id, path, language, is_generated = row
        yield blob_id, ShownFile(file_id, os.fsdecode(path), language, bool(is_generated))


def chunks_of_blob(handle: Handle, blob_id: int, filters: Filters) -> list[ChunkSpanRow]:
    """Return the chunks of a blob that pass, in text order."""
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
    """Return, for each chunk, the passing symbols it defines or is a part of, in order."""
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
    """Return the keyword scores of those of the chunks that match an FTS5 expression.

    All matches are walked once, and only these are scored: looked up by id, each would begin the
    search again (12 ms for 100 of 15,000 chunks, against 0.5 ms).
    """
    rows = handle.execute(
        f"""SELECT t.rowid, -t.rank FROM chunk_terms t
            WHERE t.chunk_terms MATCH :match AND t.rank MATCH 'bm25{CHUNK_WEIGHTS}'
              AND +t.rowid IN (SELECT value FROM json_each(:ids))""",  # noqa: S608
        {"match": match, "ids": json.dumps(chunk_ids)},
    )
    return dict(rows)


class PassingFile(NamedTuple):
    """A file with chunks or symbols that pass."""

    blob_id: int
    path: str
    is_generated: bool
    number: int  # of what passes in it


def files_with_chunks(handle: Handle, filters: Filters) -> list[PassingFile]:
    """Return the files with a passing chunk, copies once, unordered."""
    return _files(
        handle,
        filters,
        f"""SELECT c.blob_id, 1 AS number FROM chunks c
            WHERE {filters.chunk_condition} GROUP BY c.blob_id""",  # noqa: S608 - constants
    )


def files_with_symbols(handle: Handle, filters: Filters) -> list[PassingFile]:
    """Return the files with passing symbols, copies once, unordered."""
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
            ORDER BY {COPY_ORDER}""",  # noqa: S608 - constant fragments
        filters.values,
    )
    shown: dict[int, tuple[Any, ...]] = {}
    for row in rows:
        shown.setdefault(row[0], row)
    return [
        PassingFile(blob_id, os.fsdecode(path), bool(is_generated), number)
        for blob_id, path, is_generated, number in shown.values()
    ]


def first_chunks(handle: Handle, blob_ids: Sequence[int], filters: Filters) -> list[int]:
    """Return the first passing chunk of each of some blobs, in their order."""
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
    """Return the passing symbols of some blobs, in the order of the blobs and of their texts."""
    rows = handle.execute(
        f"""SELECT s.id FROM json_each(:ids) wanted CROSS JOIN symbols s
            ON s.blob_id = wanted.value WHERE {filters.symbol_condition}
            ORDER BY wanted.key, s.byte_start, s.id LIMIT :limit""",  # noqa: S608 - constants
        {"ids": json.dumps(blob_ids), "limit": limit, **filters.values},
    )
    return [id_ for (id_,) in rows]
