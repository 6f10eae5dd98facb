"""What the codes of the engine's error tree mean outside: exit code and HTTP status, once.

The error's own ``as_json`` gives the one JSON shape; nothing here makes another.
"""

from typing import NamedTuple

from engine.errors import EngineError
from engine.job_records import Job


class Outcome(NamedTuple):
    """How an error leaves the program."""

    exit_code: int
    http_status: int


OK = 0
FAILURE = 1
BAD_INPUT = 2
NOT_FOUND = 3
CONFLICT = 4
UNAVAILABLE = 5
DAMAGED = 6
INTERRUPTED = 130  # 128 + SIGINT, as shells count

#: By the code of a branch of the error tree, which errors keep when a job stores them.
OUTCOMES: dict[str, Outcome] = {
    "internal_error": Outcome(FAILURE, 500),
    "validation_error": Outcome(BAD_INPUT, 400),
    "not_found": Outcome(NOT_FOUND, 404),
    "conflict": Outcome(CONFLICT, 409),
    "unavailable": Outcome(UNAVAILABLE, 503),
    "damaged_index": Outcome(DAMAGED, 500),
}


class JobFailed(Exception):  # noqa: N818 - a signal: what failed has happened elsewhere
    """A job that a command waited for has failed; the command ends as its error would end it."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.job_id)
        self.job = job


def outcome_of(error: EngineError) -> Outcome:
    """Give exit code and HTTP status of an error, by its code."""
    return outcome_of_code(error.code)


def outcome_of_code(code: str) -> Outcome:
    """Give exit code and HTTP status of a stored error; those of a failure if it is not known."""
    return OUTCOMES.get(code, OUTCOMES["internal_error"])
