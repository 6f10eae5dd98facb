"""Integrity checks of columns of text, for the doctor: SQLite takes any bytes for one.

Whoever reads a row with bytes that are no UTF-8 fails, so they are read as bytes here.
"""

from typing import Any, NamedTuple

from engine.errors import IndexCorruptError
from engine.store.checks import expected_schema
from engine.store.connection import Handle
from engine.store.jobs import object_in

#: Whose texts have checks of their own, after which single rows are repaired.
_REPAIRABLE = frozenset({"blobs", "commits", "memories", "symbols"})
#: The columns of ``jobs`` that hold a JSON object, or nothing.
_OBJECTS_OF_JOBS = ("parameters", "counts", "suspects", "result", "error")


class RowTexts(NamedTuple):
    """All columns of text of a row together."""

    rowid: int
    owner: int
    joined: bytes

    @property
    def is_readable(self) -> bool:
        """Whether they are UTF-8."""
        try:
            self.joined.decode()
        except UnicodeDecodeError:
            return False
        return True


def read_row_texts(
    handle: Handle, table: str, owner: str, after: int, limit: int
) -> list[RowTexts]:
    """Return the texts of the next rows after one.

    Args:
        handle: A read transaction.
        table: The table.
        owner: Its column with the row to repair.
        after: A rowid.
        limit: The most rows.
    """
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""SELECT rowid, {owner}, {_joined(handle, table)} FROM {table}
            WHERE rowid > ? ORDER BY rowid LIMIT ?""",  # noqa: S608 - our own names
        (after, limit),
    ).fetchall()
    return [RowTexts(*row) for row in rows]


def read_unreadable_tables(handle: Handle) -> list[str]:
    """Return the tables with a row of which a text is no UTF-8, but those with other checks."""
    found = []
    for table, sql in expected_schema().items():
        if table in _REPAIRABLE or not sql.startswith(f"CREATE TABLE {table} "):
            continue
        joined = _joined(handle, table)
        if joined:
            rows = handle.execute(f"SELECT {joined} FROM {table}")  # noqa: S608 - our own names
            if not all(RowTexts(0, 0, text).is_readable for (text,) in rows):
                found.append(table)
    return found


class DamagedJob(NamedTuple):
    """A job of which something that should be a JSON object is none."""

    id: int
    uuid: str
    state: str
    columns: tuple[str, ...] = ()
    events: tuple[int, ...] = ()  # ids of events whose context is none
    checkpoints: tuple[int, ...] = ()  # ids of checkpoints whose state is none


def read_damaged_jobs(handle: Handle) -> list[DamagedJob]:
    """Return the jobs with a part that should be a JSON object and is something else."""
    names = ", ".join(f"CAST({name} AS BLOB)" for name in _OBJECTS_OF_JOBS)
    rows = handle.execute(
        f"""SELECT id, CAST(uuid AS BLOB), state, {names}
            FROM jobs ORDER BY id"""  # noqa: S608 - our own names
    )
    events = _damaged_rows(handle, "job_events", "context")
    checkpoints = _damaged_rows(handle, "job_checkpoints", "state")
    found = []
    for id_, uuid, state, *texts in rows:
        pairs = zip(_OBJECTS_OF_JOBS, texts, strict=True)
        columns = tuple(name for name, text in pairs if text is not None and not _is_object(text))
        parts = columns, tuple(events.get(id_, ())), tuple(checkpoints.get(id_, ()))
        if any(parts):
            found.append(DamagedJob(id_, uuid.decode("utf-8", "replace"), state, *parts))
    return found


def _damaged_rows(handle: Handle, table: str, column: str) -> dict[int, list[int]]:
    """Return the ids of the rows of each job of which a column holds no JSON object."""
    found: dict[int, list[int]] = {}
    rows = handle.execute(
        f"""SELECT id, job_id, CAST({column} AS BLOB)
            FROM {table} ORDER BY id"""  # noqa: S608 - our own names
    )
    for id_, job_id, text in rows:
        if not _is_object(text):
            found.setdefault(job_id, []).append(id_)
    return found


def _is_object(text: bytes) -> bool:
    try:
        object_in(text.decode())
    except (UnicodeDecodeError, IndexCorruptError):
        return False
    return True


def _joined(handle: Handle, table: str) -> str:
    """Return an expression that joins all texts of a row; empty for a table without any."""
    names = handle.execute(
        "SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,)
    ).fetchall()
    texts = " || ' ' || ".join(f"coalesce({name}, '')" for (name,) in names)
    return f"CAST({texts} AS BLOB)" if texts else ""
