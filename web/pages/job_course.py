"""How a job went, from what it told while it went on: its phases, and its speed over time."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from engine.job_records import TERMINAL, CheckpointKind, EventType, Job, JobEvent
from engine.records import Phase
from web.console.job_wording import phase_words
from web.wording import duration

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
