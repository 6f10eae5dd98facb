"""Databases that are replaced, as by a repair or a backup, while their jobs do no work."""

from pathlib import Path
from typing import Any

import pytest

from engine.errors import DiskFullError, IndexCorruptError
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject
from engine.jobs.ledger import Ledger
from engine.jobs.runner import Runner
from engine.state_records import JobState
from tests.support.jobs import until
from tests.support.ledger import RESULT, FakeClock, ledger_in
from tests.unit.jobs.test_runner_stuck import runner_over, running


def _blocked(_: JobContext) -> dict[str, object]:
    raise DiskFullError("no room")


def _work(_: JobContext) -> dict[str, object]:
    return dict(RESULT)


class _Damaged(Ledger):
    """A ledger in whose database jobs can begin, but not end."""

    def complete(self, *_: Any, **__: Any) -> None:
        """Fail."""
        raise IndexCorruptError("database disk image is malformed")

    def fail(self, *_: Any, **__: Any) -> None:
        """Fail."""
        raise IndexCorruptError("database disk image is malformed")


@pytest.mark.parametrize("is_damaged", [False, True])
def test_the_job_of_a_database_that_replaces_that_of_a_blocked_job_is_run(
    tmp_path: Path, ledger: Ledger, clock: FakeClock, is_damaged: bool
) -> None:
    damaged = _Damaged(ledger.store, ledger.project_id)
    opened = [
        OpenProject("/tree", damaged, {"index": _work})
        if is_damaged
        else OpenProject("/tree", ledger, {"index": _blocked})
    ]
    dependencies = runner_over(tmp_path, lambda _: opened[-1])._dependencies
    file, row = ledger.store.path, ledger.enqueue({}).row
    runner = Runner(dependencies._replace(is_back=lambda *_: False))

    def is_idle() -> bool:
        is_blocked = ledger.find(row.uuid).state == JobState.BLOCKED
        return runner.unwritten_end(row.uuid) is not None if is_damaged else is_blocked

    with running(runner):
        until(is_idle)
        with ledger_in(tmp_path / "new", clock) as new:
            next_id = new.enqueue({}).row.uuid
        for suffix in ("", "-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        new.store.path.rename(file)
        with ledger_in(tmp_path, clock) as new:
            opened.append(OpenProject("/tree", new, {"index": _work}))
            until(lambda: new.find(next_id).state == JobState.COMPLETED)
