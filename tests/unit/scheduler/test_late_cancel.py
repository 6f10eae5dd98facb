"""A job that ends between the look at it and the note that it is to be cancelled."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from engine.clock import now_ms
from engine.errors import JobConflictError
from engine.jobs.ledger import Ledger
from engine.locks import cancel_file, runner_lock_file, take_lock
from engine.roots import project_id_of
from engine.state_records import JobState
from engine.store.connection import Store
from engine.store.jobs import JobRow
from tests.support.jobs import catalog_in
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

_BUSY_MS = int(patience(5000))
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
