"""What commits say of files: the same whether words are kept, and without reading all commits."""

from pathlib import Path

import pytest

from engine.search.past_changes import PastChanges
from engine.store import history
from engine.store.connection import Handle, Store
from engine.store.history import CommitFile, NewCommit

WORDS = ('"login"', '"slow"')


def _commit(number: int, subject: str) -> NewCommit:
    path = f"src/step_{number}.py"
    return NewCommit(
        name=bytes([number]) * 20,
        parents=(),
        author="Ada",
        email="ada@example.org",
        committed_at_s=number * 7919 % 50,
        subject=subject,
        body=b"",
        file_count=1,
        files=(CommitFile("M", path.encode(), None, 1, 1),),
        is_here=True,
        is_partial=False,
        is_cut=False,
        terms=(subject, "", path, ""),
    )


def _steps(handle: Handle) -> list[str]:
    """Return how SQLite goes through tables to tell what commits say of files."""
    statements: list[tuple[str, object]] = []

    def note(_: object, sql: str, values: object) -> bool:
        statements.append((sql, values))
        return True

    handle.exec_trace = note
    PastChanges().shares(handle, WORDS, keeps_words=False)
    handle.exec_trace = None
    return [
        row[3]
        for sql, values in statements
        for row in handle.execute(f"EXPLAIN QUERY PLAN {sql}", values)  # type: ignore[arg-type]
    ]


def test_only_commits_with_the_words_are_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.db", busy_timeout_ms=100, create=True)
    with store.write() as handle:
        equal = [_commit(number, "Repair the slow login") for number in range(1, 81)]
        better = [_commit(number, "Slow login, slow login") for number in range(81, 91)]
        other = [_commit(number, "Add a cache of answers") for number in range(91, 200)]
        history.insert_commits(handle, equal + better + other)
    with store.read() as handle:
        found = [PastChanges().shares(handle, WORDS, keeps_words=keeps) for keeps in (True, False)]
        steps = _steps(handle)
    store.close()
    assert found[0].keys() > {f"src/step_{number}.py" for number in range(81, 91)}
    assert found[1] == pytest.approx(found[0])
    assert steps
    assert not [step for step in steps if step.startswith("SCAN commits")], steps
