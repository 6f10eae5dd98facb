"""Integrity checks of the commits of a history, for the doctor."""

import json
from collections.abc import Sequence

from engine.store.connection import Handle


def read_broken_commits(handle: Handle, most_files: int) -> list[int]:
    """Return the commits with a bad name, without their words, or with other files than they say.

    Args:
        handle: A connection.
        most_files: How many files of a commit are listed.
    """
    rows = handle.execute(
        """WITH listed AS (
             SELECT commit_id, count(*) AS number, sum(path_id NOT IN (SELECT id FROM commit_paths)
               OR coalesce(old_path_id NOT IN (SELECT id FROM commit_paths), 0)) AS nameless
             FROM commit_files GROUP BY commit_id)
           SELECT id FROM commits c LEFT JOIN listed l ON l.commit_id = c.id
           WHERE length(name) NOT IN (20, 32) OR length(parents) % length(name)
             OR coalesce(l.number, 0) <> min(file_count, :most) OR l.nameless
             OR (is_here AND id NOT IN (SELECT id FROM commit_terms_docsize))
           ORDER BY id""",
        {"most": most_files},
    )
    return [commit_id for (commit_id,) in rows]


def read_rows_without_commit(handle: Handle) -> list[int]:
    """Return the ids of commits that are gone but have files."""
    rows = handle.execute(
        """SELECT DISTINCT commit_id FROM commit_files
           WHERE commit_id NOT IN (SELECT id FROM commits) ORDER BY commit_id"""
    )
    return [commit_id for (commit_id,) in rows]


def read_bodies_and_vectors(
    handle: Handle, after: int, limit: int
) -> list[tuple[int, bytes, bytes | None, bytes]]:
    """Return the stored messages, vectors and texts of commits, by rising id."""
    return list(
        handle.execute(
            """SELECT id, body, vector, CAST(author || ' ' || email || ' ' || subject AS BLOB)
               FROM commits LEFT JOIN commit_vectors ON commit_id = id
               WHERE id > ? ORDER BY id LIMIT ?""",
            (after, limit),
        )
    )


def delete_rows_without_commit(handle: Handle, ids: Sequence[int]) -> None:
    """Delete the files of those of some commits that are gone."""
    handle.execute(
        """DELETE FROM commit_files WHERE commit_id IN (SELECT value FROM json_each(:ids))
             AND commit_id NOT IN (SELECT id FROM commits)""",
        {"ids": json.dumps(ids)},
    )
