"""Files and skips: the outcome of each path on a branch."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.records import FileStat
from engine.store import models
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.paths import hexadecimal, parts_of, range_below


class KnownFile(NamedTuple):
    """What the index knows of a path; enough to see that it did not change."""

    file_id: int
    blob_id: int
    stat: FileStat
    fingerprint_id: int
    uuid: bytes


class FileRow(NamedTuple):
    """A file to write. ``file_id`` and ``uuid`` are chosen by the caller and stay on an update."""

    file_id: int
    uuid: bytes
    branch_id: int
    path: str
    blob_id: int
    stat: FileStat
    now_ms: int


class SeenFile(NamedTuple):
    """A file of a branch with the range of its blob's chunks."""

    file_id: int
    blob_id: int
    path: str
    language: str
    is_generated: bool
    first_chunk: int
    chunk_count: int  # their ids have no gap


class FileFacts(NamedTuple):
    """Everything told of one indexed file."""

    file_id: int
    uuid: bytes
    blob_id: int
    stat: FileStat
    content_hash: bytes
    language: str
    size_bytes: int
    line_count: int
    token_count: int
    encoding: str
    parse_result: str
    is_generated: bool
    redactions: int
    licence: str | None  # an SPDX expression
    generator: str | None  # the program that wrote it
    symbols: int
    chunks: int
    created_at_ms: int
    updated_at_ms: int


def read_known_files(
    handle: Handle, branch_id: int, within: Iterable[str] | None = None
) -> dict[str, KnownFile]:
    """Give what is known of each path of a branch (about 350 bytes of memory a file).

    Args:
        handle: A read transaction.
        branch_id: The branch.
        within: Only these paths and what is below them; None: all.
    """
    known: dict[str, KnownFile] = {}
    for condition, values in parts_of(branch_id, within):
        rows = handle.execute(
            f"""SELECT path, f.id, f.blob_id, f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode,
                       b.fingerprint_id, f.uuid
                FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
                WHERE {condition}""",  # noqa: S608 - constant fragments
            values,
        )
        known |= _known_files_of(rows)
    return known


def read_known_files_at(
    handle: Handle, branch_id: int, paths: Sequence[str]
) -> dict[str, KnownFile]:
    """Give what is known of some paths of a branch, those of them that are indexed (2 µs each)."""
    rows = handle.execute(
        """SELECT f.path, f.id, f.blob_id, f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode,
                  b.fingerprint_id, f.uuid
           FROM json_each(:paths) wanted
           CROSS JOIN files f ON f.branch_id = :branch_id AND f.path = unhex(wanted.value)
           CROSS JOIN blobs b ON b.id = f.blob_id""",
        {"branch_id": branch_id, "paths": hexadecimal(paths)},
    )
    return _known_files_of(rows)


def max_file_id(handle: Handle) -> int:
    """Give the largest file id in use, 0 when there is none."""
    return int(handle.execute("SELECT coalesce(max(id), 0) FROM files").get)


def write_files(handle: Handle, rows: Iterable[FileRow]) -> None:
    """Insert files, or update those whose (branch, path) is there; ids and uuids stay."""
    handle.executemany(
        """INSERT INTO files (id, uuid, branch_id, path, blob_id, size_bytes, mtime_ns, ctime_ns,
                              inode, created_at_ms, updated_at_ms)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (branch_id, path) DO UPDATE SET blob_id = excluded.blob_id,
             size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns,
             ctime_ns = excluded.ctime_ns, inode = excluded.inode,
             updated_at_ms = CASE WHEN files.blob_id = excluded.blob_id
                                  THEN files.updated_at_ms ELSE excluded.updated_at_ms END""",
        (
            (
                row.file_id,
                row.uuid,
                row.branch_id,
                os.fsencode(row.path),
                row.blob_id,
                *row.stat,
                row.now_ms,
                row.now_ms,
            )
            for row in rows
        ),
    )


def delete_files(handle: Handle, file_ids: Sequence[int]) -> None:
    """Delete files with their vectors; their blobs stay until ``blobs.delete_blobs``."""
    models.delete_file_vectors(handle, file_ids)
    handle.executemany("DELETE FROM files WHERE id = ?", ((file_id,) for file_id in file_ids))


def count_files(handle: Handle, branch_id: int) -> int:
    """Give the number of indexed files of a branch."""
    return int(
        handle.execute(
            "SELECT count(*) FROM files WHERE branch_id = :branch_id", {"branch_id": branch_id}
        ).get
    )


def count_below(handle: Handle, branch_id: int, folder: str) -> tuple[int, dict[str, int]]:
    """Give the number of indexed files below a folder, and of skips by reason, frequent first."""
    place = {"branch_id": branch_id, **range_below(os.fsencode(folder))}
    indexed = handle.execute(
        """SELECT count(*) FROM files
           WHERE branch_id = :branch_id AND path >= :low AND path < :high""",
        place,
    ).get
    skips = handle.execute(
        """SELECT reason, count(*) AS number FROM skips
           WHERE branch_id = :branch_id AND path >= :low AND path < :high
           GROUP BY reason ORDER BY number DESC, reason""",
        place,
    )
    return int(indexed), dict(skips)


def has_below(handle: Handle, branch_id: int, folder: str) -> bool:
    """Say whether anything below a folder has an outcome."""
    place = {"branch_id": branch_id, **range_below(os.fsencode(folder))}
    return any(
        handle.execute(
            f"""SELECT 1 FROM {table}
                WHERE branch_id = :branch_id AND path >= :low AND path < :high LIMIT 1""",  # noqa: S608
            place,
        ).fetchone()
        for table in ("files", "skips")
    )


def read_paths_of_inodes(handle: Handle, branch_id: int, inodes: Iterable[int]) -> set[str]:
    """Give the paths of a branch that had one of these inodes, or may have; reads all of it."""
    rows = handle.execute(
        """SELECT path FROM files WHERE branch_id = :branch_id
             AND inode IN (SELECT value FROM json_each(:inodes))
           UNION SELECT path FROM skips WHERE branch_id = :branch_id
             AND (inode IN (SELECT value FROM json_each(:inodes)) OR reason = 'unreadable')""",
        {"branch_id": branch_id, "inodes": json.dumps(sorted(inodes))},
    )
    return {os.fsdecode(path) for (path,) in rows}


def read_paths(handle: Handle, branch_id: int) -> list[str]:
    """Give the paths of all indexed files of a branch, sorted by their bytes."""
    return [os.fsdecode(path) for path in read_path_bytes(handle, branch_id)]


def read_path_bytes(handle: Handle, branch_id: int) -> list[bytes]:
    """Give the same, as the disk has them."""
    rows = handle.execute(
        "SELECT path FROM files WHERE branch_id = :branch_id ORDER BY path",
        {"branch_id": branch_id},
    )
    return [path for (path,) in rows]


def total_bytes(handle: Handle) -> int:
    """Give the size on disk of all indexed files, over all branches."""
    return int(handle.execute("SELECT coalesce(sum(size_bytes), 0) FROM files").get)


def read_file(handle: Handle, branch_id: int, path: str) -> FileFacts | None:
    """Give all facts of one indexed file."""
    row = handle.execute(
        """SELECT f.id, f.uuid, f.blob_id, f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode,
                  b.content_hash, b.language, b.size_bytes, b.line_count, b.token_count,
                  b.encoding, b.parse_result, b.is_generated, b.redactions,
                  b.licence, b.generator,
                  (SELECT coalesce(sum(symbol_count), 0) FROM chunks WHERE blob_id = b.id),
                  (SELECT count(*) FROM chunks WHERE blob_id = b.id),
                  f.created_at_ms, f.updated_at_ms
           FROM files f JOIN blobs b ON b.id = f.blob_id
           WHERE f.branch_id = :branch_id AND f.path = :path""",
        {"branch_id": branch_id, "path": os.fsencode(path)},
    ).fetchone()
    if row is None:
        return None
    file_id, uuid, blob_id, size, mtime, ctime, inode, *rest = row
    return FileFacts(file_id, uuid, blob_id, FileStat(size, mtime, ctime, inode), *rest)


def read_identities(handle: Handle, file_ids: Sequence[int]) -> dict[int, tuple[FileStat, bytes]]:
    """Give, for each file, its stat and the SHA-256 of its content when it was read."""
    rows = handle.execute(
        """SELECT f.id, f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode, b.content_hash
           FROM json_each(:ids) wanted CROSS JOIN files f ON f.id = wanted.value
           CROSS JOIN blobs b ON b.id = f.blob_id""",
        {"ids": json.dumps(file_ids)},
    )
    return {file_id: (FileStat(*stat), content_hash) for file_id, *stat, content_hash in rows}


def read_seen_files(handle: Handle, branch_id: int) -> list[SeenFile]:
    """Give all files of a branch that have chunks, of equal ones the one that is shown first.

    The shown one of several paths to a blob is the shortest, as in ``Filters.shown_file``.
    """
    rows = handle.execute(
        """SELECT f.id, f.blob_id, f.path, b.language, b.is_generated, c.first, c.number
           FROM files f JOIN blobs b ON b.id = f.blob_id
           JOIN (SELECT blob_id, min(id) AS first, count(*) AS number FROM chunks GROUP BY blob_id)
             c ON c.blob_id = f.blob_id
           WHERE f.branch_id = :branch_id ORDER BY length(f.path), f.path""",
        {"branch_id": branch_id},
    )
    return [
        SeenFile(file_id, blob_id, os.fsdecode(path), language, generated, first, number)
        for file_id, blob_id, path, language, generated, first, number in rows
    ]


def _known_files_of(rows: Iterable[tuple[Any, ...]]) -> dict[str, KnownFile]:
    decode = os.fsdecode
    return {
        decode(path): KnownFile(
            file_id, blob_id, FileStat(size, mtime, ctime, inode), fingerprint_id, uuid
        )
        for path, file_id, blob_id, size, mtime, ctime, inode, fingerprint_id, uuid in rows
    }


def read_passing_blobs(handle: Handle, filters: Filters) -> list[int]:
    """Give the ids of the blobs of which a file passes, in no order; some more than once."""
    rows = handle.execute(
        f"SELECT f.blob_id FROM files f WHERE {filters.file_condition}",  # noqa: S608 - constant
        dict(filters.values),
    )
    return [blob_id for (blob_id,) in rows]
