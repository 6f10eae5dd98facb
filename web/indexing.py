"""A run that is asked for over HTTP or MCP: waited for as long as a client does, then told of."""

from collections.abc import Callable
from typing import Final, NamedTuple

from engine.catalog import Catalog
from engine.job_records import Job, Waits
from engine.records import IndexOptions

#: How long an answer may wait: clients give up after 30 s.
WAIT_S: Final = 25.0


class Asked(NamedTuple):
    """A run that was asked for, as far as it is now."""

    job: Job
    is_duplicate: bool  # the same was asked for already, and goes on


def index(
    catalog: Catalog,
    path: str,
    options: IndexOptions,
    *,
    wait_s: float = WAIT_S,
    on_change: Callable[[Job], None] | None = None,
    enough: Callable[[], bool] | None = None,
) -> Asked:
    """Ask for a folder to be indexed, and wait for the end of a short run.

    Blocks the thread. Somebody must run jobs: a server does, others call
    ``catalog.jobs.start_detached`` before, so that the job outlives them.

    Args:
        catalog: The projects.
        path: The folder.
        options: Scope to store and how to run.
        wait_s: How long to wait at most; 0 means not at all.
        on_change: Hears of the job in this thread while it waits, at most ten times a second.
        enough: Asked as often; when true there is no more waiting.

    Raises:
        InvalidInputError: The folder, a pattern or the size is not valid.
        UnavailableError: No room on the disk, or the model is away and the caller would wait.
        JobConflictError: A job with other parameters is active on this project.
    """
    submitted = catalog.jobs.submit(
        path, options, waits=Waits.IF_SHORT if wait_s > 0 else Waits.NEVER
    )
    job_id = submitted.job_id
    if wait_s > 0 and submitted.waits:
        job = catalog.jobs.follow(job_id, on_change=on_change, enough=enough, timeout_s=wait_s)
    else:
        job = catalog.jobs.show(job_id)
    return Asked(job, submitted.duplicate)
