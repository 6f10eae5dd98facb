"""What the branches of the engine's error tree mean outside: exit code and HTTP status, once.

The error's own ``as_json`` gives the one JSON shape; nothing here makes another.
"""

from typing import NamedTuple

from engine import errors


class Outcome(NamedTuple):
    """How a branch of the error tree leaves the program."""

    exit_code: int
    http_status: int


OK = 0
FAILURE = 1
BAD_INPUT = 2
NOT_FOUND = 3
INTERRUPTED = 130  # 128 + SIGINT, as shells count

#: The most special branch that an error belongs to decides.
OUTCOMES: dict[type[errors.EngineError], Outcome] = {
    errors.EngineError: Outcome(FAILURE, 500),
    errors.InvalidInputError: Outcome(BAD_INPUT, 400),
    errors.NotFoundError: Outcome(NOT_FOUND, 404),
    errors.ConflictError: Outcome(4, 409),
    errors.UnavailableError: Outcome(5, 503),
    errors.DamagedIndexError: Outcome(6, 500),
}


def outcome_of(error: errors.EngineError) -> Outcome:
    """Give exit code and HTTP status of an error, by its branch."""
    for kind in type(error).__mro__:
        if kind in OUTCOMES:
            return OUTCOMES[kind]
    return OUTCOMES[errors.EngineError]
