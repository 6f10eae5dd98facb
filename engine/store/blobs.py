"""Blobs with all that belongs to them: texts, symbols, chunks and their words."""

import json
import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from engine.records import Symbol
from engine.store import models
from engine.store.connection import Handle

#: The size of a blob's rows apart from its text.
_BLOB_BYTES = 512


class BlobRow(NamedTuple):
    """A blob's own row."""

    id: int
    content_hash: bytes
    language: str
    fingerprint_id: int
    text_hash: bytes
    size_bytes: int
    line_count: int
    token_count: int
    encoding: str
    parse_result: str
    is_generated: bool
    redactions: int
    licence: str | None
    generator: str | None


class NextIds(NamedTuple):
    """The first free ids; one writer at a time makes counting in Python safe."""

    blob: int
    symbol: int
    chunk: int


def next_ids(handle: Handle) -> NextIds:
    """Return the first free ids of blobs, symbols and chunks."""
    row: tuple[Any, ...] = handle.execute(
        """SELECT (SELECT coalesce(max(id), 0) + 1 FROM blobs),
                  (SELECT coalesce(max(id), 0) + 1 FROM symbols),
                  (SELECT coalesce(max(id), 0) + 1 FROM chunks)"""
    ).fetchall()[0]
    return NextIds(*row)


def has_any(handle: Handle) -> bool:
    """Return whether any content is stored."""
    return handle.execute("SELECT 1 FROM blobs LIMIT 1").fetchone() is not None


def find_blob(
    handle: Handle, content_hash: bytes, language: str, fingerprint_id: int
) -> int | None:
    """Return the id of a blob that is already stored."""
    row = handle.execute(
        """SELECT id FROM blobs WHERE content_hash = :content_hash AND language = :language
             AND fingerprint_id = :fingerprint_id""",
        {"content_hash": content_hash, "language": language, "fingerprint_id": fingerprint_id},
    ).fetchone()
    return row[0] if row else None


def insert_blobs(handle: Handle, rows: Iterable[BlobRow]) -> None:
    """Insert blobs."""
    handle.executemany(
        """INSERT INTO blobs (id, content_hash, language, fingerprint_id, text_hash, size_bytes,
             line_count, token_count, encoding, parse_result, is_generated, redactions, licence,
             generator)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        rows,
    )


def insert_texts(handle: Handle, rows: Iterable[tuple[int, bytes, bytes | None]]) -> None:
    """Insert texts: (blob id, packed text, packed marks of references)."""
    handle.executemany("INSERT INTO blob_texts (blob_id, packed, marks) VALUES (?, ?, ?)", rows)


def insert_names(handle: Handle, rows: Iterable[tuple[int, bytes]]) -> None:
    """Insert the names that texts refer to: (blob id, packed hashes)."""
    handle.executemany("INSERT INTO blob_names (blob_id, packed) VALUES (?, ?)", rows)


def insert_symbols(handle: Handle, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert symbols, in the order of the columns."""
    handle.executemany(
        """INSERT INTO symbols (id, blob_id, name, lower_name, scope, kind, signature, doc,
             byte_start, byte_end, line_start, line_end, parent_id, is_exported)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        rows,
    )


def insert_chunks(handle: Handle, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert chunks, in the order of the columns."""
    handle.executemany(
        """INSERT INTO chunks (id, blob_id, byte_start, byte_end, line_start, line_end, symbol_id,
             first_symbol_id, symbol_count, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        rows,
    )


def read_text(handle: Handle, blob_id: int) -> bytes | None:
    """Return the packed text of a blob."""
    row = handle.execute(
        "SELECT packed FROM blob_texts WHERE blob_id = :blob_id", {"blob_id": blob_id}
    ).fetchone()
    return bytes(row[0]) if row else None


def read_texts(handle: Handle, blob_ids: Sequence[int]) -> dict[int, bytes]:
    """Return the packed texts of several blobs."""
    rows = handle.execute(
        """SELECT blob_id, packed FROM blob_texts
           WHERE blob_id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(blob_ids)},
    )
    return dict(rows)


def read_text_hashes(handle: Handle, blob_ids: Sequence[int]) -> dict[int, bytes]:
    """Return the hashes of the stored texts of several blobs."""
    rows = handle.execute(
        """SELECT id, text_hash FROM blobs
           WHERE id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(blob_ids)},
    )
    return dict(rows)


def read_content_hashes(handle: Handle, blob_ids: Collection[int]) -> dict[int, bytes]:
    """Return the SHA-256 of the files whose texts several blobs are."""
    rows = handle.execute(
        """SELECT id, content_hash FROM blobs
           WHERE id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(list(blob_ids))},
    )
    return dict(rows)


def read_identities(handle: Handle) -> tuple[str, str, str, str]:
    """Return of all blobs ids, languages, hashes' beginnings and fingerprints' ids, each joined.

    By commas, by spaces, by nothing (8 bytes of each as hexadecimal digits) and by commas. All
    comes from an index (10,000 blobs in 2 ms).
    """
    columns: tuple[Any, ...] = handle.execute(
        """SELECT group_concat(id), group_concat(language, ' '),
                  group_concat(hex(substr(content_hash, 1, 8)), ''), group_concat(fingerprint_id)
           FROM blobs"""
    ).fetchall()[0]
    ids, languages, hashes, fingerprints = (column or "" for column in columns)
    return ids, languages, hashes, fingerprints


def read_unsettled(handle: Handle) -> list[tuple[int, str]]:
    """Return id and parse result of the blobs for which another parse may have another result.

    Of 10,000 blobs in 1 ms. Of the others the contents alone decide the result.
    """
    return list(
        handle.execute(
            """SELECT id, parse_result FROM blobs
               WHERE parse_result NOT IN ('ok', 'errors', 'no_grammar')"""
        )
    )


def orphans(handle: Handle, most_bytes: int) -> list[list[int]]:
    """Return the ids of the blobs that no file points to, rising, in groups to delete together.

    Args:
        handle: A read transaction.
        most_bytes: Of text in a group, which a single larger blob exceeds.
    """
    rows = handle.execute(
        """SELECT id, size_bytes FROM blobs b
           WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.blob_id = b.id) ORDER BY id"""
    )
    groups: list[list[int]] = []
    left = 0
    for blob_id, size_bytes in rows:
        left -= size_bytes + _BLOB_BYTES
        if left < 0 or not groups:
            groups.append([])
            left = most_bytes - size_bytes - _BLOB_BYTES
        groups[-1].append(blob_id)
    return groups


def orphans_among(handle: Handle, blob_ids: Iterable[int]) -> list[int]:
    """Return those of some blobs that no file points to."""
    rows = handle.execute(
        """SELECT b.id FROM json_each(:ids) wanted CROSS JOIN blobs b ON b.id = wanted.value
           WHERE NOT EXISTS (SELECT 1 FROM files f WHERE f.blob_id = b.id)""",
        {"ids": json.dumps(sorted(set(blob_ids)))},
    )
    return [blob_id for (blob_id,) in rows]


def delete_blobs(handle: Handle, blob_ids: Sequence[int]) -> None:
    """Delete blobs with their texts, symbols, chunks, words and vectors."""
    models.delete_chunk_vectors(handle, blob_ids)
    ids = {"ids": json.dumps(blob_ids)}
    handle.execute(
        """DELETE FROM chunk_terms WHERE rowid IN
             (SELECT id FROM chunks WHERE blob_id IN (SELECT value FROM json_each(:ids)))""",
        ids,
    )
    # The symbols of a blob are those that start in its chunks; their ids are in a row.
    handle.execute(
        """DELETE FROM symbols WHERE id IN
             (SELECT s.id FROM json_each(:ids) wanted
              CROSS JOIN chunks c ON c.blob_id = wanted.value
              CROSS JOIN symbols s ON s.id BETWEEN c.first_symbol_id
                                           AND c.first_symbol_id + c.symbol_count - 1)""",
        ids,
    )
    handle.execute("DELETE FROM blobs WHERE id IN (SELECT value FROM json_each(:ids))", ids)


def count_contents(handle: Handle, branch_id: int) -> tuple[int, int]:
    """Return the numbers of symbols and chunks in files of a branch, each blob counted once."""
    of_branch = {"branch_id": branch_id}
    has_all: bool = handle.execute(
        """SELECT (SELECT count(*) FROM blobs)
                = (SELECT count(DISTINCT blob_id) FROM files WHERE branch_id = :branch_id)""",
        of_branch,
    ).get
    sums = "SELECT coalesce(sum(symbol_count), 0), count(*) FROM chunks"
    if not has_all:  # else all chunks are sooner read than looked up blob by blob
        sums += """ WHERE blob_id IN
                      (SELECT DISTINCT blob_id FROM files WHERE branch_id = :branch_id)"""
    row: tuple[Any, ...] = handle.execute(sums, of_branch).fetchall()[0]
    return row[0], row[1]


class Piece(NamedTuple):
    """A chunk: where its text is, and the names that its words come from."""

    chunk_id: int
    blob_id: int
    byte_start: int
    byte_end: int
    owner: str  # qualified name of the symbol that it belongs to; empty for none
    symbols: list[Symbol]  # that start in it, in text order, without their parents


def read_pieces(handle: Handle, chunk_ids: Sequence[int]) -> list[Piece]:
    """Return chunks by rising id; deleted ones are left out."""
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


class ChunkText(NamedTuple):
    """The packed text that has a chunk, and where."""

    blob_id: int
    packed: bytes
    byte_start: int
    byte_end: int


def read_chunk_texts(handle: Handle, chunk_ids: Sequence[int]) -> list[ChunkText]:
    """Return the texts of chunks."""
    rows = handle.execute(
        """SELECT c.blob_id, t.packed, c.byte_start, c.byte_end
           FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.id = wanted.value
           CROSS JOIN blob_texts t ON t.blob_id = c.blob_id""",
        {"ids": json.dumps(chunk_ids)},
    )
    return [ChunkText(*row) for row in rows]


def path_of_chunk(handle: Handle, chunk_id: int) -> str:
    """Return the path of a file that has a chunk, or empty when there is none."""
    row: tuple[Any, ...] | None = handle.execute(
        """SELECT f.path FROM chunks c JOIN files f ON f.blob_id = c.blob_id
           WHERE c.id = :chunk_id LIMIT 1""",
        {"chunk_id": chunk_id},
    ).fetchone()
    return os.fsdecode(row[0]) if row else ""
