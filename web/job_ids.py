"""Ids of jobs as people and agents shorten them."""

import re
from collections.abc import Iterator
from dataclasses import replace

from engine.catalog import Catalog
from engine.errors import InvalidInputError, JobNotFoundError
from engine.state_records import Job, JobFilter
from web.wording import short_id, state_of

_MIN_ID_CHARS = 4
_MAX_NAMED = 5
_PAGE = 1000
_WHOLE_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_PART_OF_ID = re.compile(r"[0-9a-f-]*")


def job_id_of(catalog: Catalog, typed: str) -> str:
    """Return the id of the only job that has the given text at a place where people shorten ids.

    Args:
        catalog: The projects.
        typed: A whole id, or at least 4 characters: its first or last ones, or the first ones of
            the short id that lists show.

    Raises:
        InvalidInputError: It is too short, or matches several jobs, which the message names.
        JobNotFoundError: It matches none.
    """
    wanted = typed.strip().lower()
    if _WHOLE_ID.fullmatch(wanted):
        return wanted
    if len(wanted) < _MIN_ID_CHARS:
        raise InvalidInputError(
            f"{typed!r} is too short for a job id",
            hint=f"type at least {_MIN_ID_CHARS} characters",
            field="job_id",
        )
    found = list(_jobs_named(catalog, wanted)) if _PART_OF_ID.fullmatch(wanted) else []
    if not found:
        raise JobNotFoundError(
            f"no job id starts or ends with {typed!r}", hint="cairn jobs list --all"
        )
    if len(found) > 1:
        named = [f"{short_id(job.job_id)} ({state_of(job)}, {job.path})" for job in found]
        more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
        raise InvalidInputError(
            f"{typed!r} matches {len(found)} jobs: {', '.join(named[:_MAX_NAMED])}{more}",
            hint="type more of the id; ids of one project differ at the end",
            field="job_id",
            job_ids=[job.job_id for job in found],
        )
    return found[0].job_id


def _jobs_named(catalog: Catalog, part: str) -> Iterator[Job]:
    wanted = JobFilter(limit=_PAGE)
    while True:
        page = catalog.jobs.list(wanted)
        for job in page.jobs:
            starts = job.job_id.startswith(part) or short_id(job.job_id).startswith(part)
            if starts or job.job_id.endswith(part):
                yield job
        if page.next_cursor is None:
            return
        wanted = replace(wanted, cursor=page.next_cursor)
