"""Jobs, their events and checkpoints, with counts and samples of events for logs and metrics.

States are plain text here; ``jobs`` defines them.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from engine.errors import IndexCorruptError
from engine.store.connection import Handle


class JobRow(NamedTuple):
    """One row of ``jobs``, in the order of ``_COLUMNS``."""

    id: int
    uuid: str
    kind: str
    origin: str
    parameters: str
    state: str
    attempt: int
    runner: str | None
    created_at_ms: int
    started_at_ms: int | None
    finished_at_ms: int | None
    heartbeat_at_ms: int | None
    cancel_requested_at_ms: int | None
    blocked_at_ms: int | None
    flagged_at_ms: int | None
    estimated_ms: int | None
    phase: str | None
    files_done: int
    files_total: int | None
    chunks_done: int
    chunks_total: int | None
    rate: float | None
    remaining_ms: int | None
    current_path: bytes | None
    waiting: str | None
    counts: str
    suspects: str
    result: str | None
    error: str | None
    log: str | None


class EventRow(NamedTuple):
    """One row of ``job_events``."""

    sequence: int
    type: str
    at_ms: int
    context: str


class CheckpointRow(NamedTuple):
    """One row of ``job_checkpoints``."""

    kind: str
    at_ms: int
    state: str
    packed: bytes | None


class EndedJob(NamedTuple):
    """A job that has ended, to be deleted."""

    id: int
    log: str | None
    events: int  # how many it has


class NewJob(NamedTuple):
    """The initial values of a job."""

    uuid: str
    kind: str
    origin: str
    parameters: str
    created_at_ms: int
    estimated_ms: int | None


class JobSearch(NamedTuple):
    """A filter of jobs; None matches all."""

    state: str | None = None
    noted: tuple[str, str] | None = None  # id and state of a job whose row has an older state
    origin: str | None = None
    created_after_ms: int | None = None
    created_before_ms: int | None = None
    start: tuple[int, str] | None = None  # time and id of the job to go on after


_COLUMNS = ", ".join(JobRow._fields)
_MATCHES = """(:state IS NULL OR :state = iif(uuid = :noted_id, :noted_state, state))
              AND (:origin IS NULL OR origin = :origin)
              AND (:created_after_ms IS NULL OR created_at_ms > :created_after_ms)
              AND (:created_before_ms IS NULL OR created_at_ms < :created_before_ms)"""
# The newest run over all files of the work tree that has ended.
_LAST_WHOLE = """SELECT id, state, waiting FROM jobs
                 WHERE kind = 'index' AND finished_at_ms IS NOT NULL
                   AND CASE WHEN json_valid(parameters)
                            THEN coalesce(json_extract(parameters, '$.only'), '[]') = '[]'
                                 AND coalesce(json_extract(parameters, '$.branch'), '') = '' END
                 ORDER BY created_at_ms DESC, uuid LIMIT 1"""
_CHANGEABLE = frozenset(JobRow._fields) - {"id", "uuid", "kind", "origin", "parameters"}


def object_in(text: str) -> dict[str, Any]:
    """Return the JSON object that a column holds of a job, an event or a checkpoint.

    Raises:
        IndexCorruptError: It holds something else.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise unreadable(error) from error
    if not isinstance(found, dict):
        raise unreadable("it is no JSON object")
    return found


def unreadable(detail: object) -> IndexCorruptError:
    """Return the error for a job with a part that cannot be read; see ``object_in``."""
    return IndexCorruptError(
        f"the index is damaged: what it tells of a job cannot be read: {detail}",
        hint="cairn doctor PATH --repair, where PATH is the project's folder",
    )


def insert_job(handle: Handle, new: NewJob) -> JobRow:
    """Write a pending job.

    Raises:
        apsw.ConstraintError: The project has an active job already.
    """
    row = handle.execute(
        f"""INSERT INTO jobs (uuid, kind, origin, parameters, created_at_ms, estimated_ms, state)
            VALUES (:uuid, :kind, :origin, :parameters, :created_at_ms, :estimated_ms, 'pending')
            RETURNING {_COLUMNS}""",  # noqa: S608 - columns from above
        new._asdict(),
    ).fetchone()
    assert row
    return JobRow(*row)


def read_job(handle: Handle, uuid: str) -> JobRow | None:
    """Return a job by its id."""
    return _one(handle, "uuid = ?", (uuid,))


def read_active_job(handle: Handle) -> JobRow | None:
    """Return the job that is pending, running or blocked."""
    return _one(handle, "state IN ('pending', 'running', 'blocked')", ())


def read_last_ended(handle: Handle, kind: str) -> JobRow | None:
    """Return the job of a kind that ended last."""
    return _one(
        handle, "kind = ? AND finished_at_ms IS NOT NULL ORDER BY finished_at_ms DESC", (kind,)
    )


def search_jobs(handle: Handle, search: JobSearch, limit: int) -> list[JobRow]:
    """Return jobs, the newest first, those created in the same millisecond by their id."""
    start_ms, start_uuid = search.start or (None, None)
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM jobs WHERE {_MATCHES}
              AND (:start_ms IS NULL OR created_at_ms < :start_ms
                   OR (created_at_ms = :start_ms AND uuid > :start_uuid))
            ORDER BY created_at_ms DESC, uuid LIMIT :limit""",  # noqa: S608
        {**_conditions(search), "start_ms": start_ms, "start_uuid": start_uuid, "limit": limit},
    )
    return [JobRow(*row) for row in rows]


def count_jobs(handle: Handle, search: JobSearch) -> int:
    """Count the jobs that ``search_jobs`` would give without its limit and its start."""
    sql = f"SELECT count(*) FROM jobs WHERE {_MATCHES}"  # noqa: S608 - from above
    return int(handle.execute(sql, _conditions(search)).get)


def update_job(handle: Handle, job_id: int, changes: Mapping[str, object]) -> None:
    """Set columns of a job."""
    assert _CHANGEABLE.issuperset(changes), changes
    assignments = ", ".join(f"{name} = :{name}" for name in changes)
    handle.execute(
        f"UPDATE jobs SET {assignments} WHERE id = :job_id",  # noqa: S608 - names from above
        {**changes, "job_id": job_id},
    )


def is_held(handle: Handle, uuid: str, attempt: int) -> bool:
    """Return whether a claim is still the latest of a running job: the fence of its writes.

    A later job may have the row number of a forgotten one, but never its UUID.
    """
    row = handle.execute(
        "SELECT 1 FROM jobs WHERE uuid = ? AND attempt = ? AND state = 'running'", (uuid, attempt)
    ).fetchone()
    return row is not None


def is_cancel_requested(handle: Handle, job_id: int) -> bool:
    """Return whether cancellation of a job was requested."""
    row = handle.execute(
        "SELECT 1 FROM jobs WHERE id = ? AND cancel_requested_at_ms IS NOT NULL", (job_id,)
    ).fetchone()
    return row is not None


def append_event(
    handle: Handle, job_id: int, type_: str, *, at_ms: int, context: Mapping[str, object]
) -> int:
    """Append an event and give its sequence; its time is never before the last event's."""
    sequence, last_ms = read_last_event_place(handle, job_id)
    found = handle.execute(
        """INSERT INTO job_events (job_id, sequence, type, at_ms, context)
           VALUES (:job_id, :sequence, :type, :at_ms, :context) RETURNING sequence""",
        {
            "job_id": job_id,
            "sequence": sequence + 1,
            "type": type_,
            "at_ms": max(at_ms, last_ms),
            "context": json.dumps(context),
        },
    ).get
    return int(found)


def read_last_event_place(handle: Handle, job_id: int) -> tuple[int, int]:
    """Return sequence and time of a job's last event; zeros when it has none."""
    row = handle.execute(
        """SELECT sequence, at_ms FROM job_events WHERE job_id = ?
           ORDER BY sequence DESC LIMIT 1""",
        (job_id,),
    ).fetchone()
    return (row[0], row[1]) if row else (0, 0)


def read_last_event(handle: Handle, job_id: int, type_: str) -> EventRow | None:
    """Return the last event of a type."""
    row = handle.execute(
        """SELECT sequence, type, at_ms, context FROM job_events
           WHERE job_id = ? AND type = ? ORDER BY sequence DESC LIMIT 1""",
        (job_id, type_),
    ).fetchone()
    return EventRow(*row) if row else None


def read_events(handle: Handle, job_id: int, *, after: int = 0, limit: int) -> list[EventRow]:
    """Return events in order, those after a sequence number."""
    rows = handle.execute(
        """SELECT sequence, type, at_ms, context FROM job_events
           WHERE job_id = ? AND sequence > ? ORDER BY sequence LIMIT ?""",
        (job_id, after, limit),
    )
    return [EventRow(*row) for row in rows]


def insert_checkpoint(handle: Handle, job_id: int, row: CheckpointRow) -> None:
    """Write a checkpoint."""
    handle.execute(
        """INSERT INTO job_checkpoints (job_id, kind, at_ms, state, packed)
           VALUES (?, ?, ?, ?, ?)""",
        (job_id, *row),
    )


def read_last_checkpoint(handle: Handle, job_id: int, kinds: Sequence[str]) -> CheckpointRow | None:
    """Return the last checkpoint of some kinds."""
    row = handle.execute(
        """SELECT kind, at_ms, state, packed FROM job_checkpoints
           WHERE job_id = ? AND kind IN (SELECT value FROM json_each(?))
           ORDER BY id DESC LIMIT 1""",
        (job_id, json.dumps(list(kinds))),
    ).fetchone()
    return CheckpointRow(*row) if row else None


def delete_checkpoints(handle: Handle, job_id: int) -> None:
    """Delete the checkpoints of a job that has ended."""
    handle.execute("DELETE FROM job_checkpoints WHERE job_id = ?", (job_id,))


def ended_before(handle: Handle, before_ms: int, limit: int) -> list[EndedJob]:
    """Return jobs that ended before a time, the oldest first.

    Without those that keep a watcher from indexing: the last run over the whole work tree if a user
    cancelled it, and the last reading of the history if it failed or a user cancelled it.
    """
    rows = handle.execute(
        f"""SELECT id, log, (SELECT count(*) FROM job_events WHERE job_id = jobs.id) FROM jobs
            WHERE finished_at_ms < :before_ms AND id NOT IN (
              SELECT id FROM ({_LAST_WHOLE})
              WHERE state = 'cancelled' AND coalesce(waiting, '') = ''
              UNION ALL
              SELECT id FROM (SELECT id, state, waiting FROM jobs
                              WHERE kind = 'history' AND finished_at_ms IS NOT NULL
                              ORDER BY finished_at_ms DESC LIMIT 1)
              WHERE state <> 'completed' AND coalesce(waiting, '') = '')
            ORDER BY finished_at_ms, id LIMIT :limit""",  # noqa: S608 - from above
        {"before_ms": before_ms, "limit": limit},
    )
    return [EndedJob(*row) for row in rows]


def watched_before(handle: Handle, kept: int, limit: int) -> list[int]:
    """Return a watcher's successful jobs except the newest, the newest first.

    Without the last run over the whole work tree: an older one that a user cancelled would count as
    the last.
    """
    rows = handle.execute(
        f"""SELECT id FROM (
              SELECT id FROM jobs WHERE origin = 'watch' AND state = 'completed' AND log IS NULL
              ORDER BY id DESC LIMIT ? OFFSET ?)
            WHERE id NOT IN (SELECT id FROM ({_LAST_WHOLE}))""",  # noqa: S608 - from above
        (limit, kept),
    )
    return [id_ for (id_,) in rows]


def read_log_names(handle: Handle) -> frozenset[str]:
    """Return the names of all operation logs of jobs."""
    return frozenset(
        name for (name,) in handle.execute("SELECT log FROM jobs WHERE log IS NOT NULL")
    )


def read_unlogged(handle: Handle) -> list[str]:
    """Return the jobs that have ended and lack their operation log, the oldest first.

    A watcher's successful job has no log: hundreds a day would bury the other logs.
    """
    rows = handle.execute(
        """SELECT uuid FROM jobs WHERE finished_at_ms IS NOT NULL AND log IS NULL
             AND (origin <> 'watch' OR state = 'failed') ORDER BY id"""
    )
    return [uuid for (uuid,) in rows]


def delete_jobs(handle: Handle, ids: Sequence[int]) -> None:
    """Delete jobs with their events and checkpoints."""
    chosen = json.dumps(list(ids))
    # Not left to the foreign keys, which take three times as long.
    for table in ("job_events", "job_checkpoints"):
        handle.execute(
            f"DELETE FROM {table} WHERE job_id IN (SELECT value FROM json_each(?))",  # noqa: S608
            (chosen,),
        )
    handle.execute("DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))", (chosen,))


def _conditions(search: JobSearch) -> dict[str, object]:
    noted_id, noted_state = search.noted or (None, None)
    return {**search._asdict(), "noted_id": noted_id, "noted_state": noted_state}


def _one(handle: Handle, condition: str, values: tuple[object, ...]) -> JobRow | None:
    sql = f"SELECT {_COLUMNS} FROM jobs WHERE {condition}"  # noqa: S608 - from callers here
    row = handle.execute(sql, values).fetchone()
    return JobRow(*row) if row else None


def count_events(handle: Handle, job_id: int) -> dict[str, int]:
    """Return the number of a job's events by type."""
    rows = handle.execute(
        "SELECT type, count(*) FROM job_events WHERE job_id = ? GROUP BY type", (job_id,)
    )
    return {str(type_): int(number) for type_, number in rows}


def read_last_events(
    handle: Handle, job_id: int, types: Collection[str], *, before: int | None, limit: int
) -> list[EventRow]:
    """Return the last events of some types in order, optionally those before a sequence number.

    Args:
        handle: Of a database.
        job_id: The job.
        types: Which ones.
        before: The sequence; None for the end.
        limit: The most to give.
    """
    rows = handle.execute(
        """SELECT sequence, type, at_ms, context FROM job_events
           WHERE job_id = :job_id AND (:before IS NULL OR sequence < :before)
             AND type IN (SELECT value FROM json_each(:types))
           ORDER BY sequence DESC LIMIT :limit""",
        {"job_id": job_id, "before": before, "types": json.dumps(sorted(types)), "limit": limit},
    )
    return [EventRow(*row) for row in rows][::-1]


def read_samples(
    handle: Handle, job_id: int, types: Collection[str], *, sampled: Collection[str], most: int
) -> list[EventRow]:
    """Return all events of some types and an evenly chosen sample of the others, in order.

    Args:
        handle: Of a database.
        job_id: The job.
        types: Given as a whole.
        sampled: Of these only some, the last one among them.
        most: About how many of them.
    """
    rows = handle.execute(
        """WITH told AS (
             SELECT sequence, type, at_ms, context,
                    type IN (SELECT value FROM json_each(:sampled)) AS is_sampled,
                    row_number() OVER (
                      PARTITION BY type IN (SELECT value FROM json_each(:sampled))
                      ORDER BY sequence DESC
                    ) - 1 AS place
             FROM job_events WHERE job_id = :job_id
               AND (type IN (SELECT value FROM json_each(:types))
                    OR type IN (SELECT value FROM json_each(:sampled))))
           SELECT sequence, type, at_ms, context FROM told
           WHERE NOT is_sampled
              OR place % (1 + (SELECT sum(is_sampled) FROM told) / :most) = 0
           ORDER BY sequence""",
        {
            "job_id": job_id,
            "types": json.dumps(sorted(types)),
            "sampled": json.dumps(sorted(sampled)),
            "most": most,
        },
    )
    return [EventRow(*row) for row in rows]


class JobCount(NamedTuple):
    """The work of a job, so far or in all."""

    id: int  # later jobs have higher ones, as long as any is kept
    state: str
    origin: str
    started_at_ms: int | None
    finished_at_ms: int | None
    flagged_at_ms: int | None
    counts: str  # JSON
    result: str | None  # JSON


class Contents(NamedTuple):
    """The contents of a database, on all branches."""

    files: int
    chunks: int
    skips: dict[str, int]  # by reason


def read_job_counts(handle: Handle, after_id: int) -> list[JobCount]:
    """Return the jobs after one, in order of creation."""
    rows = handle.execute(
        """SELECT id, state, origin, started_at_ms, finished_at_ms, flagged_at_ms, counts, result
           FROM jobs WHERE id > ? ORDER BY id""",
        (after_id,),
    )
    return [JobCount(*row) for row in rows]


def read_last_id(handle: Handle) -> int:
    """Return the id of the newest job; 0 when there is none."""
    return int(handle.execute("SELECT coalesce(max(id), 0) FROM jobs").get)


def count_by_state(handle: Handle) -> dict[str, int]:
    """Return the number of jobs in each state."""
    return dict(handle.execute("SELECT state, count(*) FROM jobs GROUP BY state"))


def count_contents(handle: Handle) -> Contents:
    """Count what there is; some milliseconds for 100,000 chunks."""
    files = handle.execute("SELECT count(*) FROM files").get
    chunks = handle.execute("SELECT count(*) FROM chunks").get
    skips = dict(handle.execute("SELECT reason, count(*) FROM skips GROUP BY reason"))
    return Contents(int(files), int(chunks), skips)
