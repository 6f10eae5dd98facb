"""Are the rows of jobs legal? A part of the oracle."""

from typing import Any

import apsw

from engine.jobs.ledger import TRANSITIONS
from engine.state_records import TERMINAL, EventType, JobState

#: What a job is after an event that changes its state.
_STATES = {
    EventType.CREATED: JobState.PENDING,
    EventType.STARTED: JobState.RUNNING,
    EventType.PAUSED: JobState.BLOCKED,
    EventType.RESUMED: JobState.RUNNING,
    EventType.COMPLETED: JobState.COMPLETED,
    EventType.FAILED: JobState.FAILED,
    EventType.CANCELLED: JobState.CANCELLED,
}


def check_jobs(handle: apsw.Connection) -> None:
    """Fail unless each job is in a state that its events lead to; an older file has no jobs."""
    if not handle.execute("SELECT 1 FROM sqlite_schema WHERE name = 'jobs'").fetchall():
        return
    jobs: list[tuple[Any, ...]] = handle.execute(
        "SELECT id, state, finished_at_ms FROM jobs"
    ).fetchall()
    for job_id, state, finished_at_ms in jobs:
        assert (JobState(state) in TERMINAL) == (finished_at_ms is not None)
        events: list[tuple[Any, ...]] = handle.execute(
            "SELECT sequence, type, at_ms FROM job_events WHERE job_id = ? ORDER BY sequence",
            (job_id,),
        ).fetchall()
        assert [event[0] for event in events] == list(range(1, len(events) + 1))
        times = [event[2] for event in events]
        assert times == sorted(times)
        assert _end_of([EventType(event[1]) for event in events]) == state
    active = [state for _, state, _ in jobs if JobState(state) not in TERMINAL]
    assert len(active) <= 1, active


def _end_of(events: list[EventType]) -> JobState:
    """Give the state that events lead to, each by a legal way."""
    assert events[0] is EventType.CREATED
    assert EventType.CREATED not in events[1:]
    state = JobState.PENDING
    for event in events[1:]:
        after = _STATES.get(event)
        if after is None or (after is state is JobState.RUNNING):  # taken over from the dead
            continue
        assert TRANSITIONS[state][after] is event
        state = after
    return state
