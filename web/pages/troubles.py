"""What is wrong now, each with what to do about it. When nothing is, and only then, all is well."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from engine.state_records import (
    ACTIVE,
    INDEXING_CANCELLED,
    Job,
    JobState,
    LoggedProblem,
    ProjectPulse,
    ServerCondition,
    WatchState,
    WatchStatus,
)
from web.pages.rendering import name_of, project_path
from web.wording import count, size

Found = TypeVar("Found")

#: How long nobody may run jobs while some wait: a runner that has ended is replaced within this.
_PATIENCE = timedelta(seconds=15)
#: How long ago a failure of the server still says something of how it is now.
_OF_LATE = timedelta(hours=1)
_MOST_OF_A_KIND = 5
_LITTLE_ROOM_BYTES = 32 << 20
_SHARE_OF_ROOM = 20  # of a small disk, so much of it is little
_REQUESTS = frozenset({"request", "failure"})
_LOGGED = ("#problems-title", "See what was noted")
_NOTED = {
    "not_indexed": "A folder could not be indexed",
    "no_exporter": "Traces cannot be handed on",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that is wrong now."""

    title: str
    advice: str  # why it is so, and what to do
    link: str  # where it is seen, or mended
    label: str  # of the link
    retried: Job | None = None  # that can be asked for again


def is_paused(watch: WatchStatus) -> bool:
    """Say whether a watcher that hears of changes leaves them, as indexing was cancelled."""
    return watch.state is WatchState.WATCHING and watch.reason.startswith(INDEXING_CANCELLED)


def troubles_of(
    condition: ServerCondition, pulses: Sequence[ProjectPulse], now: datetime | None = None
) -> tuple[Trouble, ...]:
    """Say what is wrong, the gravest first.

    A job that failed counts until one of its project is completed; what a server noted counts for
    an hour.

    Args:
        condition: How the server and its data directory are.
        pulses: What goes on in the projects.
        now: The present time, with its zone; None for that of the clock.
    """
    now = now or datetime.now(UTC)
    return (
        *_of_the_place(condition),
        *_some([each for each in pulses if each.is_damaged], _of_damaged, "/#projects"),
        *_of_the_runner(condition, pulses, now),
        *_some(_stuck(pulses), _of_stuck, "/jobs"),
        *_some([each.failed for each in pulses if each.failed], _of_failed, "/jobs?status=failed"),
        *_some(_unfollowed(condition, pulses, now), _of_watcher, "#watchers-title"),
        *_of_the_log(condition, pulses, now),
    )


def _of_the_place(condition: ServerCondition) -> Iterator[Trouble]:
    if condition.unreadable:
        many = condition.unreadable
        yield Trouble(
            title="An index is damaged" if many == 1 else f"{many:,} indexes are damaged",
            advice="it cannot be read; it can be mended, or forgotten and made anew",
            link="/#projects",
            label="See the projects",
        )
    if condition.model.problem:
        yield Trouble(
            title="The model cannot be used",
            advice=f"{condition.model.problem}; correct the setting model",
            link="#settings-title",
            label="See the settings",
        )
    disk = condition.disk
    if disk.free < min(_LITTLE_ROOM_BYTES, disk.total // _SHARE_OF_ROOM):
        yield Trouble(
            title="The disk is full",
            advice=f"the data directory has {size(disk.free)} left; jobs wait until there is room",
            link="#disk-title",
            label="See the disk",
        )


def _of_damaged(pulse: ProjectPulse) -> Trouble:
    return Trouble(
        title=f"The index of {name_of(pulse.path)} is damaged",
        advice="its last check found so: answers can be wrong or incomplete until it is repaired",
        link=f"{project_path(pulse.project_id)}/doctor",
        label="See its doctor",
    )


def _of_the_runner(
    condition: ServerCondition, pulses: Sequence[ProjectPulse], now: datetime
) -> Iterator[Trouble]:
    if condition.runner.pid is not None:
        return
    waiting = [job for each in pulses for job in each.jobs if job.status in ACTIVE]
    noted = [each for each in condition.problems if each.event == "no_runner"]
    is_failing = bool(noted) and _is_of_late(noted[0], now) and not _has_run(noted[0], pulses)
    if not is_failing and not _has_waited(waiting, now):
        return
    many = f", and {count(len(waiting), 'job')} to be done" if waiting else ""
    why = noted[0].message if is_failing else "logs/runner-errors.log of the data may say why"
    yield Trouble(
        title=f"No process runs jobs{many}",
        advice=f"{why}; one is started again and again by itself",
        link="/jobs",
        label="See the jobs",
    )


def _has_run(problem: LoggedProblem, pulses: Sequence[ProjectPulse]) -> bool:
    """Say whether some process has run a job since."""
    heard = (
        job.finished_at if job.status is JobState.COMPLETED else job.heartbeat_at
        for each in pulses
        for job in each.jobs
    )
    return any(at and _moment(at) > _moment(problem.at) for at in heard)


def _has_waited(jobs: Sequence[Job], now: datetime) -> bool:
    """Say whether the oldest job has waited for long, and nothing was heard of any since."""
    if not jobs:
        return False
    heard = [job.heartbeat_at for job in jobs if job.heartbeat_at]
    last = max([min(job.created_at for job in jobs), *heard], key=_moment)
    return now - _moment(last) >= _PATIENCE


def _stuck(pulses: Sequence[ProjectPulse]) -> list[Job]:
    """Give the jobs that wait for something outside, of which nothing is heard, or that take days.

    That a job which runs waits is its silence.
    """
    active = [job for each in pulses for job in each.jobs if job.status in ACTIVE]
    return [
        job
        for job in active
        if job.flagged or (job.status is not JobState.PENDING and job.waiting is not None)
    ]


def _of_stuck(job: Job) -> Trouble:
    reason = "" if job.status is JobState.PENDING else job.waiting
    return Trouble(
        title=f"The job of {name_of(job.path)} does not go on",
        advice=reason or "it has been active for a long time; see what it did last, or cancel it",
        link=f"/jobs/{job.job_id}",
        label="See the job",
    )


def _of_failed(job: Job) -> Trouble:
    error = job.error or {}
    return Trouble(
        title=f"The job of {name_of(job.path)} failed",
        advice=str(error.get("message", "")) or "its log says why",
        link=f"/jobs/{job.job_id}",
        label="See the job",
        retried=job,
    )


def _unfollowed(
    condition: ServerCondition, pulses: Sequence[ProjectPulse], now: datetime
) -> list[tuple[ProjectPulse, str]]:
    """Give the projects whose folders are to be followed and are not, each with the reason."""
    noted = {
        each.project: each.message
        for each in reversed(condition.problems)
        if each.event == "not_watched" and _is_of_late(each, now)
    }
    found = []
    for each in pulses:
        if each.watch is None and each.path in noted:
            found.append((each, noted[each.path]))
        elif each.watch is not None and each.watch.state is WatchState.WAITING:
            found.append((each, each.watch.reason))
        elif each.watch is not None and is_paused(each.watch):
            found.append((each, f"paused: {each.watch.reason}, with “Index again” on its page"))
    return found


def _of_watcher(unfollowed: tuple[ProjectPulse, str]) -> Trouble:
    pulse, reason = unfollowed
    return Trouble(
        title=f"{name_of(pulse.path)} is not followed",
        advice=reason or "its folder is away or cannot be read; it is tried again by itself",
        link=project_path(pulse.project_id),
        label="See the project",
    )


def _of_the_log(
    condition: ServerCondition, pulses: Sequence[ProjectPulse], now: datetime
) -> Iterator[Trouble]:
    link, label = _LOGGED
    errors = [
        each for each in condition.problems if each.level == "error" and _is_of_late(each, now)
    ]
    requests = [each for each in errors if each.event in _REQUESTS]
    if requests:
        answers = [each.message for each in requests if each.event == "request"]
        yield Trouble(
            title="The server failed to answer within the last hour",
            advice=answers[0] if answers else "its log says why",
            link=link,
            label=label,
        )
    for each in [each for each in errors if not _is_over(each, pulses)]:
        title = _NOTED.get(each.event, each.event.replace("_", " "))
        where = f": {name_of(each.project)}" if each.project else ""
        yield Trouble(title=f"{title}{where}", advice=each.message, link=link, label=label)


def _is_of_late(problem: LoggedProblem, now: datetime) -> bool:
    return bool(problem.at) and now - _moment(problem.at) < _OF_LATE


def _is_over(problem: LoggedProblem, pulses: Sequence[ProjectPulse]) -> bool:
    """Say whether a problem is told elsewhere, or a job of its project was completed since."""
    completed = (
        job.finished_at
        for each in pulses
        if each.path == problem.project
        for job in each.jobs
        if job.status is JobState.COMPLETED and job.finished_at
    )
    is_told = problem.event in _REQUESTS or problem.event == "no_runner"
    return is_told or any(_moment(each) > _moment(problem.at) for each in completed)


def _some(found: Sequence[Found], told: Callable[[Found], Trouble], rest: str) -> Iterator[Trouble]:
    """Give the first of a kind one by one, and the others as one; ``rest`` is where they are."""
    yield from map(told, found[:_MOST_OF_A_KIND])
    more = len(found) - _MOST_OF_A_KIND
    if more > 0:
        yield Trouble(title=f"{more:,} more like these", advice="", link=rest, label="See all")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
