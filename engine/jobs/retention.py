"""How long jobs are remembered: those that have ended some days, those that are active always.

Of a watcher's jobs that went well only the last are.

One that is active for longer than that is flagged, for somebody to look at, and never deleted.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from engine.clock import iso_time
from engine.roots import is_project_id
from engine.state_records import EventType
from engine.store import jobs
from engine.store.connection import Store
from engine.store.jobs import EndedJob, JobRow

DAY_MS = 24 * 3600 * 1000

# What one transaction deletes: some 10 ms, and a few times more on a slow disk.
_MOST_JOBS = 200
_EVENTS_AT_ONCE = 2000
# Of a watcher's jobs that went well so many are kept, and more are deleted so many at once.
_WATCHED_KEPT = 30
_WATCHED_AT_ONCE = 10
_LOG_NAME = re.compile(r"\.?[a-z]+-[0-9-]+\.log(\.[0-9]+)?")  # of a finished one, or half written


class Pruned(NamedTuple):
    """What was done to the jobs of a project."""

    removed: int = 0  # jobs, with their events, checkpoints and logs
    flagged: int = 0  # jobs that are active for too long, found now
    logs: int = 0  # that no job had


def prune(store: Store, logs: Path, *, now_ms: int, retention_ms: int) -> Pruned:
    """Forget jobs that ended too long ago, and flag one that is active for too long.

    A job from a time to come, of a clock that was wrong, stays until that time has passed.

    Args:
        store: The project's database.
        logs: The folder of the project's operation logs; need not exist.
        now_ms: The time.
        retention_ms: How long jobs are kept after their end.

    Raises:
        UnavailableError: The database stayed locked, or cannot be written.
    """
    before_ms = now_ms - retention_ms
    removed = 0
    while True:
        gone = _remove_some(store, before_ms)
        if not gone:
            break
        removed += len(gone)
        for row in gone:
            if row.log:
                _delete(logs / Path(row.log).name)
    flagged = _flag(store, before_ms, now_ms)
    with store.read() as handle:
        kept = jobs.read_log_names(handle)
    return Pruned(removed, flagged, _delete_strays(logs, kept, before_ms))


def thin(store: Store) -> int:
    """Forget a watcher's older jobs that went well; how many.

    A watcher has a job for every few saves, whose parameters name what was saved: kept for days
    they would take more room than the index. What they did is in the index.

    Raises:
        UnavailableError: The database stayed locked, or cannot be written.
    """
    with store.read() as handle:
        gone = jobs.watched_before(handle, _WATCHED_KEPT, _MOST_JOBS)
    if len(gone) < _WATCHED_AT_ONCE:
        return 0
    with store.write(bookkeeping=True) as handle:
        jobs.delete_jobs(handle, gone)
    return len(gone)


def prune_logs_of_others(logs: Path, project_ids: frozenset[str], *, before_ms: int) -> int:
    """Delete old operation logs of projects that are not there any more; how many.

    Args:
        logs: The folder that holds one folder a project.
        project_ids: The projects that are there.
        before_ms: Younger logs stay.
    """
    deleted = 0
    for folder in _entries(logs):
        if not folder.is_dir() or folder.is_symlink() or not is_project_id(folder.name):
            continue
        if folder.name in project_ids:
            continue
        deleted += _delete_strays(folder, frozenset(), before_ms)
        if not any(_entries(folder)):
            shutil.rmtree(folder, ignore_errors=True)
    return deleted


def _remove_some(store: Store, before_ms: int) -> list[EndedJob]:
    """Delete the oldest jobs that ended before a time, and give them; none when none is left."""
    with store.read() as handle:
        found = jobs.ended_before(handle, before_ms, _MOST_JOBS)
    gone: list[EndedJob] = []
    events = 0
    for row in found:
        events += row.events
        if gone and events > _EVENTS_AT_ONCE:
            break
        gone.append(row)
    if gone:
        with store.write(bookkeeping=True) as handle:
            jobs.delete_jobs(handle, [row.id for row in gone])
    return gone


def _flag(store: Store, before_ms: int, now_ms: int) -> int:
    with store.read() as handle:
        row = jobs.read_active_job(handle)
    if row is None or not _is_overdue(row, before_ms):
        return 0
    with store.write(bookkeeping=True) as handle:
        row = jobs.read_active_job(handle)
        if row is None or not _is_overdue(row, before_ms):
            return 0
        context = {"state": row.state, "since": iso_time(_since_ms(row)), "phase": row.phase}
        jobs.update_job(handle, row.id, {"flagged_at_ms": now_ms})
        jobs.append_event(handle, row.id, EventType.FLAGGED, at_ms=now_ms, context=context)
    return 1


def _is_overdue(row: JobRow, before_ms: int) -> bool:
    return row.flagged_at_ms is None and _since_ms(row) < before_ms


def _since_ms(row: JobRow) -> int:
    return row.created_at_ms if row.started_at_ms is None else row.started_at_ms


def _delete_strays(folder: Path, kept: frozenset[str], before_ms: int) -> int:
    """Delete logs of a folder that are older than a time and belong to nothing."""
    deleted = 0
    for file in _entries(folder):
        if file.name in kept or not _LOG_NAME.fullmatch(file.name):
            continue
        with contextlib.suppress(OSError):
            if file.lstat().st_mtime_ns < before_ms * 1_000_000:
                file.unlink()
                deleted += 1
    return deleted


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from list(folder.iterdir())


def _delete(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
