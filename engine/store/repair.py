"""Repairs, rebuilding and backups of a database file, and how much of it is unused.

Each repair fixes one kind of damage in the running transaction.

The index can be made again from the files; the rows of ``KEPT_TABLES`` cannot. They are read one by
one, from both ends, so that an unreadable page costs only its own rows.

Deleted rows leave pages that are free, or half empty between others; new rows use only the free
ones. A fresh index wastes a tenth of its file in this way, one whose files were all replaced
several times more than a third. An exact figure takes reading the whole file, so it is computed
only when the number of pages has grown large for the number of chunks.
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
from engine.store.opening import Place, close_held, damaged, held_together, open_reader

#: The parse result of a blob whose damaged contents were removed.
DAMAGED = "damaged"

#: Tables whose rows outlive the contents of an index, those that others refer to first.
KEPT_TABLES = ("jobs", "job_events", "job_checkpoints", "memories")
#: Columns of the project's row that define which files belong to it.
_SCOPE = ("include_patterns", "exclude_patterns", "max_file_size")
_PATIENCE_MS = 5000  # for others to open a database
_MOST_ROWS = 1_000_000  # of a table, whose pages can be a circle


def empty_blobs(handle: Handle, blob_ids: Sequence[int]) -> None:
    """Empty blobs, and have their files read again by the next run.

    The files stay with their ids, but are not found meanwhile: their content is unknown.
    """
    ids = {"ids": json.dumps(blob_ids)}
    models.delete_chunk_vectors(handle, blob_ids)
    handle.execute(
        """DELETE FROM chunk_terms WHERE rowid IN
             (SELECT id FROM chunks WHERE blob_id IN (SELECT value FROM json_each(:ids)))""",
        ids,
    )
    # By their blob, for what chunks say of their symbols may be the damage.
    for table in ("symbols", "chunks", "blob_names"):
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


def repair_references(handle: Handle) -> int:
    """Delete rows with dangling references, or restore what they refer to.

    Returns:
        How many rows did.
    """
    orphaned = checks.read_orphaned_symbols(handle)
    number = len(checks.read_dangling_rows(handle)) + len(orphaned)
    handle.execute(
        """UPDATE project SET model_id = NULL
           WHERE model_id IS NOT NULL AND model_id NOT IN (SELECT id FROM models)"""
    )
    # A fingerprint without a match: rows that carry it are read again.
    handle.execute(
        """INSERT INTO fingerprints (id, value, created_at_ms)
           SELECT fingerprint_id, 'lost', 0 FROM blobs UNION
           SELECT fingerprint_id, 'lost', 0 FROM skips UNION
           SELECT fingerprint_id, 'lost', 0 FROM project WHERE fingerprint_id IS NOT NULL
           ON CONFLICT DO NOTHING"""
    )
    dangling = checks.read_dangling_rows(handle)
    orphaned_files = [row.rowid for row in dangling if row.table == "files"]
    if orphaned_files:
        files.delete_files(handle, orphaned_files)
        handle.execute("UPDATE branches SET complete = 0")
    for row in dangling:
        if row.table != "files":
            assert row.table in checks.expected_schema()
            handle.execute(f"DELETE FROM {row.table} WHERE rowid = ?", (row.rowid,))  # noqa: S608
    handle.executemany("DELETE FROM symbols WHERE id = ?", ((id_,) for id_ in orphaned))
    return number


def make_schema_objects(handle: Handle, names: Iterable[str]) -> None:
    """Make indexes and triggers that are missing."""
    for name in names:
        handle.execute(checks.expected_schema()[name])


def reindex(handle: Handle) -> None:
    """Rebuild all SQLite indexes."""
    handle.execute("REINDEX")


def clear_words(handle: Handle, index: KeywordIndex) -> None:
    """Empty a keyword index."""
    handle.execute(f"INSERT INTO {index.table} ({index.table}) VALUES ('delete-all')")  # noqa: S608


def delete_orphaned_words(handle: Handle, index: KeywordIndex, rowids: Sequence[int]) -> int:
    """Delete those of some rows of a keyword index whose owner is gone, and return how many.

    They are determined now: a new owner may have been given the number of one.
    """
    orphaned = handle.execute(
        f"""SELECT value FROM json_each(:ids)
            WHERE value NOT IN (SELECT id FROM {index.owner})""",  # noqa: S608 - our own name
        {"ids": json.dumps(rowids)},
    ).fetchall()
    handle.executemany(f"DELETE FROM {index.table} WHERE rowid = ?", orphaned)  # noqa: S608
    return len(orphaned)


def rewrite_memory(handle: Handle, memory_id: int, text: MemoryText) -> None:
    """Replace the text of a memory by a readable one, and drop its words and its vector."""
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


def recreate_vector_table(handle: Handle, table: VectorTable) -> int:
    """Recreate a vector table with all rows that can be read; return their number."""
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


def drop_unknown_tables(handle: Handle, names: Iterable[str]) -> None:
    """Drop tables of vectors that belong to no model."""
    known = checks.read_unknown_tables(handle)
    for name in names:
        assert name in known
        handle.execute(f'DROP TABLE "{name}"')


Row = dict[str, Any]


class SalvagedRows(NamedTuple):
    """The rows that could be read of a damaged database."""

    rows: dict[str, list[Row]]  # of each kept table
    scope: Row  # of the project; empty when it could not be read


def salvage(file: Path, busy_timeout_ms: int) -> SalvagedRows:
    """Return all readable rows of a database; none if SQLite cannot open it."""
    rows: dict[str, list[Row]] = {table: [] for table in KEPT_TABLES}
    scope: Row = {}
    with suppress(apsw.Error, EngineError):
        place = Place(file, busy_timeout_ms, vfs_name())
        reader = open_reader(place)
        try:
            for table in KEPT_TABLES:
                rows[table] = list(_rows_of(reader.handle, table))
            for row in _rows_of(reader.handle, "project"):
                scope = {name: row[name] for name in _SCOPE if name in row}
        finally:
            close_held(place, reader.handle)
    return SalvagedRows(rows, scope)


def _rows_of(handle: Handle, table: str) -> Iterator[Row]:
    """Yield the rows of a table from the first on, and from the last when one is unreadable."""
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


def restore_rows(handle: Handle, salvaged: SalvagedRows) -> dict[str, int]:
    """Write saved rows into a fresh database; return the number of rows written by table.

    Rows that violate a constraint because of their damage are left out, and so are the rows that
    refer to them.
    """
    counts = {}
    for table in KEPT_TABLES:
        columns = _columns_of(handle, table)
        counts[table] = sum(_insert(handle, table, columns, row) for row in salvaged.rows[table])
    for name in set(_SCOPE) & salvaged.scope.keys():
        with suppress(apsw.Error):
            handle.execute(f"UPDATE project SET {name} = ?", (salvaged.scope[name],))  # noqa: S608
    return counts


def copy_kept_rows(old: Handle, new: Handle) -> list[int]:
    """Replace the rows that outlive contents by those of another database.

    Which files belong to the project is not copied. The words of the copied memories are not
    either: they have to be made.

    Args:
        old: A read transaction of the other one.
        new: The transaction to write in.

    Returns:
        The memories that are new or have changed, and so have no words.
    """
    before = dict(_versions_of_memories(new))
    tables = (*KEPT_TABLES, "memory_vectors")
    for table in reversed(tables):
        new.execute(f"DELETE FROM {table}")  # noqa: S608 - names from above
    for table in tables:
        names = _columns_of(new, table)
        rows = old.execute(f"SELECT {', '.join(names)} FROM {table}")  # noqa: S608
        marks = ", ".join("?" * len(names))
        new.executemany(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608
            rows,
        )
    [row] = old.execute("SELECT created_at_ms, changes FROM project").fetchall()
    new.execute("UPDATE project SET created_at_ms = ?, changes = ? + 1", row)
    after = dict(_versions_of_memories(new))
    new.executemany(
        "DELETE FROM memory_terms WHERE rowid = ?",
        ((id_,) for id_, version in before.items() if after.get(id_) != version),
    )
    return [id_ for id_, version in after.items() if before.get(id_) != version]


def _versions_of_memories(handle: Handle) -> Iterator[tuple[int, tuple[bytes, int]]]:
    for id_, uuid, updated_at_ms in handle.execute("SELECT id, uuid, updated_at_ms FROM memories"):
        yield id_, (uuid, updated_at_ms)


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


def replace_database(made: Path, file: Path, *, keeps: bool) -> Path | None:
    """Replace a damaged database by a new one, keeping the old one under another name.

    The WAL of the damaged one goes first: it must never be mistaken for the new one's. Killed at
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
        with held_together(Place(file, _PATIENCE_MS, ""), alone=True):
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
    """Write a compact copy of a live database, whole or not at all; return its size in bytes.

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


class FileUsage(NamedTuple):
    """The size of the file and its content at one time."""

    pages: int
    chunks: int

    def has_more_pages_than(self, other: "FileUsage", share: float) -> bool:
        """Return whether there are more pages for each chunk, by a share or more."""
        return self.pages * max(other.chunks, 1) > (1 + share) * other.pages * max(self.chunks, 1)


def file_bytes(handle: Handle) -> int:
    """Return the size of the file without its WAL."""
    return int(handle.execute("PRAGMA page_count").get * handle.execute("PRAGMA page_size").get)


def measure_usage(handle: Handle) -> FileUsage:
    """Return the current size of the file."""
    chunks = handle.execute("SELECT count(*) FROM chunks").get
    return FileUsage(int(handle.execute("PRAGMA page_count").get), int(chunks))


def read_last_usage(handle: Handle) -> FileUsage | None:
    """Return the size of the file when it was last measured."""
    row = handle.execute("SELECT looked_pages, looked_chunks FROM project").fetchone()
    return FileUsage(*row) if row and row[0] is not None else None


def record_usage(handle: Handle) -> None:
    """Record the size of the file after measuring or rebuilding it."""
    look = measure_usage(handle)
    handle.execute("UPDATE project SET looked_pages = ?, looked_chunks = ?", look)


def wasted_share(handle: Handle) -> float:
    """Return the unused share of the file; reads all of it, 16 MB in some 40 ms."""
    free = handle.execute("PRAGMA freelist_count").get * handle.execute("PRAGMA page_size").get
    unused = handle.execute("SELECT sum(unused) FROM dbstat('main', 1)").get or 0
    return float((free + unused) / file_bytes(handle))
