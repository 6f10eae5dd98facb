"""The last exception handler of the command line: an exception becomes a message and an exit code.

With ``--json`` the message is the common error object, on standard output. A traceback is never
shown: it is written to a log file that the message names.
"""

import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import click

from engine.config import load_config
from engine.errors import Cancelled, EngineError, with_file
from web.errors import (
    BAD_INPUT,
    FAILURE,
    INTERRUPTED,
    JobFailed,
    log_traceback,
    outcome_of,
    outcome_of_code,
)
from web.terminal import printable

if TYPE_CHECKING:
    from engine.state_records import Job  # not imported at run time, to save time

_WORDS = {"interrupted": "interrupted", "internal_error": "internal error"}


class Failure(NamedTuple):
    """The failure of a command."""

    exit_code: int
    code: str
    message: str
    hint: str = ""
    details: dict[str, object] | None = None  # without the hint
    text: str = ""  # the message for people, if it says more

    def as_json(self) -> dict[str, object]:
        """Return the common error shape."""
        details = dict(self.details or {})
        if self.hint:
            details["hint"] = self.hint
        return {"error": self.code, "message": self.message, "details": details}


def report(error: BaseException, arguments: Sequence[str]) -> int:
    """Print an error as text, or as JSON if the arguments ask for it, and return the exit code.

    Args:
        error: The exception that ended the command.
        arguments: The command line.
    """
    failure = failure_of(_of_output(error) if isinstance(error, OSError) else error)
    with suppress(OSError):  # the output is closed: only the exit code is left
        if not (wants_json(arguments) and _is_printed_as_json(failure)):
            sys.stderr.write(text_of(failure))
    return failure.exit_code


def _of_output(error: OSError) -> BaseException:
    """Return the error of an answer that cannot be written, if that is what has failed."""
    from web.cli.options import unwritten

    try:
        sys.stdout.flush()  # fails again: what could not be written is still there
    except OSError as cause:
        return unwritten(cause)
    return unwritten(error) if _is_of_echo(error) else error  # an unbuffered stream keeps nothing


def _is_of_echo(error: OSError) -> bool:
    """Return whether an error comes from ``click.echo``, which writes helps and the version."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    return codes[-1:] == [click.echo.__code__]


def _is_printed_as_json(failure: Failure) -> bool:
    """Print a failure on standard output; return False if that cannot be written.

    Raises:
        BrokenPipeError: Nobody reads it any more.
    """
    from web.schemas import json_line

    try:
        sys.stdout.write(json_line(failure.as_json(), sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError:
        return False
    return True


def text_of(failure: Failure) -> str:
    """Format a failure as text: the message and the hint."""
    word = _WORDS.get(failure.code, "error")
    lines = [f"{word}: {printable(failure.text or failure.message)}{_place_of(failure)}"]
    if failure.hint:
        lines.append(f"hint: {printable(failure.hint)}")
    return "\n".join(lines) + "\n"


def _place_of(failure: Failure) -> str:
    position = (failure.details or {}).get("position")
    return f" (at character {position + 1} of the query)" if isinstance(position, int) else ""


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON, even one that is invalid otherwise."""
    options = list(arguments)
    if "--" in options:
        options = options[: options.index("--")]
    pairs = zip(options, [*options[1:], ""], strict=False)
    return any(
        option in {"--json", "--format=json", "--batch"}
        or option.startswith("--batch=")
        or (option, value) == ("--format", "json")
        for option, value in pairs
    )


def failure_of(error: BaseException) -> Failure:
    """Convert an exception to a failure."""
    if isinstance(error, EngineError):
        return Failure(
            outcome_of(error).exit_code,
            error.code,
            error.message,
            error.hint,
            error.details,
            error.report,
        )
    if isinstance(error, JobFailed):
        return _job_failure(error.job)
    if isinstance(error.__cause__, KeyboardInterrupt):  # as Python 3.11 raises from __set_name__
        error = error.__cause__
    if isinstance(error, Cancelled | click.Abort | KeyboardInterrupt):
        message = str(error) or "nothing was left half done"
        return Failure(INTERRUPTED, "interrupted", message)
    if isinstance(error, click.UsageError):
        return _usage_failure(error)
    if isinstance(error, click.ClickException):
        return Failure(BAD_INPUT, "validation_error", error.format_message())
    return _internal_failure(error)


def _job_failure(job: "Job") -> Failure:
    """Return the error stored with a job, with the job's id in its details."""
    from web.wording import short_id

    stored = job.error or {}
    code = str(stored.get("error", EngineError.code))
    found = stored.get("details")
    details = dict(found) if isinstance(found, Mapping) else {}
    hint = str(details.pop("hint", "") or f"cairn jobs show {short_id(job.job_id)}")
    message = str(stored.get("message") or f"job {job.job_id} failed")
    details["job_id"] = job.job_id
    text = with_file(message, details)
    return Failure(outcome_of_code(code).exit_code, code, message, hint, details, text)


def _usage_failure(error: click.UsageError) -> Failure:
    details: dict[str, object] = {}
    if isinstance(error, click.BadParameter) and error.param is not None:
        details["field"] = error.param.name
    message = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx else "cairn"
    return Failure(BAD_INPUT, "validation_error", message, f"{command} --help", details)


def _internal_failure(error: BaseException) -> Failure:
    what = f"{type(error).__name__}: {error}"
    try:
        log_path = log_traceback(error, _log_folder())
    except OSError as problem:
        return Failure(FAILURE, "internal_error", f"{what} (the traceback is lost: {problem})")
    return Failure(
        FAILURE, "internal_error", f"{what} (traceback in {log_path})", details={"log": log_path}
    )


def _log_folder() -> str:
    try:
        return str(load_config().data_dir / "logs")
    except EngineError:  # a bad setting must not hide the bug that is being reported
        return os.path.join(tempfile.gettempdir(), f"codecairn-{os.getuid()}")
