"""Read-only integrity checks of a database, for the doctor: one function a check.

The keyword indexes are contentless, so FTS5 cannot compare them with their texts (``rank = 1``).
Instead, their rows are compared with those of their owners, and a row is searched for its words.

sqlite-vec has no integrity check of its own, so its shadow tables are read directly: ``…_rowids``
holds the position of each row, ``…_chunks`` the occupied positions of a block with their row ids,
``…_vector_chunksNN`` the numbers. When the validity bits of a block are lost, everything else looks
sound and nothing is found.
"""

import functools
import itertools
import os
import random
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import apsw

from engine.cancellation import CancelToken
from engine.errors import Cancelled
from engine.store import migrate
from engine.store.connection import Handle
from engine.store.fulltext import CHUNK_COLUMNS
from engine.store.history import COLUMNS as COMMIT_COLUMNS
from engine.store.models import BLOCK, ModelRow, read_models
from engine.store.vector_format import has_valid_checksum, row_bytes_of

#: Virtual machine steps between two polls of ``cancelled``, some milliseconds of work.
_STEPS = 100_000

_COUNTED = ("files", "blobs", "symbols", "chunks", "skips", "jobs", "memories")

_NOT_IN = "SELECT id FROM {} WHERE id NOT IN (SELECT id FROM {}) ORDER BY id"

#: Words searched for at once; FTS5 reads a posting list for each.
_WORDS_AT_ONCE = 64

_BYTES_OF_ID = 8


class BlobText(NamedTuple):
    """A blob with the facts of its text from its row."""

    id: int
    text_hash: bytes
    size_bytes: int
    packed: bytes | None  # None: the text is missing
    marks: bytes | None
    names: bytes | None
    language: str
    fingerprint: str  # of the program that wrote it


class ChunkSpan(NamedTuple):
    """The position of a chunk, and the hash of its text."""

    id: int
    blob_id: int
    byte_start: int
    byte_end: int
    line_start: int
    hash: bytes


class DanglingRow(NamedTuple):
    """A row with a dangling foreign key."""

    table: str
    rowid: int
    parent: str  # the table it refers to


class KeywordIndex(NamedTuple):
    """A keyword index of FTS5."""

    table: str
    owner: str  # the table whose rows it finds
    columns: tuple[str, ...]


CHUNK_WORDS = KeywordIndex("chunk_terms", "chunks", CHUNK_COLUMNS)
PATH_WORDS = KeywordIndex("file_paths", "files", ("folders", "stem"))
MEMORY_WORDS = KeywordIndex("memory_terms", "memories", ("summary", "tags", "description"))
COMMIT_WORDS = KeywordIndex("commit_terms", "commits", COMMIT_COLUMNS)


@contextmanager
def interruptible(handle: Handle, cancelled: CancelToken) -> Iterator[None]:
    """Interrupt long statements of a block when cancelled.

    Raises:
        Cancelled: ``cancelled`` returned true.
    """
    handle.set_progress_handler(cancelled, _STEPS)
    try:
        yield
    except apsw.InterruptError as error:
        raise Cancelled("nothing was changed") from error
    finally:
        handle.set_progress_handler(None)


def read_problems(handle: Handle, most: int) -> list[str]:
    """Return the problems that SQLite and FTS5 report in pages, tables and indexes.

    They see the structure alone: of single flipped bits they find one in a hundred.
    """
    try:
        rows = handle.execute(f"PRAGMA integrity_check({most:d})").fetchall()
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]
    return [str(text) for (text,) in rows if text != "ok"]


def read_dangling_rows(handle: Handle) -> list[DanglingRow]:
    """Return the rows whose foreign keys lead nowhere."""
    rows = handle.execute("PRAGMA foreign_key_check")
    return [DanglingRow(table, rowid, parent) for table, rowid, parent, _ in rows]


@functools.cache
def expected_schema() -> dict[str, str]:
    """Return the tables, indexes and triggers of a fresh database with their SQL."""
    handle = apsw.Connection(":memory:")
    try:
        for step in migrate.steps():
            handle.execute(step)
        return dict(handle.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    finally:
        handle.close()


def read_schema_problems(handle: Handle) -> dict[str, str | None]:
    """Return the missing (None) or different (its SQL) parts of the schema, by name."""
    found = dict(handle.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
    wanted = expected_schema()
    return {name: found.get(name) for name in wanted if found.get(name) != wanted[name]}


def is_index_or_trigger(name: str) -> bool:
    """Return whether a part of the schema can be made again without any loss."""
    return expected_schema()[name].startswith(
        ("CREATE INDEX", "CREATE UNIQUE INDEX", "CREATE TRIG")
    )


def count_rows(handle: Handle, tables: Iterable[str] = _COUNTED) -> dict[str, int]:
    """Return how many rows tables have, by table."""
    assert set(tables) <= set(_COUNTED)
    count = "SELECT count(*) FROM {}"
    return {table: int(handle.execute(count.format(table)).get) for table in tables}


def read_orphaned_words(handle: Handle, index: KeywordIndex) -> list[int]:
    """Return the rows of a keyword index whose owner is gone."""
    return _ids(handle, _NOT_IN.format(f"{index.table}_docsize", index.owner))


def read_owners_without_words(handle: Handle, index: KeywordIndex) -> list[int]:
    """Return the owners whose words are not in a keyword index."""
    return _ids(handle, _NOT_IN.format(index.owner, f"{index.table}_docsize"))


def read_memory_bytes(handle: Handle, ids: Sequence[int]) -> list[tuple[int, tuple[bytes, ...]]]:
    """Return summaries, descriptions, contexts and tags as bytes: they may not be text."""
    rows: Iterator[tuple[Any, ...]] = handle.execute(
        """SELECT m.id, CAST(m.summary AS BLOB), CAST(m.description AS BLOB),
             CAST(m.context AS BLOB), CAST(m.tags AS BLOB)
           FROM json_each(:ids) wanted CROSS JOIN memories m ON m.id = wanted.value""",
        {"ids": str(list(ids))},
    )
    return [(row[0], row[1:]) for row in rows]


def read_orphaned_symbols(handle: Handle) -> list[int]:
    """Return the symbols whose blob is gone."""
    return _ids(handle, "SELECT id FROM symbols WHERE blob_id NOT IN (SELECT id FROM blobs)")


def read_blobs_with_wrong_symbols(handle: Handle) -> list[int]:
    """Return the blobs whose symbols and chunks disagree, or whose symbols have wrong parents."""
    return _ids(
        handle,
        """SELECT c.blob_id FROM chunks c
             WHERE c.symbol_count <>
               (SELECT count(*) FROM symbols s
                WHERE s.id BETWEEN c.first_symbol_id AND c.first_symbol_id + c.symbol_count - 1
                  AND s.blob_id = c.blob_id
                  AND s.byte_start >= c.byte_start AND s.byte_start < c.byte_end)
           UNION SELECT c.blob_id FROM chunks c LEFT JOIN symbols s ON s.id = c.symbol_id
             WHERE c.symbol_id IS NOT NULL AND s.blob_id IS NOT c.blob_id
           UNION SELECT s.blob_id FROM symbols s CROSS JOIN blobs b ON b.id = s.blob_id
             WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.blob_id = s.blob_id
               AND s.id BETWEEN c.first_symbol_id AND c.first_symbol_id + c.symbol_count - 1)
           UNION SELECT s.blob_id FROM symbols s LEFT JOIN symbols p ON p.id = s.parent_id
             WHERE s.parent_id IS NOT NULL AND p.blob_id IS NOT s.blob_id""",
    )


def read_unparsed(handle: Handle) -> int:
    """Count the files whose blob was found damaged and emptied: the next run reads them."""
    return int(
        handle.execute(
            """SELECT count(*) FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
               WHERE b.parse_result = 'damaged'"""
        ).get
    )


def read_blob_texts(handle: Handle, after: int, limit: int) -> list[BlobText]:
    """Return the next blobs after an id, in order."""
    rows = handle.execute(
        """SELECT b.id, b.text_hash, b.size_bytes, t.packed, t.marks, n.packed,
                  CAST(b.language AS BLOB), CAST(ifnull(f.value, '') AS BLOB) FROM blobs b
           LEFT JOIN fingerprints f ON f.id = b.fingerprint_id
           LEFT JOIN blob_texts t ON t.blob_id = b.id
           LEFT JOIN blob_names n ON n.blob_id = b.id
           WHERE b.id > :after ORDER BY b.id LIMIT :limit""",
        {"after": after, "limit": limit},
    )
    return [
        BlobText(*row[:6], *(each.decode("utf-8", "replace") for each in row[6:])) for row in rows
    ]


def read_spans(handle: Handle, first_blob: int, last_blob: int) -> dict[int, list[ChunkSpan]]:
    """Return the chunks of a range of blobs, in text order."""
    rows = handle.execute(
        """SELECT id, blob_id, byte_start, byte_end, line_start, hash FROM chunks
           WHERE blob_id BETWEEN :first AND :last ORDER BY blob_id, byte_start, id""",
        {"first": first_blob, "last": last_blob},
    )
    spans: dict[int, list[ChunkSpan]] = {}
    for row in rows:
        spans.setdefault(row[1], []).append(ChunkSpan(*row))
    return spans


def read_sample(handle: Handle, index: KeywordIndex, number: int) -> list[int]:
    """Return a sample of a keyword index's owners, another each time; all when there are fewer."""
    ids = _ids(handle, f"SELECT id FROM {index.owner} ORDER BY id")  # noqa: S608 - one of ours
    return _sample_of(ids, number)


def _sample_of(ids: list[int], number: int) -> list[int]:
    """Return so many or fewer, evenly spread from a random one on."""
    step = max(1, -(-len(ids) // number))
    return ids[random.randrange(step) :: step]  # noqa: S311 - nobody gains by guessing it


def read_chunks_of_blobs(handle: Handle, blob_ids: Collection[int]) -> list[int]:
    """Return the chunks of blobs."""
    rows = handle.execute(
        "SELECT id FROM chunks WHERE blob_id IN (SELECT value FROM json_each(:ids))",
        {"ids": str(list(blob_ids))},
    )
    return [id_ for (id_,) in rows]


def read_memory_ids(handle: Handle) -> list[int]:
    """Return the ids of all memories."""
    return _ids(handle, "SELECT id FROM memories ORDER BY id")


def has_words(handle: Handle, index: KeywordIndex, rowid: int, words: Sequence[str]) -> bool:
    """Return whether a keyword index holds the words of a row, one text a column, in order."""
    return all(
        _holds(handle, index.table, rowid, column, text)
        for column, text in zip(index.columns, words, strict=True)
    )


def _holds(handle: Handle, table: str, rowid: int, column: str, text: str) -> bool:
    words = text.split()
    for start in range(0, len(words), _WORDS_AT_ONCE):
        phrase = " ".join(words[start : start + _WORDS_AT_ONCE]).replace('"', '""')
        found = handle.execute(
            f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?",  # noqa: S608 - ours
            (f'{column} : "{phrase}"', rowid),
        ).fetchone()
        if found is None:
            return False
    return True


def read_paths(handle: Handle, file_ids: Sequence[int]) -> dict[int, str]:
    """Return the paths of files, by id."""
    rows = handle.execute(
        """SELECT f.id, f.path FROM json_each(:ids) wanted
           CROSS JOIN files f ON f.id = wanted.value""",
        {"ids": str(list(file_ids))},
    )
    return {file_id: os.fsdecode(path) for file_id, path in rows}


def read_paths_of_blobs(handle: Handle, blob_ids: Sequence[int], most: int) -> list[str]:
    """Return some paths of files that show one of the blobs."""
    rows = handle.execute(
        """SELECT DISTINCT f.path FROM json_each(:ids) wanted
           CROSS JOIN files f ON f.blob_id = wanted.value LIMIT :most""",
        {"ids": str(list(blob_ids)), "most": most},
    )
    return [os.fsdecode(path) for (path,) in rows]


def read_places_of_chunks(handle: Handle, chunk_ids: Sequence[int]) -> list[str]:
    """Return the places of chunks, as ``path:line``."""
    rows: Iterator[tuple[Any, ...]] = handle.execute(
        """SELECT f.path, c.line_start FROM json_each(:ids) wanted
           CROSS JOIN chunks c ON c.id = wanted.value
           CROSS JOIN files f ON f.id = (SELECT min(id) FROM files WHERE blob_id = c.blob_id)""",
        {"ids": str(list(chunk_ids))},
    )
    return [f"{os.fsdecode(path)}:{line}" for path, line in rows]


def _ids(handle: Handle, statement: str) -> list[int]:
    return [id_ for (id_,) in handle.execute(statement)]


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
        """The table of the vectors' owners."""
        return "chunks" if self.is_of_chunks else "files"

    @property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """Number and bytes a row of each column; the last one has the numbers themselves."""
        exact = row_bytes_of(self.model.dimension)
        if self.is_of_chunks:
            return (("00", self.model.dimension // 8), ("01", exact))
        return (("00", exact),)


class Block(NamedTuple):
    """The damage of one block of vectors."""

    is_whole: bool  # its places agree with the table of rows
    flipped: tuple[int, ...]  # rows whose numbers are not what was written
    sound: int  # rows that are


def vector_tables(handle: Handle) -> list[VectorTable]:
    """Return all vector tables that should exist."""
    return [VectorTable(model, kind) for model in read_models(handle) for kind in (True, False)]


def vector_table_exists(handle: Handle, table: VectorTable) -> bool:
    """Return whether a vector table and all its shadow tables exist."""
    names = {name for (name,) in handle.execute("SELECT name FROM sqlite_schema")}
    parts = ["", "_info", "_chunks", "_rowids"]
    parts += [f"_vector_chunks{column}" for column, _ in table.columns]
    return all(f"{table.name}{part}" in names for part in parts)


def read_unknown_tables(handle: Handle) -> list[str]:
    """Return vector tables that belong to no model."""
    known = {table.name for table in vector_tables(handle)}
    rows = handle.execute(
        """SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%vec0%'"""
    )
    return [name for (name,) in rows if name not in known]


def check_blocks(handle: Handle, table: VectorTable) -> Iterator[Block]:
    """Check that the tables agree about each block, also about blocks that only rows mention."""
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
    """Return the undamaged vectors whose owner exists.

    They are read from the blocks directly, at the positions in the table of rows, so vectors whose
    validity bits are lost are saved too. Missing ones are left out.
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
    is_used = int.from_bytes(row[0], "little")
    taken = {at: id_ for at, id_ in enumerate(array("q", row[1])) if is_used >> at & 1}
    sound = _sound_places(table, [each for each in data if each is not None])
    flipped = tuple(rowid for at, rowid in placed.items() if at not in sound)
    return Block(taken == placed, flipped, len(placed) - len(flipped))


def _column_of(
    handle: Handle, table: VectorTable, block: int, column: str, row_bytes: int
) -> bytes | None:
    """Return the numbers of a block, or None when they are missing or of the wrong length."""
    row: tuple[Any, ...] | None = handle.execute(
        f"SELECT vectors FROM {table.name}_vector_chunks{column} WHERE rowid = ?",  # noqa: S608
        (block,),
    ).fetchone()
    if row is None or len(row[0]) != BLOCK * row_bytes:
        return None
    return bytes(row[0])


def _sound_places(table: VectorTable, data: list[bytes]) -> set[int]:
    """Return the positions whose numbers match their checksum and their sign bits."""
    import numpy as np

    from engine.store.quantization import signs, unpacked  # numpy

    size = table.columns[-1][1]
    rows = [data[-1][at : at + size] for at in range(0, len(data[-1]), size)]
    sound = {at for at, row in enumerate(rows) if has_valid_checksum(row)}
    if not table.is_of_chunks:
        return sound
    numbers = np.frombuffer(data[-1], np.uint8).reshape(BLOCK, size)
    bits = np.frombuffer(data[0], np.uint8).reshape(BLOCK, -1)
    agreeing = (signs(unpacked(numbers)) == bits).all(axis=1)
    return sound & set(np.flatnonzero(agreeing).tolist())


def read_orphaned_vectors(handle: Handle, table: VectorTable) -> list[int]:
    """Return the vectors whose chunk or file is gone."""
    rows = handle.execute(
        f"""SELECT rowid FROM {table.name}_rowids
            WHERE rowid NOT IN (SELECT id FROM {table.owner})"""  # noqa: S608 - our own names
    )
    return [rowid for (rowid,) in rows]


def read_owners_without_vectors(handle: Handle, table: VectorTable) -> list[int]:
    """Return the chunks or files that have no vector."""
    rows = handle.execute(
        f"""SELECT id FROM {table.owner}
            WHERE id NOT IN (SELECT rowid FROM {table.name}_rowids)"""  # noqa: S608 - our own names
    )
    return [id_ for (id_,) in rows]


def read_some_rows(handle: Handle, table: VectorTable, number: int) -> list[int]:
    """Return a sample of the rows of a table, another each time; all when there are fewer."""
    rows = handle.execute(f"SELECT rowid FROM {table.name}_rowids ORDER BY rowid")  # noqa: S608
    return _sample_of([rowid for (rowid,) in rows], number)


def finds_itself(handle: Handle, table: VectorTable, rowid: int) -> bool:
    """Return whether the nearest vector to a vector is itself, or one equal to it."""
    found = handle.execute(
        f"""SELECT distance FROM {table.name} WHERE exact MATCH vec_int8(
              (SELECT exact FROM {table.name} WHERE rowid = ?)) AND k = 1""",  # noqa: S608
        (rowid,),
    ).fetchall()
    return found == [(0.0,)]
