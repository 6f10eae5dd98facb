"""Symbols by name."""

import json
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.store.chunks import SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters


class SymbolRow(NamedTuple):
    """A symbol with a file that shows it."""

    id: int
    blob_id: int
    path: str
    language: str
    is_generated: bool
    name: str
    qualified_name: str
    kind: str
    signature: str
    doc: str
    line_start: int
    line_end: int
    is_exported: bool


_COLUMNS = """s.id, s.blob_id, f.path, b.language, b.is_generated, s.name, s.qualified_name, s.kind,
  s.signature, s.doc, s.line_start, s.line_end, s.is_exported"""


_JOINS = """CROSS JOIN blobs b ON b.id = s.blob_id CROSS JOIN files f ON f.id = {}"""


def find_symbols(
    handle: Handle,
    folded_names: Sequence[str],
    filters: Filters,
    limit: int,
    *,
    qualifier: str = "",
) -> list[SymbolRow]:
    """Give the symbols that have one of these lower-case names, those of public reach first.

    Args:
        handle: A read transaction.
        folded_names: Lower-case names.
        filters: Conditions on symbols and files.
        limit: How many at most.
        qualifier: Lower-case qualified name, joined by ".", with which that of the symbol must
            end.
    """
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM json_each(:names) wanted
            CROSS JOIN symbols s ON s.folded_name = wanted.value
            {_JOINS.format(filters.shown_file.format("s"))}
            WHERE {filters.symbol_condition}
              AND (:qualifier = ''
                   OR substr('.' || lower(s.qualified_name), -length(:qualifier) - 1)
                      = '.' || :qualifier)
            ORDER BY s.is_exported DESC, length(s.qualified_name), s.id
            LIMIT :limit""",  # noqa: S608 - constant fragments
        {
            "names": json.dumps(folded_names),
            "limit": limit,
            "qualifier": qualifier,
            **filters.values,
        },
    )
    return list(_rows_of(rows))


def find_definitions(
    handle: Handle, folded_names: Sequence[str]
) -> Iterator[tuple[int, SymbolFacts]]:
    """Give the symbols that have one of these lower-case names, in the order of ``find_symbols``.

    Each comes with the id of the chunk in which it starts; those of every branch are given.
    """
    rows = handle.execute(
        """SELECT (SELECT c.id FROM chunks c
                   WHERE c.blob_id = s.blob_id AND c.byte_start <= s.byte_start
                   ORDER BY c.byte_start DESC LIMIT 1),
                  s.id, s.name, s.qualified_name, s.kind, s.signature, s.line_start, s.line_end
           FROM json_each(:names) wanted CROSS JOIN symbols s ON s.folded_name = wanted.value
           ORDER BY s.is_exported DESC, length(s.qualified_name), s.id""",
        {"names": json.dumps(folded_names)},
    )
    for chunk_id, *symbol in rows:
        yield chunk_id, SymbolFacts(*symbol)


def find_symbols_by_prefix(
    handle: Handle, folded_prefix: str, filters: Filters, limit: int
) -> list[SymbolRow]:
    """Give the symbols whose lower-case name starts so, shortest name first."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM symbols s {_JOINS.format(filters.shown_file.format("s"))}
            WHERE s.folded_name >= :prefix AND s.folded_name < :beyond
              AND {filters.symbol_condition}
            ORDER BY length(s.folded_name), s.folded_name, s.id
            LIMIT :limit""",  # noqa: S608 - constant fragments
        {
            "prefix": folded_prefix,
            "beyond": folded_prefix + chr(0x10FFFF),
            "limit": limit,
            **filters.values,
        },
    )
    return list(_rows_of(rows))


def read_names(handle: Handle) -> list[str]:
    """Give every lower-case symbol name once."""
    return [name for (name,) in handle.execute("SELECT DISTINCT folded_name FROM symbols")]


def outline(handle: Handle, branch_id: int, path: str) -> list[SymbolRow]:
    """Give the symbols of a file in text order."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM files f JOIN blobs b ON b.id = f.blob_id
            JOIN chunks c ON c.blob_id = b.id
            JOIN symbols s ON s.id BETWEEN c.first_symbol_id
                                   AND c.first_symbol_id + c.symbol_count - 1
            WHERE f.branch_id = :branch_id AND f.path = :path ORDER BY s.id""",  # noqa: S608
        {"branch_id": branch_id, "path": os.fsencode(path)},
    )
    return list(_rows_of(rows))


def _rows_of(rows: Iterator[tuple[object, ...]]) -> Iterator[SymbolRow]:
    for id_, blob_id, path, *rest in rows:
        assert isinstance(path, bytes)
        yield SymbolRow(id_, blob_id, os.fsdecode(path), *rest)  # type: ignore[arg-type]
