"""Repairs, rebuilding and backups of a database file, and how much of it is unused.

Each repair fixes one kind of damage in the running transaction.

Deleted rows leave pages that are free, or half empty between others; new rows use only the free
ones. A fresh index wastes a tenth of its file in this way, one whose files were all replaced
several times more than a third. An exact figure takes reading the whole file, so it is computed
only when the number of pages has grown large for the number of chunks.
"""

import errno
import glob
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw

from engine.errors import DiskFullError, EngineError, IndexBusyError, UnavailableError
from engine.faults import fault_point, vfs_name
from engine.store import checks, files, models
from engine.store.checks import KeywordIndex, VectorTable, read_problems
from engine.store.connection import Handle, Store
from engine.store.memories import MemoryText
from engine.store.opening import (
    Place,
    close_held,
    damaged,
    held_together,
    open_writer,
    translated,
)

#: The parse result of a blob whose damaged contents were removed.
DAMAGED = "damaged"

#: What a file system without hard links says, such as exFAT.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)
_PATIENCE_MS = 5000  # for others to open a database


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
             language = 'text', encoding = 'utf-8',
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


def rewrite_job(handle: Handle, job_id: int, texts: Mapping[str, str | None]) -> None:
    """Replace columns of a job by readable texts, or none."""
    columns = ", ".join(f"{name} = :{name}" for name in texts)
    handle.execute(
        f"UPDATE jobs SET {columns} WHERE id = :id",  # noqa: S608 - our own names
        {"id": job_id, **texts},
    )


def clear_events(handle: Handle, ids: Sequence[int]) -> None:
    """Replace the contexts of events by empty ones; all else that they tell stays."""
    chosen = json.dumps(list(ids))
    columns = "id, job_id, sequence, type, at_ms"
    rows = handle.execute(
        f"""SELECT {columns} FROM job_events
            WHERE id IN (SELECT value FROM json_each(?))""",  # noqa: S608 - our own names
        (chosen,),
    ).fetchall()
    # Events cannot be updated, which a trigger sees to.
    handle.execute("DELETE FROM job_events WHERE id IN (SELECT value FROM json_each(?))", (chosen,))
    handle.executemany(
        f"INSERT INTO job_events ({columns}, context) VALUES (?, ?, ?, ?, ?, '{{}}')",  # noqa: S608
        rows,
    )


def delete_checkpoints(handle: Handle, ids: Sequence[int]) -> None:
    """Delete checkpoints of jobs, which then begin at an earlier one."""
    handle.execute(
        "DELETE FROM job_checkpoints WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )


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


@contextmanager
def without_writers(file: Path, busy_timeout_ms: int) -> Iterator[None]:
    """Keep everybody from writing to a database, to save its rows and replace it meanwhile.

    Its lock is held by a connection of its own; who reads is not in the way. Who waits for the lock
    gets it when this ends, and then finds that the file was replaced, see ``Store.write``. A file
    that is too damaged to be locked, or not there, is left as it is: nobody can open it to write.

    Raises:
        IndexBusyError: Others have been writing for longer than the busy timeout.
    """
    place = Place(file, busy_timeout_ms, vfs_name())
    handle = _locked(place)
    try:
        yield
    finally:
        if handle:
            with suppress(apsw.Error):
                handle.execute("ROLLBACK")
            close_held(place, handle)


def _locked(place: Place) -> Handle | None:
    """Return a connection that holds the lock of a database; None if it is too damaged for that."""
    handle = None
    try:
        with translated(place.path):
            with held_together(place):
                handle = open_writer(place, create=False)
                handle.execute("PRAGMA schema_version").get  # noqa: B018 - opens the WAL
            handle.execute("BEGIN IMMEDIATE")
            return handle
    except EngineError as error:
        if handle:
            close_held(place, handle)
        if isinstance(error, IndexBusyError):
            raise
        return None


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
            _keep_as(file, aside)
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


def _keep_as(file: Path, aside: Path) -> None:
    """Give a file a second name; where there are no hard links, a copy."""
    try:
        os.link(file, aside)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        import shutil  # only here

        part = file.with_suffix(f".part-{os.getpid()}")
        try:
            part.touch(0o600)
            shutil.copyfile(file, part)
            _sync(part)
            os.replace(part, aside)
        finally:
            part.unlink(missing_ok=True)


def _rename_to_new(part: Path, target: Path) -> None:
    """Rename a file, and never replace one.

    Raises:
        FileExistsError: There is one.
    """
    try:
        os.link(part, target)  # its first name is deleted later
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        try:
            os.replace(part, target)  # an empty one, which nobody else has made
        except OSError:
            target.unlink()
            raise


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
        DiskFullError: There is no room for it.
        OSError: It cannot be written.
    """
    if target.exists() or target.is_symlink():
        raise FileExistsError(target)
    part = target.with_name(f"{_part_name(target)}{os.getpid()}-{threading.get_native_id()}")
    part.unlink(missing_ok=True)
    try:
        try:
            store.copy_to(part)
        except DiskFullError as error:
            raise DiskFullError(
                "no room to write the copy",
                hint="free some disk space there, or choose another disk",
                file=str(target),
            ) from error
        fault_point("backup copied")
        _check_copy(part)
        _sync(part)
        size_bytes = part.stat().st_size
        _rename_to_new(part, target)
        _sync(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return size_bytes


def parts_of(target: Path) -> list[Path]:
    """Return the partial copies beside a target; behind ``part-`` comes the process's number."""
    return list(target.parent.glob(f"{glob.escape(_part_name(target))}*"))


def _part_name(target: Path) -> str:
    return f".{target.name}.part-"


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
