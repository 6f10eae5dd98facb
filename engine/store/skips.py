"""What is not indexed, and why."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.records import FileStat, Skip, SkipReason
from engine.store.connection import Handle
from engine.store.paths import hexadecimal, parts_of


class KnownSkip(NamedTuple):
    """A stored skip."""

    skip: Skip
    fingerprint_id: int


def read_known_skips(
    handle: Handle, branch_id: int, within: Iterable[str] | None = None
) -> dict[str, KnownSkip]:
    """Give the stored skips of a branch by path; see ``read_known_files``."""
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
    """Give the stored skips of some paths of a branch."""
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
    """Give the skip of exactly this path."""
    row = handle.execute(
        """SELECT path, reason, detail, is_folder, size_bytes, mtime_ns, ctime_ns, inode
           FROM skips WHERE branch_id = :branch_id AND path = :path""",
        {"branch_id": branch_id, "path": os.fsencode(path)},
    ).fetchone()
    return _skip_of(row) if row else None


def count_skips(handle: Handle, branch_id: int) -> dict[str, int]:
    """Give the number of skips by reason, the most frequent first."""
    return dict(
        handle.execute(
            """SELECT reason, count(*) AS number FROM skips WHERE branch_id = :branch_id
               GROUP BY reason ORDER BY number DESC, reason""",
            {"branch_id": branch_id},
        )
    )


def read_skipped_among(handle: Handle, branch_id: int, paths: Iterable[str]) -> list[str]:
    """Give those of some paths that are skipped."""
    return [path for path in paths if read_skip(handle, branch_id, path)]


def count_reasons(handle: Handle, branch_id: int, reasons: Iterable[SkipReason]) -> int:
    """Give the number of skips of a branch that have one of these reasons."""
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
