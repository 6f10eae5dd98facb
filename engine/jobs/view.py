"""Conversion of jobs' rows to the records that are shown."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.clock import iso_or_none, iso_time, now_ms
from engine.humanize import duration
from engine.index_records import Phase
from engine.jobs.execution import as_noted
from engine.records import display_path
from engine.state_records import ACTIVE, TERMINAL, EventType, Job, JobEvent, JobOrigin, JobState
from engine.store import jobs
from engine.store.connection import Handle
from engine.store.jobs import EventRow, JobRow, object_in, unreadable

_SILENT_MS = 10_000  # ten heartbeats


def job_of(
    row: JobRow, *, project_id: str, root: str, now_ms: int, position: int | None, log: str | None
) -> Job:
    """Return a job as it is now.

    Args:
        row: As stored.
        project_id: Its project's id.
        root: Its project's folder.
        now_ms: The time, for the elapsed time.
        position: Its position in the queue, 1 is next.
        log: The path of its operation log.

    Raises:
        IndexCorruptError: A part of the row cannot be read.
    """
    with _damage_told():
        return _job_of(row, project_id, root, now_ms, position, log)


def _job_of(
    row: JobRow, project_id: str, root: str, now_ms: int, position: int | None, log: str | None
) -> Job:
    phase = Phase(row.phase) if row.phase else None
    is_embedding = phase is Phase.EMBEDDING
    has_ended = row.state in TERMINAL
    counts = {
        name: value for name, value in object_in(row.counts).items() if isinstance(value, int)
    }
    return Job(
        job_id=row.uuid,
        kind=row.kind,
        status=JobState(row.state),
        origin=JobOrigin(row.origin),
        project_id=project_id,
        path=display_path(root),
        parameters=object_in(row.parameters),
        position=position,
        phase=phase,
        done=row.chunks_done if is_embedding else row.files_done,
        total=row.chunks_total if is_embedding else row.files_total,
        files_done=row.files_done,
        files_total=row.files_total,
        bytes_done=counts.pop("bytes_done", 0),
        bytes_total=counts.pop("bytes_total", 0) if row.files_total is not None else None,
        chunks_done=row.chunks_done,
        chunks_total=row.chunks_total,
        current_file=_shown(row.current_path),
        rate=row.rate,
        elapsed_seconds=_elapsed_s(row, now_ms),
        eta_seconds=None if has_ended or row.remaining_ms is None else row.remaining_ms / 1000,
        estimated_seconds=None if row.estimated_ms is None else row.estimated_ms / 1000,
        waiting=row.waiting or _silence(row, now_ms),
        attempt=row.attempt,
        cancel_requested=row.cancel_requested_at_ms is not None,
        flagged=row.flagged_at_ms is not None and not has_ended,
        created_at=iso_time(row.created_at_ms),
        started_at=iso_or_none(row.started_at_ms),
        finished_at=iso_or_none(row.finished_at_ms),
        heartbeat_at=iso_or_none(row.heartbeat_at_ms),
        result=object_in(row.result) if row.result and has_ended else None,
        error=object_in(row.error) if row.error else None,
        counts=counts,
        log=log,
    )


def notable_jobs(handle: Handle, project_id: str, root: str) -> tuple[Job, ...]:
    """Return a project's active job, and the newest one if it failed; see ``job_of``."""
    newest = jobs.search_jobs(handle, jobs.JobSearch(), 1)
    database = Path(handle.db_filename("main"))
    shown = [
        as_noted(row, database)
        for row in newest
        if row.state in ACTIVE or row.state == JobState.FAILED
    ]
    return tuple(
        job_of(row, project_id=project_id, root=root, now_ms=now_ms(), position=None, log=None)
        for row in shown
    )


def event_of(job_id: str, root: str, row: EventRow) -> JobEvent:
    """Return an event of a job of the project with this root.

    Raises:
        IndexCorruptError: A part of the row cannot be read.
    """
    with _damage_told():
        return JobEvent(
            job_id=job_id,
            sequence=row.sequence,
            type=EventType(row.type),
            timestamp=iso_time(row.at_ms),
            context={"repository": display_path(root), **object_in(row.context)},
        )


@contextmanager
def _damage_told() -> Iterator[None]:
    """Say that the index is damaged where a value in it is none of those that are written."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        raise unreadable(error) from error


def _shown(path: bytes | None) -> str | None:
    return display_path(os.fsdecode(path)) if path else None


def _silence(row: JobRow, now_ms: int) -> str | None:
    """Return a warning if a running job has no heartbeat: not even a wait could be written."""
    if row.state != JobState.RUNNING or row.heartbeat_at_ms is None:
        return None
    silent_ms = now_ms - row.heartbeat_at_ms
    if silent_ms < _SILENT_MS:
        return None
    return (
        f"no update for {duration(silent_ms // 1000 * 1000)}: the disk is full, the database is"
        " locked, or its process has ended"
    )


def _elapsed_s(row: JobRow, now_ms: int) -> float:
    if row.started_at_ms is None:
        return 0.0
    return max(0, (row.finished_at_ms or now_ms) - row.started_at_ms) / 1000
