"""Listings of a branch: files and skips page by page, entries and totals of folders.

People see paths with bytes that are not UTF-8 replaced by U+FFFD; ``as_stored`` and
``folder_as_stored`` find the path on disk that such a display path stands for.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from engine.records import display_path
from engine.store import files
from engine.store.connection import Handle
from engine.store.filters import hexadecimal, range_in

_SLASH = "x'2f'"
#: When a file changed on the disk; if that was too close to its reading to be stored, when it was
#: indexed, which is the same moment.
_CHANGED_AT_MS = "CASE mtime_ns WHEN 0 THEN updated_at_ms ELSE mtime_ns / 1000000 END"

#: In a display path: bytes that are not UTF-8, or this very character.
NOT_UTF8 = "\ufffd"


class Page(NamedTuple):
    """A page of rows."""

    folder: str = ""  # only what is below it; "" is the root
    after: str | None = None  # the last path of the page before
    limit: int = 100


class FileListRow(NamedTuple):
    """An indexed file in short."""

    path: str
    language: str
    size_bytes: int  # of the file
    line_count: int
    symbols: int
    is_generated: bool
    updated_at_ms: int


#: An indexed file: path, size, when it changed on the disk, and its blob.
ListedFile = tuple[bytes, int, int, int]
#: A skip: path, whether it is a folder, reason, detail, and its size if it is known.
ListedSkip = tuple[bytes, bool, str, str, int | None]


class SkipListRow(NamedTuple):
    """A skip in short."""

    path: str
    reason: str
    detail: str
    is_folder: bool
    size_bytes: int | None


def list_files(
    handle: Handle, branch_id: int, page: Page, *, languages: str | None
) -> list[FileListRow]:
    """Return indexed files in byte order of their paths.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        page: Which of them.
        languages: JSON: only these; None lets all through.
    """
    rows = handle.execute(
        """SELECT f.path, b.language, f.size_bytes, b.line_count,
                  (SELECT coalesce(sum(symbol_count), 0) FROM chunks WHERE blob_id = b.id),
                  b.is_generated, f.updated_at_ms
           FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
           WHERE f.branch_id = :branch_id AND f.path > :after AND f.path >= :low AND f.path < :high
             AND (:languages IS NULL OR b.language IN (SELECT value FROM json_each(:languages)))
           ORDER BY f.path LIMIT :limit""",
        {**_values(branch_id, page), "languages": languages},
    )
    return [
        FileListRow(os.fsdecode(path), language, size, lines, symbols, bool(generated), updated)
        for path, language, size, lines, symbols, generated, updated in rows
    ]


def count_listed_files(handle: Handle, branch_id: int, page: Page, *, languages: str | None) -> int:
    """Return the number of files to list, over all pages."""
    return int(
        handle.execute(
            """SELECT count(*) FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
               WHERE f.branch_id = :branch_id AND f.path >= :low AND f.path < :high
                 AND (:languages IS NULL
                      OR b.language IN (SELECT value FROM json_each(:languages)))""",
            {**_range(branch_id, page), "languages": languages},
        ).get
    )


def read_files(handle: Handle, branch_id: int) -> list[ListedFile]:
    """Return all indexed files by path."""
    rows: list[Any] = handle.execute(
        f"""SELECT path, size_bytes, {_CHANGED_AT_MS}, blob_id FROM files
            WHERE branch_id = :branch_id ORDER BY path""",  # noqa: S608 - an expression from above
        {"branch_id": branch_id},
    ).fetchall()
    return rows


def read_skipped(handle: Handle, branch_id: int) -> list[ListedSkip]:
    """Return all skips by path."""
    rows: list[Any] = handle.execute(
        """SELECT path, is_folder, reason, detail, size_bytes FROM skips
           WHERE branch_id = :branch_id ORDER BY path""",
        {"branch_id": branch_id},
    ).fetchall()
    return rows


def list_skips(
    handle: Handle, branch_id: int, page: Page, *, reason: str | None
) -> list[SkipListRow]:
    """Return skips in byte order of their paths; None means all reasons."""
    rows = handle.execute(
        """SELECT path, reason, detail, is_folder, size_bytes FROM skips
           WHERE branch_id = :branch_id AND path > :after AND path >= :low AND path < :high
             AND (:reason IS NULL OR reason = :reason)
           ORDER BY path LIMIT :limit""",
        {**_values(branch_id, page), "reason": reason},
    )
    return [
        SkipListRow(os.fsdecode(path), found, detail, bool(is_folder), size)
        for path, found, detail, is_folder, size in rows
    ]


def count_listed_skips(handle: Handle, branch_id: int, page: Page, *, reason: str | None) -> int:
    """Return the number of skips to list, over all pages."""
    return int(
        handle.execute(
            """SELECT count(*) FROM skips
               WHERE branch_id = :branch_id AND path >= :low AND path < :high
                 AND (:reason IS NULL OR reason = :reason)""",
            {**_range(branch_id, page), "reason": reason},
        ).get
    )


def sum_languages(handle: Handle, branch_id: int) -> list[tuple[str, int, int]]:
    """Return language, files and bytes of a branch, the most bytes first."""
    return list(
        handle.execute(
            """SELECT b.language, count(*), coalesce(sum(f.size_bytes), 0) AS size_bytes
               FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
               WHERE f.branch_id = :branch_id
               GROUP BY b.language ORDER BY size_bytes DESC, b.language""",
            {"branch_id": branch_id},
        )
    )


def read_odd_paths(handle: Handle, branch_id: int) -> Iterator[str]:
    """Yield the paths of files, then of skips, that have a byte beyond ASCII; reads all paths."""
    rows = handle.execute(
        """SELECT path FROM files WHERE branch_id = :branch_id
           UNION ALL SELECT path FROM skips WHERE branch_id = :branch_id""",
        {"branch_id": branch_id},
    )
    return (os.fsdecode(path) for (path,) in rows if not path.isascii())


def _range(branch_id: int, page: Page) -> dict[str, Any]:
    return {"branch_id": branch_id, **range_in(page.folder)}


def _values(branch_id: int, page: Page) -> dict[str, Any]:
    after = b"" if page.after is None else os.fsencode(page.after)
    return {**_range(branch_id, page), "after": after, "limit": page.limit}


class EntryRow(NamedTuple):
    """A folder or file in a folder, with all that is below it."""

    name: str
    is_folder: bool
    files: int  # indexed ones, itself included
    skipped: int  # likewise
    size_bytes: int  # of the indexed files; of a skipped file, when it is known
    changed_at_ms: int | None  # on the disk, the latest of the indexed files
    reason: str | None  # why it is skipped itself
    detail: str | None
    total: int  # entries of the folder


class FileDetails(NamedTuple):
    """The details of an indexed file in a list."""

    language: str
    line_count: int
    symbols: int


def list_entries(
    handle: Handle, branch_id: int, folder: str, *, limit: int, offset: int
) -> list[EntryRow]:
    """Return the entries of a folder, folders first, each kind in byte order.

    Reads all rows below the folder: 10,000 take about 20 ms.

    Args:
        handle: A read transaction.
        branch_id: The branch.
        folder: Relative to the root; "" is the root.
        limit: How many at most.
        offset: How many to leave out before.
    """
    rows = handle.execute(
        f"""SELECT name, is_folder, sum(files), sum(skipped), coalesce(sum(size_bytes), 0),
                  max(changed_at_ms), max(reason), max(detail), count(*) OVER ()
           FROM (
             SELECT CASE slash WHEN 0 THEN rest ELSE substr(rest, 1, slash - 1) END AS name,
                    slash > 0 AS is_folder, 1 AS files, 0 AS skipped, size_bytes, changed_at_ms,
                    NULL AS reason, NULL AS detail
             FROM (SELECT substr(path, :start) AS rest, instr(substr(path, :start), x'2f') AS slash,
                          size_bytes, {_CHANGED_AT_MS} AS changed_at_ms
                   FROM files WHERE branch_id = :branch_id AND path >= :low AND path < :high)
             UNION ALL
             SELECT CASE slash WHEN 0 THEN rest ELSE substr(rest, 1, slash - 1) END,
                    slash > 0 OR is_folder, 0, 1, iif(slash = 0 AND NOT is_folder, size_bytes, 0),
                    NULL, iif(slash = 0, reason, NULL), iif(slash = 0, detail, NULL)
             FROM (SELECT substr(path, :start) AS rest, instr(substr(path, :start), x'2f') AS slash,
                          size_bytes, reason, detail, is_folder
                   FROM skips WHERE branch_id = :branch_id AND path >= :low AND path < :high)
           )
           GROUP BY name, is_folder
           ORDER BY is_folder DESC, name LIMIT :limit OFFSET :offset""",  # noqa: S608
        {**_within(branch_id, folder), "limit": limit, "offset": offset},
    )
    return [EntryRow(os.fsdecode(name), bool(is_folder), *rest) for name, is_folder, *rest in rows]


def read_details(handle: Handle, branch_id: int, paths: Sequence[str]) -> dict[str, FileDetails]:
    """Return the list details of those of some files that are indexed."""
    rows = handle.execute(
        """SELECT f.path, b.language, b.line_count,
                  (SELECT coalesce(sum(symbol_count), 0) FROM chunks WHERE blob_id = b.id)
           FROM json_each(:paths) wanted
           CROSS JOIN files f ON f.branch_id = :branch_id AND f.path = unhex(wanted.value)
           CROSS JOIN blobs b ON b.id = f.blob_id""",
        {"branch_id": branch_id, "paths": hexadecimal(paths)},
    )
    return {os.fsdecode(path): FileDetails(*rest) for path, *rest in rows}


def list_names(handle: Handle, branch_id: int, folder: str, *, most: int) -> list[tuple[str, bool]]:
    """Return the indexed entries of a folder in byte order: name and whether it is a folder.

    Skips from name to name in the index of paths, so that deeper entries cost nothing.
    """
    place = _within(branch_id, folder)
    start = int(place["start"]) - 1
    names: list[tuple[str, bool]] = []
    while len(names) < most:
        row = handle.execute(
            """SELECT path FROM files
               WHERE branch_id = :branch_id AND path >= :low AND path < :high
               ORDER BY path LIMIT 1""",
            place,
        ).fetchone()
        if row is None:
            break
        name, slash, _ = row[0][start:].partition(b"/")
        names.append((os.fsdecode(name), bool(slash)))
        place["low"] = row[0][:start] + name + b"0" if slash else row[0] + b"\0"
    return names


def deepest_single_folder(handle: Handle, branch_id: int, folder: str) -> str:
    """Return the deepest folder reached while a folder contains nothing but one folder."""
    while True:
        names = list_names(handle, branch_id, folder, most=2)
        if len(names) != 1 or not names[0][1]:
            return folder
        folder = f"{folder}/{names[0][0]}"


def _within(branch_id: int, folder: str) -> dict[str, int | bytes]:
    start = len(os.fsencode(folder)) + 2 if folder else 1
    return {"branch_id": branch_id, "start": start, **range_in(folder)}


class FolderRow(NamedTuple):
    """The sums of a folder: of its direct entries, or on the last level of all below it."""

    path: str  # from the root; empty for the root itself
    files: int  # that are indexed
    size_bytes: int  # of these
    skipped: int  # files that are not; a folder that is left out as a whole counts as one


class SizedFile(NamedTuple):
    """An indexed file and its size on disk."""

    path: str
    size_bytes: int


def largest_files(handle: Handle, branch_id: int, folder: str, limit: int) -> list[SizedFile]:
    """Return the files directly in a folder, the largest first."""
    rows = handle.execute(
        f"""SELECT path, size_bytes FROM files
            WHERE branch_id = :branch_id AND path >= :low AND path < :high
              AND instr(substr(path, :stop + 1), {_SLASH}) = 0
            ORDER BY size_bytes DESC, path LIMIT :limit""",  # noqa: S608 - a constant
        {**_folder_values(branch_id, folder), "limit": limit},
    )
    return [SizedFile(os.fsdecode(path), size) for path, size in rows]


def _folder_values(branch_id: int, folder: str) -> dict[str, int | bytes]:
    stop = len(os.fsencode(folder)) + 1 if folder else 0
    return {"branch_id": branch_id, **range_in(folder), "stop": stop}


def read_all(handle: Handle, branch_id: int) -> list[str]:
    """Return the display paths of all files of a branch, sorted by their characters."""
    paths = b"\0".join(files.read_path_bytes(handle, branch_id)).decode("utf-8", "replace")
    return sorted(paths.split("\0")) if paths else []


def as_stored(handle: Handle, branch_id: int, path: str) -> str:
    """Return the path of a file as on disk; one with U+FFFD may be a display path."""
    if NOT_UTF8 not in path or files.read_file(handle, branch_id, path):
        return path
    odd = read_odd_paths(handle, branch_id)
    return next((each for each in odd if display_path(each) == path), path)


def folder_as_stored(handle: Handle, branch_id: int, folder: str) -> str:
    """Return a folder as on disk; one with U+FFFD may be a display path."""
    if NOT_UTF8 not in folder or files.has_below(handle, branch_id, folder):
        return folder
    depth = folder.count("/") + 1
    for path in read_odd_paths(handle, branch_id):
        above = "/".join(path.split("/")[:depth])
        if above != path and display_path(above) == folder:
            return above
    return folder
