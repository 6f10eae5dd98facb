"""Follow a job until it has finished, and print its report, for all subcommands that start one."""

import sys
from collections.abc import Callable, Mapping, Sequence

from engine.catalog import Catalog
from engine.errors import Cancelled
from engine.state_records import Job, JobKind, JobState, SubmittedJob
from web.cli.interrupts import Interrupt
from web.cli.options import print_json, print_text
from web.cli.progress import progress_on
from web.errors import INTERRUPTED, OK, JobFailed, outcome_of_code
from web.terminal import printable
from web.wording import (
    changes_of,
    contents_of,
    duration,
    expected,
    gave_way,
    history_changes_of,
    kept_text,
    number_in,
    short_id,
    wait_of,
)

_ERRORS_SHOWN = 10


def follow(catalog: Catalog, job_id: str, *, quiet: bool, owns: bool, notice: str = "") -> Job:
    """Show the progress of a job until it has finished, and return the finished job.

    Args:
        catalog: The projects. If it is closed before the job has finished, the job continues in a
            separate process.
        job_id: The job.
        quiet: Whether to show nothing.
        owns: Whether Ctrl-C stops the job; otherwise it only stops following.
        notice: Text to print first, with its newline.

    Raises:
        Cancelled: Ctrl-C stopped following; the message says how to resume.
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
            for job in seen:  # some lines become due by time alone
                show(job)
            if interrupt.cancelled() and not owns:
                name = short_id(job_id)
                raise Cancelled(f"job {name} is still active: cairn jobs show {name} --follow")
            return interrupt.cancelled()

        return catalog.jobs.follow(job_id, on_change=on_change, cancelled=cancelled)


def completed(job: Job) -> Job:
    """Return a finished job if it has completed.

    Raises:
        JobFailed: It failed.
        Cancelled: It was cancelled; the message says what was kept, or to what it gave way.
    """
    if job.status is JobState.FAILED:
        raise JobFailed(job)
    if job.status is JobState.CANCELLED:
        name = short_id(job.job_id)
        if gave_way(job):
            raise Cancelled(f"job {name} {wait_of(job)}")
        raise Cancelled(
            f"job {name} was stopped: {kept_text(job)};"
            f" the same command, or cairn jobs retry {name}, continues from there"
        )
    return job


def exit_code_of(job: Job) -> int:
    """Return the exit code that corresponds to the status of a job."""
    if job.status is JobState.FAILED:
        return outcome_of_code(str((job.error or {}).get("error", ""))).exit_code
    return INTERRUPTED if job.status is JobState.CANCELLED else OK


def follow_to_report(
    catalog: Catalog,
    submitted: SubmittedJob,
    *,
    quiet: bool,
    as_json: bool,
    again: Callable[[], SubmittedJob] | None = None,
) -> None:
    """Wait for a job and print its report.

    Args:
        catalog: The projects.
        submitted: The submitted job; Ctrl-C does not stop a duplicate.
        quiet: Print neither progress nor text.
        as_json: Print no progress, and the report with the keys of ``IndexReport``, or of
            ``HistoryReport`` if the job has read the history.
        again: Repeats the request. Called once if the job compared the folder with the index before
            the request; the report is then that of the second job, whoever requested it.

    Raises:
        JobFailed: It failed.
        Cancelled: It was cancelled, or is no longer followed.
    """
    is_silent = quiet or as_json
    job = _followed_to_completion(catalog, submitted, quiet=is_silent)
    if again and submitted.may_lack_changes(job):
        if not is_silent:
            sys.stderr.write("it had begun before; looking for changes since then\n")
        job = _followed_to_completion(catalog, again(), quiet=is_silent)
    result = job.result or {}
    if as_json:
        from web.schemas import report_json

        print_json(report_json(result))
    elif not quiet:
        print_text(history_text(job) if job.kind == JobKind.HISTORY else report_text(result))


def _followed_to_completion(catalog: Catalog, submitted: SubmittedJob, *, quiet: bool) -> Job:
    already = (
        f"already {submitted.status} as job {short_id(submitted.job_id)}; following it"
        " (Ctrl-C stops following, not the job)\n"
    )
    job = follow(
        catalog,
        submitted.job_id,
        quiet=quiet,
        owns=not submitted.duplicate,
        notice=already if submitted.duplicate else "",
    )
    return completed(job)


def print_warnings(submitted: SubmittedJob, *, quiet: bool) -> None:
    """Print what speaks against indexing this folder, on standard error."""
    if not quiet:
        for warning in submitted.warnings:
            sys.stderr.write(f"warning: {printable(warning)}\n")


def print_submitted(submitted: SubmittedJob, *, quiet: bool, as_json: bool) -> None:
    """Print the id of a background job and how to follow it.

    Args:
        submitted: The submitted job.
        quiet: Print no text.
        as_json: Print one object.
    """
    if as_json:
        names = ("job_id", "status", "duplicate", "estimated_seconds", "warnings")
        print_json({name: getattr(submitted, name) for name in names})
    elif not quiet:
        print_text(submitted_text(submitted))


def submitted_text(submitted: SubmittedJob) -> str:
    """Format the id of a background job, its expected duration and how to follow it."""
    already = f"already {submitted.status} as " if submitted.duplicate else ""
    name = short_id(submitted.job_id)
    return (
        f"{already}job {submitted.job_id}{expected(submitted.estimated_seconds)}\n"
        f"  cairn jobs show {name} --follow   watch it\n"
        f"  cairn jobs cancel {name}          stop it\n"
    )


def report_text(report: Mapping[str, object]) -> str:
    """Format the report of an indexing run.

    Args:
        report: The report, with the keys of ``IndexReport``.
    """
    seen = number_in(report, "files_indexed") + number_in(report, "files_unchanged")
    lines = [
        f"indexed {_text(report['path'])} in {duration(number_in(report, 'duration_ms'))}",
        f"  files    {changes_of(report)}",
        f"  content  {contents_of(report)}",
    ]
    errors = _list(report, "errors")
    lines += [
        f"  failed   {_text(each['file'])}: {_text(each['error'])}"
        for each in errors[:_ERRORS_SHOWN]
        if isinstance(each, Mapping)
    ]
    if len(errors) > _ERRORS_SHOWN:
        lines.append(f"  failed   and {len(errors) - _ERRORS_SHOWN:,} more: cairn status")
    lines += [f"  note     {_text(note)}" for note in _list(report, "notes")]
    if not seen:
        lines.append("  no searchable files; cairn status shows why")
    return "\n".join(lines) + "\n"


def history_text(job: Job) -> str:
    """Format the report of a job that has read the history."""
    report = job.result or {}
    took = duration(number_in(report, "duration_ms"))
    lines = [
        f"read the history of {printable(job.path)} in {took}",
        f"  commits  {history_changes_of(report)}",
        *(f"  note     {_text(note)}" for note in _list(report, "notes")),
    ]
    return "\n".join(lines) + "\n"


def _list(report: Mapping[str, object], name: str) -> Sequence[object]:
    value = report.get(name)
    return value if isinstance(value, list | tuple) else ()


def _text(value: object) -> str:
    return printable(str(value))
