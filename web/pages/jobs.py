"""Jobs: the list with its filters, and the page of a job with its timeline, log and actions.

The timeline shows phases and throughput, computed from the events of a job.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Annotated, Any
from urllib.parse import urlencode

from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import EngineError, InvalidInputError, InvalidPathError
from engine.index_records import FileError, Phase
from engine.record_class import record
from engine.roots import path_within
from engine.state_records import (
    TERMINAL,
    CheckpointKind,
    EventType,
    Job,
    JobEvent,
    JobFilter,
    JobHistory,
    JobKind,
    JobOrigin,
    JobState,
)
from web.api.service import Service
from web.job_events import describe_event
from web.pages.forms import perform, read_form
from web.pages.rendering import PageRequest, Pages, local_address, page, page_request_of
from web.wording import duration, gave_way, phase_words, whole_unit_of

_PAGE = 50
_MAX_EVENTS = 200
_DAYS = ("", "1", "7")
_MOMENT = timedelta(milliseconds=1)
_REPORTS = frozenset({EventType.PROGRESS, EventType.CHECKPOINT})
_KINDS: dict[str, frozenset[EventType]] = {
    "": frozenset(EventType),
    "changes": frozenset(EventType) - _REPORTS,
    "progress": frozenset({EventType.PROGRESS}),
    "checkpoints": frozenset({EventType.CHECKPOINT}),
}
_KIND_TITLES = {"": "all", "changes": "changes of state"}
_MAX_BARS = 60
_MIN_POINTS = 4  # reports of progress; a chart of fewer would be a guess
_MIN_S = 1.0
_ENDS = frozenset(EventType(state) for state in TERMINAL)
_STEPS = (1, 2, 2.5, 5, 10)


@record
class Segment:
    """A time span in which a job was in one phase, or waited."""

    words: str
    seconds: float
    share: float  # of the total time, 0 to 1
    is_wait: bool


@record
class Bar:
    """The throughput in a part of the time; a chart is 100 wide and 100 high, its zero at 100."""

    end: float
    top: float


@record
class Chart:
    """The throughput of a job over time."""

    noun: str  # files, commits or chunks
    bars: tuple[Bar, ...]
    highest: str  # value at the top
    half: str
    span: str  # total time
    half_span: str
    brief: str  # caption
    summary: str  # description for screen readers


@record
class Timeline:
    """Phases and throughput of a job."""

    segments: tuple[Segment, ...]
    charts: tuple[Chart, ...]  # none with too few reports


@dataclass(frozen=True, slots=True)
class _Point:
    seconds: float  # since the start
    done: int


def timeline_of(job: Job, events: Sequence[JobEvent]) -> Timeline:
    """Compute phases and throughput of a job.

    Args:
        job: The job.
        events: Its changes of state and samples of its progress, in order.
    """
    begun = [each for each in events if each.type is EventType.STARTED]
    if not begun:
        return Timeline(segments=(), charts=())
    start = _time(begun[0])
    reported = [each for each in events if _time(each) >= start]
    end = _time(reported[-1]) if job.status in TERMINAL else datetime.now(UTC)
    charts = (
        _chart(f"{whole_unit_of(job)}s", _points(reported, start, ("files_processed",))),
        _chart("chunks", _points(reported, start, ("chunks", "chunks_done"))),
    )
    return Timeline(
        segments=tuple(_segments(job, reported, start, end)),
        charts=tuple(chart for chart in charts if chart),
    )


def _segments(
    job: Job, events: Sequence[JobEvent], start: datetime, end: datetime
) -> Iterator[Segment]:
    total_s = max((end - start).total_seconds(), 0.001)
    first = Phase.HISTORY if job.kind == JobKind.HISTORY else Phase.SCANNING
    phases = [(start, phase_words(first), False)]
    for event in events:
        phase_change = _phase_change(job, event)
        if phase_change and phase_change != phases[-1][1:]:
            phases.append((_time(event), *phase_change))
    phases.append((end, "", False))
    for (begin, words, is_wait), (next_begin, *_) in pairwise(phases):
        seconds = max(0.0, (next_begin - begin).total_seconds())
        yield Segment(words=words, seconds=seconds, share=seconds / total_s, is_wait=is_wait)


def _phase_change(job: Job, event: JobEvent) -> tuple[str, bool] | None:
    """Return label and wait flag of the phase that an event starts, or None."""
    if event.type is EventType.PAUSED:
        return "waiting", True
    if event.type in _ENDS:
        return None
    if event.context.get("kind") == CheckpointKind.FILE_LIST and job.kind == JobKind.INDEX:
        return phase_words(Phase.PARSING), False
    phase = event.context.get("phase")
    if event.type not in (EventType.PROGRESS, EventType.RESUMED) or not phase:
        return None
    return phase_words(str(phase)), False


def _points(events: Sequence[JobEvent], start: datetime, names: tuple[str, ...]) -> list[_Point]:
    """Return the progress over time; work repeated after a crash is not counted twice."""
    points = [_Point(0.0, 0)]
    for event in events:
        counts = [event.context.get(name) for name in names]
        if event.type is not EventType.PROGRESS or counts[0] is None:
            continue
        done = sum(each for each in counts if isinstance(each, int))
        seconds = (_time(event) - start).total_seconds()
        if seconds > points[-1].seconds:
            points.append(_Point(seconds, max(done, points[-1].done)))
    return points


def _chart(noun: str, points: Sequence[_Point]) -> Chart | None:
    span_s = points[-1].seconds
    if len(points) <= _MIN_POINTS or span_s < _MIN_S or not points[-1].done:
        return None
    number = min(_MAX_BARS, len(points) - 1)
    edges = [span_s * place / number for place in range(number + 1)]
    counts = list(_counts_at(edges, points))
    rates = [(after - before) * number / span_s for before, after in pairwise(counts)]
    top = _round_up(max(rates))
    most = max(range(number), key=rates.__getitem__)
    average, highest = _number(points[-1].done / span_s), _number(rates[most])
    place = f"after {duration(edges[most] * 1000)}" if most else "at the start"
    return Chart(
        noun=noun,
        bars=tuple(
            Bar(
                end=round(100 * (each + 1) / number, 2),
                top=round(100 - 100 * rate / top, 2),
            )
            for each, rate in enumerate(rates)
        ),
        highest=_number(top),
        half=_number(top / 2),
        span=duration(span_s * 1000),
        half_span=duration(span_s * 500),
        brief=f"{average} on average, {highest} at most",
        summary=(
            f"{average} {noun} per second on average over {duration(span_s * 1000)}, {highest} at"
            f" most, {place}"
        ),
    )


def _counts_at(edges: Sequence[float], points: Sequence[_Point]) -> Iterator[float]:
    """Yield the counts at some times, interpolated linearly between reports."""
    place = 0
    for edge in edges:
        while place < len(points) - 2 and points[place + 1].seconds < edge:
            place += 1
        low, high = points[place], points[place + 1]
        share = min(1.0, (edge - low.seconds) / (high.seconds - low.seconds))
        yield low.done + share * (high.done - low.done)


def _round_up(value: float) -> float:
    """Round up to the next round number."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(step * power for step in _STEPS if step * power >= value * 0.999999)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _time(event: JobEvent) -> datetime:
    return datetime.fromisoformat(event.timestamp)


@record
class JobListParams:
    """Parameters of the list's address."""

    status: str
    project: str  # a root; empty for all
    days: str
    first: str  # a day, such as 2026-03-01; with ``last`` instead of ``days``
    last: str
    cursor: str | None

    @property
    def is_narrow(self) -> bool:
        """Whether any filter is set."""
        return any((self.status, self.project, self.days, self.first, self.last))

    @property
    def is_backwards(self) -> bool:
        """Whether the last day is before the first one, so that no job is between them."""
        return bool(self.first and self.last) and self.last < self.first

    @property
    def filter(self) -> JobFilter:
        """The filter for the engine.

        Raises:
            InvalidInputError: A value is not offered by the page.
        """
        if self.status and self.status not in set(JobState):
            raise InvalidInputError(f"unknown state {self.status!r}", field="status")
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
        """Return the address of the first page with some parameters changed."""
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
        """Return the times between which jobs were created; days are in local time."""
        if self.days not in _DAYS:
            raise InvalidInputError(f"days must be 1 or 7, not {self.days!r}", field="days")
        after = _day("first", self.first, -_MOMENT)
        before = _day("last", self.last, timedelta(days=1))
        if self.days:
            today = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
            after = today - timedelta(days=int(self.days) - 1) - _MOMENT
        return after, before


@record
class LogEntry:
    """A line of the log."""

    event: JobEvent
    since: str  # time since the first event
    words: str


@record
class EventFilter:
    """A filter of events in the log."""

    name: str  # in the address
    title: str
    number: int  # of events


@record
class Cause:
    """Files that failed with the same error."""

    error: str
    files: tuple[str, ...]


@record
class JobPageParams:
    """Parameters of a job's address."""

    job_id: str
    kind: str = ""
    before: int | None = None  # sequence number; None for the newest events
    error: EngineError | None = None  # of the action just requested


def read_params(
    status: str = "",
    project: str = "",
    days: str = "",
    first: str = "",
    last: str = "",
    cursor: str | None = None,
) -> JobListParams:
    """Collect the parameters of the list's address; dates take the place of ``days``."""
    return JobListParams(
        status=status,
        project=project,
        days="" if first or last else days,
        first=first,
        last=last,
        cursor=cursor,
    )


@get("/jobs", dependencies={"params": Provide(read_params, sync_to_thread=False)})
async def jobs(
    request: Request[Any, Any, Any], service: Service, pages: Pages, params: JobListParams
) -> Response[bytes]:
    """Render the list of jobs, the newest first; for htmx the list only."""
    page_request = page_request_of(request)

    def show() -> bytes:
        context = {
            "params": params,
            "found": service.catalog.jobs.list(params.filter),
            "states": tuple(JobState),
            "roots": service.catalog.roots(),
        }
        return pages.html(
            "parts/job_list.html" if page_request.is_fragment else "jobs.html",
            page_request,
            context,
        )

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
    """Render a job with its log; for htmx the changing part."""
    page_request = page_request_of(request)
    view = JobPageParams(job_id=job_id, kind=events, before=before)
    return page(await service.work(lambda: _job(service, pages, page_request, view)))


@post("/jobs/{job_id:str}/cancel", status_code=303)
async def cancel_job(
    request: Request[Any, Any, Any], service: Service, pages: Pages, job_id: str
) -> Response[bytes]:
    """Cancel a job and redirect to it, or to the page named in the form."""
    back = (await read_form(request)).get("back", "")

    def act() -> str:
        cancelled = service.catalog.jobs.cancel(job_id, reason="requested on the web page")
        return local_address(back) if back else f"/jobs/{cancelled.job_id}"

    return await _perform(request, service, pages, job_id, act)


@post("/jobs/{job_id:str}/retry", status_code=303)
async def retry_job(
    request: Request[Any, Any, Any], service: Service, pages: Pages, job_id: str
) -> Response[bytes]:
    """Retry a job as a new one, and redirect to it."""

    def act() -> str:
        return f"/jobs/{service.catalog.jobs.retry(job_id).job_id}"

    return await _perform(request, service, pages, job_id, act)


async def _perform(
    request: Request[Any, Any, Any],
    service: Service,
    pages: Pages,
    job_id: str,
    act: Callable[[], str],
) -> Response[bytes]:
    """Perform an action on a job and redirect, or render the job with the error."""
    page_request = page_request_of(request)

    def show(error: EngineError) -> bytes:
        return _job(service, pages, page_request, JobPageParams(job_id=job_id, error=error))

    return await perform(service, act, show)


def _job(service: Service, pages: Pages, page_request: PageRequest, view: JobPageParams) -> bytes:
    job = service.catalog.jobs.show(view.job_id)
    types = _KINDS.get(view.kind, _KINDS[""])
    history = service.catalog.jobs.history(
        view.job_id, types=types, before=view.before, limit=_MAX_EVENTS
    )
    context = {
        "job": job,
        "view": view,
        "kinds": _kinds(history.numbers),
        "entries": _entries(job, history),
        "earlier": history.earlier,
        "timeline": timeline_of(job, history.course),
        "causes": _causes(job),
        "can_cancel": job.status not in TERMINAL and not job.cancel_requested,
        "file": _file_of(job),
        "can_retry": job.status in (JobState.FAILED, JobState.CANCELLED) and not gave_way(job),
    }
    return pages.html(
        "parts/job.html" if page_request.is_fragment else "job.html", page_request, context
    )


def _file_of(job: Job) -> str:
    """Return the only path that a job was asked for, relative to the root; empty: none, or all."""
    match job.parameters.get("only"):
        case [str(named)] if job.origin is JobOrigin.REQUEST:
            with suppress(InvalidPathError):
                return path_within(job.path, os.path.join(job.path, named))
    return ""


def _kinds(numbers: Mapping[EventType, int]) -> list[EventFilter]:
    kinds = [
        EventFilter(
            name=name,
            title=_KIND_TITLES.get(name, name),
            number=sum(numbers.get(type_, 0) for type_ in types),
        )
        for name, types in _KINDS.items()
    ]
    return [kind for kind in kinds if kind.number or not kind.name]


def _entries(job: Job, history: JobHistory) -> list[LogEntry]:
    if not history.course:
        return []
    first = _time(history.course[0])
    return [
        LogEntry(
            event=event,
            since=duration((_time(event) - first) / _MOMENT),
            words=describe_event(event, whole_unit_of(job)),
        )
        for event in history.events
    ]


def _day(field: str, text: str, later: timedelta) -> datetime | None:
    """Parse a day of an address: local midnight plus ``later``, or None if empty."""
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time()).astimezone() + later
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{field} must be a date such as 2026-03-01, not {text[:40]!r}", field=field
        ) from error


def _causes(job: Job) -> list[Cause]:
    """Group the failed files by error, the most frequent first."""
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
