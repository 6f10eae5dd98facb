"""What the codes of the engine's error tree mean outside: exit code and HTTP status, once.

The error's own ``as_json`` gives the one JSON shape; nothing here makes another.

What to do about an error, in the words of who is told: the engine's hints are for a terminal.
"""

import os
import re
import sys
import time
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import EngineError

if TYPE_CHECKING:
    from engine.state_records import Job  # a search does without it


class Outcome(NamedTuple):
    """How an error leaves the program."""

    exit_code: int
    http_status: int


_LOG_LIMIT_BYTES = 1 << 20  # then the log is put aside as cairn.log.1, so two of them are kept

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

    def __init__(self, job: "Job") -> None:
        super().__init__(job.job_id)
        self.job = job


def outcome_of(error: EngineError) -> Outcome:
    """Give exit code and HTTP status of an error, by its code."""
    return outcome_of_code(error.code)


def outcome_of_code(code: str) -> Outcome:
    """Give exit code and HTTP status of a stored error; those of a failure if it is not known."""
    return OUTCOMES.get(code, OUTCOMES["internal_error"])


_WHERE = r"(?:, where PATH is the project's folder)?"
#: What hints name, as the engine writes it.
_NAMED: Mapping[str, re.Pattern[str]] = {
    "new": re.compile(r"index it: cairn index (.+)", re.DOTALL),
    "why": re.compile(r"cairn why PATH\b"),
    "cancel": re.compile(r"cairn jobs cancel (\S+)"),
    "jobs": re.compile(r"cairn jobs list\b"),
    "repair": re.compile(rf"cairn doctor .+? --repair\b{_WHERE}", re.DOTALL),
    "index": re.compile(r"\bcairn index\b"),
}


def translate(error: EngineError, words: Mapping[str, str]) -> EngineError:
    """Give an error with its hint in other words; the same error.

    Args:
        error: The error.
        words: By what is named (``new``, ``why``, ``cancel``, ``jobs``, ``repair``, ``index``) how
            it is called where the error goes, as ``re.sub`` takes it.
    """
    for name, pattern in _NAMED.items():
        if name in words:
            error.hint = pattern.sub(words[name], error.hint)
    return error


def log_traceback(error: BaseException, folder: str) -> str:
    """Append a traceback to ``cairn.log``; its path.

    Args:
        error: What was raised.
        folder: Where the log lives; made when it is not there.

    Raises:
        OSError: The folder cannot be written.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "cairn.log")
    if os.path.exists(path) and os.path.getsize(path) > _LOG_LIMIT_BYTES:
        os.replace(path, f"{path}.1")
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = "".join(traceback.format_exception(error))
    with open(path, "a", encoding="utf-8", errors="backslashreplace") as log:
        log.write(f"{when} {' '.join(sys.argv)}\n{text}\n")
    return path
