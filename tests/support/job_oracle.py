"""Is the history of these jobs one that can be? One oracle for all tests that break jobs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from engine.state_records import ACTIVE, TERMINAL, EventType, JobState
from tests.support.patience import patience

_MOVES = {
    EventType.STARTED: (JobState.PENDING, JobState.RUNNING),
    EventType.PAUSED: (JobState.RUNNING, JobState.BLOCKED),
}
_ENDS = {
    EventType.COMPLETED: (JobState.RUNNING, JobState.COMPLETED),
    EventType.FAILED: (JobState.RUNNING, JobState.BLOCKED, JobState.FAILED),
    EventType.CANCELLED: (*ACTIVE, JobState.CANCELLED),
}
_ONLY_WHILE_RUNNING = (EventType.PROGRESS, EventType.CHECKPOINT)


class Event(NamedTuple):
    """An event as stored."""

    sequence: int
    type: EventType
    at_ms: int
    context: dict[str, Any]


#: A job that puts a new index in the place of the old one has its result before its end.
_WITH_RESULT = (JobState.RUNNING, JobState.BLOCKED, JobState.COMPLETED)


class StoredJob(NamedTuple):
    """A job as stored, with its history."""

    uuid: str
    state: JobState
    attempt: int
    runner: str | None
    created_at_ms: int
    started_at_ms: int | None
    finished_at_ms: int | None
    files_done: int
    files_total: int | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    suspects: dict[str, int]
    checkpoints: tuple[str, ...]  # their kinds
    events: tuple[Event, ...]


def stored_jobs(file: Path) -> list[StoredJob]:
    """Read the jobs of a database, the oldest first."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    handle.set_busy_timeout(int(patience(5000)))
    try:
        handle.execute("BEGIN")
        return list(_read(handle))
    finally:
        handle.close()


def check_jobs(file: Path) -> list[StoredJob]:
    """Fail unless the history of every job of a database is legal; gives the jobs."""
    found = stored_jobs(file)
    assert sum(job.state in ACTIVE for job in found) <= 1, "two active jobs"
    for job in found:
        try:
            _check(job)
        except AssertionError as error:
            history = "\n".join(f"  {event}" for event in job.events)
            error.add_note(f"job {job.uuid} is {job.state}\n{history}")
            raise
    return found


class Samples:
    """Jobs looked at again and again: what was reached once is never lost."""

    def __init__(self) -> None:
        self._last: dict[str, StoredJob] = {}
        #: How often a job was looked at.
        self.number = 0

    def take(self, file: Path) -> list[StoredJob]:
        """Look at the jobs of a database; fail when one of them went back."""
        found = stored_jobs(file)
        for job in found:
            self.number += 1
            before = self._last.get(job.uuid)
            self._last[job.uuid] = job
            if before is None:
                continue
            assert job.events[: len(before.events)] == before.events, "history was changed"
            assert job.files_done >= before.files_done, f"{before.files_done} → {job.files_done}"
            assert job.attempt >= before.attempt
            assert before.started_at_ms in (None, job.started_at_ms)
            if before.state in TERMINAL:
                assert job == before, "it has ended and changed"
        return found


def _check(job: StoredJob) -> None:
    assert [event.sequence for event in job.events] == list(range(1, len(job.events) + 1))
    assert job.events[0].type is EventType.CREATED
    times = [event.at_ms for event in job.events]
    assert times == sorted(times), "times fall"
    has_ended = job.state in TERMINAL
    assert has_ended == (job.finished_at_ms is not None)
    assert job.result is not None or job.state is not JobState.COMPLETED
    assert job.result is None or job.state in _WITH_RESULT
    assert (job.error is not None) == (job.state is JobState.FAILED)
    assert not (has_ended and job.checkpoints)
    assert (job.started_at_ms is None) == (job.attempt == 0)
    _check_moves(job)
    _check_progress(job)


def _check_moves(job: StoredJob) -> None:
    """Follow the events from state to state."""
    state = JobState.PENDING
    claims = 0
    for event in job.events[1:]:
        assert event.type is not EventType.CREATED
        assert state not in TERMINAL, f"{event.type} after the end"
        claims += "attempt" in event.context
        if event.type in _MOVES:
            before, after = _MOVES[event.type]
            assert state is before, f"{event.type} while {state}"
            state = after
        elif event.type is EventType.RESUMED:  # taken over, or no longer blocked
            taken_over = "attempt" in event.context
            assert state is JobState.BLOCKED or (taken_over and state is JobState.RUNNING)
            state = JobState.RUNNING
        elif event.type in _ENDS:
            *before_end, after = _ENDS[event.type]
            assert state in before_end, f"{event.type} while {state}"
            state = after
        elif event.type in _ONLY_WHILE_RUNNING:
            assert state is JobState.RUNNING, f"{event.type} while {state}"
    assert state is job.state
    assert claims == job.attempt


def _check_progress(job: StoredJob) -> None:
    """What is said to be done never falls, and nothing is done before the files are listed."""
    done = [
        int(event.context.get("files_processed", event.context.get("files_done", 0)))
        for event in job.events
        if {"files_processed", "files_done"} & event.context.keys()
    ]
    assert done == sorted(done), f"progress falls: {done}"
    assert not done or done[-1] <= job.files_done
    assert all("files_processed" in e.context for e in job.events if e.type is EventType.PROGRESS)
    assert job.files_done <= (job.files_total or 0)
    if job.state is JobState.COMPLETED:
        assert job.files_done == job.files_total
    kinds = [event.context["kind"] for event in job.events if event.type is EventType.CHECKPOINT]
    assert not kinds or kinds[0] == "file_list"


def _read(handle: apsw.Connection) -> Iterator[StoredJob]:
    rows = handle.execute(
        """SELECT id, uuid, state, attempt, runner, created_at_ms, started_at_ms, finished_at_ms,
                  files_done, files_total, result, error, suspects FROM jobs ORDER BY id"""
    ).fetchall()
    for job_id, *columns in rows:
        row: list[Any] = columns
        result, error, suspects = row[9:]
        events = handle.execute(
            """SELECT sequence, type, at_ms, context FROM job_events WHERE job_id = ?
               ORDER BY sequence""",
            (job_id,),
        )
        kinds = handle.execute(
            "SELECT kind FROM job_checkpoints WHERE job_id = ? ORDER BY id", (job_id,)
        )
        history = tuple(
            Event(sequence, EventType(type_), at_ms, json.loads(context))
            for sequence, type_, at_ms, context in events
        )
        yield StoredJob._make(
            [
                row[0],
                JobState(row[1]),
                *row[2:9],
                json.loads(result) if result else None,
                json.loads(error) if error else None,
                json.loads(suspects),
                tuple(kind for (kind,) in kinds),
                history,
            ]
        )
