"""The rows that outlive the contents of an index: copied into a new one, or saved from damage.

The index can be made again from the files; these rows cannot. Of a damaged file they are read one
by one, around each place that cannot be read, so that an unreadable page costs only its own rows.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from engine.errors import EngineError
from engine.faults import vfs_name
from engine.store.checks import expected_schema
from engine.store.connection import Handle
from engine.store.opening import Place, close_held, open_reader
from engine.store.project import are_patterns

#: Tables whose rows outlive the contents of an index, those that others refer to first.
KEPT_TABLES = ("jobs", "job_events", "job_checkpoints", "memories")
#: Whose bytes that are no text are replaced; a row of another table is left out for one.
_PRECIOUS = "memories"
#: Columns of the project's row that define which files belong to it.
_PATTERNS = ("include_patterns", "exclude_patterns")
_SCOPE = (*_PATTERNS, "max_file_size")
_ROWIDS_END = (1 << 63) - 1
#: Rows one after the other that cannot be read, after which the rest of a table is given up. Each
#: costs some 10 microseconds; a lost page inside the tree of a table has some 10,000.
_MOST_LOST = 50_000

Row = dict[str, Any]


class SalvagedRows(NamedTuple):
    """The rows that could be read of a damaged database."""

    rows: Mapping[str, list[Row]]  # of each kept table
    found: Mapping[str, int]  # how many each table has, as far as that can be told
    scope: Row  # of the project; empty when it could not be read


class Kept(NamedTuple):
    """How many rows of a table were kept."""

    number: int
    of: int  # that were there, as far as that can be told


def salvage(file: Path, busy_timeout_ms: int) -> SalvagedRows:
    """Return all readable rows of a database; none if SQLite cannot open it."""
    rows: dict[str, list[Row]] = {table: [] for table in KEPT_TABLES}
    found = dict.fromkeys(KEPT_TABLES, 0)
    scope: Row = {}
    with suppress(apsw.Error, EngineError):
        place = Place(file, busy_timeout_ms, vfs_name())
        reader = open_reader(place)
        try:
            for table in KEPT_TABLES:
                rows[table] = list(_Table(reader.handle, table).read())
                found[table] = _count(reader.handle, table, len(rows[table]))
            for row in _Table(reader.handle, "project").read():
                scope = {name: row[name] for name in _SCOPE if name in row}
        finally:
            close_held(place, reader.handle)
    return SalvagedRows(rows, found, scope)


def _count(handle: Handle, table: str, least: int) -> int:
    with suppress(apsw.Error):  # mostly an index is counted, whose pages are others
        return max(least, int(handle.execute(f"SELECT count(*) FROM {table}").get))  # noqa: S608
    return least


class _Table:
    """The rows of one table that can be read.

    They are read from the first one on, then from the last one back, and between the two places
    where that ended from each row on that can be read again.
    """

    def __init__(self, handle: Handle, table: str) -> None:
        self._handle = handle
        self._table = table
        self._types = _types_of(handle, table)
        self._above, self._below = 0, _ROWIDS_END  # of those that are not read yet
        self._is_read = not self._types

    def read(self) -> Iterator[Row]:
        """Yield the rows."""
        lost = 0
        for order in ("ASC", "DESC"):
            yield from self._read_until_lost(order)
        while not self._is_read and lost < _MOST_LOST:
            self._above += 1
            lost += 1
            for row in self._read_until_lost("ASC"):
                lost = 0
                yield row

    def _read_until_lost(self, order: str) -> Iterator[Row]:
        if self._is_read:
            return
        texts = {name for name, type_ in self._types.items() if type_ == "TEXT"}
        columns = [
            f'CAST("{name}" AS BLOB)' if name in texts else f'"{name}"' for name in self._types
        ]
        statement = f"""SELECT rowid, {", ".join(columns)} FROM {self._table}
                        WHERE rowid > ? AND rowid < ? ORDER BY rowid {order}"""  # noqa: S608
        try:
            rows = self._handle.execute(statement, (self._above, self._below))
            for number, *values in rows:
                if not self._above < number < self._below:  # a tree that is out of order
                    return
                if order == "ASC":
                    self._above = number
                else:
                    self._below = number
                row = dict(zip(self._types, values, strict=True))
                if self._decode(row, texts):
                    yield row
        except (apsw.Error, UnicodeDecodeError):
            return
        self._is_read = True

    def _decode(self, row: Row, texts: set[str]) -> bool:
        """Turn bytes into texts; return whether they are what the table needs."""
        errors = "replace" if self._table == _PRECIOUS else "strict"
        try:
            for name in texts:
                if row[name] is not None:
                    row[name] = row[name].decode("utf-8", errors)
        except UnicodeDecodeError:
            return False
        return True


def _types_of(handle: Handle, table: str) -> dict[str, str]:
    """Return the types of the columns of a table; none if the schema cannot be read."""
    with suppress(apsw.Error, UnicodeDecodeError):
        rows = handle.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
        return dict(rows)
    return {}


def restore_rows(handle: Handle, salvaged: SalvagedRows) -> dict[str, Kept]:
    """Write saved rows into a fresh database; return how many were written, by table.

    Rows that violate a constraint because of their damage are left out, and so are the rows that
    refer to them.
    """
    kept = {}
    for table in KEPT_TABLES:
        columns = _columns_of(handle, table)
        number = sum(_insert(handle, table, columns, row) for row in salvaged.rows[table])
        kept[table] = Kept(number, salvaged.found[table])
    for name in set(_SCOPE) & salvaged.scope.keys():
        if name in _PATTERNS and not are_patterns(salvaged.scope[name]):
            continue
        with suppress(apsw.Error):
            handle.execute(f"UPDATE project SET {name} = ?", (salvaged.scope[name],))  # noqa: S608
    return kept


def copy_kept_rows(old: Handle, new: Handle) -> list[int]:
    """Replace the rows that outlive contents by those of another database.

    Which files belong to the project is not copied. The words of the copied memories are not
    either: they have to be made.

    Args:
        old: A read transaction of the other one.
        new: The transaction to write in.

    Returns:
        The memories that are new or have changed, and so have no words.
    """
    before = dict(_versions_of_memories(new))
    tables = (*KEPT_TABLES, "memory_vectors")
    for table in reversed(tables):
        new.execute(f"DELETE FROM {table}")  # noqa: S608 - names from above
    for table in tables:
        names = _columns_of(new, table)
        rows = old.execute(f"SELECT {', '.join(names)} FROM {table}")  # noqa: S608
        marks = ", ".join("?" * len(names))
        new.executemany(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608
            rows,
        )
    [row] = old.execute("SELECT created_at_ms, changes FROM project").fetchall()
    new.execute("UPDATE project SET created_at_ms = ?, changes = ? + 1", row)
    after = dict(_versions_of_memories(new))
    new.executemany(
        "DELETE FROM memory_terms WHERE rowid = ?",
        ((id_,) for id_, version in before.items() if after.get(id_) != version),
    )
    return [id_ for id_, version in after.items() if before.get(id_) != version]


def _versions_of_memories(handle: Handle) -> Iterator[tuple[int, tuple[bytes, int]]]:
    for id_, uuid, updated_at_ms in handle.execute("SELECT id, uuid, updated_at_ms FROM memories"):
        yield id_, (uuid, updated_at_ms)


def _insert(handle: Handle, table: str, columns: list[str], row: Row) -> int:
    names = [name for name in columns if name in row]
    marks = ", ".join("?" * len(names))
    try:
        handle.execute(
            f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608
            [row[name] for name in names],
        )
    except apsw.Error:
        return 0
    return 1


def _columns_of(handle: Handle, table: str) -> list[str]:
    assert table in expected_schema()
    rows = handle.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in rows]
