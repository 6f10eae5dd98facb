"""The check of jobs: whether what they store as JSON can be read."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from engine.doctor.check import MOST_PLACES, Check, Context, Problem
from engine.doctor_records import FindingCode
from engine.errors import EngineError
from engine.humanize import count
from engine.state_records import JobState
from engine.store import repair, text_checks
from engine.store.connection import Handle

_EMPTY: Final = "{}"
_ERROR: Final = json.dumps(
    {"error": EngineError.code, "message": "why it failed was lost when the index was damaged"}
)


def _find_jobs(context: Context) -> Iterator[Problem]:
    """Find jobs with parts, their events and checkpoints among them, that cannot be read."""
    with context.reading() as handle:
        found = text_checks.read_damaged_jobs(handle)
    if found:
        message = f"Found {count(len(found), 'job')} with parts that are no JSON"
        places = tuple(f"{job.uuid}: {', '.join(_parts(job))}" for job in found[:MOST_PLACES])
        ids = [job.id for job in found]
        yield Problem(FindingCode.JOBS, message, len(found), ids, places=places)


def _parts(job: text_checks.DamagedJob) -> Iterator[str]:
    """Yield what of a job cannot be read."""
    yield from job.columns
    for number, noun in ((len(job.events), "event"), (len(job.checkpoints), "checkpoint")):
        if number:
            yield count(number, noun)


def _repair_jobs(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    with context.store.write(durable=True, bookkeeping=True) as handle:
        make_jobs_readable(handle)
    yield f"Kept the readable parts of {count(sum(each.number for each in problems), 'job')}"


def make_jobs_readable(handle: Handle) -> None:
    """Keep what can be read of jobs, for the caller's transaction; sound ones stay as is.

    A job that has lost its parameters is one over the whole project; one that has lost a
    checkpoint begins at an earlier one.
    """
    for job in text_checks.read_damaged_jobs(handle):
        texts: dict[str, str | None] = dict.fromkeys(job.columns, _EMPTY)
        if "error" in texts:
            texts["error"] = _ERROR if job.state == JobState.FAILED else None
        if texts:
            repair.rewrite_job(handle, job.id, texts)
        repair.clear_events(handle, job.events)
        repair.delete_checkpoints(handle, job.checkpoints)


JOBS = Check(name="jobs", find=_find_jobs, fixes={FindingCode.JOBS: _repair_jobs})
