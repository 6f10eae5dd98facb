"""Which databases have an active job, asked only when they were written."""

import os
import threading
import time
from pathlib import Path

import apsw
import pytest

from engine.errors import UnavailableError
from engine.faults import use_vfs
from engine.jobs.ledger import Ledger
from engine.jobs.watchlist import ActiveJob, Watchlist, database_files
from tests.support.jobs import until
from tests.support.ledger import RESULT, FakeClock, ledger_in
from tests.support.permissions import permissions_hold

OTHER_ID = "fedcba9876543210" * 4


def make_old(file: Path) -> None:
    """Give the files of a database a time that no commit of this moment can have."""
    for name in (file, Path(f"{file}-wal")):
        if name.exists():
            os.utime(name, ns=(0, time.time_ns() - 3600 * 10**9))


def seen(watchlist: Watchlist) -> dict[Path, str | None]:
    return {found.file: found.row.state if found.row else None for found in watchlist.changed()}


def ended(ledger: Ledger) -> None:
    row = ledger.claim(ledger.enqueue({}).row, "runner")
    assert row
    ledger.complete(row, RESULT, {})


def _make_newer(ledger: Ledger) -> None:
    with ledger.store.write() as handle:
        handle.pragma("user_version", 9999)


def test_a_database_is_given_when_it_was_written_and_not_again(tmp_path: Path) -> None:
    clock = FakeClock()
    watchlist = Watchlist(tmp_path)
    assert seen(watchlist) == {}
    with ledger_in(tmp_path, clock) as one, ledger_in(tmp_path, clock, OTHER_ID) as two:
        one.enqueue({})
        first, second = one.store.path, two.store.path
        make_old(first)
        make_old(second)
        assert seen(watchlist) == {first: "pending", second: None}
        assert seen(watchlist) == {}
        ended(two)
        assert seen(watchlist) == {second: None}
        two.enqueue({})
        make_old(second)
        assert seen(watchlist) == {second: "pending"}
        watchlist.mark_changed(first)
        assert seen(watchlist) == {first: "pending"}


def test_what_was_written_just_now_is_asked_until_its_time_is_past(tmp_path: Path) -> None:
    with ledger_in(tmp_path, FakeClock()) as ledger:
        watchlist = Watchlist(tmp_path)
        ledger.enqueue({})
        os.utime(ledger.store.path)
        assert seen(watchlist) == {ledger.store.path: "pending"}
        os.utime(ledger.store.path)
        assert seen(watchlist) == {ledger.store.path: "pending"}


def test_what_was_written_is_asked_again_each_time_that_it_is_twice_as_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit is seen when the disk has taken it, long after its last byte was written."""
    written_ns, now_ns = 10**18, 0
    monkeypatch.setattr("engine.jobs.watchlist.time.time_ns", lambda: now_ns)
    with ledger_in(tmp_path, FakeClock()) as ledger:
        ledger.enqueue({})
        for name in (ledger.store.path, Path(f"{ledger.store.path}-wal")):
            os.utime(name, ns=(0, written_ns))
        watchlist, touches = Watchlist(tmp_path), Watchlist(tmp_path)
        doubled = [100 << times for times in range(20)]
        read_at_ms = []
        for age_ms in sorted([10, 20, 50, *doubled, *(age + age // 2 for age in doubled)]):
            now_ns = written_ns + age_ms * 1_000_000
            found = list(watchlist.changed())
            assert list(touches.touched()) == [each.file for each in found]
            read_at_ms += [age_ms for _ in found]
        assert read_at_ms == [10, 20, 50, *doubled[:14]]


class _SlowFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        time.sleep(0.5)
        super().xSync(flags)


class _SlowDisk(apsw.VFS):
    """A disk that takes half a second for what must be durable."""

    def __init__(self) -> None:
        super().__init__("slow", base="")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> _SlowFile:  # noqa: N802
        return _SlowFile("", name, flags)


def test_a_job_whose_request_the_disk_took_slowly_is_found(tmp_path: Path) -> None:
    disk = _SlowDisk()
    use_vfs("slow")
    try:
        with ledger_in(tmp_path, FakeClock()) as ledger:
            watchlist = Watchlist(tmp_path)
            request = threading.Thread(target=ledger.enqueue, args=({},))
            request.start()
            states: list[str | None] = []

            def is_found() -> bool:
                states.extend(seen(watchlist).values())
                return "pending" in states

            until(is_found)
            request.join()
            assert None in states
    finally:
        use_vfs("")
        disk.unregister()


def test_a_forgotten_project_has_no_job_any_more(tmp_path: Path) -> None:
    watchlist = Watchlist(tmp_path)
    with ledger_in(tmp_path, FakeClock()) as ledger:
        ledger.enqueue({})
        file = ledger.store.path
    assert seen(watchlist) == {file: "pending"}
    for name in tmp_path.iterdir():
        name.unlink()
    assert list(watchlist.changed()) == [ActiveJob(file, None)]
    assert list(watchlist.changed()) == []


def test_only_databases_of_projects_are_looked_at_and_a_damaged_one_stops_nobody(
    tmp_path: Path,
) -> None:
    damaged = tmp_path / f"{OTHER_ID}.db"
    damaged.write_bytes(b"not a database" * 1000)
    (tmp_path / "notes.db").write_bytes(b"")
    (tmp_path / f"{OTHER_ID}.v3.db").write_bytes(b"")
    with ledger_in(tmp_path, FakeClock()) as ledger:
        ledger.enqueue({})
        assert database_files(tmp_path) == [ledger.store.path, damaged]
        watchlist = Watchlist(tmp_path)
        make_old(damaged)
        make_old(ledger.store.path)
        assert seen(watchlist) == {ledger.store.path: "pending", damaged: None}
        assert seen(watchlist) == {}


def test_one_that_cannot_be_read_now_is_asked_again(tmp_path: Path) -> None:
    watchlist = Watchlist(tmp_path)
    with ledger_in(tmp_path, FakeClock()) as ledger, permissions_hold():
        ledger.enqueue({})
        file = ledger.store.path
        file.chmod(0)
        make_old(file)
        assert seen(watchlist) == {file: None}
        file.chmod(0o600)
        assert seen(watchlist) == {file: "pending"}
        assert seen(watchlist) == {}


@pytest.mark.parametrize("mode", [0, 0o300])
def test_a_data_directory_that_may_not_be_listed_for_a_while_has_not_lost_its_projects(
    tmp_path: Path, mode: int
) -> None:
    watchlist = Watchlist(tmp_path)
    with ledger_in(tmp_path, FakeClock()) as ledger, permissions_hold():
        ledger.enqueue({})
        make_old(ledger.store.path)
        assert seen(watchlist) == {ledger.store.path: "pending"}
        tmp_path.chmod(mode)
        try:
            assert seen(watchlist) == {}
            with pytest.raises(UnavailableError, match="cannot be listed: Permission denied"):
                database_files(tmp_path)
            with pytest.raises(UnavailableError, match="cannot be listed"):
                list(watchlist.touched())
        finally:
            tmp_path.chmod(0o700)
        assert seen(watchlist) == {}
    assert database_files(tmp_path / "missing") == []


def test_a_newer_version_that_writes_makes_it_outdated_but_not_an_index_from_before(
    tmp_path: Path,
) -> None:
    with ledger_in(tmp_path, FakeClock()) as one, ledger_in(tmp_path, FakeClock(), OTHER_ID) as two:
        _make_newer(one)
        watchlist = Watchlist(tmp_path)
        assert set(seen(watchlist).values()) == {None}
        assert not watchlist.is_outdated
        _make_newer(two)
        assert seen(watchlist)[two.store.path] is None
        assert watchlist.is_outdated
