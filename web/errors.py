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


#: What a server refuses besides: codes and statuses of HTTP that no other face has.
REFUSALS: dict[str, int] = {
    "unauthorized": 401,
    "forbidden": 403,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "payload_too_large": 413,
    "uri_too_long": 414,
    "unsupported_media_type": 415,
    "misdirected_request": 421,
    "too_many_requests": 429,
    "headers_too_large": 431,
    "timeout_error": 504,  # more time was asked for than a request may take, or than was given
}


class Refusal(Exception):  # noqa: N818 - a signal: the server's answer, not a failure
    """A request that a server does not carry out.

    Args:
        code: Of ``REFUSALS``, or of the error tree.
        message: What was got and what was wanted; no full stop.
        hint: What to do now.
        details: Machine-readable facts.
    """

    def __init__(self, code: str, message: str, *, hint: str = "", **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = {**details, "hint": hint} if hint else details

    @property
    def status(self) -> int:
        """The status of HTTP."""
        return REFUSALS.get(self.code) or outcome_of_code(self.code).http_status

    def as_json(self) -> dict[str, object]:
        """Give the one error shape."""
        return {"error": self.code, "message": self.message, "details": self.details}


def nothing_here() -> Refusal:
    """Say that no route has this path."""
    return Refusal("not_found", "there is nothing here")


def wrong_method() -> Refusal:
    """Say that the route has no such method."""
    return Refusal("method_not_allowed", "this method does not work here")


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
