"""``cairn watch``: keep indexes up to date with their folders until Ctrl-C.

States and jobs of the watchers are printed as lines for people or JSON objects for programs.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import click

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import UnavailableError
from engine.records import display_path
from engine.roots import resolve
from engine.state_records import TERMINAL, Job, JobState, WatchState, WatchStatus
from web.cli.interrupts import Interrupt
from web.cli.options import (
    confirmed_folder,
    examples,
    json_option,
    print_json,
    print_text,
    unwritten,
    yes_option,
)
from web.errors import FAILURE, OK
from web.project_selection import root_here
from web.schemas import values_of
from web.terminal import printable
from web.wording import count, duration, gave_way, number_in, short_id, wait_of

_PATHS_SHOWN = 3

_STATES: Mapping[WatchState, str] = {
    WatchState.STARTING: "starting",
    WatchState.WATCHING: "watching",
    WatchState.POLLING: "polling",
    WatchState.WAITING: "waiting",
    WatchState.BLOCKED: "blocked",
    WatchState.STOPPED: "stopped",
}
_COUNTS = (
    "files_indexed",
    "files_unchanged",
    "files_removed",
    "files_skipped",
    "files_failed",
    "duration_ms",
)
_POLL_S = 0.2


class StatusLines:
    """Formats each status whose state or reason is new.

    Args:
        path: The watched folder.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._last: tuple[WatchState, str] | None = None

    def line_of(self, status: WatchStatus) -> str | None:
        """Return a line with its newline, or None if state and reason have not changed."""
        current = (status.state, status.reason)
        if current == self._last or (status.state is WatchState.STARTING and not status.reason):
            return None
        self._last = current
        return f"{_clock()} {status_text(status)}: {printable(self._path)}\n"


def status_text(status: WatchStatus) -> str:
    """Format how a project is watched, with the reason if it is not watched normally."""
    text = _STATES[status.state]
    if status.state is WatchState.WATCHING:
        text += f" {count(status.folders, 'folder')}"
    if status.state is WatchState.POLLING and status.poll_interval_ms:
        text += f", every {duration(status.poll_interval_ms)}"
    if status.state is WatchState.BLOCKED and status.pending:
        text += f", {count(status.pending, 'change')} pending"
    if status.reason:
        text += f" ({printable(status.reason)})"
    return f"{text}, file {printable(status.file)}" if status.file else text


def status_json(path: str, status: WatchStatus) -> dict[str, object]:
    """Return a status with its folder as an object."""
    return {"event": "status", "path": path, **values_of(status)}


def job_json(job: Job) -> dict[str, object] | None:
    """Return the outcome of a job as an object, or None while it is active."""
    if job.status not in TERMINAL:
        return None
    result = job.result or {}
    return {
        "event": "indexed",
        "path": job.path,
        "job_id": job.job_id,
        "status": job.status,
        "only": job.parameters.get("only"),
        **{name: result.get(name) for name in _COUNTS},
        "error": job.error,
    }


def job_line(job: Job) -> str | None:
    """Return the outcome of a job as a line with its newline, or None while it is active."""
    if job.status not in TERMINAL:
        return None
    if job.status is JobState.FAILED:
        message = printable(str((job.error or {}).get("message", "")))
        return f"{_clock()} failed: {message} (cairn jobs show {short_id(job.job_id)})\n"
    if gave_way(job):
        return f"{_clock()} {wait_of(job)}\n"
    if job.status is JobState.CANCELLED:
        return f"{_clock()} stopped; what was indexed is kept\n"
    result = job.result or {}
    took = duration(number_in(result, "duration_ms"))
    return f"{_clock()} {_changes_of(result)} in {took}{_names(job)}\n"


def _changes_of(result: Mapping[str, object]) -> str:
    """Count what has changed: ``2 files indexed, 1 removed``."""
    indexed, removed, failed = (
        number_in(result, f"files_{each}") for each in ("indexed", "removed", "failed")
    )
    told = [(indexed, "indexed"), (removed, "removed"), (failed, "failed")]
    (first, outcome), *rest = [each for each in told if each[0]] or told[:1]
    return ", ".join([f"{count(first, 'file')} {outcome}", *(f"{n:,} {what}" for n, what in rest)])


def _names(job: Job) -> str:
    only = job.parameters.get("only")
    if not isinstance(only, Sequence) or isinstance(only, str) or not only:
        return ""
    shown = ", ".join(printable(str(path)) for path in only[:_PATHS_SHOWN])
    more = len(only) - _PATHS_SHOWN
    return f": {shown}" + (f" and {more:,} more" if more > 0 else "")


def _clock() -> str:
    return time.strftime("%H:%M:%S")


@click.command(
    epilog=examples(
        "cairn watch                     the project you are in, or the current folder",
        "cairn watch ~/src/app ~/src/lib several folders",
        "cairn watch --json              one object per line, for programs",
    )
)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@yes_option
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Print problems only.")
def command(*, paths: tuple[str, ...], yes: bool, as_json: bool, quiet: bool) -> int:
    """Keep the index of each PATH up to date with its folder until Ctrl-C.

    A saved file is searchable within two seconds. At the start and every few minutes the whole
    folder is compared with the index, so that nothing is missed. A folder that is not indexed yet
    is indexed first. If the system cannot watch a folder, it is polled, and a message says so.
    The exit code is 1 if no folder is watched any more, because each project was forgotten or its
    watcher has failed.
    """
    with Catalog(load_config()) as catalog:
        reporters = [
            _StatusReporter(folder, as_json=as_json, quiet=quiet)
            for folder in (paths or (root_here(catalog),))
        ]
        confirmed = [confirmed_folder(catalog, each.path, yes=yes) for each in reporters]
        with Interrupt(notice="") as interrupt:
            watchers = [
                catalog.watch(
                    reporter.path,
                    is_confirmed=is_confirmed,
                    on_status=reporter.on_status,
                    on_job=reporter.on_job,
                )
                for reporter, is_confirmed in zip(reporters, confirmed, strict=True)
            ]
            while not interrupt.cancelled():
                for reporter in reporters:
                    if reporter.problem is not None:
                        raise reporter.problem
                if all(watcher.status.state is WatchState.STOPPED for watcher in watchers):
                    return FAILURE
                time.sleep(_POLL_S)
    return OK


class _StatusReporter:
    """Prints the states and jobs of one watched folder, called from the watcher's thread."""

    _printing = threading.Lock()

    def __init__(self, path: str, *, as_json: bool, quiet: bool) -> None:
        self.path = path
        self.problem: Exception | None = None  # why lines are not printed any more
        self._as_json = as_json
        self._quiet = quiet
        self._root = display_path(resolve(path))  # as jobs name it
        self._lines = StatusLines(self._root)

    def on_status(self, status: WatchStatus) -> None:
        """Print a status if it is new."""
        line = self._lines.line_of(status)
        if line is None:
            return
        is_wrong = status.state in (WatchState.POLLING, WatchState.WAITING) or bool(status.reason)
        if self._as_json:
            self._print(lambda: print_json(status_json(self._root, status)))
        elif is_wrong or not self._quiet:
            self._print(lambda: print_text(line))

    def on_job(self, job: Job) -> None:
        """Print the outcome of a finished job."""
        if self._as_json:
            shape = job_json(job)
            if shape is not None:
                self._print(lambda: print_json(shape))
            return
        line = job_line(job)
        if line is not None and (not self._quiet or job.error is not None):
            self._print(lambda: print_text(line))

    def _print(self, write: Callable[[], None]) -> None:
        with self._printing:
            try:
                write()
                sys.stdout.flush()
            except UnavailableError as error:
                self.problem = error
            except OSError as error:
                self.problem = unwritten(error)
