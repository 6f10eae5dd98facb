"""What a watcher does, as lines for people and objects for programs."""

import time
from collections.abc import Mapping, Sequence

from engine.job_records import TERMINAL, Job, JobState
from engine.watch_records import WatchState, WatchStatus
from web.console.job_wording import short_id
from web.schemas import as_json
from web.terminal import printable
from web.wording import count, duration

_PATHS_SHOWN = 3

_STATES: Mapping[WatchState, str] = {
    WatchState.STARTING: "starting",
    WatchState.WATCHING: "watching",
    WatchState.POLLING: "looking now and then",
    WatchState.WAITING: "waiting",
    WatchState.STOPPED: "stopped",
}


class StatusLines:
    """Gives a line for each status that says something new.

    Args:
        path: The folder that is watched.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._said: tuple[WatchState, str] | None = None

    def line_of(self, status: WatchStatus) -> str | None:
        """Give a line with its line end; None when state and reason were said already."""
        says = (status.state, status.reason)
        if says == self._said or (status.state is WatchState.STARTING and not status.reason):
            return None
        self._said = says
        return f"{_clock()} {status_text(status)}: {printable(self._path)}\n"


def status_text(status: WatchStatus) -> str:
    """Say in one line how a project is watched, and why not better."""
    text = _STATES[status.state]
    if status.state is WatchState.WATCHING:
        text += f" {count(status.folders, 'folder')}"
    if status.state is WatchState.POLLING and status.poll_interval_ms:
        text += f", every {duration(status.poll_interval_ms)}"
    return f"{text} ({printable(status.reason)})" if status.reason else text


def status_json(path: str, status: WatchStatus) -> dict[str, object]:
    """Give a status as an object with the folder it is about."""
    shape = as_json(status)
    assert isinstance(shape, dict)
    return {"event": "status", "path": path, **shape}


def job_json(job: Job) -> dict[str, object] | None:
    """Give what a job did; None while it goes on."""
    if job.status not in TERMINAL:
        return None
    result = job.result or {}
    names = ("files_indexed", "files_unchanged", "files_skipped", "files_failed", "duration_ms")
    return {
        "event": "indexed",
        "path": job.path,
        "job_id": job.job_id,
        "status": job.status,
        "only": job.parameters.get("only"),
        **{name: result.get(name) for name in names},
        "error": job.error,
    }


def job_line(job: Job) -> str | None:
    """Say what a job did, with its line end; None while it goes on."""
    if job.status not in TERMINAL:
        return None
    if job.status is JobState.FAILED:
        message = printable(str((job.error or {}).get("message", "")))
        return f"{_clock()} failed: {message} (cairn jobs show {short_id(job.job_id)})\n"
    if job.status is JobState.CANCELLED:
        return f"{_clock()} stopped: what was done is kept\n"
    result = job.result or {}
    changed = _number(result, "files_indexed")
    took = duration(_number(result, "duration_ms"))
    failed = _number(result, "files_failed")
    text = f"{_clock()} {count(changed, 'file')} indexed in {took}{_names(job)}"
    return f"{text}, {count(failed, 'file')} failed\n" if failed else f"{text}\n"


def _names(job: Job) -> str:
    only = job.parameters.get("only")
    if not isinstance(only, Sequence) or isinstance(only, str) or not only:
        return ""
    shown = ", ".join(printable(str(path)) for path in only[:_PATHS_SHOWN])
    more = len(only) - _PATHS_SHOWN
    return f": {shown}" + (f" and {more:,} more" if more > 0 else "")


def _number(values: Mapping[str, object], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _clock() -> str:
    return time.strftime("%H:%M:%S")
