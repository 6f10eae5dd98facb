"""What happened to a job, seen as a whole: how many events of each type, the last ones, samples."""

import json
from collections.abc import Collection

from engine.store.connection import Handle
from engine.store.jobs import EventRow


def count_events(handle: Handle, job_id: int) -> dict[str, int]:
    """Give the number of a job's events by their type."""
    rows = handle.execute(
        "SELECT type, count(*) FROM job_events WHERE job_id = ? GROUP BY type", (job_id,)
    )
    return {str(type_): int(number) for type_, number in rows}


def read_last_events(
    handle: Handle, job_id: int, types: Collection[str], *, before: int | None, limit: int
) -> list[EventRow]:
    """Give the last events of some types in their order, those before a sequence if one is given.

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
    """Give all events of some types, and some of those of others, evenly chosen, in their order.

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
