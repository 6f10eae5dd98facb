"""Waiting for a job in the foreground: its progress, Ctrl-C, and how its end ends the command."""

import sys

from engine.catalog import Catalog
from engine.errors import Cancelled
from engine.job_records import Job, JobState
from web.console.interrupt import Interrupt
from web.console.job_wording import kept_text, short_id
from web.console.progress import progress_on
from web.errors import INTERRUPTED, OK, JobFailed, outcome_of_code


def follow(catalog: Catalog, job_id: str, *, quiet: bool, owns: bool, notice: str = "") -> Job:
    """Show how far a job is until it has ended; the job as it is then.

    Args:
        catalog: Whose job it is. When it is closed before the job has ended, the job goes on in a
            process of its own.
        job_id: The job.
        quiet: Show nothing.
        owns: The job is this command's own: Ctrl-C stops it. Else Ctrl-C only stops the watching.
        notice: What to say first, with its line end.

    Raises:
        Cancelled: Ctrl-C stopped the watching; the message says how to begin again.
    """
    with Interrupt() if owns else Interrupt(notice="") as interrupt:
        if not quiet:
            sys.stderr.write(notice)
            sys.stderr.flush()
        return _followed(catalog, job_id, interrupt, quiet=quiet, owns=owns)


def _followed(
    catalog: Catalog, job_id: str, interrupt: Interrupt, *, quiet: bool, owns: bool
) -> Job:
    with progress_on(sys.stderr, quiet=quiet) as show:
        seen: list[Job] = []

        def on_change(job: Job) -> None:
            seen[:] = [job]
            show(job)

        def cancelled() -> bool:
            for job in seen:  # time alone makes some lines due
                show(job)
            if interrupt.cancelled() and not owns:
                name = short_id(job_id)
                raise Cancelled(f"job {name} goes on: cairn jobs show {name} --follow")
            return interrupt.cancelled()

        return catalog.jobs.follow(job_id, on_change=on_change, cancelled=cancelled)


def completed(job: Job) -> Job:
    """Give a job that has completed.

    Raises:
        JobFailed: It failed.
        Cancelled: It was cancelled; the message says what was kept.
    """
    if job.status is JobState.FAILED:
        raise JobFailed(job)
    if job.status is JobState.CANCELLED:
        name = short_id(job.job_id)
        raise Cancelled(
            f"job {name} was stopped: {kept_text(job)};"
            f" the same command, or cairn jobs retry {name}, goes on from there"
        )
    return job


def exit_code_of(job: Job) -> int:
    """Give the exit code of a command that shows how a job has ended."""
    if job.status is JobState.FAILED:
        return outcome_of_code(str((job.error or {}).get("error", ""))).exit_code
    return INTERRUPTED if job.status is JobState.CANCELLED else OK
