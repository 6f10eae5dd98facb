"""A disk that takes half a second for each sync: indexing gets through, and nobody waits for it."""

import threading
import time
from pathlib import Path

from engine.catalog import Catalog
from engine.search_records import Mode, SearchRequest
from tests.support.faults.stage import Stage, prepare_changes
from tests.support.faults.vfs import Disk, FaultVFS, faulty
from tests.support.oracle import check_sound, contents
from tests.support.patience import patience

_SYNC_S = 0.5
_ANSWERED_WITHIN_S = 5.0
_QUESTION = SearchRequest(query="open session", mode=Mode.KEYWORD)


class _Answers(threading.Event):
    """Holds up each sync until a search was answered since it began, or none is for long."""

    def __init__(self, vfs: FaultVFS) -> None:
        super().__init__()
        self._vfs = vfs
        self.met: set[int] = set()  # how many syncs there had been when each came

    def note(self) -> None:
        self.met.add(self._vfs.counts["sync"])

    def wait(self, timeout: float | None = None) -> bool:
        number = self._vfs.counts["sync"]
        deadline_s = time.monotonic() + (timeout or patience(_ANSWERED_WITHIN_S))
        while number not in self.met and time.monotonic() < deadline_s:
            time.sleep(0.01)
        return number in self.met


def test_searches_go_on_while_the_disk_is_slow(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    prepare_changes(stage)
    stage.restore()
    done = threading.Event()
    errors: list[BaseException] = []
    disk = Disk(sync_s=_SYNC_S)
    with faulty(disk) as vfs, stage.catalog() as searching:
        answers = _Answers(vfs)

        def search() -> None:
            try:
                while not done.is_set():
                    assert answered(stage, searching)
                    answers.note()
            except BaseException as error:
                errors.append(error)

        assert answered(stage, searching)
        thread = threading.Thread(target=search)
        thread.start()
        disk.may_sync = answers
        with stage.catalog() as catalog:
            catalog.create(str(stage.tree)).index()
        syncs = vfs.counts["sync"]
        disk.may_sync = None
        done.set()
        thread.join()
    assert errors == []
    assert syncs >= 3
    # While each sync took its time, there were answers.
    assert set(range(1, syncs + 1)) <= answers.met
    check_sound(stage.database)
    assert contents(stage.database) == stage.fresh_contents()


def answered(stage: Stage, catalog: Catalog) -> bool:
    """Say whether a search of the tree finds something."""
    return bool(catalog.open(str(stage.tree)).search(_QUESTION).hits)
