"""What stands on which of several branches: versions of files, and places that they share."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.store.connection import Handle


class Version(NamedTuple):
    """The contents of a path on a branch."""

    path: bytes
    branch_id: int
    blob_id: int
    kind: tuple[str, bool]  # its language, and whether a tool wrote it: what filters ask of it


class Piece(NamedTuple):
    """A chunk with the hash of its text and the symbols that start in it."""

    blob_id: int
    chunk_id: int
    hash: bytes
    first_symbol_id: int
    symbol_count: int


def read_versions(handle: Handle, branch_ids: Sequence[int]) -> list[Version]:
    """Return the files of some branches whose paths have different contents there, by path."""
    rows = handle.execute(
        """WITH here AS (SELECT value AS id FROM json_each(:ids))
           SELECT f.path, f.branch_id, f.blob_id, b.language, b.is_generated
           FROM (SELECT path FROM files WHERE branch_id IN (SELECT id FROM here)
                 GROUP BY path HAVING min(blob_id) <> max(blob_id)) changed
           CROSS JOIN here CROSS JOIN files f ON f.branch_id = here.id AND f.path = changed.path
           CROSS JOIN blobs b ON b.id = f.blob_id
           ORDER BY f.path""",
        {"ids": json.dumps(branch_ids)},
    )
    return [
        Version(path, branch, blob, (language, bool(made)))
        for path, branch, blob, language, made in rows
    ]


def read_repeated_blobs(handle: Handle, branch_ids: Sequence[int]) -> set[int]:
    """Return the contents that several paths of some branches have."""
    rows = handle.execute(
        """SELECT blob_id FROM files WHERE branch_id IN (SELECT value FROM json_each(:ids))
           GROUP BY blob_id HAVING min(path) <> max(path)""",
        {"ids": json.dumps(branch_ids)},
    )
    return {blob_id for (blob_id,) in rows}


def read_pieces(handle: Handle, blob_ids: Iterable[int]) -> list[Piece]:
    """Return the chunks of some blobs."""
    rows = handle.execute(
        """SELECT c.blob_id, c.id, c.hash, c.first_symbol_id, c.symbol_count
           FROM json_each(:ids) wanted CROSS JOIN chunks c ON c.blob_id = wanted.value""",
        {"ids": json.dumps(sorted(blob_ids))},
    )
    return [Piece(*row) for row in rows]


def read_branches_of(
    handle: Handle, places: Sequence[tuple[int, int]], branch_ids: Sequence[int]
) -> list[tuple[int, set[int]]]:
    """Return, for each place, the branch of the file that shows it, and all that have it.

    A branch has it if it has the whole contents, at any path, or the same place at its path.

    Args:
        handle: A read transaction.
        places: The ids of a chunk and of the file that shows it.
        branch_ids: The branches to look at.
    """
    rows = handle.execute(
        """WITH places AS (SELECT key, value ->> 0 AS chunk_id, value ->> 1 AS file_id
                           FROM json_each(:places)),
                branches_here AS (SELECT value AS id FROM json_each(:ids))
           SELECT p.key, f.branch_id, g.branch_id
           FROM places p CROSS JOIN files f ON f.id = p.file_id
           CROSS JOIN files g ON g.blob_id = f.blob_id
           WHERE +g.branch_id IN (SELECT id FROM branches_here)
           UNION
           SELECT p.key, f.branch_id, g.branch_id
           FROM places p CROSS JOIN files f ON f.id = p.file_id
           CROSS JOIN branches_here h CROSS JOIN files g ON g.branch_id = h.id AND g.path = f.path
           WHERE g.blob_id <> f.blob_id
             AND EXISTS (SELECT 1 FROM chunks d WHERE d.blob_id = g.blob_id
                         AND d.hash = (SELECT c.hash FROM chunks c WHERE c.id = p.chunk_id))""",
        {
            "places": json.dumps([list(place) for place in places]),
            "ids": json.dumps(branch_ids),
        },
    )
    return _by_place(rows, len(places))


def read_branches_of_blobs(
    handle: Handle, file_ids: Sequence[int], branch_ids: Sequence[int]
) -> list[tuple[int, set[int]]]:
    """Return, for each file, its branch, and all of some branches that have its whole contents."""
    rows = handle.execute(
        """SELECT wanted.key, f.branch_id, g.branch_id
           FROM json_each(:files) wanted CROSS JOIN files f ON f.id = wanted.value
           CROSS JOIN files g ON g.blob_id = f.blob_id
           WHERE +g.branch_id IN (SELECT value FROM json_each(:ids))""",
        {"files": json.dumps(file_ids), "ids": json.dumps(branch_ids)},
    )
    return _by_place(rows, len(file_ids))


def _by_place(rows: Iterable[tuple[int, int, int]], number: int) -> list[tuple[int, set[int]]]:
    found: list[tuple[int, set[int]]] = [(0, set()) for _ in range(number)]
    for at, of_file, branch_id in rows:
        found[at] = of_file, {*found[at][1], branch_id}
    return found
