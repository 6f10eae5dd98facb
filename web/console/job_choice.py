"""Which job is meant by a part of its id, and which moment by a date or a span of time."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from engine.catalog import Catalog
from engine.clock import iso_time
from engine.errors import InvalidInputError, JobNotFoundError
from engine.job_records import Job, JobFilter
from web.console.job_wording import short_id, state_of

_LEAST_ID_CHARS = 4
_MOST_NAMED = 5
_PAGE = 1000
_WHOLE_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_PART_OF_ID = re.compile(r"[0-9a-f-]*")
_SPAN = re.compile(r"(\d{1,6}) ?(s|min|m|h|d|w)")
_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


def job_id_of(catalog: Catalog, typed: str) -> str:
    """Give the id of the only job whose id begins or ends as typed.

    Args:
        catalog: The projects there are.
        typed: A whole id, or its first or last characters, 4 at least.

    Raises:
        InvalidInputError: It is too short, or fits several jobs, which are named.
        JobNotFoundError: It fits none.
    """
    wanted = typed.strip().lower()
    if _WHOLE_ID.fullmatch(wanted):
        return wanted
    if len(wanted) < _LEAST_ID_CHARS:
        raise InvalidInputError(
            f"{typed!r} is too short for a job's id", hint="4 characters at least", field="id"
        )
    found = list(_jobs_named(catalog, wanted)) if _PART_OF_ID.fullmatch(wanted) else []
    if not found:
        raise JobNotFoundError(
            f"no job's id begins or ends with {typed!r}", hint="cairn jobs list --all"
        )
    if len(found) > 1:
        named = [f"{short_id(job.job_id)} ({state_of(job)}, {job.path})" for job in found]
        more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
        raise InvalidInputError(
            f"{typed!r} fits {len(found)} jobs: {', '.join(named[:_MOST_NAMED])}{more}",
            hint="type more of the id; jobs of a project differ at the end of theirs",
            field="id",
            job_ids=[job.job_id for job in found],
        )
    return found[0].job_id


def _jobs_named(catalog: Catalog, part: str) -> Iterator[Job]:
    wanted = JobFilter(limit=_PAGE)
    while True:
        page = catalog.jobs.list(wanted)
        for job in page.jobs:
            if job.job_id.startswith(part) or job.job_id.endswith(part):
                yield job
        if page.next_cursor is None:
            return
        wanted = replace(wanted, cursor=page.next_cursor)


def moment_of(typed: str | None, now: datetime, field: str) -> str | None:
    """Give a moment as ISO 8601 in UTC.

    Args:
        typed: A date, a date with a time (UTC unless it says otherwise), or a span such as ``90s``,
            ``20min``, ``2h``, ``3d``, ``1w``, which counts back from now.
        now: The time.
        field: The option's name, for the error.

    Raises:
        InvalidInputError: It is neither.
    """
    if typed is None:
        return None
    span = _SPAN.fullmatch(typed.strip())
    try:
        if span:
            moment = now - int(span[1]) * _UNITS[span[2]]
        else:
            moment = datetime.fromisoformat(typed.strip())
            moment = moment.replace(tzinfo=moment.tzinfo or UTC)
        return iso_time(int(moment.timestamp() * 1000))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"--{field} is {typed!r}, wanted a date, a time or a span",
            hint=f"--{field} 2025-01-31, --{field} 2025-01-31T09:30, --{field} 2h or 3d",
            field=field,
        ) from error
