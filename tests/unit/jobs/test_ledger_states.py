"""The table of transitions is that of the specification, and nothing else."""

import pytest

from engine.jobs.ledger import TRANSITIONS, IllegalTransitionError, event_of
from engine.state_records import ACTIVE, TERMINAL, EventType, JobState

PENDING, RUNNING, BLOCKED = JobState.PENDING, JobState.RUNNING, JobState.BLOCKED
COMPLETED, FAILED, CANCELLED = JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED

LEGAL = {
    (PENDING, RUNNING),
    (PENDING, CANCELLED),
    (RUNNING, COMPLETED),
    (RUNNING, FAILED),
    (RUNNING, CANCELLED),
    (RUNNING, BLOCKED),
    (BLOCKED, RUNNING),
    (BLOCKED, FAILED),
    (BLOCKED, CANCELLED),
}


@pytest.mark.parametrize("before", JobState)
@pytest.mark.parametrize("after", JobState)
def test_nine_transitions_are_legal(before: JobState, after: JobState) -> None:
    if (before, after) in LEGAL:
        assert isinstance(event_of(before, after), EventType)
    else:
        with pytest.raises(IllegalTransitionError):
            event_of(before, after)


def test_every_state_is_active_or_terminal() -> None:
    assert set(ACTIVE) | set(TERMINAL) == set(JobState)
    assert not set(ACTIVE) & set(TERMINAL)
    assert all(not TRANSITIONS[state] for state in TERMINAL)
