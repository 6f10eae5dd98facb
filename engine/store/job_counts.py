"""Jobs and contents in numbers, for those who measure."""

from typing import NamedTuple

from engine.store.connection import Handle


class JobCount(NamedTuple):
    """What a job has done, or did."""

    id: int  # later jobs have higher ones, as long as any is kept
    state: str
    origin: str
    started_at_ms: int | None
    finished_at_ms: int | None
    flagged_at_ms: int | None
    counts: str  # JSON
    result: str | None  # JSON


class Contents(NamedTuple):
    """What a database holds, on all branches."""

    files: int
    chunks: int
    skips: dict[str, int]  # by reason


def read_job_counts(handle: Handle, after_id: int) -> list[JobCount]:
    """Give the jobs after one, in the order in which they were made."""
    rows = handle.execute(
        """SELECT id, state, origin, started_at_ms, finished_at_ms, flagged_at_ms, counts, result
           FROM jobs WHERE id > ? ORDER BY id""",
        (after_id,),
    )
    return [JobCount(*row) for row in rows]


def read_last_id(handle: Handle) -> int:
    """Give the id of the newest job; 0 when there is none."""
    return int(handle.execute("SELECT coalesce(max(id), 0) FROM jobs").get)


def count_by_state(handle: Handle) -> dict[str, int]:
    """Give how many jobs there are in each state."""
    return dict(handle.execute("SELECT state, count(*) FROM jobs GROUP BY state"))


def count_contents(handle: Handle) -> Contents:
    """Count what there is; some milliseconds for 100,000 chunks."""
    files = handle.execute("SELECT count(*) FROM files").get
    chunks = handle.execute("SELECT count(*) FROM chunks").get
    skips = dict(handle.execute("SELECT reason, count(*) FROM skips GROUP BY reason"))
    return Contents(int(files), int(chunks), skips)
