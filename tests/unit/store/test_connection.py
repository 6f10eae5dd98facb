"""Opening, writing, reading and what goes wrong."""

import itertools
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import pytest

from engine.errors import (
    IndexBusyError,
    IndexCorruptError,
    IndexTooNewError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.store import connection, project
from engine.store.connection import Store
from engine.store.migrate import APPLICATION_ID, steps
from tests.support.patience import patience

ROOT = str(Path(__file__).resolve().parents[3])

# Opens and closes the file again and again, so that now this process is the last, now another.
_VISITOR = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from engine.store.connection import Store
sys.stdin.readline()
for turn in range({turns}):
    store = Store(Path({file!r}), busy_timeout_ms=20_000)
    if {writes}:
        with store.write():
            pass
    else:
        with store.read() as handle:
            handle.execute("SELECT changes FROM project").get
    store.close()
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "project.db", busy_timeout_ms=100, create=True)
    yield store
    store.close()


def write_project(store: Store) -> None:
    with store.write() as handle:
        project.insert_project(
            handle, project_id="a" * 64, root=b"/root", max_file_size=1, now_ms=0
        )


def test_a_new_file_has_the_newest_shape_and_is_private(store: Store) -> None:
    with store.read() as handle:
        assert handle.pragma("user_version") == len(steps())
        assert handle.pragma("application_id") == APPLICATION_ID
        assert handle.pragma("journal_mode") == "wal"
        assert handle.pragma("foreign_keys") == 1
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_readers_see_a_commit_and_nothing_before_it(store: Store) -> None:
    with store.write() as handle:
        project.insert_project(
            handle, project_id="a" * 64, root=b"/root", max_file_size=1, now_ms=0
        )
        with store.read() as reader:
            assert project.read_project(reader) is None
    with store.read() as reader:
        assert project.read_project(reader) is not None


def test_a_failing_body_rolls_back(store: Store) -> None:
    def fail() -> None:
        with store.write() as handle:
            project.insert_project(
                handle, project_id="a" * 64, root=b"/root", max_file_size=1, now_ms=0
            )
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with store.read() as reader:
        assert project.read_project(reader) is None
    write_project(store)


def test_readers_cannot_write(store: Store) -> None:
    with pytest.raises(Exception, match="cannot be written"), store.read() as handle:
        handle.execute("DELETE FROM project")


def test_threads_that_read_at_once_have_connections_of_their_own(store: Store) -> None:
    handles: list[apsw.Connection] = []
    together = threading.Barrier(3)

    def read() -> None:
        with store.read() as handle, store.read() as nested:
            assert nested is handle
            handles.append(handle)
            together.wait()

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(handles)) == 3
    with store.read() as handle:
        assert handle in handles


def test_readers_that_nobody_uses_are_counted_and_closed(store: Store) -> None:
    write_project(store)
    store.release_memory()
    assert store.cached_bytes == 0
    with store.read() as handle:
        assert project.read_project(handle)
        store.release_readers()
        assert project.read_project(handle)
    assert store.cached_bytes
    store.release_unused(time.monotonic() - 60)
    assert store.cached_bytes
    store.release_unused(time.monotonic())
    assert store.cached_bytes == 0
    assert store._writer is None
    write_project(store)


def test_threads_that_read_one_after_the_other_share_a_connection(store: Store) -> None:
    write_project(store)

    def read() -> None:
        with store.read() as handle:
            assert handle.execute("SELECT count(*) FROM project").get == 1

    def descriptors() -> int:
        links = (os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
        return sum(link.startswith(str(store.path)) for link in links)

    read()
    counts = []
    for _ in range(20):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
        counts.append(descriptors())
    assert counts[-1] == counts[2], counts  # SQLite closes a file when the next one closes it
    read()
    with store.write():
        read()


def test_a_lock_that_stays_is_a_busy_index(store: Store) -> None:
    other = apsw.Connection(str(store.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(IndexBusyError):
        write_project(store)
    other.execute("ROLLBACK")
    write_project(store)
    other.close()


def test_a_lock_is_waited_for_as_long_as_the_setting_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LOOK_S", 0.0)
    looks = itertools.count(1)
    other = apsw.Connection(str(tmp_path / "project.db"))
    with closing(Store(tmp_path / "project.db", busy_timeout_ms=600_000, create=True)) as store:
        other.execute("BEGIN IMMEDIATE")
        with store.giving_up(lambda: next(looks) > 2000), pytest.raises(IndexBusyError):
            write_project(store)
        other.execute("ROLLBACK")
        write_project(store)
    other.close()


def test_a_wait_for_a_lock_ends_when_its_store_is_closed(tmp_path: Path) -> None:
    store = Store(tmp_path / "project.db", busy_timeout_ms=600_000, create=True)

    def close_elsewhere() -> bool:
        closing_ = threading.Thread(target=store.close)
        closing_.start()
        closing_.join()
        return False

    with closing(apsw.Connection(str(store.path))) as other:
        other.execute("BEGIN IMMEDIATE")
        with store.giving_up(close_elsewhere), pytest.raises(IndexBusyError):
            write_project(store)
    store.close()


def test_a_full_disk_is_told_and_nothing_is_half_written(store: Store) -> None:
    with store.write() as handle:
        pages = handle.pragma("page_count")
        handle.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnavailableError, match="no room"), store.write() as handle:
        handle.execute("CREATE TABLE big AS SELECT zeroblob(1000000) AS x")
    write_project(store)


def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    other = apsw.Connection(str(file))
    other.execute("PRAGMA application_id = 77")
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(IndexCorruptError, match="not an index"):
        Store(file, busy_timeout_ms=100)


def test_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.db"
    file.write_text("this is no database, " * 100)
    with pytest.raises(IndexCorruptError):
        Store(file, busy_timeout_ms=100)


def test_a_newer_file_is_refused_and_left_alone(store: Store) -> None:
    with store.write() as handle:
        handle.pragma("user_version", 999)
    store.close()
    before = store.path.read_bytes()
    with pytest.raises(IndexTooNewError, match="999"):
        Store(store.path, busy_timeout_ms=100)
    assert store.path.read_bytes() == before


def test_a_missing_file_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(ProjectNotFoundError, match="gone"):
        Store(tmp_path / "none.db", busy_timeout_ms=100)
    assert not (tmp_path / "none.db").exists()


def test_a_file_that_was_replaced_is_told_as_such(store: Store, tmp_path: Path) -> None:
    write_project(store)
    copy = tmp_path / "copy.db"
    store.copy_to(copy)
    store.close()
    os.replace(copy, store.path)
    with pytest.raises(ProjectNotFoundError, match="removed or replaced") as caught, store.read():
        pass
    assert caught.value.hint.startswith("try again")


def test_the_wal_is_kept_small(store: Store) -> None:
    with store.write() as handle:
        handle.execute("CREATE TABLE big (x BLOB)")
    for _ in range(60):
        with store.write() as handle:
            handle.execute("INSERT INTO big VALUES (zeroblob(2000000))")
    wal = Path(f"{store.path}-wal")
    assert wal.stat().st_size < 64 << 20
    store.checkpoint()
    assert wal.stat().st_size == 0


def test_a_checkpoint_that_waits_for_a_reader_lets_others_write(store: Store) -> None:
    write_project(store)
    others = Store(store.path, busy_timeout_ms=600_000)
    jobs = Store(store.path, busy_timeout_ms=600_000)
    with ThreadPoolExecutor(1) as pool:
        with others.read() as handle:
            project.read_project(handle)
            with store.write() as writer:  # which the reader does not see
                project.finish_project(writer, now_ms=1)
            emptied = pool.submit(jobs.checkpoint)
            for number in range(40):
                with others.write(patience_s=patience(4)) as writer:
                    project.finish_project(writer, now_ms=number)
                time.sleep(0.01)
            assert not emptied.done()
        emptied.result(patience(4))
    assert Path(f"{store.path}-wal").stat().st_size == 0
    others.close()
    jobs.close()


def test_every_write_that_is_kept_counts_as_a_change(store: Store) -> None:
    def changes() -> int | None:
        with store.read() as handle:
            return project.count_changes(handle)

    assert changes() is None
    write_project(store)
    assert changes() == 1
    with pytest.raises(ZeroDivisionError), store.write() as handle:
        project.finish_project(handle, now_ms=1 // 0)
    assert changes() == 1
    with store.read() as handle:
        before = project.count_changes(handle)
        other = Store(store.path, busy_timeout_ms=100)
        with other.write() as writer:
            project.finish_project(writer, now_ms=1)
        other.close()
        assert project.count_changes(handle) == before == 1  # as the rest of its snapshot
    assert changes() == 2


def beside(file: Path) -> list[str]:
    """Name what SQLite has laid beside a database."""
    return sorted(each.name.removeprefix(file.name) for each in file.parent.glob(f"{file.name}-*"))


def test_the_last_that_closes_a_file_leaves_nothing_beside_it(store: Store) -> None:
    write_project(store)
    with closing(Store(store.path, busy_timeout_ms=100)) as reader:
        with reader.read():
            assert beside(store.path) == ["-shm", "-wal"]
        store.close()
        assert beside(store.path) == ["-shm", "-wal"]
        with reader.read() as handle:
            assert project.read_project(handle)
    assert beside(store.path) == []


def test_a_reader_puts_what_a_killed_writer_left_in_its_place(store: Store, tmp_path: Path) -> None:
    write_project(store)
    left = tmp_path / "left.db"
    for suffix in ("", "-wal"):
        shutil.copy(f"{store.path}{suffix}", f"{left}{suffix}")
    with closing(Store(left, busy_timeout_ms=100)) as reader, reader.read() as handle:
        assert project.read_project(handle)
    assert beside(left) == []
    with closing(Store(left, busy_timeout_ms=100)) as reader, reader.read() as handle:
        assert project.read_project(handle)


def test_a_reader_writes_nothing(store: Store, tmp_path: Path) -> None:
    write_project(store)
    store.copy_to(tmp_path / "copy.db")
    with store.read() as handle, pytest.raises(apsw.ReadOnlyError):
        handle.execute("UPDATE project SET max_file_size = 2")


def test_processes_that_open_and_close_a_file_at_once_lose_nothing(store: Store) -> None:
    write_project(store)
    store.close()
    turns, kinds = 60, (True, True, False, False, False)
    with ExitStack() as stack:
        visitors = []
        for writes in kinds:
            code = _VISITOR.format(root=ROOT, file=str(store.path), turns=turns, writes=writes)
            visitor = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
            visitors.append(stack.enter_context(visitor))
        for visitor in visitors:
            assert visitor.stdin
            visitor.stdin.write(b"\n")
            visitor.stdin.flush()
        assert [visitor.wait() for visitor in visitors] == [0] * len(kinds)
    assert beside(store.path) == []
    with closing(Store(store.path, busy_timeout_ms=100)) as after, after.read() as handle:
        assert project.count_changes(handle) == 1 + turns * sum(kinds)
        assert handle.execute("PRAGMA integrity_check").get == "ok"


def test_a_large_wal_that_a_reader_kept_shrinks_with_the_next_writes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of another database cannot empty it while a reader is in a transaction."""
    write_project(store)
    monkeypatch.setattr("engine.store.connection._WAL_LIMIT_BYTES", 1 << 20)
    other = Store(store.path.with_name("other.db"), busy_timeout_ms=100, create=True)
    asker = Store(store.path, busy_timeout_ms=100)  # as of another process
    wal = Path(f"{store.path}-wal")
    with closing(other), closing(asker):
        write_project(other)
        with other.write() as handle:
            handle.execute("UPDATE project SET include_patterns = hex(zeroblob(2000000))")
        with asker.read() as reader:
            assert reader.execute("SELECT changes FROM project").get == 1
            store.replace_contents(other, lambda _old, _new: None, lambda: None)
        assert wal.stat().st_size > 4_000_000
        store.make_room()
        for _ in range(3):
            with store.write():
                pass
        assert wal.stat().st_size <= 1 << 20
