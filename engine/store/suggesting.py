"""Names that begin as somebody types: of symbols, files and folders."""

import os
from typing import NamedTuple

from engine.store.connection import Handle

#: A name that is all over a project is looked up in so many of its places.
_PLACES_A_NAME = 20


class NamedRow(NamedTuple):
    """A symbol of a name, or a file."""

    path: str
    name: str  # qualified; of a file its path
    kind: str  # of a file its language
    line: int
    is_exported: bool


def names_beginning(handle: Handle, folded: str, limit: int) -> list[str]:
    """Give the lower-case names of symbols that begin so, each once, the shortest first."""
    rows = handle.execute(
        """SELECT folded_name FROM symbols WHERE folded_name >= :low AND folded_name < :high
           GROUP BY folded_name ORDER BY length(folded_name), folded_name LIMIT :limit""",
        {"low": folded, "high": folded + chr(0x10FFFF), "limit": limit},
    )
    return [name for (name,) in rows]


def places_of_name(handle: Handle, branch_id: int, folded: str) -> list[NamedRow]:
    """Give some symbols of a lower-case name, in files of a branch."""
    rows = handle.execute(
        """SELECT f.path, s.qualified_name, s.kind, s.line_start, s.is_exported
           FROM symbols s CROSS JOIN files f ON f.blob_id = s.blob_id
           WHERE s.folded_name = :folded AND f.branch_id = :branch_id LIMIT :limit""",
        {"folded": folded, "branch_id": branch_id, "limit": _PLACES_A_NAME},
    )
    return [NamedRow(os.fsdecode(path), *rest) for path, *rest in rows]


def files_with_words(handle: Handle, branch_id: int, match: str, limit: int) -> list[NamedRow]:
    """Give the files of a branch whose path matches an FTS5 expression, in no order."""
    rows = handle.execute(
        """SELECT f.path, b.language FROM file_paths p CROSS JOIN files f ON f.id = p.rowid
           CROSS JOIN blobs b ON b.id = f.blob_id
           WHERE p.file_paths MATCH :match AND f.branch_id = :branch_id LIMIT :limit""",
        {"match": match, "branch_id": branch_id, "limit": limit},
    )
    return [_file_row(path, language) for path, language in rows]


def _file_row(path: bytes, language: str) -> NamedRow:
    name = os.fsdecode(path)
    return NamedRow(name, name, language, 1, True)
