"""The status page: server, data directory, jobs, watchers, recent problems and settings."""

from typing import Any

from litestar import Request, Response, get

from engine.record_class import record
from engine.state_records import (
    ACTIVE,
    Job,
    JobState,
    LoggedProblem,
    ProjectActivity,
    ServerStatus,
    WatchState,
    WatchStatus,
)
from web.api.health import Health, health_of
from web.api.service import Service
from web.pages.alerts import Alert, alerts_of, failed_alert
from web.pages.rendering import PageRequest, Pages, page, page_request_of
from web.pages.settings import ORIGINS
from web.wording import duration

_MAX_FAILED = 5
#: Titles and advice of logged problems, by their events.
_PROBLEMS = {
    "failure": ("Internal error in a request", "the traceback is in logs/ of the data directory"),
    "request": ("A request failed", ""),
    "no_runner": ("The job runner could not be started", "this is retried automatically"),
    "not_indexed": ("A folder could not be indexed", "correct the cause, then index it again"),
    "task_failed": ("A background task failed", "if it fails again, restart the server"),
    "not_watched": ("A folder cannot be watched", "this is retried automatically"),
}


@record
class WatchedProject:
    """A watched project."""

    activity: ProjectActivity
    is_good: bool
    state: str
    mode: str  # how changes are detected


@record
class Problem:
    """A recent problem from the log."""

    at: str
    title: str
    message: str
    advice: str
    project: str | None  # a root
    times: int


@record
class Snapshot:
    """The changing part of the page."""

    health: Health
    server: ServerStatus
    active: tuple[Job, ...]
    alerts: tuple[Alert, ...]  # current
    failed: tuple[Alert, ...]  # of recent jobs that are not among the alerts
    watched: tuple[WatchedProject, ...]
    unwatched: tuple[ProjectActivity, ...]
    problems: tuple[Problem, ...]

    @property
    def is_working(self) -> bool:
        """Whether a job is running."""
        return any(each.status is JobState.RUNNING for each in self.active)


@get("/status")
async def status(
    request: Request[Any, Any, Any], service: Service, pages: Pages
) -> Response[bytes]:
    """Render the status; for htmx the changing part."""
    page_request = page_request_of(request)
    return page(await service.work(lambda: _status(service, pages, page_request)))


def _status(service: Service, pages: Pages, page_request: PageRequest) -> bytes:
    activities = sorted(service.catalog.activity.poll(), key=lambda each: each.path)
    server = service.observer.status()
    alerts = alerts_of(server, activities)
    shown_above = {each.retried.job_id for each in alerts if each.retried}
    failed = [
        job
        for each in activities
        for job in each.jobs
        if job.status is JobState.FAILED and job.job_id not in shown_above
    ]
    failed.sort(key=lambda job: job.finished_at or job.created_at, reverse=True)
    snapshot = Snapshot(
        health=health_of(service),
        server=server,
        active=tuple(job for each in activities for job in each.jobs if job.status in ACTIVE),
        alerts=alerts,
        failed=tuple(map(failed_alert, failed[:_MAX_FAILED])),
        watched=tuple(_watched(each, each.watch) for each in activities if each.watch),
        unwatched=tuple(each for each in activities if not each.watch),
        problems=tuple(map(_problem, server.problems)),
    )
    context = {"snapshot": snapshot, "settings": service.settings, "origins": ORIGINS}
    return pages.html(
        "parts/status.html" if page_request.is_fragment else "status.html", page_request, context
    )


def _watched(activity: ProjectActivity, watch: WatchStatus) -> WatchedProject:
    if watch.paused:
        return WatchedProject(activity=activity, is_good=False, state="paused", mode="")
    is_good = watch.state in (WatchState.WATCHING, WatchState.POLLING)
    return WatchedProject(
        activity=activity, is_good=is_good, state=watch.state.value, mode=_mode_of(watch)
    )


def _mode_of(watch: WatchStatus) -> str:
    if watch.state is WatchState.WATCHING:
        return "by file events"
    if watch.state is WatchState.POLLING:
        return f"every {duration(watch.poll_interval_ms or 0)}"
    return ""


def _problem(logged: LoggedProblem) -> Problem:
    title, advice = _PROBLEMS.get(logged.event, (logged.event.replace("_", " "), ""))
    return Problem(
        at=logged.at,
        title=title,
        message=logged.message,
        advice=advice,
        project=logged.project,
        times=logged.times,
    )
