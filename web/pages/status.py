"""Status: how the server, its data directory, its jobs and its watchers are, and its settings."""

from dataclasses import dataclass
from typing import Any

from litestar import Request, Response, get

from engine.config import Origin
from engine.state_records import (
    ACTIVE,
    Job,
    JobState,
    LoggedProblem,
    ProjectPulse,
    ServerCondition,
    WatchState,
    WatchStatus,
)
from web.api.health import Health, health_of
from web.api.service import Service
from web.pages.rendering import Pages, Visit, page, visit_of
from web.pages.troubles import Trouble, is_paused, troubles_of
from web.wording import duration

_MOST_FAILED = 5
_ORIGINS = {
    Origin.ARGUMENT: "argument",
    Origin.ENVIRONMENT: "environment",
    Origin.FILE: "config.toml",
    Origin.DEFAULT: "default",
}
#: What a server notes, and what can be done about it.
_PROBLEMS = {
    "failure": ("A request failed inside the server", "its traceback is in logs/ of the data"),
    "request": ("A request failed", ""),
    "no_runner": ("No process could be started to run jobs", "it is tried again by itself"),
    "not_indexed": ("A folder could not be indexed", "see to it, then index it again"),
    "not_watched": ("A folder cannot be watched", "it is tried again by itself"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A project that somebody watches."""

    pulse: ProjectPulse
    is_good: bool
    state: str
    mode: str  # how it hears of changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that went wrong of late."""

    at: str
    title: str
    message: str
    advice: str
    project: str | None  # a root
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the page shows of the moment."""

    health: Health
    condition: ServerCondition
    active: tuple[Job, ...]
    troubles: tuple[Trouble, ...]  # what is wrong now
    failed: tuple[Job, ...]  # of the last few of each project, when others have made up for them
    watched: tuple[Watched, ...]
    unwatched: tuple[ProjectPulse, ...]
    problems: tuple[Problem, ...]

    @property
    def is_working(self) -> bool:
        """Whether a job runs."""
        return any(each.status is JobState.RUNNING for each in self.active)


@get("/status")
async def status(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Show how the server is; for htmx what changes."""
    visit = visit_of(request)
    return page(await service.work(lambda: _status(service, pages, visit)))


def _status(service: Service, pages: Pages, visit: Visit) -> bytes:
    pulses = sorted(service.catalog.feed.look(), key=lambda each: each.path)
    condition = service.observer.condition()
    troubles = troubles_of(condition, pulses)
    told = {each.retried.job_id for each in troubles if each.retried}
    failed = [
        job
        for each in pulses
        for job in each.jobs
        if job.status is JobState.FAILED and job.job_id not in told
    ]
    failed.sort(key=lambda job: job.finished_at or job.created_at, reverse=True)
    seen = Seen(
        health=health_of(service),
        condition=condition,
        active=tuple(job for each in pulses for job in each.jobs if job.status in ACTIVE),
        troubles=troubles,
        failed=tuple(failed[:_MOST_FAILED]),
        watched=tuple(_watched(each, each.watch) for each in pulses if each.watch),
        unwatched=tuple(each for each in pulses if not each.watch),
        problems=tuple(map(_problem, condition.problems)),
    )
    facts = {"seen": seen, "serving": service.serving, "origins": _ORIGINS}
    return pages.html("parts/status.html" if visit.is_fragment else "status.html", visit, facts)


def _watched(pulse: ProjectPulse, watch: WatchStatus) -> Watched:
    if is_paused(watch):
        return Watched(pulse=pulse, is_good=False, state="paused", mode="")
    is_good = watch.state in (WatchState.WATCHING, WatchState.POLLING)
    return Watched(pulse=pulse, is_good=is_good, state=watch.state.value, mode=_mode_of(watch))


def _mode_of(watch: WatchStatus) -> str:
    if watch.state is WatchState.WATCHING:
        return "events of the system"
    if watch.state is WatchState.POLLING:
        return f"looks every {duration(watch.poll_interval_ms or 0)}"
    return ""


def _problem(noted: LoggedProblem) -> Problem:
    title, advice = _PROBLEMS.get(noted.event, (noted.event.replace("_", " "), ""))
    return Problem(
        at=noted.at,
        title=title,
        message=noted.message,
        advice=advice,
        project=noted.project,
        times=noted.times,
    )
