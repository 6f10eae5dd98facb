"""The jobs of one project without an indexer: a ledger on a real file, and a clock that obeys."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import apsw

from engine.jobs.context import InFlightFile, JobContext
from engine.jobs.ledger import Ledger
from engine.jobs.progress import Expected
from engine.state_records import CheckpointKind, JobState
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import CheckpointRow, EventRow, JobRow
from tests.support.patience import patience

PROJECT_ID = "0123456789abcdef" * 4
START_MS = 1_700_000_000_000
DAY_MS = 24 * 3600 * 1000
RESULT: Mapping[str, object] = {"files_indexed": 1}
ERROR: Mapping[str, object] = {"error": "unavailable", "message": "gone", "details": {}}


class FakeClock:
    """Milliseconds that pass only when a test says so, and may go back."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


@contextmanager
def ledger_in(folder: Path, clock: FakeClock, project_id: str = PROJECT_ID) -> Iterator[Ledger]:
    """Open a project's ledger; its database is made when it is not there."""
    store = Store(folder / f"{project_id}.db", busy_timeout_ms=int(patience(5000)), create=True)
    try:
        with store.write() as handle:
            project.insert_project(
                handle, project_id=project_id, root=b"/tree", max_file_size=1, now_ms=clock()
            )
        yield Ledger(store, project_id, clock)
    finally:
        store.close()


@contextmanager
def context_of(ledger: Ledger, row: JobRow, clock: FakeClock) -> Iterator[JobContext]:
    """Give a claimed job its context, as the runner does."""
    in_flight = InFlightFile(ledger.store.path)
    context = JobContext(ledger.store, row, in_flight, Expected(), clock)
    try:
        yield context
    finally:
        context.close()


def claimed(ledger: Ledger, runner: str = "runner") -> JobRow:
    """Ask for a job and claim it."""
    row = ledger.claim(ledger.enqueue({"n": 1}).row, runner)
    assert row is not None
    return row


def job_in(ledger: Ledger, state: JobState) -> JobRow:
    """Bring a new job into a state, by legal ways."""
    row = ledger.enqueue({"n": 1}).row
    if state is JobState.PENDING:
        return row
    if state is not JobState.CANCELLED:
        taken = ledger.claim(row, "runner")
        assert taken is not None
        row = taken
    if state is JobState.BLOCKED:
        ledger.block(row, "disk full", ERROR)
    elif state is JobState.COMPLETED:
        ledger.complete(row, RESULT, {})
    elif state is JobState.FAILED:
        ledger.fail(row, ERROR, {})
    elif state is JobState.CANCELLED:
        ledger.request_cancel(row.uuid)
    return ledger.find(row.uuid)


def events_of(ledger: Ledger, row: JobRow) -> list[EventRow]:
    """Give all events of a job."""
    with ledger.store.read() as handle:
        return jobs.read_events(handle, row.id, limit=-1)


def contexts(ledger: Ledger, row: JobRow) -> list[tuple[str, dict[str, object]]]:
    """Give type and context of all events of a job."""
    return [(event.type, json.loads(event.context)) for event in events_of(ledger, row)]


def last_context(ledger: Ledger, row: JobRow) -> dict[str, object]:
    """Give the context of its last event."""
    return contexts(ledger, row)[-1][1]


def checkpoints(ledger: Ledger) -> int:
    """Count the checkpoints of all jobs."""
    with ledger.store.read() as handle:
        return int(handle.execute("SELECT count(*) FROM job_checkpoints").get)


def add_checkpoint(ledger: Ledger, row: JobRow) -> None:
    """Give a job a checkpoint."""
    with ledger.store.write(bookkeeping=True) as handle:
        one = CheckpointRow(CheckpointKind.POSITION, START_MS, "{}", None)
        jobs.insert_checkpoint(handle, row.id, one)


@contextmanager
def sync_levels(ledger: Ledger) -> Iterator[list[int]]:
    """Collect the level of syncing of each commit: 2 when the disk has it, 1 when it may wait."""
    writer = ledger.store._writer
    assert writer
    levels: list[int] = []

    def note() -> bool:
        levels.append(int(writer.pragma("synchronous")))
        return False

    writer.set_commit_hook(note)
    try:
        yield levels
    finally:
        writer.set_commit_hook(None)


def everything(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Give every row of every table that can be read as it is: two equal files give the same."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        names = handle.execute(
            """SELECT name FROM sqlite_schema
               WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"""
        ).fetchall()
        return {str(name): handle.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}
    finally:
        handle.close()
