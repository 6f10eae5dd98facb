"""``cairn jobs``: list, show, follow, cancel, retry and run jobs, and list their events.

A job can be given by part of its id, a time as a date or as a time span before now.
"""

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from engine.catalog import Catalog
from engine.clock import iso_time
from engine.config import load_config
from engine.errors import DamagedIndexError, InvalidInputError
from engine.state_records import Job, JobEvent, JobFilter, JobOrigin, JobState
from web.cli.follow import exit_code_of, follow, follow_to_report, print_submitted
from web.cli.interrupts import Interrupt
from web.cli.job_text import job_text, jobs_text, view_of
from web.cli.options import Group, examples, json_option, print_json, print_text
from web.errors import FAILURE, OK
from web.job_events import event_lines
from web.job_ids import job_id_of
from web.project_selection import index_of
from web.terminal import printable, style_for
from web.wording import is_active, kept_text, short_id, state_of, whole_unit_of

_SPAN = re.compile(r"(\d{1,6}) ?(s|min|m|h|d|w)")
_UNITS = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_CANCEL_WAIT_S = 10.0
_POLL_S = 0.2
_EVENTS_PAGE = 1000


def moment_of(typed: str | None, now: datetime, field: str) -> str | None:
    """Return a time as ISO 8601 in UTC.

    Args:
        typed: A date, a date with a time (UTC unless it has an offset), or a time span before now:
            ``90s``, ``20min``, ``2h``, ``3d``, ``1w``.
        now: The current time.
        field: The name of the option, for errors.

    Raises:
        InvalidInputError: It is none of these.
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
            f"--{field} is {typed!r}; expected a date, a time or a time span",
            hint=f"--{field} 2025-01-31, --{field} 2025-01-31T09:30, --{field} 2h or 3d",
            field=field,
        ) from error


id_argument = click.argument("job_id", metavar="ID")


@click.group(
    cls=Group,
    default="list",
    epilog=examples(
        "cairn jobs                          all jobs, newest first",
        "cairn jobs --status failed          only those that failed",
        "cairn jobs show 3f2a9c1e --follow   one job until it has finished",
        "cairn jobs cancel 3f2a9c1e          stop it; what it did is kept",
    ),
)
def command() -> None:
    """List, follow, cancel and retry jobs. All indexing is done by jobs.

    A job outlives the process that started it and continues after a crash. ID is a job's id, or at
    least 4 characters of its beginning or end, or of the beginning of what lists
    show of it. Without a subcommand, list.
    """


@command.command(
    "list",
    epilog=examples(
        "cairn jobs list --status running",
        "cairn jobs list --project . --since 3d   this project, the last three days",
        "cairn jobs list --all --json             with the watcher's jobs, for programs",
    ),
)
@click.option("--status", type=click.Choice([state.value for state in JobState]))
@click.option("--project", metavar="PATH", help="Only jobs of this project.")
@click.option("--since", metavar="TIME", help="Created after: a date, or 2h, 3d, 1w ago.")
@click.option("--until", metavar="TIME", help="Created before: like --since.")
@click.option(
    "--origin",
    type=click.Choice([origin.value for origin in JobOrigin]),
    default=JobOrigin.REQUEST.value,
    show_default=True,
    help="Jobs of requests or of the watcher.",
)
@click.option("--all", "all_origins", is_flag=True, help="Jobs of any origin.")
@click.option(
    "--limit", type=int, default=50, show_default=True, help="Maximum number of jobs, 1 to 1,000."
)
@click.option("--cursor", metavar="TEXT", help="Continue after an earlier page.")
@json_option
def list_command(
    *,
    project: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    **kinds: Any,
) -> None:
    """List the jobs of all projects, newest first.

    Finished jobs are kept for as many days as the setting job_retention. Times are in UTC.
    """
    now = datetime.now(UTC)
    wanted = JobFilter(
        status=JobState(kinds["status"]) if kinds["status"] else None,
        created_after=moment_of(since, now, "since"),
        created_before=moment_of(until, now, "until"),
        origin=None if kinds["all_origins"] else JobOrigin(kinds["origin"]),
        limit=limit,
        cursor=cursor,
    )
    config = load_config()
    with Catalog(config) as catalog:
        if project is not None:
            wanted = replace(wanted, target=_root_of(catalog, project))
        page = catalog.jobs.list(wanted)
    if as_json:
        print_json(page)
        return
    is_filtered = any((wanted.status, wanted.target, since, until, wanted.cursor))
    print_text(
        jobs_text(
            page,
            view_of(sys.stdout),
            is_filtered=is_filtered,
            has_watchers=wanted.origin is not JobOrigin.REQUEST,
            retention_days=config.job_retention,
        )
    )


def _root_of(catalog: Catalog, project: str) -> str:
    """Return the root of a project; jobs of a damaged one are listed as far as possible."""
    try:
        return index_of(catalog, project, by_name=True).root
    except DamagedIndexError:
        return project


@command.command(
    "show",
    epilog=examples("cairn jobs show 3f2a9c1e", "cairn jobs show 3f2a9c1e --follow"),
)
@id_argument
@click.option("--follow", "-f", "follows", is_flag=True, help="Wait until it has finished.")
@json_option
def show_command(job_id: str, *, follows: bool, as_json: bool) -> int:
    """Show the job ID: its progress, what it waits for, what it has done, and what to do next.

    With --follow the exit code is the outcome of the job: 0 if it completed, the code of its error
    if it failed, 130 if it was cancelled. Ctrl-C stops following, not the job.
    """
    with Catalog(load_config()) as catalog:
        found = job_id_of(catalog, job_id)
        if follows:
            job = follow(catalog, found, quiet=as_json, owns=False)
        else:
            job = catalog.jobs.show(found)
    if as_json:
        print_json(job)
    else:
        print_text(job_text(job, view_of(sys.stdout)))
    return exit_code_of(job) if follows else OK


@command.command(
    "cancel",
    epilog=examples("cairn jobs cancel 3f2a9c1e", "cairn jobs cancel 3f2a9c1e --no-wait"),
)
@id_argument
@click.option("--reason", default="", metavar="TEXT", help="The reason, for its history.")
@click.option("--no-wait", is_flag=True, help="Do not wait until it has stopped.")
@json_option
def cancel_command(job_id: str, *, reason: str, no_wait: bool, as_json: bool) -> int:
    """Cancel the job ID. What it has indexed is kept and searchable.

    Waits up to 10 seconds until it has stopped; the exit code is 1 if it has not by then.
    """
    with Catalog(load_config()) as catalog:
        job = catalog.jobs.cancel(job_id_of(catalog, job_id), reason=reason)
        if not no_wait:
            job = _stopped(catalog, job)
    if as_json:
        print_json(job)
    else:
        print_text(_cancelled_text(job))
    return FAILURE if is_active(job) and not no_wait else OK


@command.command(
    "retry",
    epilog=examples("cairn jobs retry 3f2a9c1e", "cairn jobs retry 3f2a9c1e --background"),
)
@id_argument
@click.option("--background", "-b", is_flag=True, help="Do not wait for it.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
@json_option
def retry_command(job_id: str, *, background: bool, quiet: bool, as_json: bool) -> None:
    """Start a new job with the parameters of the failed or cancelled job ID.

    Follows it like "cairn index", unless --background is given.
    """
    with Catalog(load_config()) as catalog:
        submitted = catalog.jobs.retry(job_id_of(catalog, job_id))
        if background:
            catalog.jobs.start_detached()
            print_submitted(submitted, quiet=quiet, as_json=as_json)
            return
        if not (quiet or as_json):
            sys.stderr.write(f"job {submitted.job_id}\n")
        follow_to_report(catalog, submitted, quiet=quiet, as_json=as_json)


@command.command(
    "events",
    epilog=examples("cairn jobs events 3f2a9c1e", "cairn jobs events 3f2a9c1e --follow --json"),
)
@id_argument
@click.option("--follow", "-f", "follows", is_flag=True, help="Continue until it has finished.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
def events_command(job_id: str, *, follows: bool, as_json: bool) -> int:
    """List the events of the job ID, in order.

    With --follow the exit code is the outcome of the job, as that of "cairn jobs show --follow".
    """
    with Catalog(load_config(), runs_jobs=False) as catalog:
        id_ = job_id_of(catalog, job_id)
        events = _events(catalog, id_, follows=follows)
        if as_json:
            for event in events:
                print_json(event)
        else:
            unit = whole_unit_of(catalog.jobs.show(id_))
            for line in event_lines(events, style_for(sys.stdout), unit):
                print_text(f"{line}\n")
                sys.stdout.flush()
        return exit_code_of(catalog.jobs.show(id_)) if follows else OK


@command.command("run", epilog=examples("cairn jobs run", "cairn jobs run --forever"))
@click.option("--forever", is_flag=True, help="Keep waiting for new jobs, as a service.")
@json_option
def run_command(*, forever: bool, as_json: bool) -> None:
    """Run the pending jobs of all projects, and exit when none is left.

    Commands that submit a job start a runner themselves; this is for services and scripts. After
    Ctrl-C an unfinished job continues as soon as jobs are run again.
    """
    with Catalog(load_config()) as catalog, Interrupt("stopping") as interrupt:
        while not catalog.jobs.work(until_idle=lambda: not forever, cancelled=interrupt.cancelled):
            if not forever:
                _print_outcome(
                    "another process already runs the jobs", is_idle=False, as_json=as_json
                )
                return
            if interrupt.cancelled():
                break
            time.sleep(_POLL_S)
    is_idle = not interrupt.cancelled()
    _print_outcome("no jobs left" if is_idle else "stopped", is_idle=is_idle, as_json=as_json)


def _print_outcome(message: str, *, is_idle: bool, as_json: bool) -> None:
    if as_json:
        print_json({"idle": is_idle, "message": message})
    else:
        print_text(f"{message}\n")


def _stopped(catalog: Catalog, job: Job) -> Job:
    """Wait until a job has stopped, up to 10 seconds, and return it."""
    deadline = time.monotonic() + _CANCEL_WAIT_S
    while is_active(job) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        job = catalog.jobs.show(job.job_id)
    return job


def _cancelled_text(job: Job) -> str:
    name = short_id(job.job_id)
    if is_active(job):
        return f"job {name} is stopping: cairn jobs show {name}\n"
    if job.status is not JobState.CANCELLED:
        return f"job {name} had {state_of(job)} before it could be stopped\n"
    return (
        f"stopped job {name} of {printable(job.path)}\n"
        f"  {kept_text(job)}\n"
        f"  cairn jobs retry {name} continues from there\n"
    )


def _events(catalog: Catalog, job_id: str, *, follows: bool) -> Iterator[JobEvent]:
    """Yield events; if the job is followed, until it has finished, and run if nobody runs it."""
    after = 0

    def has_more() -> bool:
        return bool(catalog.jobs.events(job_id, after=after, limit=1))

    while True:
        job = catalog.jobs.show(job_id)  # before its events: none is added after its end
        page = catalog.jobs.events(job_id, after=after, limit=_EVENTS_PAGE)
        yield from page
        if page:
            after = page[-1].sequence
        if len(page) == _EVENTS_PAGE:
            continue
        if not (follows and is_active(job)):
            return
        catalog.jobs.follow(job_id, stop_waiting=has_more)
