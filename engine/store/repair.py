"""What a repair writes: each function mends one kind of damage, in the running transaction.

Beginning a database anew, with what can be read of an old one that is damaged.

The index can be made again from the files; what is in ``KEPT_TABLES`` cannot. Rows are read one by
one, from both ends, so that a page that cannot be read costs only what is on it.

How well the pages of the database file are filled.

Rows that go leave pages behind that are free, or half empty between others; new rows use the first
kind only. A fresh index wastes a tenth of its file in this way, one whose files were all replaced
several times more than a third. To know exactly means to read the whole file, so that is done when
the pages have become many for their chunks.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from engine.errors import EngineError, UnavailableError
from engine.faults import fault_point, vfs_name
from engine.store import checks, files, models
from engine.store.checks import KeywordIndex, VectorTable, expected_schema, read_problems
from engine.store.connection import Handle, Store
from engine.store.memories import MemoryText
from engine.store.opening import Place, close, damaged, open_reader

#: What a blob says of its parsing when its contents were found damaged and taken out.
DAMAGED = "damaged"


def empty_blobs(handle: Handle, blob_ids: Sequence[int]) -> None:
    """Take out what blobs hold, and have their files read again by the next run.

    The files stay with their ids. They are not found meanwhile: nobody knows what they said.
    """
    ids = {"ids": json.dumps(blob_ids)}
    models.delete_chunk_vectors(handle, blob_ids)
    handle.execute(
        """DELETE FROM chunk_terms WHERE rowid IN
             (SELECT id FROM chunks WHERE blob_id IN (SELECT value FROM json_each(:ids)))""",
        ids,
    )
    # By their blob, for what chunks say of their symbols may be the damage.
    for table in ("symbols", "chunks"):
        handle.execute(
            f"DELETE FROM {table} WHERE blob_id IN (SELECT value FROM json_each(:ids))",  # noqa: S608
            ids,
        )
    handle.executemany(
        "INSERT OR REPLACE INTO blob_texts (blob_id, packed) VALUES (?, x'')",
        ((blob_id,) for blob_id in blob_ids),
    )
    # Of a hash that no content has, so that no run takes the blob for the file's content.
    handle.executemany(
        """UPDATE blobs SET content_hash = ?, text_hash = ?, size_bytes = 0, line_count = 0,
             token_count = 0, parse_result = ?, is_generated = 0, redactions = 0, licence = NULL,
             generator = NULL WHERE id = ?""",
        (
            (sha256(b"damaged %d" % blob_id).digest(), sha256(b"").digest(), DAMAGED, blob_id)
            for blob_id in blob_ids
        ),
    )
    handle.execute(
        """UPDATE branches SET complete = 0 WHERE id IN
             (SELECT branch_id FROM files WHERE blob_id IN (SELECT value FROM json_each(:ids)))""",
        ids,
    )
    handle.execute(
        """UPDATE files SET mtime_ns = 0
           WHERE blob_id IN (SELECT value FROM json_each(:ids))""",
        ids,
    )


def delete_strays(handle: Handle) -> int:
    """Delete rows that refer to what is not there, or give them what they refer to.

    Returns:
        How many rows did.
    """
    lost = checks.read_lost_symbols(handle)
    number = len(checks.read_strays(handle)) + len(lost)
    handle.execute(
        """UPDATE project SET model_id = NULL
           WHERE model_id IS NOT NULL AND model_id NOT IN (SELECT id FROM models)"""
    )
    # A fingerprint that nobody has: what carries it is read again.
    handle.execute(
        """INSERT INTO fingerprints (id, value, created_at_ms)
           SELECT fingerprint_id, 'lost', 0 FROM blobs UNION
           SELECT fingerprint_id, 'lost', 0 FROM skips UNION
           SELECT fingerprint_id, 'lost', 0 FROM project WHERE fingerprint_id IS NOT NULL
           ON CONFLICT DO NOTHING"""
    )
    strays = checks.read_strays(handle)
    lost_files = [stray.rowid for stray in strays if stray.table == "files"]
    if lost_files:
        files.delete_files(handle, lost_files)
        handle.execute("UPDATE branches SET complete = 0")
    for stray in strays:
        if stray.table != "files":
            assert stray.table in checks.expected_schema()
            handle.execute(f"DELETE FROM {stray.table} WHERE rowid = ?", (stray.rowid,))  # noqa: S608
    handle.executemany("DELETE FROM symbols WHERE id = ?", ((id_,) for id_ in lost))
    return number


def make_schema_objects(handle: Handle, names: Iterable[str]) -> None:
    """Make indexes and triggers that are missing."""
    for name in names:
        handle.execute(checks.expected_schema()[name])


def reindex(handle: Handle) -> None:
    """Make all indexes of SQLite anew."""
    handle.execute("REINDEX")


def clear_words(handle: Handle, index: KeywordIndex) -> None:
    """Empty a keyword index."""
    handle.execute(f"INSERT INTO {index.table} ({index.table}) VALUES ('delete-all')")  # noqa: S608


def delete_lost_words(handle: Handle, index: KeywordIndex, rowids: Sequence[int]) -> int:
    """Delete those of some rows of a keyword index whose owner is gone, and return how many.

    Which those are is asked now: a new owner may have been given the number of one.
    """
    lost = handle.execute(
        f"""SELECT value FROM json_each(:ids)
            WHERE value NOT IN (SELECT id FROM {index.owner})""",  # noqa: S608 - our own name
        {"ids": json.dumps(rowids)},
    ).fetchall()
    handle.executemany(f"DELETE FROM {index.table} WHERE rowid = ?", lost)  # noqa: S608
    return len(lost)


def rewrite_memory(handle: Handle, memory_id: int, text: MemoryText) -> None:
    """Put text that can be read in place of a memory's, and forget its words and its vector."""
    handle.execute(
        """UPDATE memories SET summary = :summary, description = :description,
             context = :context, tags = :tags, token_count = :token_count WHERE id = :id""",
        {"id": memory_id, **text._asdict()},
    )
    handle.execute("DELETE FROM memory_vectors WHERE memory_id = :id", {"id": memory_id})
    handle.execute("DELETE FROM memory_terms WHERE rowid = :id", {"id": memory_id})


def delete_vectors(handle: Handle, table: VectorTable, rowids: Iterable[int]) -> None:
    """Delete vectors of a table that holds together."""
    handle.executemany(
        f"DELETE FROM {table.name} WHERE rowid = ?",  # noqa: S608 - our own name
        ((rowid,) for rowid in rowids),
    )


def make_vector_table_anew(handle: Handle, table: VectorTable) -> int:
    """Make a table of vectors anew with all that can be read of it; gives how many those are."""
    rows = checks.read_sound_rows(handle, table)
    for (name,) in handle.execute(
        "SELECT name FROM sqlite_schema WHERE name = :name AND sql LIKE 'CREATE VIRTUAL TABLE%'",
        {"name": table.name},
    ).fetchall():
        handle.execute(f"DROP TABLE {name}")
    left = handle.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB :like",
        {"like": f"{table.name}_*"},
    ).fetchall()
    for (name,) in left:
        handle.execute(f"DROP TABLE {name}")
    models.create_table(handle, table.model, is_of_chunks=table.is_of_chunks)
    models.insert_rows(handle, table.name, rows)
    return len(rows)


def drop_strange_tables(handle: Handle, names: Iterable[str]) -> None:
    """Drop tables of vectors that belong to no model."""
    known = checks.read_strange_tables(handle)
    for name in names:
        assert name in known
        handle.execute(f'DROP TABLE "{name}"')


#: Tables whose rows outlive the contents of an index, those that others refer to first.
KEPT_TABLES = ("jobs", "job_events", "job_checkpoints", "memories")
#: Of the project's own row: which files belong to it.
_SCOPE = ("include_patterns", "exclude_patterns", "max_file_size")
_MOST_ROWS = 1_000_000  # of a table, whose pages can be a circle

Row = dict[str, Any]


class Saved(NamedTuple):
    """What could be read of a damaged database."""

    rows: dict[str, list[Row]]  # of each kept table
    scope: Row  # of the project; empty when it could not be read


def save(file: Path, busy_timeout_ms: int) -> Saved:
    """Read what can be read of a database; nothing, when SQLite cannot open it."""
    rows: dict[str, list[Row]] = {table: [] for table in KEPT_TABLES}
    scope: Row = {}
    with suppress(apsw.Error, EngineError):
        reader = open_reader(Place(file, busy_timeout_ms, vfs_name()))
        try:
            for table in KEPT_TABLES:
                rows[table] = list(_rows_of(reader.handle, table))
            for row in _rows_of(reader.handle, "project"):
                scope = {name: row[name] for name in _SCOPE if name in row}
        finally:
            close(reader.handle)
    return Saved(rows, scope)


def _rows_of(handle: Handle, table: str) -> Iterator[Row]:
    """Give the rows of a table from the first on, and from the last when one cannot be read."""
    seen: set[int] = set()
    for order in ("ASC", "DESC"):
        statement = f"SELECT rowid AS row_number, * FROM {table} ORDER BY rowid {order}"  # noqa: S608
        try:
            cursor = handle.execute(statement)
            names = [column[0] for column in cursor.get_description()] if cursor else []
            for values in cursor:
                row = dict(zip(names, values, strict=True))
                number = row.pop("row_number")
                if number in seen or len(seen) >= _MOST_ROWS:
                    return
                seen.add(number)
                yield row
            return
        except (apsw.Error, UnicodeDecodeError):
            continue


def put_back(handle: Handle, saved: Saved) -> dict[str, int]:
    """Write what was saved into a fresh database; gives how many rows of each table are in.

    A row that the table does not take, as its damage makes it illegal, is left out, and so is one
    that belongs to such a row.
    """
    counts = {}
    for table in KEPT_TABLES:
        columns = _columns_of(handle, table)
        counts[table] = sum(_insert(handle, table, columns, row) for row in saved.rows[table])
    for name in set(_SCOPE) & saved.scope.keys():
        with suppress(apsw.Error):
            handle.execute(f"UPDATE project SET {name} = ?", (saved.scope[name],))  # noqa: S608
    return counts


def _insert(handle: Handle, table: str, columns: list[str], row: Row) -> int:
    names = [name for name in columns if name in row]
    marks = ", ".join("?" * len(names))
    try:
        handle.execute(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608
            [row[name] for name in names],
        )
    except apsw.Error:
        return 0
    return 1


def _columns_of(handle: Handle, table: str) -> list[str]:
    assert table in expected_schema()
    rows = handle.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in rows]


def put_in_place(made: Path, file: Path, *, keeps: bool) -> Path | None:
    """Let a database take the place of a damaged one, which is kept under another name.

    The WAL of the damaged one goes first: it must never be taken for that of the new one. Killed at
    any moment, this leaves the old file or the new one under the name.

    Args:
        made: The new database, whole and closed.
        file: The damaged one.
        keeps: Whether the damaged one is kept.

    Returns:
        Where the damaged one is now; None when it was not kept or not there.

    Raises:
        UnavailableError: The data directory cannot be written.
    """
    aside = _name_aside(file) if keeps and file.exists() else None
    try:
        _sync(made)
        if aside:
            os.link(file, aside)
            fault_point("damaged linked")
        wal = Path(f"{file}-wal")
        if wal.exists():
            if aside and wal.stat().st_size:
                os.replace(wal, f"{aside}-wal")
            else:
                wal.unlink()
        Path(f"{file}-shm").unlink(missing_ok=True)
        fault_point("damaged aside")
        os.replace(made, file)
        _sync(file.parent)
    except OSError as error:
        raise UnavailableError(
            f"cannot write {file.parent}: {error.strerror}", hint="make it writable"
        ) from error
    return aside


def _name_aside(file: Path) -> Path:
    stamp = time.strftime("%Y-%m-%d-%H-%M-%S", time.gmtime())
    for number in range(1, 1000):
        name = f"{file.stem}.damaged-{stamp}" + (f"-{number}" if number > 1 else "")
        if not (file.parent / name).exists():
            return file.parent / name
    raise UnavailableError(f"there are too many damaged copies beside {file}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy(store: Store, target: Path) -> int:
    """Write a compact copy of a live database, whole or not at all; gives its size in bytes.

    Raises:
        FileExistsError: The target is there already.
        IndexCorruptError: The copy is not sound, as the database is not.
        OSError: It cannot be written.
    """
    if target.exists() or target.is_symlink():
        raise FileExistsError(target)
    part = target.with_name(f".{target.name}.part-{os.getpid()}")
    part.unlink(missing_ok=True)
    try:
        store.copy_to(part)
        fault_point("backup copied")
        _check_copy(part)
        _sync(part)
        size_bytes = part.stat().st_size
        os.link(part, target)  # unlike a rename it never replaces anything
        _sync(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return size_bytes


def _check_copy(part: Path) -> None:
    checked = Store(part, busy_timeout_ms=0)
    try:
        with checked.read() as handle:
            problems = read_problems(handle, 1)
    finally:
        checked.close()
        for suffix in ("-wal", "-shm"):
            Path(f"{part}{suffix}").unlink(missing_ok=True)
    if problems:
        raise damaged(part, problems[0])


class Look(NamedTuple):
    """A size of the file."""

    pages: int
    chunks: int

    def is_roomier_than(self, other: "Look", share: float) -> bool:
        """Say whether there are more pages for each chunk, by a share or more."""
        return self.pages * max(other.chunks, 1) > (1 + share) * other.pages * max(self.chunks, 1)


def file_bytes(handle: Handle) -> int:
    """Give the size of the file without its WAL."""
    return int(handle.execute("PRAGMA page_count").get * handle.execute("PRAGMA page_size").get)


def present(handle: Handle) -> Look:
    """Give the size of the file now."""
    chunks = handle.execute("SELECT count(*) FROM chunks").get
    return Look(int(handle.execute("PRAGMA page_count").get), int(chunks))


def last_look(handle: Handle) -> Look | None:
    """Give the size that the file had at the last look."""
    row = handle.execute("SELECT looked_pages, looked_chunks FROM project").fetchone()
    return Look(*row) if row and row[0] is not None else None


def note_look(handle: Handle) -> None:
    """Remember the size of the file: it was looked at, or is known to be fresh."""
    look = present(handle)
    handle.execute("UPDATE project SET looked_pages = ?, looked_chunks = ?", look)


def wasted_share(handle: Handle) -> float:
    """Give the share of the file that holds nothing; reads all of it, 16 MB in some 40 ms."""
    free = handle.execute("PRAGMA freelist_count").get * handle.execute("PRAGMA page_size").get
    unused = handle.execute("SELECT sum(unused) FROM dbstat('main', 1)").get or 0
    return float((free + unused) / file_bytes(handle))
