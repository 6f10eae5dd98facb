"""Error codes mapped to exit codes and HTTP statuses, and hints translated for each interface.

The JSON shape of an error is that error's own ``as_json``. The engine writes hints for a terminal;
``translate`` rewrites them for HTTP, pages and agents.
"""

import os
import re
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import EngineError
from engine.files import rotate_if_large

if TYPE_CHECKING:
    from engine.state_records import Job  # not loaded for a search

OK = 0
FAILURE = 1
BAD_INPUT = 2
NOT_FOUND = 3
CONFLICT = 4
UNAVAILABLE = 5
DAMAGED = 6
INTERRUPTED = 130  # 128 + SIGINT, as shells count

#: What a server tells when it fails in a way that nobody foresaw.
UNFORESEEN = "the server failed; logs/cairn.log in its data directory has the traceback"
#: Additional codes of the HTTP server.
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
    "timeout_error": 504,  # the request took longer than allowed or requested
}

_WHERE = r"(?:, where PATH is the project's folder)?"
#: What hints refer to, as the engine writes it.
_NAMED: Mapping[str, re.Pattern[str]] = {
    "new": re.compile(r"index it: cairn index (?:-- )?'?(.+?)'?\Z", re.DOTALL),
    "why": re.compile(r"cairn why PATH\b"),
    "file": re.compile(r"cairn outline '?(.+?)'? or cairn impact --path '?\1'?", re.DOTALL),
    "folder": re.compile(r"cairn outline '?(.+?)'?(?= lists )", re.DOTALL),
    "cancel": re.compile(r"cairn jobs cancel (\S+)"),
    "jobs": re.compile(r"cairn jobs list\b"),
    "repair": re.compile(rf"cairn doctor .+? --repair\b{_WHERE}", re.DOTALL),
    "rebuild": re.compile(r"cairn doctor .+? --rebuild\b", re.DOTALL),
    "index": re.compile(r"\bcairn index\b"),
    "confirm": re.compile(r"confirm it with --yes"),  # after "index", which its words may name
    "projects": re.compile(r"\bcairn projects\b"),
    "model": re.compile(r"\bcairn model pull \S+"),
}


class Outcome(NamedTuple):
    """Exit code and HTTP status of an error."""

    exit_code: int
    http_status: int


#: By error code, which is also stored with failed jobs.
OUTCOMES: dict[str, Outcome] = {
    "internal_error": Outcome(FAILURE, 500),
    "validation_error": Outcome(BAD_INPUT, 400),
    "not_found": Outcome(NOT_FOUND, 404),
    "conflict": Outcome(CONFLICT, 409),
    "unavailable": Outcome(UNAVAILABLE, 503),
    "damaged_index": Outcome(DAMAGED, 500),
    "newer_index": Outcome(DAMAGED, 500),
}


class Refusal(Exception):  # noqa: N818 - a signal: the server's answer, not a failure
    """A request that the server refuses.

    Args:
        code: A code of ``REFUSALS`` or ``OUTCOMES``.
        message: What was received and what was expected; no full stop.
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
        """The HTTP status."""
        return REFUSALS.get(self.code) or outcome_of_code(self.code).http_status

    def as_json(self) -> dict[str, object]:
        """Return the one error shape."""
        return {"error": self.code, "message": self.message, "details": self.details}


def nothing_here(hint: str = "", **details: object) -> Refusal:
    """Return the refusal of an unknown path."""
    return Refusal("not_found", "there is nothing here", hint=hint, **details)


def wrong_method() -> Refusal:
    """Return the refusal of an unsupported method."""
    return Refusal("method_not_allowed", "this method does not work here")


class JobFailed(Exception):  # noqa: N818 - a signal: the failure happened elsewhere
    """A job that a command waited for has failed; the command exits with the code of its error."""

    def __init__(self, job: "Job") -> None:
        super().__init__(job.job_id)
        self.job = job


def outcome_of(error: EngineError) -> Outcome:
    """Return exit code and HTTP status of an error."""
    return outcome_of_code(error.code)


def outcome_of_code(code: str) -> Outcome:
    """Return exit code and HTTP status of an error code; an unknown one is an internal error."""
    return OUTCOMES.get(code, OUTCOMES["internal_error"])


def translate(error: EngineError, words: Mapping[str, str]) -> EngineError:
    """Rewrite the hint of an error for another interface, and return the error.

    Args:
        error: The error.
        words: Replacements, as ``re.sub`` takes them, for the keys of ``_NAMED``.
    """
    error.hint = translate_text(error.hint, words)
    return error


def translate_text(text: str, words: Mapping[str, str]) -> str:
    """Rewrite the commands in a hint or a note for another interface; see ``translate``."""
    for name, pattern in _NAMED.items():
        if name in words:
            text = pattern.sub(words[name], text)
    return text


def log_traceback(error: BaseException, folder: str) -> str:
    """Append a traceback to ``cairn.log`` and return its path.

    Args:
        error: The exception.
        folder: The log folder; created if missing.

    Raises:
        OSError: The folder is not writable.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, "cairn.log")
    rotate_if_large(Path(path))
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = "".join(traceback.format_exception(error))
    with open(path, "a", encoding="utf-8", errors="backslashreplace") as log:
        log.write(f"{when} {' '.join(sys.argv)}\n{text}\n")
    return path
