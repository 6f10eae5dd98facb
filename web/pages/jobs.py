"""Jobs: the list with its filters, one job with its log, and how to stop it or ask again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import EngineError, InvalidInputError
from engine.job_records import (
    TERMINAL,
    EventType,
    Job,
    JobEvent,
    JobFilter,
    JobHistory,
    JobState,
)
from engine.records import FileError
from web.api.service import Service
from web.console.job_events import said_of
from web.pages.acting import acted
from web.pages.forms import form_of
from web.pages.job_course import course_of
from web.pages.rendering import Pages, Visit, own_place, page, visit_of
from web.wording import duration

_PAGE = 50
_MOST_EVENTS = 200
_DAYS = ("", "1", "7")
_MOMENT = timedelta(milliseconds=1)
_TOLD = frozenset({EventType.PROGRESS, EventType.CHECKPOINT})
_KINDS: dict[str, frozenset[EventType]] = {
    "": frozenset(EventType),
    "changes": frozenset(EventType) - _TOLD,
    "progress": frozenset({EventType.PROGRESS}),
    "checkpoints": frozenset({EventType.CHECKPOINT}),
}
_KIND_TITLES = {"": "all", "changes": "changes of state"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the address of the list says."""

    status: str
    project: str  # a root; empty for all
    days: str
    first: str  # a day, such as 2026-03-01; with ``last`` instead of ``days``
    last: str
    cursor: str | None

    @property
    def is_narrow(self) -> bool:
        """Whether anything is asked for."""
        return any((self.status, self.project, self.days, self.first, self.last))

    @property
    def filter(self) -> JobFilter:
        """The same, as the engine takes it.

        Raises:
            InvalidInputError: A value is none of those on the page.
        """
        if self.status and self.status not in set(JobState):
            raise InvalidInputError(f"no job is {self.status!r}", field="status")
        after, before = self._times()
        return JobFilter(
            status=JobState(self.status) if self.status else None,
            target=self.project or None,
            created_after=after.isoformat() if after else None,
            created_before=before.isoformat() if before else None,
            limit=_PAGE,
            cursor=self.cursor,
        )

    def address(self, **changed: str) -> str:
        """Give the page's address, some of it changed; from its first page on."""
        parts = {
            "status": self.status,
            "project": self.project,
            "days": self.days,
            "first": self.first,
            "last": self.last,
            **changed,
        }
        query = urlencode({name: value for name, value in parts.items() if value})
        return f"/jobs?{query}" if query else "/jobs"

    def _times(self) -> tuple[datetime | None, datetime | None]:
        """Give the times between which jobs were asked for; days are those of this machine."""
        if self.days not in _DAYS:
            raise InvalidInputError(f"days is {self.days!r}, wanted 1 or 7", field="days")
        after = _day("first", self.first, -_MOMENT)
        before = _day("last", self.last, timedelta(days=1))
        if self.days and not (after or before):
            today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
            after = today - timedelta(days=int(self.days) - 1) - _MOMENT
        return after, before


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of a job's log."""

    event: JobEvent
    since: str  # the first one
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A choice of events for the log."""

    name: str  # in the address
    title: str
    number: int  # of events


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Files that failed for the same reason."""

    error: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Which job, and which of its events."""

    job_id: str
    kind: str = ""
    before: int | None = None  # a sequence; None for the newest events
    error: EngineError | None = None  # of what was just asked for


def wanted_of(
    status: str = "",
    project: str = "",
    days: str = "",
    first: str = "",
    last: str = "",
    cursor: str | None = None,
) -> Wanted:
    """Gather what the address of the list says."""
    return Wanted(status=status, project=project, days=days, first=first, last=last, cursor=cursor)


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
    before: Annotated[int | None, QueryParameter(ge=1, le=2**53)] = None,
) -> Response[bytes]:
    """Show a job and what happened to it; for htmx all that changes."""
    visit = visit_of(request)
    shown = Shown(job_id=job_id, kind=events, before=before)
    return page(await service.work(lambda: _job(service, pages, visit, shown)))


@post("/jobs/{job_id:str}/cancel", status_code=303)
async def cancel_job(
    request: Request[Any, Any, Any], service: Service, pages: Pages, job_id: str
) -> Response[bytes]:
    """Ask a job to stop, and lead back to it, or to the page that the form names."""
    back = (await form_of(request)).get("back", "")

    def act() -> str:
        cancelled = service.catalog.jobs.cancel(job_id, reason="asked for on its page")
        return own_place(back) if back else f"/jobs/{cancelled.job_id}"

    return await _acted(request, service, pages, job_id, act)


@post("/jobs/{job_id:str}/retry", status_code=303)
async def retry_job(
    request: Request[Any, Any, Any], service: Service, pages: Pages, job_id: str
) -> Response[bytes]:
    """Make a new job for what an older one was asked for, and lead to it."""

    def act() -> str:
        return f"/jobs/{service.catalog.jobs.retry(job_id).job_id}"

    return await _acted(request, service, pages, job_id, act)


async def _acted(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    job_id: str,
    act: Callable[[], str],
) -> Response[bytes]:
    """Do something with a job, and lead to what is to be seen; its page says what was wrong."""
    visit = visit_of(request)

    def show(error: EngineError) -> bytes:
        return _job(service, pages, visit, Shown(job_id=job_id, error=error))

    return await acted(service, act, show)


def _job(service: Service, pages: Pages, visit: Visit, shown: Shown) -> bytes:
    job = service.catalog.jobs.show(shown.job_id)
    types = _KINDS.get(shown.kind, _KINDS[""])
    history = service.catalog.jobs.history(
        shown.job_id, types=types, before=shown.before, limit=_MOST_EVENTS
    )
    facts = {
        "job": job,
        "shown": shown,
        "kinds": _kinds(history.numbers),
        "entries": _entries(history),
        "earlier": history.earlier,
        "course": course_of(job, history.course),
        "causes": _causes(job),
        "can_cancel": job.status not in TERMINAL and not job.cancel_requested,
        "can_retry": job.status in (JobState.FAILED, JobState.CANCELLED),
    }
    return pages.html("parts/job.html" if visit.is_fragment else "job.html", visit, facts)


def _kinds(numbers: Mapping[EventType, int]) -> list[Kind]:
    kinds = [
        Kind(
            name=name,
            title=_KIND_TITLES.get(name, name),
            number=sum(numbers.get(type_, 0) for type_ in types),
        )
        for name, types in _KINDS.items()
    ]
    return [kind for kind in kinds if kind.number or not kind.name]


def _entries(history: JobHistory) -> list[Entry]:
    if not history.course:
        return []
    first = datetime.fromisoformat(history.course[0].timestamp)
    return [
        Entry(
            event=event,
            since=duration(
                (datetime.fromisoformat(event.timestamp) - first) / timedelta(milliseconds=1)
            ),
            words=said_of(event),
        )
        for event in history.events
    ]


def _day(field: str, text: str, later: timedelta) -> datetime | None:
    """Read a day of an address: its midnight on this machine, or so much later; None for none."""
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time()).astimezone() + later
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{field} is {text[:40]!r}, wanted a day such as 2026-03-01", field=field
        ) from error


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
