"""The shape of the tables."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from engine.errors import IndexBusyError, UnavailableError
from engine.store import migrate
from engine.store.connection import Store
from engine.store.migrate import APPLICATION_ID, newest, steps
from engine.store.opening import Place
from tests.support.holding import held
from tests.support.oracle import version_of
from tests.support.patience import patience

_PATIENCE_MS = int(patience(10_000))
_OPENERS = 8


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


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The index of a project as the first version left it."""
    file = tmp_path / f"{'a' * 64}.db"
    handle = apsw.Connection(str(file))
    handle.execute("PRAGMA journal_mode = WAL")
    handle.execute(steps()[0])
    handle.pragma("user_version", 1)
    handle.pragma("application_id", APPLICATION_ID)
    handle.execute("INSERT INTO fingerprints VALUES (1, 'old', 0)")
    handle.close()
    return file


def check_upgraded(file: Path) -> None:
    copy = file.with_suffix(".v1.db")
    assert (version_of(file), version_of(copy)) == (newest(), 1)
    for each in (file, copy):
        with closing(apsw.Connection(str(each))) as handle:
            assert handle.execute("SELECT value FROM fingerprints").get == "old"
    assert [each.name for each in file.parent.glob("*.part-*")] == []


def open_in_threads(file: Path) -> None:
    at_once = threading.Barrier(_OPENERS, timeout=patience(10))

    def open_it() -> None:
        at_once.wait()
        Store(file, busy_timeout_ms=_PATIENCE_MS).close()

    with ThreadPoolExecutor(_OPENERS) as pool:
        for opened in [pool.submit(open_it) for _ in range(_OPENERS)]:
            opened.result()


def test_many_threads_that_open_an_older_file_at_once_all_get_it(old: Path) -> None:
    open_in_threads(old)
    check_upgraded(old)


def test_one_thread_alone_copies_an_older_file(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[int] = []
    keep_copy = migrate._keep_copy

    def keep_and_count(place: Place, version: int) -> None:
        copied.append(version)
        keep_copy(place, version)

    monkeypatch.setattr(migrate, "_keep_copy", keep_and_count)
    open_in_threads(old)
    assert copied == [1]
    check_upgraded(old)


def test_many_processes_that_open_an_older_file_at_once_all_get_it(old: Path) -> None:
    program = """if True:
        import sys
        from pathlib import Path
        from engine.store.connection import Store
        sys.stdin.read()
        Store(Path(sys.argv[1]), busy_timeout_ms=int(sys.argv[2])).close()
    """
    command = [sys.executable, "-c", program, str(old), str(_PATIENCE_MS)]
    openers = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(4)]
    for opener in openers:
        assert opener.stdin
        opener.stdin.close()
    assert [opener.wait() for opener in openers] == [0] * 4
    check_upgraded(old)


def test_nothing_is_copied_of_a_file_that_another_process_writes(old: Path) -> None:
    before = sorted(old.parent.iterdir())
    with held("database", old), pytest.raises(IndexBusyError):
        Store(old, busy_timeout_ms=100)
    assert version_of(old) == 1
    assert sorted(old.parent.glob(f"{old.stem}.v*")) == []
    assert before == [old]
    Store(old, busy_timeout_ms=_PATIENCE_MS).close()
    check_upgraded(old)


def test_a_copy_that_cannot_be_kept_leaves_the_old_file(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_part: Path, _copy: Path) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(UnavailableError, match="cannot be written"):
            Store(old, busy_timeout_ms=100)
    assert version_of(old) == 1
    assert sorted(old.parent.glob(f"{old.stem}.v*")) == []
    Store(old, busy_timeout_ms=100).close()
    check_upgraded(old)


def test_half_copies_of_dead_processes_go_and_those_of_others_stay(old: Path) -> None:
    dead, alive = 4_194_305, os.getppid()  # Linux has no process above 4,194,304
    gone = [old.with_suffix(f".v1.part-{dead}{end}") for end in ("", "-7")]
    gone.append(old.with_suffix(f".v1.part-{os.getpid()}-7"))  # of one before, with our number
    kept = old.with_suffix(f".v1.part-{alive}")
    for each in (*gone, kept):
        each.write_bytes(b"half a copy")
    Store(old, busy_timeout_ms=100).close()
    assert [each for each in (*gone, kept) if each.exists()] == [kept]
    kept.unlink()
    check_upgraded(old)
