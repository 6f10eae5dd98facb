"""The one table of a job's legal transitions."""

from engine.job_records import EventType, JobState

#: From → to, and the event that tells of it.
TRANSITIONS: dict[JobState, dict[JobState, EventType]] = {
    JobState.PENDING: {
        JobState.RUNNING: EventType.STARTED,
        JobState.CANCELLED: EventType.CANCELLED,
    },
    JobState.RUNNING: {
        JobState.COMPLETED: EventType.COMPLETED,
        JobState.FAILED: EventType.FAILED,
        JobState.CANCELLED: EventType.CANCELLED,
        JobState.BLOCKED: EventType.PAUSED,
    },
    JobState.BLOCKED: {
        JobState.RUNNING: EventType.RESUMED,
        JobState.FAILED: EventType.FAILED,
        JobState.CANCELLED: EventType.CANCELLED,
    },
    JobState.COMPLETED: {},
    JobState.FAILED: {},
    JobState.CANCELLED: {},
}


class IllegalTransitionError(Exception):
    """A job was to go where no way leads: a mistake of this program, never of its user."""


def event_of(before: JobState, after: JobState) -> EventType:
    """Give the event of a transition.

    Raises:
        IllegalTransitionError: There is no such transition.
    """
    try:
        return TRANSITIONS[before][after]
    except KeyError:
        raise IllegalTransitionError(f"{before} → {after}") from None
