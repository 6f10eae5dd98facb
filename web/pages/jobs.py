"""Jobs: the list with its filters, one job with its log, and how to stop it or ask again.

How a job went, from what it told while it went on: its phases, and its speed over time.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Annotated, Any
from urllib.parse import urlencode

from litestar import Request, Response, get, post
from litestar.di import Provide
from litestar.params import QueryParameter

from engine.errors import EngineError, InvalidInputError
from engine.records import FileError, Phase
from engine.state_records import (
    TERMINAL,
    CheckpointKind,
    EventType,
    Job,
    JobEvent,
    JobFilter,
    JobHistory,
    JobState,
)
from web.api.service import Service
from web.job_events import said_of
from web.pages.forms import acted, form_of
from web.pages.rendering import Pages, Visit, own_place, page, visit_of
from web.wording import duration, phase_words

_MOST_BARS = 60
_LEAST_POINTS = 4  # that tell of progress; of fewer a chart would be a guess
_LEAST_S = 1.0
_ENDS = frozenset(EventType(state) for state in TERMINAL)
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A time in which a job was in one phase, or waited."""

    words: str
    seconds: float
    share: float  # of the whole time, 0 to 1
    is_wait: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The speed in a part of the time; the chart is 100 wide and 100 high, its zero at 100."""

    end: float
    top: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """How much a job did a second, over its time."""

    noun: str  # files or chunks
    bars: tuple[Bar, ...]
    highest: str  # what the top of the chart stands for
    half: str
    span: str  # what its width stands for
    half_span: str
    brief: str  # the same in few words
    summary: str  # and in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How a job went."""

    stretches: tuple[Stretch, ...]
    charts: tuple[Chart, ...]  # none when too little was told


@dataclass(frozen=True, slots=True)
class _Point:
    seconds: float  # since the start
    done: int


def course_of(job: Job, events: Sequence[JobEvent]) -> Course:
    """Say how a job went.

    Args:
        job: The job.
        events: Its changes of state, and samples of its progress, in order.
    """
    begun = [each for each in events if each.type is EventType.STARTED]
    if not begun:
        return Course(stretches=(), charts=())
    start = _time(begun[0])
    told = [each for each in events if _time(each) >= start]
    end = _time(told[-1]) if job.status in TERMINAL else datetime.now(UTC)
    charts = (
        _chart("files", _points(told, start, ("files_processed",))),
        _chart("chunks", _points(told, start, ("chunks", "chunks_done"))),
    )
    return Course(
        stretches=tuple(_stretches(told, start, end)),
        charts=tuple(chart for chart in charts if chart),
    )


def _stretches(events: Sequence[JobEvent], start: datetime, end: datetime) -> Iterator[Stretch]:
    total_s = max((end - start).total_seconds(), 0.001)
    turns = [(start, "looking for files", False)]
    for event in events:
        turn = _turn(event)
        if turn and turn != turns[-1][1:]:
            turns.append((_time(event), *turn))
    turns.append((end, "", False))
    for (begin, words, is_wait), (next_begin, *_) in pairwise(turns):
        seconds = max(0.0, (next_begin - begin).total_seconds())
        yield Stretch(words=words, seconds=seconds, share=seconds / total_s, is_wait=is_wait)


def _turn(event: JobEvent) -> tuple[str, bool] | None:
    """Say what begins with an event; None when nothing does."""
    if event.type is EventType.PAUSED:
        return "waiting", True
    if event.type in _ENDS:
        return None
    if event.context.get("kind") == CheckpointKind.FILE_LIST:
        return phase_words(Phase.PARSING), False
    phase = event.context.get("phase")
    if event.type not in (EventType.PROGRESS, EventType.RESUMED) or not phase:
        return None
    return phase_words(Phase(str(phase))), False


def _points(events: Sequence[JobEvent], start: datetime, names: tuple[str, ...]) -> list[_Point]:
    """Give how much was done when; what a crash has lost is not counted twice."""
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
    if len(points) <= _LEAST_POINTS or span_s < _LEAST_S or not points[-1].done:
        return None
    number = min(_MOST_BARS, len(points) - 1)
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
            f"{average} {noun} a second on average over {duration(span_s * 1000)}, {highest} at"
            f" most, {place}"
        ),
    )


def _counts_at(edges: Sequence[float], points: Sequence[_Point]) -> Iterator[float]:
    """Give the counts at some times, as if work went on evenly between what was told."""
    place = 0
    for edge in edges:
        while place < len(points) - 2 and points[place + 1].seconds < edge:
            place += 1
        low, high = points[place], points[place + 1]
        share = min(1.0, (edge - low.seconds) / (high.seconds - low.seconds))
        yield low.done + share * (high.done - low.done)


def _round_up(value: float) -> float:
    """Give the next number that is easy to read."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(step * power for step in _STEPS if step * power >= value * 0.999999)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"


def _time(event: JobEvent) -> datetime:
    return datetime.fromisoformat(event.timestamp)


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
