import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.watch.listener import EventSource, Notices, WatchFailedError
from tests.support.patience import patience

NOTHING = Notices(set(), set())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "watched"
    made.mkdir()
    return made


@pytest.fixture
def source(folder: Path) -> Iterator[EventSource]:
    with closing(EventSource([str(folder)])) as source:
        yield source


def test_what_changes_after_the_start_is_told(source: EventSource, folder: Path) -> None:
    (folder / "a.py").write_text("a = 1\n")
    told = source.wait(patience(30), threading.Event())
    assert (told.paths, told.gone) == ({str(folder / "a.py")}, set())


def test_what_is_deleted_and_made_anew_is_told_as_gone(source: EventSource, folder: Path) -> None:
    (folder / "a.py").write_text("a = 1\n")
    assert not source.wait(patience(30), threading.Event()).gone
    (folder / "a.py").unlink()
    (folder / "a.py").write_text("a = 2\n")
    told = source.wait(patience(30), threading.Event())
    assert told.paths == told.gone == {str(folder / "a.py")}


def test_without_a_change_it_waits_as_long_as_it_is_told(source: EventSource) -> None:
    assert source.wait(0.0, threading.Event()) == NOTHING
    started_s = time.monotonic()
    assert source.wait(0.2, threading.Event()) == NOTHING
    assert time.monotonic() - started_s >= 0.2


def test_once_woken_it_does_not_wait_and_watches_on(source: EventSource, folder: Path) -> None:
    woken = threading.Event()
    woken.set()
    told: list[Notices] = []
    waiting = threading.Thread(target=lambda: told.append(source.wait(3600.0, woken)), daemon=True)
    waiting.start()
    waiting.join(patience(30))
    assert told == [NOTHING]
    (folder / "a.py").write_text("a = 1\n")
    assert source.wait(patience(30), threading.Event()).paths == {str(folder / "a.py")}


def test_folders_that_are_gone_are_ignored(folder: Path) -> None:
    with closing(EventSource([str(folder), str(folder / "gone")])) as source:
        (folder / "a.py").write_text("a = 1\n")
        assert source.wait(patience(30), threading.Event()).paths == {str(folder / "a.py")}


def test_nothing_is_told_once_it_is_closed(source: EventSource) -> None:
    source.close()
    with pytest.raises(WatchFailedError, match="ended"):
        source.wait(1.0, threading.Event())
