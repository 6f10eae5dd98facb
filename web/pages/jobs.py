"""Jobs: the list with its filters, one job with its log, and how to stop it or ask again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from litestar import Request, Response, get, post
from litestar.di import Provide

from engine.errors import EngineError, InvalidInputError
from engine.job_records import TERMINAL, EventType, Job, JobEvent, JobFilter, JobState
from engine.records import FileError
from web.api.service import Service
from web.console.job_events import said_of
from web.errors import outcome_of
from web.pages.rendering import Pages, Visit, page, redirect, visit_of
from web.wording import duration

_PAGE = 50
_MOST_EVENTS = 1000
_DAYS = {"": None, "1": 1, "7": 7}
_KINDS: dict[str, frozenset[EventType]] = {
    "": frozenset(EventType),
    "changes": frozenset(EventType) - {EventType.PROGRESS, EventType.CHECKPOINT},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the address of the list says."""

    status: str
    project: str  # a root; empty for all
    days: str
    cursor: str | None

    @property
    def filter(self) -> JobFilter:
        """The same, as the engine takes it.

        Raises:
            InvalidInputError: A value is none of those on the page.
        """
        if self.status and self.status not in set(JobState):
            raise InvalidInputError(f"no job is {self.status!r}", field="status")
        if self.days not in _DAYS:
            raise InvalidInputError(f"days is {self.days!r}, wanted 1 or 7", field="days")
        days = _DAYS[self.days]
        after = None if days is None else datetime.now().astimezone() - timedelta(days=days)
        return JobFilter(
            status=JobState(self.status) if self.status else None,
            target=self.project or None,
            created_after=after.isoformat() if after else None,
            limit=_PAGE,
            cursor=self.cursor,
        )

    def address(self, **changed: str) -> str:
        """Give the page's address, some of it changed; from its first page on."""
        parts = {"status": self.status, "project": self.project, "days": self.days, **changed}
        query = urlencode({name: value for name, value in parts.items() if value})
        return f"/jobs?{query}" if query else "/jobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of a job's log."""

    event: JobEvent
    since: str  # the first one
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Files that failed for the same reason."""

    error: str
    files: tuple[str, ...]


def wanted_of(
    status: str = "", project: str = "", days: str = "", cursor: str | None = None
) -> Wanted:
    """Gather what the address of the list says."""
    return Wanted(status=status, project=project, days=days, cursor=cursor)


@get("/jobs", dependencies={"wanted": Provide(wanted_of, sync_to_thread=False)})
async def jobs(
    request: Request[Any, Any, Any], service: Service, pages: Pages, wanted: Wanted
) -> Response[bytes]:
    """List jobs, the newest first; for htmx the list alone."""
    visit = visit_of(request)

    def show() -> bytes:
        facts = {
            "wanted": wanted,
            "found": service.catalog.jobs.list(wanted.filter),
            "states": tuple(JobState),
            "roots": service.catalog.roots(),
        }
        return pages.html("parts/job_list.html" if visit.is_fragment else "jobs.html", visit, facts)

    return page(await service.work(show))


@get("/jobs/{job_id:str}")
async def job(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    job_id: str,
    events: str = "",
) -> Response[bytes]:
    """Show a job and what happened to it; for htmx all that changes."""
    visit = visit_of(request)
    return page(await service.work(lambda: _job(service, pages, visit, job_id, kind=events)))


@post("/jobs/{job_id:str}/cancel", status_code=303)
async def cancel_job(
    request: Request[Any, Any, Any], service: Service, pages: Pages, job_id: str
) -> Response[bytes]:
    """Ask a job to stop, and lead back to it."""

    def act() -> str:
        return service.catalog.jobs.cancel(job_id, reason="asked for on its page").job_id

    return await _acted(request, service, pages, job_id, act)


@post("/jobs/{job_id:str}/retry", status_code=303)
async def retry_job(
    request: Request[Any, Any, Any], service: Service, pages: Pages, job_id: str
) -> Response[bytes]:
    """Make a new job for what an older one was asked for, and lead to it."""

    def act() -> str:
        return service.catalog.jobs.retry(job_id).job_id

    return await _acted(request, service, pages, job_id, act)


async def _acted(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    job_id: str,
    act: Callable[[], str],
) -> Response[bytes]:
    """Do something with a job, and lead to the one to look at; its page says what was wrong."""
    visit = visit_of(request)
    try:
        return redirect(f"/jobs/{await service.work(act)}")
    except EngineError as error:
        told = error
    body = await service.work(partial(_job, service, pages, visit, job_id, error=told))
    return page(body, status=outcome_of(told).http_status)


def _job(
    service: Service,
    pages: Pages,
    visit: Visit,
    job_id: str,
    *,
    kind: str = "",
    error: EngineError | None = None,
) -> bytes:
    shown = service.catalog.jobs.show(job_id)
    events = service.catalog.jobs.events(job_id, limit=_MOST_EVENTS)
    facts = {
        "job": shown,
        "kind": kind,
        "entries": _entries(events, _KINDS.get(kind, _KINDS[""])),
        "number_of_events": len(events),
        "causes": _causes(shown),
        "can_cancel": shown.status not in TERMINAL and not shown.cancel_requested,
        "can_retry": shown.status in (JobState.FAILED, JobState.CANCELLED),
        "error": error,
    }
    return pages.html("parts/job.html" if visit.is_fragment else "job.html", visit, facts)


def _entries(events: tuple[JobEvent, ...], kinds: frozenset[EventType]) -> list[Entry]:
    if not events:
        return []
    first = datetime.fromisoformat(events[0].timestamp)
    return [
        Entry(
            event=event,
            since=duration(
                (datetime.fromisoformat(event.timestamp) - first) / timedelta(milliseconds=1)
            ),
            words=said_of(event),
        )
        for event in events
        if event.type in kinds
    ]


def _causes(job: Job) -> list[Cause]:
    """Put the files that failed together by what went wrong, the most first."""
    errors = (job.result or {}).get("errors")
    causes: dict[str, list[str]] = {}
    for each in errors if isinstance(errors, list | tuple) else ():
        file, error = (
            (each.file, each.error)
            if isinstance(each, FileError)
            else (str(each.get("file", "")), str(each.get("error", "")))
        )
        causes.setdefault(error, []).append(file)
    found = [Cause(error=error, files=tuple(files)) for error, files in causes.items()]
    return sorted(found, key=lambda cause: -len(cause.files))
