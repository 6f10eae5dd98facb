"""Jobs of projects whose databases other processes lock: what they cost the other jobs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from engine.errors import Cancelled
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject
from tests.support.jobs import until
from tests.support.ledger import FakeClock, ledger_in
from tests.unit.jobs.test_runner_stuck import runner_over, running

if TYPE_CHECKING:
    from engine.jobs.ledger import Ledger

_LOCKED = 4
_STOPS_S = 5  # the busy timeout of one database


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    handle = apsw.Connection(str(file))
    try:
        handle.execute("BEGIN IMMEDIATE")
        yield
    finally:
        handle.close()


def _state_of(ledger: "Ledger") -> str | None:
    row = ledger.active()
    return row.state if row else None


def _until_stopped(context: JobContext) -> dict[str, object]:
    until(context.cancelled)
    raise Cancelled


def test_a_job_is_cancelled_in_time_beside_projects_that_are_locked(tmp_path: Path) -> None:
    opened: list[Path] = []
    clock = FakeClock()
    with ExitStack() as open_ledgers:
        ledgers: dict[str, Ledger] = {}
        for number in range(1 + _LOCKED):
            project_id = f"{number}" * 64
            ledgers[project_id] = open_ledgers.enter_context(ledger_in(tmp_path, clock, project_id))
            ledgers[project_id].enqueue({})
            clock.now_ms += 1  # the first of them starts first
        runs, *locked = ledgers.values()

        def open_project(file: Path) -> OpenProject:
            opened.append(file)
            return OpenProject("/tree", ledgers[file.stem], {"index": _until_stopped})

        runner = runner_over(tmp_path, open_project, most_running=1 + _LOCKED)
        with ExitStack() as locks:
            for ledger in locked:
                locks.enter_context(_locked(ledger.store.path))
            open_ledgers.enter_context(running(runner))
            row = runs.active()
            assert row
            until(lambda: locked[0].store.path in opened)
            runs.request_cancel(row.uuid)
            until(lambda: runs.find(row.uuid).state == "cancelled", within_s=_STOPS_S)
        until(lambda: {_state_of(ledger) for ledger in locked} == {"running"})
