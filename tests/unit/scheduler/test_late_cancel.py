"""A job that ends between the look at it and the note that it is to be cancelled."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from engine.clock import now_ms
from engine.errors import JobConflictError
from engine.jobs.execution import WaitNote
from engine.jobs.ledger import Ledger
from engine.locks import cancel_file, read_cancel, runner_lock_file, take_lock
from engine.roots import project_id_of
from engine.state_records import JobState
from engine.store.connection import Store
from engine.store.jobs import JobRow
from tests.support.jobs import catalog_in, until
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

_BUSY_MS = int(patience(5000))
_ENDS_AFTER_S = 0.5  # after the note was written
_ENDS: dict[JobState, Callable[[Ledger, JobRow], None]] = {
    JobState.COMPLETED: lambda ledger, row: ledger.complete(row, {}, {}),
    JobState.FAILED: lambda ledger, row: ledger.fail(row, {}, {}),
    JobState.CANCELLED: lambda ledger, row: ledger.cancel(row, {}),
}


@pytest.mark.parametrize("end", _ENDS)
def test_only_a_job_that_was_cancelled_is_said_to_be(
    end: JobState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is locked, so that a note is written: when the job has just ended."""
    home, root = tmp_path / "home", write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        file = home / f"{project_id_of(str(root))}.db"
        note = cancel_file(file, job_id)
        runner = take_lock(runner_lock_file(home))
        assert runner
        with (
            runner,
            closing(Store(file, busy_timeout_ms=_BUSY_MS)) as store,
            closing(apsw.Connection(str(file))) as other,
        ):
            ledger = Ledger(store, project_id_of(str(root)), now_ms)
            claimed = ledger.claim(ledger.find(job_id), "another process")
            assert claimed
            other.set_busy_timeout(_BUSY_MS)
            other.execute("BEGIN IMMEDIATE")
            opens = os.open

            def ends_the_job(path: Any, *arguments: Any, **named: Any) -> int:
                if path == note and other.in_transaction:
                    other.execute("ROLLBACK")
                    _ENDS[end](ledger, claimed)
                return opens(path, *arguments, **named)

            monkeypatch.setattr(os, "open", ends_the_job)
            if end is JobState.CANCELLED:
                assert catalog.jobs.cancel(job_id).status is end
            else:
                with pytest.raises(JobConflictError, match=f"{end} already"):
                    catalog.jobs.cancel(job_id)
            assert not other.in_transaction
        assert catalog.jobs.show(job_id).status is end
        assert not note.exists()


def test_who_cancels_a_job_whose_end_is_being_written_waits_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.scheduler.queue._END_S", patience(30))
    home, root = tmp_path / "home", write_tree(tmp_path / "tree", SAMPLE)
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(root)).job_id
        file = home / f"{project_id_of(str(root))}.db"
        runner = take_lock(runner_lock_file(home))
        assert runner
        with runner, closing(Store(file, busy_timeout_ms=_BUSY_MS)) as store:
            ledger = Ledger(store, project_id_of(str(root)), now_ms)
            claimed = ledger.claim(ledger.find(job_id), "another process")
            assert claimed
            note = WaitNote(file, claimed)
            has_looked = threading.Event()

            def look() -> None:
                note.begin_end()
                has_looked.set()
                until(lambda: read_cancel(file, job_id) is not None)
                time.sleep(_ENDS_AFTER_S)

            def complete() -> None:
                ledger.complete(claimed, {}, {}, look)
                note.close()

            thread = threading.Thread(target=complete)
            thread.start()
            has_looked.wait()
            with pytest.raises(JobConflictError, match="completed already"):
                catalog.jobs.cancel(job_id)
            thread.join()
        assert catalog.jobs.show(job_id).status is JobState.COMPLETED
        assert read_cancel(file, job_id) is None
