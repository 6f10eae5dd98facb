import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import ProjectBusyError, UnavailableError
from engine.locks import hold_watch_lock, watch_status_of
from engine.state_records import WatchState, WatchStatus

STATUS = WatchStatus(state=WatchState.WATCHING, since="2026-01-01T00:00:00.000Z", pid=1, folders=3)


def test_a_status_is_shown_while_the_watcher_lives(tmp_path: Path) -> None:
    database = tmp_path / "p.db"
    assert watch_status_of(database) is None
    with hold_watch_lock(database) as lock:
        lock.publish(STATUS)
        assert watch_status_of(database) == STATUS
        longer = WatchStatus(state=WatchState.POLLING, reason="no room" * 50)
        lock.publish(longer)
        assert watch_status_of(database) == longer
        lock.publish(STATUS)
        assert watch_status_of(database) == STATUS
    assert watch_status_of(database) is None


def test_there_is_one_watcher_a_project(tmp_path: Path) -> None:
    with hold_watch_lock(tmp_path / "p.db") as lock:
        lock.publish(STATUS)
        with (
            pytest.raises(ProjectBusyError, match="watched by process 1"),
            hold_watch_lock(tmp_path / "p.db"),
        ):
            pass
        with hold_watch_lock(tmp_path / "other.db"):
            pass


def test_a_killed_watcher_leaves_no_lock(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from engine.locks import *;"
        "from engine.state_records import *; held = hold_watch_lock(Path(sys.argv[1]));"
        "held.__enter__().publish(WatchStatus(state=WatchState.WATCHING));"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    database = tmp_path / "p.db"
    subprocess.run([sys.executable, "-c", code, str(database)], check=False)
    assert (tmp_path / "locks/p.watch").read_bytes()
    assert watch_status_of(database) is None
    with hold_watch_lock(database):
        pass


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("no folder")
    with pytest.raises(UnavailableError), hold_watch_lock(tmp_path / "p.db"):
        pass


def test_what_is_no_status_is_none(tmp_path: Path) -> None:
    with hold_watch_lock(tmp_path / "p.db"):
        for content in (b"", b"{", b"{}", b'{"state": "odd"}', os.urandom(200)):
            (tmp_path / "locks/p.watch").write_bytes(content)
            assert watch_status_of(tmp_path / "p.db") is None
