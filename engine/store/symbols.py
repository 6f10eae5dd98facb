"""Symbols by name: lookups, paged listings with counts, and completion of names.

In listings each symbol of a text counts once, however many paths of the branch share that text, and
is shown under the shortest one. Names, kinds and blobs come from the index ``symbols_by_name``
alone.
"""

import json
import os
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.store.chunks import SymbolFacts
from engine.store.connection import Handle
from engine.store.filters import Filters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COLUMNS = """s.id, s.blob_id, f.path, b.language, b.is_generated, s.name, s.qualified_name, s.kind,
  s.signature, s.doc, s.line_start, s.line_end, s.is_exported"""

_JOINS = """CROSS JOIN blobs b ON b.id = s.blob_id CROSS JOIN files f ON f.id = {}"""

_LEAST_INSIDE = 3  # characters; fewer stand at the beginning of a name

#: Constant SQL fragments: which names match, by prefix or only inside.
_ALL = "TRUE"
_BEGINS = "s.folded_name >= :text AND s.folded_name < :beyond"
_HAS = "instr(s.folded_name, :text)"

_FILES = """FROM files f CROSS JOIN blobs b ON b.id = f.blob_id
            WHERE f.branch_id = :branch_id
              AND (:languages IS NULL OR b.language IN (SELECT value FROM json_each(:languages)))
              AND {path}"""

#: Definitions read of a name that occurs all over a project.
_PLACES_A_NAME = 20


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


def find_symbols(
    handle: Handle,
    folded_names: Sequence[str],
    filters: Filters,
    limit: int,
    *,
    qualifier: str = "",
) -> list[SymbolRow]:
    """Return the symbols with one of these lower-case names, public ones first.

    Of equal ones the first by path, however they came into the index.

    Args:
        handle: A read transaction.
        folded_names: Lower-case names.
        filters: Conditions on symbols and files.
        limit: How many at most.
        qualifier: Lower-case qualified name, joined by ".", with which the symbol's must
            end.
    """
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM json_each(:names) wanted
            CROSS JOIN symbols s ON s.folded_name = wanted.value
            {_JOINS.format(filters.shown_file.format("s"))}
            WHERE {filters.symbol_condition}
              AND (:qualifier = ''
                   OR substr('.' || folded(s.qualified_name), -length(:qualifier) - 1)
                      = '.' || :qualifier)
            ORDER BY s.is_exported DESC, length(s.qualified_name), f.path, s.id
            LIMIT :limit""",  # noqa: S608 - constant fragments
        {
            "names": json.dumps(folded_names),
            "limit": limit,
            "qualifier": qualifier,
            **filters.values,
        },
    )
    return list(_rows_of(rows))


def read_definitions(handle: Handle, kinds: Sequence[str]) -> list[tuple[int, int, str, str, bool]]:
    """Return id, blob id, name, kind and visibility of the symbols of some kinds, by id.

    Those within functions, which nobody else can use, are left out.
    """
    rows = handle.execute(
        """SELECT s.id, s.blob_id, s.name, s.kind, s.is_exported
           FROM symbols s LEFT JOIN symbols p ON p.id = s.parent_id
           WHERE s.kind IN (SELECT value FROM json_each(:kinds))
             AND coalesce(p.kind, '') NOT IN ('function', 'method', 'constructor')
           ORDER BY s.id""",
        {"kinds": json.dumps(kinds)},
    )
    return list(rows)


def read_symbols(handle: Handle, ids: Sequence[int], filters: Filters) -> dict[int, SymbolRow]:
    """Return the symbols with these ids that pass, by id."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM json_each(:ids) wanted
            CROSS JOIN symbols s ON s.id = wanted.value
            {_JOINS.format(filters.shown_file.format("s"))}
            WHERE {filters.symbol_condition}""",  # noqa: S608 - constant fragments
        {"ids": json.dumps(ids), **filters.values},
    )
    return {row.id: row for row in _rows_of(rows)}


def read_docs(handle: Handle, ids: Sequence[int]) -> dict[int, str]:
    """Return the documentation of symbols by id; those without any are left out."""
    rows = handle.execute(
        """SELECT s.id, s.doc FROM json_each(:ids) wanted
           CROSS JOIN symbols s ON s.id = wanted.value WHERE s.doc != ''""",
        {"ids": json.dumps(ids)},
    )
    return dict(rows)


def find_definitions(
    handle: Handle, folded_names: Sequence[str]
) -> Iterator[tuple[tuple[bool, int], int, SymbolFacts]]:
    """Return the symbols with one of these lower-case names, in ``find_symbols`` order.

    Each comes with its rank, by which equal ones can be told, and the id of the chunk in which it
    starts; those of every branch are given, so equal ones are not by path.
    """
    rows = handle.execute(
        """SELECT s.is_exported, length(s.qualified_name),
                  (SELECT c.id FROM chunks c
                   WHERE c.blob_id = s.blob_id AND c.byte_start <= s.byte_start
                   ORDER BY c.byte_start DESC LIMIT 1),
                  s.id, s.name, s.qualified_name, s.kind, s.signature, s.line_start, s.line_end
           FROM json_each(:names) wanted CROSS JOIN symbols s ON s.folded_name = wanted.value
           ORDER BY s.is_exported DESC, length(s.qualified_name), s.id""",
        {"names": json.dumps(folded_names)},
    )
    for is_exported, length, chunk_id, *symbol in rows:
        yield (is_exported, length), chunk_id, SymbolFacts(*symbol)


def find_symbols_by_prefix(
    handle: Handle, folded_prefix: str, filters: Filters, limit: int
) -> list[SymbolRow]:
    """Return the symbols whose lower-case name has a prefix, shortest name first, then by path."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM symbols s {_JOINS.format(filters.shown_file.format("s"))}
            WHERE s.folded_name >= :prefix AND s.folded_name < :beyond
              AND {filters.symbol_condition}
            ORDER BY length(s.folded_name), s.folded_name, f.path, s.id
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
    """Return every lower-case symbol name once."""
    return [name for (name,) in handle.execute("SELECT DISTINCT folded_name FROM symbols")]


def defined_names(
    handle: Handle, branch_id: int, names: Sequence[str], languages: Sequence[str]
) -> list[str]:
    """Return those of some names that a symbol of the branch has, in one of these languages."""
    rows = handle.execute(
        """SELECT wanted.key FROM json_each(:names) wanted
           WHERE EXISTS (SELECT 1 FROM symbols s CROSS JOIN blobs b ON b.id = s.blob_id
                         WHERE s.folded_name = wanted.value AND s.name = wanted.key
                           AND b.language IN (SELECT value FROM json_each(:languages))
                           AND EXISTS (SELECT 1 FROM files f WHERE f.blob_id = s.blob_id
                                                               AND f.branch_id = :branch_id))""",
        {
            "branch_id": branch_id,
            "names": json.dumps({name: name.lower() for name in names}),
            "languages": json.dumps(sorted(languages)),
        },
    )
    return [name for (name,) in rows]


def names_like(handle: Handle, begin: str, size: int, most: int) -> list[str]:
    """Return the names that begin so, in any case, and are at most this much longer or shorter."""
    rows = handle.execute(
        """SELECT DISTINCT name FROM symbols
           WHERE folded_name >= :begin AND folded_name < :beyond
             AND length(folded_name) BETWEEN :size - :most AND :size + :most""",
        {"begin": begin, "beyond": begin + "\U0010ffff", "size": size, "most": most},
    )
    return [name for (name,) in rows]


def outline(handle: Handle, branch_id: int, path: str) -> list[SymbolRow]:
    """Return the symbols of a file in text order."""
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


class Choice(NamedTuple):
    """A filter of the symbols to list or to count."""

    branch_id: int
    text: str = ""  # lower case
    kinds: frozenset[str] = frozenset()  # any of them; empty: all
    languages: frozenset[str] = frozenset()  # likewise
    path_function: str | None = None  # registered by ``register_path_filter``

    @property
    def names(self) -> str:
        """The condition on names."""
        if not self.text:
            return _ALL
        return _HAS if len(self.text) >= _LEAST_INSIDE else _BEGINS

    @property
    def files(self) -> str:
        """The files that can show a symbol: a part of a statement, from FROM on."""
        path = f"{self.path_function}(f.path, b.language)" if self.path_function else "TRUE"
        return _FILES.format(path=path)

    @property
    def values(self) -> dict[str, object]:
        """The values of the conditions."""
        return {
            "branch_id": self.branch_id,
            "text": self.text,
            "beyond": self.text + chr(0x10FFFF),
            "kinds": json.dumps(sorted(self.kinds)) if self.kinds else None,
            "languages": json.dumps(sorted(self.languages)) if self.languages else None,
        }


class Place(NamedTuple):
    """The position of a symbol in the list."""

    is_inside: int = 0  # 1: its name does not begin with the query
    folded_name: str = ""
    kind: str = ""
    blob_id: int = 0
    id: int = 0


class SymbolListRow(NamedTuple):
    """A symbol in short."""

    path: str
    name: str
    scope: str
    kind: str
    signature: str
    language: str
    line_start: int
    line_end: int
    is_exported: bool


#: Sorts before every possible symbol.
FROM_THE_FIRST = Place()


def list_symbols(
    handle: Handle, choice: Choice, after: Place, limit: int
) -> list[tuple[Place, SymbolListRow]]:
    """Return the next symbols with their positions: by name, then by kind, then by text.

    A page of 100 out of 95,000 symbols takes 1 to 15 ms.
    """
    order = "s.folded_name, s.kind, s.blob_id, s.id"
    beyond = ":folded_name, :after_kind, :blob_id, :id"
    inside = "0"
    if choice.names is _HAS:
        inside = f"{_HAS} > 1"
        order, beyond = f"{inside}, {order}", f":is_inside, {beyond}"
    rows = handle.execute(
        f"""WITH page AS MATERIALIZED (
              SELECT {inside} AS is_inside, s.folded_name, s.kind, s.blob_id, s.id
              FROM symbols s INDEXED BY symbols_by_name
              WHERE {choice.names}
                AND (:kinds IS NULL OR s.kind IN (SELECT value FROM json_each(:kinds)))
                AND s.blob_id IN (SELECT f.blob_id {choice.files})
                AND ({order}) > ({beyond})
              ORDER BY {order} LIMIT :limit)
            SELECT p.is_inside, p.folded_name, p.kind, p.blob_id, p.id,
                   (SELECT f.path {choice.files} AND f.blob_id = p.blob_id
                    ORDER BY length(f.path), f.path LIMIT 1),
                   s.name, coalesce(s.scope, ''), s.kind, s.signature, b.language, s.line_start,
                   s.line_end, s.is_exported
            FROM page p CROSS JOIN symbols s ON s.id = p.id CROSS JOIN blobs b ON b.id = p.blob_id
            ORDER BY p.is_inside, p.folded_name, p.kind, p.blob_id, p.id""",  # noqa: S608
        {
            **choice.values,
            **after._asdict(),
            "after_kind": after.kind,
            "limit": limit,
        },
    )
    return [(Place(*row[:5]), _row_of(*row[5:])) for row in rows]


def most_symbols(handle: Handle) -> int:
    """Return a number that the symbols of all branches do not exceed, without counting them."""
    return int(handle.execute("SELECT coalesce(max(id), 0) FROM symbols").get)


def count_symbols(handle: Handle, choice: Choice) -> list[tuple[str, str, int]]:
    """Return kind, language and count of each combination; filters on both are ignored.

    They are counted here: SQLite would sort them, and take 100 instead of 40 ms for 190,000.
    """
    import numpy as np  # which most commands do without

    values = {**choice.values, "languages": None}
    files = f"SELECT b.language AS label, f.blob_id {choice.files}"
    languages, language_codes, of_files = _columns(handle, files, values)
    # All symbols are sooner read than looked up among those of all files.
    among = "s.blob_id IN (SELECT value FROM json_each(:shown))" if choice.path_function else _ALL
    symbols = f"""SELECT s.kind AS label, s.blob_id FROM symbols s INDEXED BY symbols_by_name
                  WHERE {choice.names} AND {among}"""  # noqa: S608 - constant fragments
    shown = json.dumps(of_files.tolist()) if choice.path_function else None
    kinds, kind_codes, of_symbols = _columns(handle, symbols, {**values, "shown": shown})
    if not languages or not kinds:
        return []
    code_of = np.full(max(of_files.max(), of_symbols.max()) + 1, -1)
    code_of[of_files] = language_codes
    is_shown = code_of[of_symbols] >= 0
    pairs = kind_codes[is_shown] * len(languages) + code_of[of_symbols[is_shown]]
    counts = np.bincount(pairs, minlength=len(kinds) * len(languages)).tolist()
    return [
        (*pair, number)
        for pair, number in zip(product(kinds, languages), counts, strict=True)
        if number
    ]


def read_kinds(
    handle: Handle, blob_ids: Sequence[int] | None
) -> tuple[list[str], "NDArray[np.int64]", "NDArray[np.int64]"]:
    """Return kinds, and of each symbol of some blobs, or of all, the place of its own and its blob.

    Args:
        handle: A read transaction.
        blob_ids: The blobs; None: all.
    """
    statement = "SELECT kind AS label, blob_id FROM symbols INDEXED BY symbols_by_name"
    if blob_ids is not None:
        statement = """SELECT s.kind AS label, s.blob_id FROM json_each(:ids) wanted
                       CROSS JOIN chunks c ON c.blob_id = wanted.value
                       CROSS JOIN symbols s ON s.id BETWEEN c.first_symbol_id
                                                    AND c.first_symbol_id + c.symbol_count - 1"""
    return _columns(handle, statement, {"ids": json.dumps(blob_ids)})


def _columns(
    handle: Handle, statement: str, values: dict[str, object]
) -> tuple[list[str], "NDArray[np.int64]", "NDArray[np.int64]"]:
    """Read labels and ids of blobs: the labels that there are, the place of each, and the ids.

    SQLite joins them to two texts, which is sooner done than to make a row of each.
    """
    import numpy as np  # as above

    labels, blob_ids = handle.execute(
        f"SELECT group_concat(label, ' '), group_concat(blob_id, ' ') FROM ({statement})",  # noqa: S608
        values,
    ).fetchall()[0]
    if labels is None:
        return [], np.zeros(0, np.int64), np.zeros(0, np.int64)
    ids = np.fromstring(str(blob_ids), np.int64, sep=" ")
    codes = _Codes()
    each = np.fromiter(map(codes.__getitem__, str(labels).split(" ")), np.int64, len(ids))
    return list(codes), each, ids


class _Codes(dict[str, int]):
    """Numbers of texts, from 0 on in the order in which they come."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def _row_of(path: bytes, *rest: Any) -> SymbolListRow:
    return SymbolListRow(os.fsdecode(path), *rest)


class NamedRow(NamedTuple):
    """A symbol of a name, or a file."""

    path: str
    name: str  # qualified; of a file its path
    kind: str  # of a file its language
    line: int
    is_exported: bool


def complete_names(handle: Handle, folded: str, limit: int) -> list[str]:
    """Return the lower-case symbol names with a prefix, each once, the shortest first."""
    rows = handle.execute(
        """SELECT folded_name FROM symbols WHERE folded_name >= :low AND folded_name < :high
           GROUP BY folded_name ORDER BY length(folded_name), folded_name LIMIT :limit""",
        {"low": folded, "high": folded + chr(0x10FFFF), "limit": limit},
    )
    return [name for (name,) in rows]


def find_named(handle: Handle, branch_id: int, folded: str) -> list[NamedRow]:
    """Return the first symbols of a lower-case name by path, in files of a branch."""
    rows = handle.execute(
        """SELECT first.path, s.qualified_name, s.kind, s.line_start, s.is_exported FROM
             (SELECT f.path, s.id FROM symbols s CROSS JOIN files f ON f.blob_id = s.blob_id
              WHERE s.folded_name = :folded AND f.branch_id = :branch_id
              ORDER BY f.path, s.id LIMIT :limit) first
           CROSS JOIN symbols s ON s.id = first.id
           ORDER BY first.path, s.id""",  # those of a file have rising ids
        {"folded": folded, "branch_id": branch_id, "limit": _PLACES_A_NAME},
    )
    return [NamedRow(os.fsdecode(path), *rest) for path, *rest in rows]


def files_with_words(handle: Handle, branch_id: int, match: str, limit: int) -> list[NamedRow]:
    """Return the files of a branch whose path matches an FTS5 expression, the shortest first."""
    rows = handle.execute(
        """SELECT first.path, b.language FROM
             (SELECT f.path, f.blob_id FROM file_paths p CROSS JOIN files f ON f.id = p.rowid
              WHERE p.file_paths MATCH :match AND f.branch_id = :branch_id
              ORDER BY length(f.path), f.path LIMIT :limit) first
           CROSS JOIN blobs b ON b.id = first.blob_id
           ORDER BY length(first.path), first.path""",
        {"match": match, "branch_id": branch_id, "limit": limit},
    )
    return [_file_row(path, language) for path, language in rows]


def _file_row(path: bytes, language: str) -> NamedRow:
    name = os.fsdecode(path)
    return NamedRow(name, name, language, 1, True)
