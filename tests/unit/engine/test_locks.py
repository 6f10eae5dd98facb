"""One owner of a lock, whatever others do with the file meanwhile."""

import errno
import fcntl
import os
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.errors import ProjectBusyError, UnavailableError
from engine.locks import (
    delete_notes,
    delete_stale_locks,
    holder_of,
    indexing_lock,
    is_being_indexed,
    new_file,
    project_file,
    take_lock,
)
from tests.support.command import StartedProcess
from tests.support.patience import patience

ROOT = str(Path(__file__).resolve().parents[3])

_HOLDER = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from engine.locks import indexing_lock
with indexing_lock(Path({database!r})):
    print("held", flush=True)
    sys.stdin.read()
"""

# Each process owns the lock many times and lays a marker while it does: two owners at once meet.
_OWNER = """
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from engine.locks import holder_of, take_lock
file, marker, turns = Path({file!r}), {marker!r}, {turns}
sys.stdin.readline()
while turns:
    lock = take_lock(file)
    if lock is None:
        holder_of(file)
        continue
    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    assert lock.is_in_place()
    assert holder_of(file) == str(os.getpid())
    os.unlink(marker)
    lock.close()
    turns -= 1
"""


def test_a_second_indexer_is_refused_until_the_first_dies(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    with StartedProcess(
        [sys.executable, "-c", _HOLDER.format(root=ROOT, database=str(database))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ProjectBusyError, match=str(holder.pid)), indexing_lock(database):
            pass
        holder.kill()
        holder.wait()
    assert (tmp_path / "locks/a.lock").read_text() == str(holder.pid)
    assert not is_being_indexed(database)
    with indexing_lock(database):
        assert is_being_indexed(database)
    assert list((tmp_path / "locks").iterdir()) == []


def test_who_deletes_the_lock_file_of_a_dead_process_does_not_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "a.db"
    lock = take_lock(tmp_path / "locks/a.lock")
    assert lock
    monkeypatch.setattr("engine.locks.time.sleep", lambda _s: lock.close())
    assert not is_being_indexed(database)


def test_processes_that_take_turns_never_own_a_lock_together(tmp_path: Path) -> None:
    """Each turn deletes the file while others are about to lock it."""
    file, marker = tmp_path / "locks/runner.lock", tmp_path / "marker"
    code = _OWNER.format(root=ROOT, file=str(file), marker=str(marker), turns=300)
    with ExitStack() as stack:
        owners = [
            stack.enter_context(
                subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
            )
            for _ in range(6)
        ]
        for owner in owners:
            assert owner.stdin
            owner.stdin.write(b"\n")
            owner.stdin.flush()
        assert [owner.wait() for owner in owners] == [0] * len(owners)
    assert list(file.parent.iterdir()) == []


def test_who_only_looks_keeps_nobody_from_a_lock(tmp_path: Path) -> None:
    file = tmp_path / "locks/runner.lock"
    file.parent.mkdir()
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            holder_of(file)

    lookers = [threading.Thread(target=look) for _ in range(4)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(300):
            file.touch()  # of a process that was killed
            lock = take_lock(file)
            assert lock
            lock.close()
    finally:
        is_over.set()
        for looker in lookers:
            looker.join()


def test_who_never_stops_looking_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "locks/runner.lock"
    file.parent.mkdir()
    with file.open("w") as stopped:
        fcntl.flock(stopped, fcntl.LOCK_SH)
        assert take_lock(file) is None
    lock = take_lock(file)
    assert lock
    lock.close()


def test_the_holder_is_told_without_taking_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "locks/runner.lock"
    assert holder_of(file) is None
    assert not file.parent.exists()
    lock = take_lock(file)
    assert lock
    with lock:
        assert holder_of(file) == str(os.getpid())
        before = file.stat().st_mtime_ns
        assert holder_of(file) == str(os.getpid())
        assert file.stat().st_mtime_ns == before
        lock.write("something longer, then")
        lock.write("short")
        assert holder_of(file) == "short"
    assert holder_of(file) is None
    assert not file.exists()


def test_a_lock_whose_file_was_replaced_leaves_the_new_one_alone(tmp_path: Path) -> None:
    file = tmp_path / "locks/runner.lock"
    first = take_lock(file)
    assert first
    file.unlink()
    assert not first.is_in_place()
    second = take_lock(file)
    assert second
    first.close()
    assert second.is_in_place()
    assert take_lock(file) is None
    second.close()
    assert not file.exists()


def test_a_new_file_is_not_that_of_who_had_the_name_before(tmp_path: Path) -> None:
    before = new_file(tmp_path / "locks/a.wait")
    after = new_file(tmp_path / "locks/a.wait")
    before.close()
    assert after.is_in_place()
    after.close()
    assert list((tmp_path / "locks").iterdir()) == []


def test_what_dead_processes_left_is_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    delete_stale_locks(tmp_path)
    assert not folder.exists()
    (tmp_path / "here.db").touch()
    held = take_lock(folder / "held.lock")
    assert held
    with held:
        for name in ("runner.lock", "here.watch", "here.inflight", "gone.inflight", "gone.wait"):
            (folder / name).touch()
        delete_stale_locks(tmp_path)
        left = {each.name for each in folder.iterdir()}
        assert left == {"held.lock", "here.inflight"}  # the next run of the job reads that
    delete_notes(tmp_path / "here.db")
    assert not project_file(tmp_path / "here.db", ".inflight").exists()


def test_a_folder_in_the_place_of_a_lock_is_told_and_goes_with_housekeeping(tmp_path: Path) -> None:
    empty, full = tmp_path / "locks/a.lock", tmp_path / "locks/b.lock"
    for each in (empty, full / "something"):
        each.mkdir(parents=True)
    for each in (empty, full):
        with pytest.raises(UnavailableError, match=f"{each} is a folder") as refused:
            take_lock(each)
        assert "delete" in refused.value.hint
        assert "writable" not in refused.value.hint
    delete_stale_locks(tmp_path)
    assert list((tmp_path / "locks").iterdir()) == [full]


def test_a_folder_in_the_place_of_a_note_stops_no_housekeeping(tmp_path: Path) -> None:
    folder = tmp_path / "locks/gone.1.cancel"
    for each in (folder / "something", tmp_path / "locks/gone.2.cancel"):
        each.mkdir(parents=True)
    (tmp_path / "locks/z.lock").touch()
    delete_stale_locks(tmp_path)
    assert list((tmp_path / "locks").iterdir()) == [folder]


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    file = tmp_path / "locks/runner.lock"
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(UnavailableError, match=f"cannot lock {file}: No locks") as refused:
        take_lock(file)
    assert "CAIRN_HOME" in refused.value.hint
    assert holder_of(file) is None
    assert len(os.listdir("/dev/fd")) == before


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    database = tmp_path / "data" / f"{'0' * 64}.db"
    place = project_file(database, ".watch")
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    look = "import sys, pathlib; from engine.locks import holder_of as look"
    ended = subprocess.run(
        [sys.executable, "-c", f"{look}; print(look(pathlib.Path(sys.argv[1])))", place],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patience(30),
        check=True,
    )
    assert ended.stdout == "None\n"


@pytest.mark.parametrize("name", ["", "locks"])
def test_a_folder_that_cannot_be_made_is_told(name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    if name:
        home.mkdir()
    (home / name).write_text("no folder")
    with pytest.raises(UnavailableError, match=str(home)):
        take_lock(home / "locks/runner.lock")


def test_only_this_user_can_look_into_what_is_made(tmp_path: Path) -> None:
    lock = take_lock(tmp_path / "home/locks/runner.lock")
    assert lock
    with lock:
        for path in (tmp_path / "home", tmp_path / "home/locks", lock.file):
            assert path.stat().st_mode & 0o077 == 0
