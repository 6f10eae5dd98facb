"""Connections that are lent to readers: which are lent again, and what becomes of the others."""

import os
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import apsw
import pytest

from engine.errors import EngineError, IndexCorruptError, ProjectNotFoundError
from engine.store.connection import Handle, Store
from engine.store.filters import register_path_filter
from engine.store.opening import Place, close, held_together, open_reader
from tests.support.patience import patience


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "project.db", busy_timeout_ms=100, create=True)
    yield store
    store.close()


def _is_closed(handle: Handle) -> bool:
    try:
        handle.status(apsw.SQLITE_DBSTATUS_CACHE_USED)
    except apsw.ConnectionClosedError:
        return True
    return False


def test_one_that_cannot_be_lent_again_is_closed_when_it_is_given_back(store: Store) -> None:
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        reads = store.read(), store.read()
        old = first.submit(reads[0].__enter__).result()
        store.reopen()
        new = second.submit(reads[1].__enter__).result()
        first.submit(reads[0].__exit__, None, None, None).result()
        second.submit(reads[1].__exit__, None, None, None).result()
    assert _is_closed(old)
    assert not _is_closed(new)
    with store.read() as handle:
        assert handle is new


@pytest.mark.parametrize("writes", [False, True])
def test_one_that_runs_a_statement_while_the_store_closes_is_closed_after_that(
    store: Store, *, writes: bool
) -> None:
    handles: list[Handle] = []
    is_running, may_end = threading.Event(), threading.Event()

    def wait(*_: object) -> int:
        is_running.set()
        return int(may_end.wait(patience(10)))

    def run(opened: AbstractContextManager[Handle]) -> None:
        with suppress(EngineError), opened as handle:
            handles.append(handle)
            handle.create_scalar_function("wait", wait, 0)
            assert handle.execute("SELECT wait()").get == 1

    thread = threading.Thread(target=run, args=(store.write() if writes else store.read(),))
    thread.start()
    assert is_running.wait(patience(10))
    store.close()
    may_end.set()
    thread.join()
    assert _is_closed(handles[0])


@pytest.mark.parametrize("writes", [False, True])
def test_one_that_is_between_two_statements_while_the_store_closes_goes_on(
    store: Store, *, writes: bool
) -> None:
    with store.write() if writes else store.read() as handle:
        closing = threading.Thread(target=store.close)
        closing.start()
        closing.join()
        assert handle.execute("SELECT count(*) FROM files").get == 0
    assert _is_closed(handle)


def test_what_its_functions_keep_is_dropped_when_it_is_given_back(store: Store) -> None:
    def accepts(_path: str, _language: str) -> bool:
        return True

    kept = weakref.ref(accepts)
    with store.read() as handle:
        register_path_filter(handle, "passes", accepts)
        del accepts
        with store.read() as nested:  # which ends nothing
            assert nested is handle
        assert handle.execute("SELECT passes(x'61', 'python')").get == 1
        assert kept()
    assert kept() is None
    with store.read() as again:
        assert again is handle
        with pytest.raises(apsw.SQLError, match="no such function"):
            again.execute("SELECT passes(x'61', 'python')")


def test_one_whose_statement_has_not_ended_is_not_lent_again(store: Store) -> None:
    with store.read() as handle:
        register_path_filter(handle, "passes", lambda _path, _language: True)
        rows = handle.execute("SELECT passes(x'61', value) FROM json_each('[1, 2]')")
        assert next(rows) == (1,)
    assert _is_closed(handle)


def test_one_that_keeps_a_snapshot_is_not_lent_again(store: Store) -> None:
    with store.write() as handle:
        handle.execute("CREATE TABLE t AS SELECT 1 AS x UNION ALL SELECT 2")
    with store.read() as before:
        rows = before.execute("SELECT x FROM t")
        assert next(rows) == (1,)
    with store.write() as handle:
        handle.execute("INSERT INTO t VALUES (3)")
    with store.read() as handle:
        assert handle is not before
        assert handle.execute("SELECT count(*) FROM t").get == 3


def test_one_that_cannot_read_the_schema_is_closed(store: Store) -> None:
    store.checkpoint()
    store.reopen()
    store.release_readers()
    with store.path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3000)
    with pytest.raises(IndexCorruptError) as caught, store.read():
        pass
    links = (os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    assert not [link for link in links if link.startswith(str(store.path))]
    assert caught.traceback  # which keeps what is open


def test_a_file_that_is_made_while_one_opens_it_is_there_or_gone(tmp_path: Path) -> None:
    place = Place(tmp_path / "made.db", int(patience(1000)), "")
    is_over = threading.Event()

    def make() -> None:
        while not is_over.is_set():
            place.path.touch()
            with held_together(place, alone=True):
                place.path.unlink()

    maker = threading.Thread(target=make)
    maker.start()
    try:
        for _ in range(3000):
            with suppress(ProjectNotFoundError):
                close(open_reader(place)[0])
    finally:
        is_over.set()
        maker.join()
