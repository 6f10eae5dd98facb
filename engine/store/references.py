"""The files in which a name may stand, with their texts, marks and symbols."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from engine.store.connection import Handle
from engine.store.filters import COPY_ORDER, hexadecimal


class SourceRow(NamedTuple):
    """A file with its text and marks."""

    path: str
    blob_id: int
    language: str
    packed_text: bytes
    packed_marks: bytes | None  # None: its language has no marks, or it was not parsed


class SpanRow(NamedTuple):
    """The stretch of a symbol."""

    blob_id: int
    id: int
    parent_id: int | None
    name: str
    qualified_name: str
    kind: str
    signature: str
    byte_start: int
    byte_end: int
    line_start: int


class HeadRow(NamedTuple):
    """The head of a type or a function."""

    id: int
    path: str
    language: str
    name: str
    kind: str
    signature: str


def read_heads(handle: Handle, branch_id: int, name: str, limit: int) -> list[HeadRow]:
    """Return the types and functions of a branch that have a name."""
    rows = handle.execute(
        """SELECT s.id, f.path, b.language, s.name, s.kind, s.signature FROM symbols s
           CROSS JOIN files f ON f.blob_id = s.blob_id CROSS JOIN blobs b ON b.id = s.blob_id
           WHERE s.folded_name = :folded AND s.name = :name AND f.branch_id = :branch_id
           ORDER BY s.id LIMIT :limit""",
        {"folded": name.lower(), "name": name, "branch_id": branch_id, "limit": limit},
    )
    return [HeadRow(symbol_id, os.fsdecode(path), *rest) for symbol_id, path, *rest in rows]


def read_places(handle: Handle, branch_id: int, limit: int) -> list[tuple[str, int]]:
    """Return the path and blob of the files of a branch, by path."""
    rows = handle.execute(
        """SELECT path, blob_id FROM files WHERE branch_id = :branch_id AND blob_id IS NOT NULL
           ORDER BY path LIMIT :limit""",
        {"branch_id": branch_id, "limit": limit},
    )
    return [(os.fsdecode(path), blob_id) for path, blob_id in rows]


def read_places_with(
    handle: Handle, branch_id: int, match: str, limit: int
) -> list[tuple[str, int]]:
    """Return the path and blob of the files with a chunk that matches an FTS5 expression.

    By path.
    """
    rows = handle.execute(
        """WITH found AS MATERIALIZED
             (SELECT DISTINCT c.blob_id FROM chunk_terms t CROSS JOIN chunks c ON c.id = t.rowid
              WHERE t.chunk_terms MATCH :match)
           SELECT f.path, f.blob_id FROM found CROSS JOIN files f ON f.blob_id = found.blob_id
           WHERE f.branch_id = :branch_id ORDER BY f.path LIMIT :limit""",
        {"branch_id": branch_id, "match": match, "limit": limit},
    )
    return [(os.fsdecode(path), blob_id) for path, blob_id in rows]


def read_texts(handle: Handle, blob_ids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Yield blobs with their packed texts."""
    yield from handle.execute(
        """SELECT t.blob_id, t.packed FROM json_each(:ids) wanted
           CROSS JOIN blob_texts t ON t.blob_id = wanted.value""",
        {"ids": json.dumps(sorted(set(blob_ids)))},
    )


def read_marks(handle: Handle, blob_ids: Sequence[int]) -> dict[int, tuple[str, bytes | None]]:
    """Return the language and the packed marks of blobs."""
    rows = handle.execute(
        """SELECT b.id, b.language, t.marks FROM json_each(:ids) wanted
           CROSS JOIN blobs b ON b.id = wanted.value CROSS JOIN blob_texts t ON t.blob_id = b.id""",
        {"ids": json.dumps(sorted(set(blob_ids)))},
    )
    return {blob_id: (language, marks) for blob_id, language, marks in rows}


def read_source(handle: Handle, branch_id: int, path: str) -> list[SourceRow]:
    """Return the file of a path, if the branch has it."""
    rows = handle.execute(
        """SELECT f.path, f.blob_id, b.language, t.packed, t.marks FROM files f
           CROSS JOIN blobs b ON b.id = f.blob_id CROSS JOIN blob_texts t ON t.blob_id = b.id
           WHERE f.branch_id = :branch_id AND f.path = :path""",
        {"branch_id": branch_id, "path": os.fsencode(path)},
    )
    return [_source_of(*row) for row in rows]


def read_names(handle: Handle, branch_id: int) -> list[tuple[int, bytes]]:
    """Return the names that the texts of a branch refer to: blob id, packed hashes."""
    rows = handle.execute(
        """SELECT n.blob_id, n.packed FROM
             (SELECT DISTINCT blob_id FROM files WHERE branch_id = :branch_id) f
           CROSS JOIN blob_names n ON n.blob_id = f.blob_id""",
        {"branch_id": branch_id},
    )
    return list(rows)


def read_code_files(handle: Handle, branch_id: int) -> list[tuple[int, str, str]]:
    """Return the texts of a branch: blob id, path, language; by path, each text once.

    Of several paths of a text the shortest is taken, one behind a link only if there is no other.
    """
    rows = handle.execute(
        f"""SELECT f.path, f.blob_id, b.language FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
            WHERE f.branch_id = :branch_id ORDER BY {COPY_ORDER}""",  # noqa: S608 - a constant
        {"branch_id": branch_id},
    )
    shown: dict[int, tuple[str, str]] = {}
    for path, blob_id, language in rows:
        shown.setdefault(blob_id, (os.fsdecode(path), language))
    return sorted(((blob_id, *file) for blob_id, file in shown.items()), key=lambda row: row[1])


def read_languages(handle: Handle) -> list[str]:
    """Return the languages of all texts."""
    return [language for (language,) in handle.execute("SELECT DISTINCT language FROM blobs")]


def read_languages_of(handle: Handle, blob_ids: Iterable[int]) -> dict[int, str]:
    """Return the languages of blobs."""
    rows = handle.execute(
        """SELECT b.id, b.language FROM json_each(:ids) wanted
           CROSS JOIN blobs b ON b.id = wanted.value""",
        {"ids": json.dumps(sorted(set(blob_ids)))},
    )
    return dict(rows)


def read_unmarked(handle: Handle, branch_id: int, languages: Sequence[str]) -> list[int]:
    """Return the texts of a branch in some languages that have no marks."""
    rows = handle.execute(
        """SELECT b.id FROM blobs b CROSS JOIN blob_texts t ON t.blob_id = b.id
           WHERE b.language IN (SELECT value FROM json_each(:languages))
             AND NOT EXISTS (SELECT 1 FROM blob_names n WHERE n.blob_id = b.id)
             AND t.marks IS NULL
             AND EXISTS (SELECT 1 FROM files f
                         WHERE f.blob_id = b.id AND f.branch_id = :branch_id)""",
        {"branch_id": branch_id, "languages": json.dumps(languages)},
    )
    return [blob_id for (blob_id,) in rows]


class TextRow(NamedTuple):
    """A text with its marks, and one of the files that have it."""

    path: str
    blob_id: int
    language: str
    packed_text: bytes
    packed_marks: bytes | None


class ExtentRow(NamedTuple):
    """The name of a symbol, and its stretch."""

    blob_id: int
    name: str
    byte_start: int
    byte_end: int


def iterate_texts(handle: Handle, branch_id: int) -> Iterator[TextRow]:
    """Yield each text of a branch once, by the first path that has it."""
    rows = handle.execute(
        """SELECT min(f.path), f.blob_id, b.language, t.packed, t.marks FROM files f
           CROSS JOIN blobs b ON b.id = f.blob_id CROSS JOIN blob_texts t ON t.blob_id = b.id
           WHERE f.branch_id = :branch_id GROUP BY f.blob_id""",
        {"branch_id": branch_id},
    )
    for path, *rest in rows:
        yield TextRow(os.fsdecode(path), *rest)


def read_file_languages(handle: Handle, branch_id: int) -> list[tuple[str, int, str]]:
    """Return path, blob and language of each file of a branch, by path."""
    rows = handle.execute(
        """SELECT f.path, f.blob_id, b.language FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
           WHERE f.branch_id = :branch_id ORDER BY f.path""",
        {"branch_id": branch_id},
    )
    return [(os.fsdecode(path), blob_id, language) for path, blob_id, language in rows]


def count_symbol_names(handle: Handle, branch_id: int) -> list[tuple[str, int]]:
    """Return the names of all symbols in texts of a branch, each with how many have it."""
    rows = handle.execute(
        """SELECT s.name, count(*) FROM symbols s
           WHERE s.blob_id IN (SELECT f.blob_id FROM files f WHERE f.branch_id = :branch_id)
           GROUP BY s.name""",
        {"branch_id": branch_id},
    )
    return [(name, number) for name, number in rows]


def read_extents(handle: Handle, blob_ids: Sequence[int]) -> dict[int, list[ExtentRow]]:
    """Return the names and stretches of the symbols of blobs."""
    rows = handle.execute(
        """SELECT s.blob_id, s.name, s.byte_start, s.byte_end
           FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.blob_id = wanted.value
           CROSS JOIN symbols s ON s.id BETWEEN c.first_symbol_id
                                            AND c.first_symbol_id + c.symbol_count - 1""",
        {"ids": json.dumps(blob_ids)},
    )
    extents: dict[int, list[ExtentRow]] = {}
    for row in rows:
        extents.setdefault(row[0], []).append(ExtentRow(*row))
    return extents


def read_paths(handle: Handle, branch_id: int, blob_ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the paths at which a branch has each of some blobs, those behind links last."""
    rows = handle.execute(
        f"""SELECT f.blob_id, f.path FROM json_each(:ids) wanted
            CROSS JOIN files f ON f.blob_id = wanted.value
            WHERE f.branch_id = :branch_id ORDER BY {COPY_ORDER}""",  # noqa: S608 - a constant
        {"branch_id": branch_id, "ids": json.dumps(sorted(set(blob_ids)))},
    )
    paths: dict[int, list[str]] = {}
    for blob_id, path in rows:
        paths.setdefault(blob_id, []).append(os.fsdecode(path))
    return paths


def read_file_ids(handle: Handle, branch_id: int, paths: Sequence[str]) -> list[int]:
    """Return the ids of some files of a branch."""
    rows = handle.execute(
        """SELECT f.id FROM json_each(:paths) wanted
           CROSS JOIN files f ON f.branch_id = :branch_id AND f.path = unhex(wanted.value)""",
        {"branch_id": branch_id, "paths": hexadecimal(paths)},
    )
    return [file_id for (file_id,) in rows]


def _source_of(path: bytes, *rest: Any) -> SourceRow:
    return SourceRow(os.fsdecode(path), *rest)


def read_symbol_spans(handle: Handle, blob_ids: Sequence[int]) -> dict[int, list[SpanRow]]:
    """Return the symbols of blobs, those of each in text order."""
    rows = handle.execute(
        """SELECT s.blob_id, s.id, s.parent_id, s.name, s.qualified_name, s.kind, s.signature,
                  s.byte_start, s.byte_end, s.line_start
           FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.blob_id = wanted.value
           CROSS JOIN symbols s ON s.id BETWEEN c.first_symbol_id
                                            AND c.first_symbol_id + c.symbol_count - 1""",
        {"ids": json.dumps(sorted(set(blob_ids)))},
    )
    # The rows come nearly in order; the database would sort them with their signatures.
    ordered = sorted(rows, key=itemgetter(0, 1))
    return {
        blob_id: list(map(SpanRow._make, group))
        for blob_id, group in groupby(ordered, key=itemgetter(0))
    }


class ChunkStart(NamedTuple):
    """Where a chunk begins in its text."""

    byte_start: int
    id: int


def read_chunk_starts(handle: Handle, blob_ids: Sequence[int]) -> dict[int, list[ChunkStart]]:
    """Return the chunks of blobs, those of each in text order; a text has no gaps between them."""
    rows = handle.execute(
        """SELECT c.blob_id, c.byte_start, c.id FROM json_each(:ids) wanted
           CROSS JOIN chunks c ON c.blob_id = wanted.value""",
        {"ids": json.dumps(sorted(set(blob_ids)))},
    )
    starts: dict[int, list[ChunkStart]] = {}
    for blob_id, byte_start, chunk_id in rows:
        starts.setdefault(blob_id, []).append(ChunkStart(byte_start, chunk_id))
    for of_blob in starts.values():
        of_blob.sort()
    return starts
