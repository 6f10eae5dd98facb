"""Questions about commits read no large table as a whole."""

from pathlib import Path
from typing import Any

import pytest

from engine.store import history
from engine.store.connection import Store
from engine.store.history import CommitRule

_ASKED = {
    "all": lambda handle: history.read_passing(handle, CommitRule()),
    "paths": lambda handle: history.read_passing(handle, CommitRule(path_ids=(1, 2))),
    "followed": lambda handle: history.read_passing(
        handle, CommitRule(path_ids=(1,), followed=(1, 2))
    ),
    "of a name": lambda handle: history.read_named_changes(handle, 1),
    "authors": lambda handle: history.read_authors_among(handle, (1, 2)),
    "not paths": lambda handle: history.read_passing(handle, CommitRule(not_path_ids=(1, 2))),
    "days": lambda handle: history.read_passing(handle, CommitRule(after_s=1, before_s=2)),
    "name": lambda handle: history.read_ids_of(handle, "abc1234"),
    "count": history.count_commits,
    "oldest": history.read_oldest,
}


@pytest.mark.parametrize("asked", _ASKED)
def test_no_large_table_is_read_as_a_whole(tmp_path: Path, asked: str) -> None:
    store = Store(tmp_path / "a.db", busy_timeout_ms=100, create=True)
    statements: list[tuple[str, Any]] = []

    def note(_: object, sql: str, values: Any) -> bool:
        statements.append((sql, values))
        return True

    with store.read() as handle:
        handle.exec_trace = note
        _ASKED[asked](handle)
        handle.exec_trace = None
        plan = [
            row[3]
            for sql, values in statements
            for row in handle.execute(f"EXPLAIN QUERY PLAN {sql}", values)
        ]
    store.close()
    assert plan
    for step in plan:
        assert not (step.startswith("SCAN commit") and "INDEX" not in step), plan
