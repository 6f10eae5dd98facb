"""Ids of jobs as people and agents shorten them."""

import re
from collections.abc import Iterator
from dataclasses import replace

from engine.catalog import Catalog
from engine.errors import InvalidInputError, JobNotFoundError
from engine.state_records import Job, JobFilter
from web.wording import short_id, state_of

_MIN_ID_CHARS = 4
_MIN_END_CHARS = 8
_MAX_NAMED = 5
_PAGE = 1000
_WHOLE_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_PART_OF_ID = re.compile(r"[0-9a-f-]*")


def job_id_of(catalog: Catalog, typed: str, *, field: str = "id", is_end: bool = False) -> str:
    """Return the id of the only job that has the given text at a place where people shorten ids.

    Args:
        catalog: The projects.
        typed: A whole id, or at least 4 characters: its first or last ones, or the first ones of
            the short id that lists show.
        field: The name of the parameter, for errors.
        is_end: Whether only the end will do, at least what lists show of it: an id begins with that
            of its project, which is no way to choose a job that is to be stopped.

    Raises:
        InvalidInputError: It is too short, or matches several jobs, which the message names.
        JobNotFoundError: It matches none.
    """
    wanted = typed.strip().lower()
    if _WHOLE_ID.fullmatch(wanted):
        return wanted
    least = _MIN_END_CHARS if is_end else _MIN_ID_CHARS
    if len(wanted) < least:
        raise InvalidInputError(
            f"{typed!r} is too short for a job id",
            hint=f"type at least {least} characters{' of its end' if is_end else ''}",
            field=field,
        )
    is_part = _PART_OF_ID.fullmatch(wanted)
    found = list(_jobs_named(catalog, wanted, is_end=is_end)) if is_part else []
    if not found:
        raise JobNotFoundError(
            f"no job id {'' if is_end else 'starts or '}ends with {typed!r}",
            hint="cairn jobs list --all",
            job_id=typed,
        )
    if len(found) > 1:
        first = found[:_MAX_NAMED]
        named = [f"{short_id(job.job_id)} ({state_of(job)}, {job.path})" for job in first]
        more = f" and {len(found) - len(first)} more" if len(found) > len(first) else ""
        raise InvalidInputError(
            f"{typed!r} matches {len(found)} jobs: {', '.join(named)}{more}",
            hint="type more of the id; ids of one project differ at the end",
            field=field,
            job_ids=[job.job_id for job in first],
        )
    return found[0].job_id


def _jobs_named(catalog: Catalog, part: str, *, is_end: bool) -> Iterator[Job]:
    wanted = JobFilter(limit=_PAGE)
    while True:
        page = catalog.jobs.list(wanted)
        for job in page.jobs:
            starts = job.job_id.startswith(part) or short_id(job.job_id).startswith(part)
            if (starts and not is_end) or job.job_id.endswith(part):
                yield job
        if page.next_cursor is None:
            return
        wanted = replace(wanted, cursor=page.next_cursor)
