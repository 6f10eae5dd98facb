"""A disk that takes half a second for each sync: indexing gets through, and nobody waits for it."""

import threading
from pathlib import Path

from engine.catalog import Catalog
from engine.search_records import Mode, SearchRequest
from tests.support.faults.stage import Stage, prepare_changes
from tests.support.faults.vfs import Disk, faulty
from tests.support.oracle import check_sound, contents

_SYNC_S = 0.5
_QUESTION = SearchRequest(query="open session", mode=Mode.KEYWORD)


def test_searches_go_on_while_the_disk_is_slow(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path)
    prepare_changes(stage)
    stage.restore()
    done = threading.Event()
    errors: list[BaseException] = []
    searches: list[int] = []  # how many syncs there had been when each was answered
    disk = Disk(sync_s=_SYNC_S)
    with faulty(disk) as vfs, stage.catalog() as searching:

        def search() -> None:
            try:
                while not done.is_set():
                    assert answered(stage, searching)
                    searches.append(vfs.counts["sync"])
            except BaseException as error:
                errors.append(error)

        assert answered(stage, searching)
        thread = threading.Thread(target=search)
        thread.start()
        with stage.catalog() as catalog:
            catalog.create(str(stage.tree)).index()
        syncs = vfs.counts["sync"]
        done.set()
        thread.join()
    assert errors == []
    assert syncs >= 3
    # Between two syncs, each of them slower than many searches, there were answers.
    assert set(range(1, syncs)) <= set(searches)
    check_sound(stage.database)
    assert contents(stage.database) == stage.fresh_contents()


def answered(stage: Stage, catalog: Catalog) -> bool:
    """Say whether a search of the tree finds something."""
    return bool(catalog.open(str(stage.tree)).search(_QUESTION).hits)
