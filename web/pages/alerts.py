"""Alerts: current problems with advice; without one, the status page says "healthy"."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from engine.record_class import record
from engine.state_records import (
    ACTIVE,
    Job,
    JobKind,
    JobState,
    LoggedProblem,
    ProjectActivity,
    ServerStatus,
    WatchState,
    WatchStatus,
)
from web.pages.rendering import name_of, project_path
from web.wording import count, size

Item = TypeVar("Item")

#: A runner that ended is replaced within this time, so jobs may wait that long.
_RUNNER_GRACE = timedelta(seconds=15)
#: How long a logged failure counts as current.
_RECENT = timedelta(hours=1)
_MAX_PER_KIND = 5
_LOW_DISK_BYTES = 32 << 20
_LOW_DISK_DIVISOR = 20  # on a small disk, this fraction is low
_REQUESTS = frozenset({"request", "failure"})
_LOG_LINK = ("#problems-title", "Show the recent problems")
_LOGGED_TITLES = {
    "not_indexed": "A folder could not be indexed",
    "task_failed": "A background task failed",
    "no_exporter": "Traces cannot be exported",
}


@record
class Alert:
    """A current problem."""

    title: str
    advice: str  # cause, and what to do
    link: str  # address of details
    label: str  # of the link
    retried: Job | None = None  # a job to retry
    since: str = ""  # from when on it has been blocked, ISO 8601; empty if it is not


def alerts_of(
    status: ServerStatus, activities: Sequence[ProjectActivity], now: datetime | None = None
) -> tuple[Alert, ...]:
    """Return the current alerts, the most severe first.

    A failed job counts until a job of its project is completed, a logged problem for an hour.

    Args:
        status: The state of the server and its data directory.
        activities: The activity of the projects.
        now: The current time, with its zone; None for the clock's.
    """
    now = now or datetime.now(UTC)
    return (
        *_data_dir_alerts(status),
        *_first_few([each for each in activities if each.is_damaged], _damaged_alert, "/#projects"),
        *_runner_alerts(status, activities, now),
        *_first_few(_stuck(activities, now), _stuck_alert, "/jobs"),
        *_first_few(_held_up(activities), _held_up_alert, "#watchers-title"),
        *_first_few(
            [each.failed for each in activities if each.failed],
            failed_alert,
            "/jobs?status=failed",
        ),
        *_first_few(_unwatched(status, activities, now), _unwatched_alert, "#watchers-title"),
        *_logged_alerts(status, activities, now),
    )


def _data_dir_alerts(status: ServerStatus) -> Iterator[Alert]:
    if status.damaged:
        yield _unusable_alert(status.damaged, "is damaged", "are damaged")
    if status.newer:
        by = "made by a newer version of CodeCairn"
        yield _unusable_alert(status.newer, f"was {by}", f"were {by}")
    if status.model.problem:
        yield Alert(
            title="The model cannot be used",
            advice=f"{status.model.problem}; correct the setting model",
            link="#settings-title",
            label="Show the settings",
        )
    disk = status.disk
    if disk.free < min(_LOW_DISK_BYTES, disk.total // _LOW_DISK_DIVISOR):
        yield Alert(
            title="The disk is full",
            advice=f"the data directory has {size(disk.free)} left; jobs wait until there is space",
            link="#disk-title",
            label="Show the disk",
        )


def _unusable_alert(number: int, one: str, several: str) -> Alert:
    return Alert(
        title=f"An index {one}" if number == 1 else f"{number:,} indexes {several}",
        advice="the list of projects says why, and what can be done",
        link="/#projects",
        label="Show the projects",
    )


def _damaged_alert(activity: ProjectActivity) -> Alert:
    return Alert(
        title=f"The index of {name_of(activity.path)} is damaged",
        advice="found by its last check; answers can be wrong or incomplete until it is repaired",
        link=f"{project_path(activity.project_id)}/doctor",
        label="Show its health",
    )


def _runner_alerts(
    status: ServerStatus, activities: Sequence[ProjectActivity], now: datetime
) -> Iterator[Alert]:
    if status.runner.pid is not None:
        return
    waiting = [job for each in activities for job in each.jobs if job.status in ACTIVE]
    logged = [each for each in status.problems if each.event == "no_runner"]
    is_failing = bool(logged) and _is_recent(logged[0], now) and not _has_run(logged[0], activities)
    if not is_failing and not _have_waited_long(waiting, now):
        return
    many = f", {count(len(waiting), 'job')} waiting" if waiting else ""
    why = logged[0].message if is_failing else "see logs/runner-errors.log in the data directory"
    yield Alert(
        title=f"No job runner is active{many}",
        advice=f"{why}; starting a runner is retried automatically",
        link="/jobs",
        label="Show the jobs",
    )


def _has_run(problem: LoggedProblem, activities: Sequence[ProjectActivity]) -> bool:
    """Return whether a job has run since."""
    heard = (
        job.finished_at if job.status is JobState.COMPLETED else job.heartbeat_at
        for each in activities
        for job in each.jobs
    )
    return any(at and _parse_time(at) > _parse_time(problem.at) for at in heard)


def _have_waited_long(jobs: Sequence[Job], now: datetime) -> bool:
    """Return whether the oldest job has waited too long without a heartbeat of any job."""
    if not jobs:
        return False
    heard = [job.heartbeat_at for job in jobs if job.heartbeat_at]
    last = max([min(job.created_at for job in jobs), *heard], key=_parse_time)
    return now - _parse_time(last) >= _RUNNER_GRACE


def _stuck(activities: Sequence[ProjectActivity], now: datetime) -> list[Job]:
    """Return the jobs that are blocked, silent, or active for days.

    A job that only takes long with a file, or waits for the model, has a heartbeat.
    """
    active = [job for each in activities for job in each.jobs if job.status in ACTIVE]
    return [
        job
        for job in active
        if job.flagged
        or job.status is JobState.BLOCKED
        or (job.status is JobState.RUNNING and job.waiting is not None and _is_silent(job, now))
    ]


def _is_silent(job: Job, now: datetime) -> bool:
    return not job.heartbeat_at or now - _parse_time(job.heartbeat_at) >= _RUNNER_GRACE


def _work_of(job: Job) -> str:
    return "Reading the history" if job.kind == JobKind.HISTORY else "Indexing"


def _stuck_alert(job: Job) -> Alert:
    reason = "" if job.status is JobState.PENDING else job.waiting
    is_blocked = job.status is JobState.BLOCKED
    if reason and is_blocked:
        reason += "; it continues by itself"
    state = "blocked" if is_blocked else "stuck"
    return Alert(
        title=f"{_work_of(job)} of {name_of(job.path)} is {state}",
        advice=reason or "it has been active for a long time; check its log, or cancel it",
        link=f"/jobs/{job.job_id}",
        label="Show the job",
    )


def failed_alert(job: Job) -> Alert:
    """Return what is told of a job that failed."""
    error = job.error or {}
    return Alert(
        title=f"{_work_of(job)} of {name_of(job.path)} failed",
        advice=str(error.get("message", "")) or "see the log of the job",
        link=f"/jobs/{job.job_id}",
        label="Show the job",
        retried=job,
    )


def _held_up(activities: Sequence[ProjectActivity]) -> list[tuple[ProjectActivity, WatchStatus]]:
    """Return the projects whose changes wait, except those whose blocked job says so."""
    return [
        (each, each.watch)
        for each in activities
        if each.watch is not None
        and each.watch.state is WatchState.BLOCKED
        and not any(job.status is JobState.BLOCKED for job in each.jobs)
    ]


def _held_up_alert(held_up: tuple[ProjectActivity, WatchStatus]) -> Alert:
    activity, watch = held_up
    name = name_of(activity.path)
    title = f"Changes of {name} cannot be indexed"
    if watch.pending:
        title = f"Indexing of {name} is blocked: {count(watch.pending, 'change')} pending"
    return Alert(
        title=title,
        advice=watch.reason,
        link=project_path(activity.project_id),
        label="Show the project",
        since=watch.since,
    )


def _unwatched(
    status: ServerStatus, activities: Sequence[ProjectActivity], now: datetime
) -> list[tuple[ProjectActivity, str]]:
    """Return the projects that should be watched but are not, with the reasons."""
    logged = {
        each.project: each.message
        for each in reversed(status.problems)
        if each.event == "not_watched" and _is_recent(each, now)
    }
    found = []
    for each in activities:
        if each.watch is None and each.path in logged:
            found.append((each, logged[each.path]))
        elif each.watch is not None and each.watch.state is WatchState.WAITING:
            found.append((each, each.watch.reason))
        elif each.watch is not None and each.watch.paused:
            found.append((each, f"paused: {each.watch.reason}, with “Index again” on its page"))
    return found


def _unwatched_alert(unwatched: tuple[ProjectActivity, str]) -> Alert:
    activity, reason = unwatched
    return Alert(
        title=f"{name_of(activity.path)} is not watched",
        advice=reason or "its folder is missing or unreadable; this is retried automatically",
        link=project_path(activity.project_id),
        label="Show the project",
    )


def _logged_alerts(
    status: ServerStatus, activities: Sequence[ProjectActivity], now: datetime
) -> Iterator[Alert]:
    link, label = _LOG_LINK
    errors = [each for each in status.problems if each.level == "error" and _is_recent(each, now)]
    requests = [each for each in errors if each.event in _REQUESTS]
    if requests:
        answers = [each.message for each in requests if each.event == "request"]
        yield Alert(
            title="Requests failed within the last hour",
            advice=answers[0] if answers else "see the server's log",
            link=link,
            label=label,
        )
    for each in [each for each in errors if not _is_resolved(each, activities)]:
        title = _LOGGED_TITLES.get(each.event, each.event.replace("_", " "))
        where = f": {name_of(each.project)}" if each.project else ""
        yield Alert(title=f"{title}{where}", advice=each.message, link=link, label=label)


def _is_recent(problem: LoggedProblem, now: datetime) -> bool:
    return bool(problem.at) and now - _parse_time(problem.at) < _RECENT


def _is_resolved(problem: LoggedProblem, activities: Sequence[ProjectActivity]) -> bool:
    """Return whether a problem is reported elsewhere, or a job of its project completed since."""
    completed = (
        job.finished_at
        for each in activities
        if each.path == problem.project
        for job in each.jobs
        if job.status is JobState.COMPLETED and job.finished_at
    )
    is_reported = problem.event in _REQUESTS or problem.event == "no_runner"
    return is_reported or any(_parse_time(each) > _parse_time(problem.at) for each in completed)


def _first_few(
    found: Sequence[Item], describe: Callable[[Item], Alert], rest: str
) -> Iterator[Alert]:
    """Yield the first few of a kind, and one alert for the others that links to ``rest``."""
    yield from map(describe, found[:_MAX_PER_KIND])
    more = len(found) - _MAX_PER_KIND
    if more > 0:
        yield Alert(title=f"{more:,} more like this", advice="", link=rest, label="Show all")


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)
