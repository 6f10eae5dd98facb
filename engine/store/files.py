"""Files and skips: the outcome of each path of a branch, and lookups of files by id."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.records import FileStat, Skip, SkipReason
from engine.store import models
from engine.store.connection import Handle
from engine.store.filters import COPY_ORDER, Filters, hexadecimal, parts_of, range_below
from engine.store.memories import Moment

_COLUMNS = """f.id, f.uuid, f.path, b.language, f.blob_id, b.size_bytes, b.token_count,
  f.created_at_ms, f.updated_at_ms"""


class KnownFile(NamedTuple):
    """The indexed state of a path, enough to see that it did not change."""

    file_id: int
    blob_id: int
    stat: FileStat
    fingerprint_id: int
    uuid: bytes
    is_linked: bool = False


class FileRow(NamedTuple):
    """A file to write. ``file_id`` and ``uuid`` are chosen by the caller and stay on an update."""

    file_id: int
    uuid: bytes
    branch_id: int
    path: str
    blob_id: int
    stat: FileStat
    now_ms: int
    is_linked: bool = False


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
    """All facts of one indexed file."""

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
    """Return what is known of each path of a branch (about 350 bytes of memory a file).

    Args:
        handle: A read transaction.
        branch_id: The branch.
        within: Only these paths and everything below them; None means all.
    """
    known: dict[str, KnownFile] = {}
    for condition, values in parts_of(branch_id, within):
        rows = handle.execute(
            f"""SELECT path, f.id, f.blob_id, f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode,
                       b.fingerprint_id, f.uuid, f.is_linked
                FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
                WHERE {condition}""",  # noqa: S608 - constant fragments
            values,
        )
        known |= _known_files_of(rows)
    return known


def read_known_files_at(
    handle: Handle, branch_id: int, paths: Sequence[str]
) -> dict[str, KnownFile]:
    """Return what is known of those of some paths that are indexed (2 µs each)."""
    rows = handle.execute(
        """SELECT f.path, f.id, f.blob_id, f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode,
                  b.fingerprint_id, f.uuid, f.is_linked
           FROM json_each(:paths) wanted
           CROSS JOIN files f ON f.branch_id = :branch_id AND f.path = unhex(wanted.value)
           CROSS JOIN blobs b ON b.id = f.blob_id""",
        {"branch_id": branch_id, "paths": hexadecimal(paths)},
    )
    return _known_files_of(rows)


def max_file_id(handle: Handle) -> int:
    """Return the largest file id in use, 0 when there is none."""
    return int(handle.execute("SELECT coalesce(max(id), 0) FROM files").get)


def write_files(handle: Handle, rows: Iterable[FileRow]) -> None:
    """Insert files, or update those whose (branch, path) is there; ids and uuids stay."""
    handle.executemany(
        """INSERT INTO files (id, uuid, branch_id, path, blob_id, size_bytes, mtime_ns, ctime_ns,
                              inode, created_at_ms, updated_at_ms, is_linked)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (branch_id, path) DO UPDATE SET blob_id = excluded.blob_id,
             size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns,
             ctime_ns = excluded.ctime_ns, inode = excluded.inode,
             is_linked = excluded.is_linked,
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
                row.is_linked,
            )
            for row in rows
        ),
    )


def delete_files(handle: Handle, file_ids: Sequence[int]) -> None:
    """Delete files with their vectors; their blobs stay until ``blobs.delete_blobs``."""
    models.delete_file_vectors(handle, file_ids)
    handle.executemany("DELETE FROM files WHERE id = ?", ((file_id,) for file_id in file_ids))


def count_files(handle: Handle, branch_id: int) -> int:
    """Return the number of indexed files of a branch."""
    return int(
        handle.execute(
            "SELECT count(*) FROM files WHERE branch_id = :branch_id", {"branch_id": branch_id}
        ).get
    )


def count_all(handle: Handle) -> int:
    """Return the number of indexed files of all branches."""
    return int(handle.execute("SELECT count(*) FROM files").get)


def count_below(handle: Handle, branch_id: int, folder: str) -> tuple[int, dict[str, int]]:
    """Return the number of indexed files below a folder, and of skips by frequent reason."""
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
    """Return whether anything below a folder is indexed or skipped."""
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
    """Return the paths of a branch that had one of these inodes, or may have; reads all of it."""
    rows = handle.execute(
        """SELECT path FROM files WHERE branch_id = :branch_id
             AND inode IN (SELECT value FROM json_each(:inodes))
           UNION SELECT path FROM skips WHERE branch_id = :branch_id
             AND (inode IN (SELECT value FROM json_each(:inodes)) OR reason = 'unreadable')""",
        {"branch_id": branch_id, "inodes": json.dumps(sorted(inodes))},
    )
    return {os.fsdecode(path) for (path,) in rows}


def read_paths(handle: Handle, branch_id: int) -> list[str]:
    """Return the paths of all indexed files of a branch, sorted by their bytes."""
    return [os.fsdecode(path) for path in read_path_bytes(handle, branch_id)]


def read_searched(handle: Handle, branch_id: int) -> list[tuple[str, str]]:
    """Return path and language of the files of a branch that have chunks, by path (2 µs each)."""
    rows = handle.execute(
        """SELECT f.path, b.language FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
           WHERE f.branch_id = :branch_id
             AND EXISTS (SELECT 1 FROM chunks c WHERE c.blob_id = b.id)
           ORDER BY f.path""",
        {"branch_id": branch_id},
    )
    return [(os.fsdecode(path), language) for path, language in rows]


def read_path_bytes(handle: Handle, branch_id: int) -> list[bytes]:
    """Return the paths of all indexed files of a branch as raw bytes, sorted."""
    rows = handle.execute(
        "SELECT path FROM files WHERE branch_id = :branch_id ORDER BY path",
        {"branch_id": branch_id},
    )
    return [path for (path,) in rows]


def read_blob_ids(handle: Handle, branch_id: int) -> str:
    """Return the blobs of all files of a branch, joined by commas."""
    of_branch = {"branch_id": branch_id}
    has_others = handle.execute(
        "SELECT EXISTS (SELECT 1 FROM branches WHERE id <> :branch_id)", of_branch
    ).get
    statement = "SELECT group_concat(blob_id) FROM files"  # of all, from an index alone
    if has_others:
        statement += " WHERE branch_id = :branch_id"
    joined: str | None = handle.execute(statement, of_branch).get
    return joined or ""


def read_paths_named(handle: Handle, branch: str, name: str) -> list[str]:
    """Return the paths of files of this name in any folder, sorted; also of skipped ones.

    Reads all paths of the branch (0.9 ms for 10,000 files).
    """
    rows = handle.execute(
        """WITH places AS (SELECT branch_id, path FROM files
                           UNION ALL SELECT branch_id, path FROM skips)
           SELECT path FROM places
           WHERE branch_id = (SELECT id FROM branches WHERE name = :branch)
             AND (path = :name OR substr(path, -:length) = :below) ORDER BY path""",
        {
            "branch": branch,
            "name": name.encode(),
            "below": b"/" + name.encode(),
            "length": len(name) + 1,
        },
    )
    return [os.fsdecode(path) for (path,) in rows]


def total_bytes(handle: Handle) -> int:
    """Return the size on disk of all indexed files, over all branches."""
    return int(handle.execute("SELECT coalesce(sum(size_bytes), 0) FROM files").get)


def read_file(handle: Handle, branch_id: int, path: str) -> FileFacts | None:
    """Return all facts of one indexed file."""
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
    """Return, for each file, its stat and the SHA-256 of its content when it was read."""
    rows = handle.execute(
        """SELECT f.id, f.size_bytes, f.mtime_ns, f.ctime_ns, f.inode, b.content_hash
           FROM json_each(:ids) wanted CROSS JOIN files f ON f.id = wanted.value
           CROSS JOIN blobs b ON b.id = f.blob_id""",
        {"ids": json.dumps(file_ids)},
    )
    return {file_id: (FileStat(*stat), content_hash) for file_id, *stat, content_hash in rows}


def read_blobs_of_files(handle: Handle, filters: Filters) -> tuple[str, str]:
    """Return the ids of all passing files, by path, and their blobs, each joined by commas.

    In a damaged index, files without a blob are left out.
    """
    columns: tuple[Any, ...] = handle.execute(
        f"""SELECT group_concat(id), group_concat(blob_id)
            FROM (SELECT f.id, f.blob_id FROM files f
                  WHERE {filters.file_condition}
                    AND EXISTS (SELECT 1 FROM blobs b WHERE b.id = f.blob_id)
                  ORDER BY f.path, f.id)""",  # noqa: S608 - constants
        dict(filters.values),
    ).fetchall()[0]
    ids, blobs = (column or "" for column in columns)
    return ids, blobs


def by_path(handle: Handle, ids: Sequence[int]) -> list[int]:
    """Return files in the order of their paths."""
    rows = handle.execute(
        """SELECT f.id FROM json_each(:ids) wanted CROSS JOIN files f ON f.id = wanted.value
           ORDER BY f.path, f.id""",
        {"ids": json.dumps(ids)},
    )
    return [file_id for (file_id,) in rows]


def read_shown_files(handle: Handle, file_ids: Sequence[int]) -> dict[int, tuple[bytes, str, bool]]:
    """Return, for each file, its path, its language and whether a tool wrote it."""
    rows = handle.execute(
        """SELECT f.id, f.path, b.language, b.is_generated FROM json_each(:ids) wanted
           CROSS JOIN files f ON f.id = wanted.value CROSS JOIN blobs b ON b.id = f.blob_id""",
        {"ids": json.dumps(file_ids)},
    )
    return {file_id: (path, language, bool(made)) for file_id, path, language, made in rows}


def rank_copies(handle: Handle, file_ids: Sequence[int]) -> dict[int, int]:
    """Return, for each file, its rank as the one to show of several with the same content."""
    rows = handle.execute(
        f"""SELECT f.id FROM json_each(:ids) wanted CROSS JOIN files f ON f.id = wanted.value
            ORDER BY {COPY_ORDER}""",  # noqa: S608 - a constant
        {"ids": json.dumps(file_ids)},
    )
    return {file_id: rank for rank, (file_id,) in enumerate(rows)}


def _known_files_of(rows: Iterable[tuple[Any, ...]]) -> dict[str, KnownFile]:
    # As ``os.fsdecode``, ``KnownFile`` and ``FileStat``, which take 1 µs longer, for each file.
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    new = tuple.__new__
    return {
        path.decode(encoding, errors): new(
            KnownFile,
            (file_id, blob_id, new(FileStat, (size, mtime, ctime, inode)), *others),
        )
        for path, file_id, blob_id, size, mtime, ctime, inode, *others in rows
    }


def read_traits(handle: Handle, filters: Filters) -> list[tuple[int, bytes, str, bool]]:
    """Return of all files of the branches: id, path, language, whether a tool wrote it; by id."""
    return list(
        handle.execute(
            f"""SELECT f.id, f.path, b.language, b.is_generated
                FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
                WHERE {filters.branch_condition} ORDER BY f.id""",  # noqa: S608 - constants
            dict(filters.values),
        )
    )


def read_passing_files(handle: Handle, filters: Filters) -> str:
    """Return the ids of the files that pass, unordered, joined by commas."""
    ids: str | None = handle.execute(
        f"SELECT group_concat(f.id) FROM files f WHERE {filters.file_condition}",  # noqa: S608
        dict(filters.values),
    ).get
    return ids or ""


class FileCard(NamedTuple):
    """A file of a branch; ``uuid`` is its id for others."""

    id: int
    uuid: bytes
    path: str
    language: str
    blob_id: int
    size_bytes: int  # of the stored text
    token_count: int
    created_at_ms: int
    updated_at_ms: int


def find_card(handle: Handle, branch_id: int, uuid: bytes) -> FileCard | None:
    """Return the file of a branch by its id (0.1 s among 265,000: ids have no index)."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
            WHERE f.branch_id = :branch_id AND f.uuid = :uuid LIMIT 1""",  # noqa: S608
        {"branch_id": branch_id, "uuid": uuid},
    )
    return next((_card_of(row) for row in rows), None)


def read_cards(handle: Handle, file_ids: Sequence[int]) -> dict[int, FileCard]:
    """Return files by id; deleted ones are left out."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM json_each(:ids) wanted
            CROSS JOIN files f ON f.id = wanted.value
            CROSS JOIN blobs b ON b.id = f.blob_id""",  # noqa: S608 - a constant
        {"ids": json.dumps(file_ids)},
    )
    return {row[0]: _card_of(row) for row in rows}


def read_places(
    handle: Handle, filters: Filters, after: Moment, limit: int
) -> list[tuple[Moment, int]]:
    """Return the positions of the next passing files in the list of checkpoints, with their ids."""
    rows = handle.execute(
        f"""SELECT f.created_at_ms, f.uuid, f.id FROM files f
            WHERE {filters.file_condition} AND (f.created_at_ms, f.uuid) < (:at_ms, :uuid)
            ORDER BY f.created_at_ms DESC, f.uuid DESC LIMIT :limit""",  # noqa: S608 - constants
        {**filters.values, **after._asdict(), "limit": limit},
    )
    return [(Moment(at_ms, uuid), file_id) for at_ms, uuid, file_id in rows]


def count_passing(handle: Handle, filters: Filters) -> int:
    """Return the number of files that pass."""
    return int(
        handle.execute(
            f"SELECT count(*) FROM files f WHERE {filters.file_condition}",  # noqa: S608
            dict(filters.values),
        ).get
    )


def _card_of(row: tuple[Any, ...]) -> FileCard:
    file_id, uuid, path, *rest = row
    return FileCard(file_id, uuid, os.fsdecode(path), *rest)


class KnownSkip(NamedTuple):
    """A stored skip."""

    skip: Skip
    fingerprint_id: int


def read_known_skips(
    handle: Handle, branch_id: int, within: Iterable[str] | None = None
) -> dict[str, KnownSkip]:
    """Return the stored skips of a branch by path; see ``read_known_files``."""
    known: dict[str, KnownSkip] = {}
    for condition, values in parts_of(branch_id, within):
        rows = handle.execute(
            f"""SELECT path, reason, detail, is_folder, size_bytes, mtime_ns, ctime_ns, inode,
                       fingerprint_id
                FROM skips WHERE {condition}""",  # noqa: S608 - constant fragments
            values,
        )
        for row in rows:
            known[os.fsdecode(row[0])] = KnownSkip(_skip_of(row[:8]), row[8])
    return known


def read_known_skips_at(
    handle: Handle, branch_id: int, paths: Sequence[str]
) -> dict[str, KnownSkip]:
    """Return the stored skips of some paths of a branch."""
    rows = handle.execute(
        """SELECT s.path, s.reason, s.detail, s.is_folder, s.size_bytes, s.mtime_ns, s.ctime_ns,
                  s.inode, s.fingerprint_id
           FROM json_each(:paths) wanted
           CROSS JOIN skips s ON s.branch_id = :branch_id AND s.path = unhex(wanted.value)""",
        {"branch_id": branch_id, "paths": hexadecimal(paths)},
    )
    return {os.fsdecode(row[0]): KnownSkip(_skip_of(row[:8]), row[8]) for row in rows}


def write_skips(handle: Handle, branch_id: int, fingerprint_id: int, skips: Iterable[Skip]) -> None:
    """Insert or replace skips."""
    handle.executemany(
        """INSERT INTO skips (branch_id, fingerprint_id, path, reason, detail, is_folder,
                              size_bytes, mtime_ns, ctime_ns, inode)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (branch_id, path) DO UPDATE SET fingerprint_id = excluded.fingerprint_id,
             reason = excluded.reason, detail = excluded.detail, is_folder = excluded.is_folder,
             size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns,
             ctime_ns = excluded.ctime_ns, inode = excluded.inode""",
        (
            (
                branch_id,
                fingerprint_id,
                os.fsencode(skip.path),
                skip.reason.value,
                os.fsencode(skip.detail).decode("utf-8", "replace"),
                int(skip.is_folder),
                *(skip.stat or (None, None, None, None)),
            )
            for skip in skips
        ),
    )


def delete_skips(handle: Handle, branch_id: int, paths: Iterable[str]) -> None:
    """Delete the skips of paths that have another outcome now, or are gone."""
    handle.executemany(
        "DELETE FROM skips WHERE branch_id = ? AND path = ?",
        ((branch_id, os.fsencode(path)) for path in paths),
    )


def read_skip(handle: Handle, branch_id: int, path: str) -> Skip | None:
    """Return the skip of exactly this path."""
    row = handle.execute(
        """SELECT path, reason, detail, is_folder, size_bytes, mtime_ns, ctime_ns, inode
           FROM skips WHERE branch_id = :branch_id AND path = :path""",
        {"branch_id": branch_id, "path": os.fsencode(path)},
    ).fetchone()
    return _skip_of(row) if row else None


def count_skips(handle: Handle, branch_id: int) -> dict[str, int]:
    """Return the number of skips by reason, the most frequent first."""
    return dict(
        handle.execute(
            """SELECT reason, count(*) AS number FROM skips WHERE branch_id = :branch_id
               GROUP BY reason ORDER BY number DESC, reason""",
            {"branch_id": branch_id},
        )
    )


def read_skipped_among(handle: Handle, branch_id: int, paths: Iterable[str]) -> list[str]:
    """Return those of some paths that are skipped."""
    return [path for path in paths if read_skip(handle, branch_id, path)]


def count_reasons(handle: Handle, branch_id: int, reasons: Iterable[SkipReason]) -> int:
    """Return the number of skips of a branch that have one of these reasons."""
    return int(
        handle.execute(
            """SELECT count(*) FROM skips WHERE branch_id = :branch_id
                 AND reason IN (SELECT value FROM json_each(:reasons))""",
            {"branch_id": branch_id, "reasons": json.dumps([reason.value for reason in reasons])},
        ).get
    )


def _skip_of(row: tuple[object, ...]) -> Skip:
    path, reason, detail, is_folder, size, mtime, ctime, inode = row
    assert isinstance(path, bytes)
    stat = None
    if isinstance(size, int) and isinstance(mtime, int):
        assert isinstance(ctime, int)
        assert isinstance(inode, int)
        stat = FileStat(size, mtime, ctime, inode)
    return Skip(os.fsdecode(path), SkipReason(str(reason)), str(detail), bool(is_folder), stat)
