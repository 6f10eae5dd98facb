"""The shape of the tables."""

from pathlib import Path

import apsw
import pytest

from engine.store.connection import Store
from engine.store.migrate import APPLICATION_ID, steps


def schema_of(handle: apsw.Connection) -> list[str]:
    return [
        sql
        for (sql,) in handle.execute(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name"
        )
    ]


def test_every_table_is_strict(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db", busy_timeout_ms=100, create=True)
    with store.read() as handle:
        loose = handle.execute(
            """SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
                 AND NOT strict AND name NOT LIKE 'sqlite_%'"""
        ).fetchall()
    store.close()
    assert loose == []


def test_opening_twice_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    shapes = []
    for _ in range(2):
        store = Store(file, busy_timeout_ms=100, create=True)
        with store.read() as handle:
            shapes.append(schema_of(handle))
        store.close()
    assert shapes[0] == shapes[1]
    assert len(steps()) >= 1


def test_two_processes_may_migrate_at_once(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    first = Store(file, busy_timeout_ms=100, create=True)
    second = Store(file, busy_timeout_ms=100, create=True)
    with first.read() as one, second.read() as two:
        assert schema_of(one) == schema_of(two)
    first.close()
    second.close()


@pytest.mark.parametrize("version", range(1, len(steps())))
def test_an_older_file_becomes_as_a_new_one(tmp_path: Path, version: int) -> None:
    old = apsw.Connection(str(tmp_path / "old.db"))
    for step in steps()[:version]:
        old.execute(step)
    old.pragma("user_version", version)
    old.pragma("application_id", APPLICATION_ID)
    old.close()
    shapes = []
    for name in ("old.db", "new.db"):
        store = Store(tmp_path / name, busy_timeout_ms=100, create=name == "new.db")
        with store.read() as handle:
            shapes.append(schema_of(handle))
        store.close()
    assert shapes[0] == shapes[1]
