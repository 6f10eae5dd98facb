"""What the folders of a branch hold, added up by SQLite."""

import os
from typing import NamedTuple

from engine.store.connection import Handle
from engine.store.paths import range_in

#: Folders below the one asked for that are told apart; what lies deeper counts for them.
LEVELS = 4
_SLASH = "x'2f'"


class FolderRow(NamedTuple):
    """What lies in a folder: directly, or also below it when it is of the last level."""

    path: str  # from the root; empty for the root itself
    files: int  # that are indexed
    size_bytes: int  # of these
    skipped: int  # files that are not; a folder that is left out as a whole counts as one


class SizedFile(NamedTuple):
    """An indexed file and its size on disk."""

    path: str
    size_bytes: int


def sum_folders(handle: Handle, branch_id: int, folder: str) -> list[FolderRow]:
    """Add up the files and skips below a folder, by folder (10,000 files in some 10 ms).

    Args:
        handle: A read transaction.
        branch_id: The branch.
        folder: From the root; empty for all.
    """
    rows = handle.execute(
        f"""SELECT substr(path, 1, stop), sum(1 - skipped), sum(size_bytes), sum(skipped)
            FROM ({_stops()}) GROUP BY 1""",  # noqa: S608 - constants
        _values(branch_id, folder),
    )
    return [FolderRow(os.fsdecode(path).rstrip("/"), *numbers) for path, *numbers in rows]


def largest_files(handle: Handle, branch_id: int, folder: str, limit: int) -> list[SizedFile]:
    """Give the files directly in a folder, the largest first."""
    rows = handle.execute(
        f"""SELECT path, size_bytes FROM files
            WHERE branch_id = :branch_id AND path >= :low AND path < :high
              AND instr(substr(path, :stop + 1), {_SLASH}) = 0
            ORDER BY size_bytes DESC, path LIMIT :limit""",  # noqa: S608 - a constant
        {**_values(branch_id, folder), "limit": limit},
    )
    return [SizedFile(os.fsdecode(path), size) for path, size in rows]


def _stops() -> str:
    """Give the statement that says of each path where the folder ends that it counts for.

    Each level goes on behind the next slash. LIMIT -1 OFFSET 0 keeps SQLite from merging the
    levels, which would work out the inner ones again and again.
    """
    statement = """SELECT path, size_bytes, 0 AS skipped, :stop AS stop FROM files
                   WHERE branch_id = :branch_id AND path >= :low AND path < :high
                   UNION ALL
                   SELECT CASE is_folder WHEN 0 THEN path ELSE CAST(path || '/' AS BLOB) END,
                          0, 1, :stop FROM skips
                   WHERE branch_id = :branch_id AND path >= :low AND path < :high"""
    for _ in range(LEVELS):
        statement = f"""SELECT path, size_bytes, skipped,
                               stop + instr(substr(path, stop + 1), {_SLASH}) AS stop
                        FROM ({statement} LIMIT -1 OFFSET 0)"""  # noqa: S608 - constants
    return statement


def _values(branch_id: int, folder: str) -> dict[str, int | bytes]:
    stop = len(os.fsencode(folder)) + 1 if folder else 0
    return {"branch_id": branch_id, **range_in(folder), "stop": stop}
