"""Files and skips of a branch by path, a page at a time."""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from engine.store.connection import Handle
from engine.store.paths import range_in


class Page(NamedTuple):
    """Which rows to give."""

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
    """Give indexed files in the order of their bytes.

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
    """Give how many files there are to list, on whatever page."""
    return int(
        handle.execute(
            """SELECT count(*) FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
               WHERE f.branch_id = :branch_id AND f.path >= :low AND f.path < :high
                 AND (:languages IS NULL
                      OR b.language IN (SELECT value FROM json_each(:languages)))""",
            {**_range(branch_id, page), "languages": languages},
        ).get
    )


def list_skips(
    handle: Handle, branch_id: int, page: Page, *, reason: str | None
) -> list[SkipListRow]:
    """Give skips in the order of the bytes of their paths; None lets all reasons through."""
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
    """Give how many skips there are to list, on whatever page."""
    return int(
        handle.execute(
            """SELECT count(*) FROM skips
               WHERE branch_id = :branch_id AND path >= :low AND path < :high
                 AND (:reason IS NULL OR reason = :reason)""",
            {**_range(branch_id, page), "reason": reason},
        ).get
    )


def sum_languages(handle: Handle, branch_id: int) -> list[tuple[str, int, int]]:
    """Give language, files and bytes of a branch, the most bytes first."""
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
    """Give the paths of files, then of skips, that have a byte beyond ASCII; reads all paths."""
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
