"""A job in words: what it is called, what it is doing, how far it is, and what it waits for.

What happened to a job as a time line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from engine.records import Phase
from engine.state_records import ACTIVE, EventType, Job, JobEvent, JobState
from web.terminal import Style, printable
from web.wording import count, duration, ordinal, percent, size

_SHORT_ID_CHARS = 8
_SLOW = 10.0  # files a second; below it a decimal says something

_PHASES = {
    Phase.SCANNING: "looking for files",
    Phase.PARSING: "indexing",
    Phase.EMBEDDING: "embedding",
    Phase.STORING: "storing",
    Phase.FINISHING: "finishing",
}


def phase_words(phase: Phase) -> str:
    """Say what a job does in a phase."""
    return _PHASES[phase]


def short_id(job_id: str) -> str:
    """Give the end of a job's id: its beginning is the same for all jobs of a project."""
    return job_id[-_SHORT_ID_CHARS:]


def is_active(job: Job) -> bool:
    """Say whether a job still is to do something."""
    return job.status in ACTIVE


def is_starting(job: Job) -> bool:
    """Say whether a job waits for its turn, or has only just got it."""
    if job.status is JobState.RUNNING:
        return job.phase is None
    return job.status is JobState.PENDING


def state_of(job: Job) -> str:
    """Give a job's state in a word, ``stopping`` when it was asked to stop and has not yet."""
    return "stopping" if job.cancel_requested and is_active(job) else job.status.value


def marked_state(text: str, job: Job, style: Style) -> str:
    """Mark text with the colour of a job's state."""
    marks = {
        JobState.PENDING: style.dim,
        JobState.RUNNING: style.place,
        JobState.BLOCKED: style.warning,
        JobState.COMPLETED: style.good,
        JobState.FAILED: style.bad,
        JobState.CANCELLED: style.warning,
    }
    return marks[job.status](text)


def activity_of(job: Job) -> str:
    """Say what a job is doing: its phase in words, or that it does nothing."""
    if job.status is JobState.PENDING:
        return "waiting"
    if job.status is JobState.BLOCKED:
        return "blocked"
    return _PHASES[job.phase] if job.phase else "starting"


def unit_of(job: Job) -> str:
    """Say what the phase of a job counts."""
    return "chunk" if job.phase is Phase.EMBEDDING else "file"


def amount_of(job: Job) -> str:
    """Say how far the phase of a job is: ``250/1,000 files``, or ``70 files`` of unknown many.

    While files are looked for, those that are done say nothing.
    """
    if job.phase is Phase.SCANNING:
        return ""
    if job.total is None:
        return count(job.done, unit_of(job))
    return f"{job.done:,}/{count(job.total, unit_of(job))}"


def share_of(job: Job) -> float | None:
    """Give how much of the phase is done, 0 to 1; ``None`` when nobody knows how much it is."""
    if job.total is None or job.phase is Phase.SCANNING:
        return None
    return min(job.done / job.total, 1.0) if job.total else 1.0


def rate_of(job: Job) -> str:
    """Say how fast a job is; empty when nothing can be said."""
    if not job.rate:
        return ""
    rate = f"{job.rate:,.1f}" if job.rate < _SLOW else f"{job.rate:,.0f}"
    return f"{rate} {unit_of(job)}s/s"


def time_left_of(job: Job) -> str:
    """Say how long the phase of a job will take; empty when nothing can be said."""
    return f"{duration(job.eta_seconds * 1000)} left" if job.eta_seconds else ""


def queue_place(position: int | None) -> str:
    """Say where in the queue a job stands; 1 is next."""
    if position is None:
        return "in the queue"
    return "next in the queue" if position == 1 else f"{ordinal(position)} in the queue"


def wait_of(job: Job) -> str:
    """Say what a job waits for, in printable words; empty when it does not wait."""
    if job.waiting:
        return printable(job.waiting)
    if job.status is JobState.PENDING:
        return queue_place(job.position)
    return "something that it needs is away" if job.status is JobState.BLOCKED else ""


def line_of(job: Job) -> str:
    """Say how far a job is in one line: phase, files, share, rate, time left, current file."""
    if job.status in (JobState.PENDING, JobState.BLOCKED):
        return f"{activity_of(job)}: {wait_of(job)}"
    if job.phase is None:
        return activity_of(job)
    share = share_of(job)
    amount = amount_of(job) if share is None else f"{amount_of(job)} ({percent(share)})"
    line = ", ".join(
        part for part in (activity_of(job), amount, rate_of(job), time_left_of(job)) if part
    )
    if job.waiting:
        line += f", {printable(job.waiting)}"
    return f"{line}: {printable(job.current_file)}" if job.current_file else line


def kept_text(job: Job) -> str:
    """Say what remains of a job that did not come to its end."""
    if job.files_total is None:
        return f"the {count(job.files_done, 'file')} done so far can be searched"
    return f"the {job.files_done:,} of {count(job.files_total, 'file')} done so far can be searched"


_EVENT_NAME_WIDTH = 16  # of the longest type
_SINCE_WIDTH = 12

_Words = Callable[[Mapping[str, object]], list[str]]


def event_lines(events: Iterable[JobEvent], style: Style) -> Iterator[str]:
    """Give a line an event: time, time since the first one, what happened, and how things stood.

    A line of its own says the day whenever it is another one.

    Args:
        events: In their order; lines are given as they come.
        style: Colours or none.
    """
    first: datetime | None = None
    day = ""
    for event in events:
        then = datetime.fromisoformat(event.timestamp)
        first = first or then
        if f"{then:%Y-%m-%d}" != day:
            day = f"{then:%Y-%m-%d}"
            yield style.dim(f"{day}, UTC")
        since = "+" + duration((then - first) / timedelta(milliseconds=1))
        name = event.type.value.replace("_", " ").ljust(_EVENT_NAME_WIDTH)
        line = f"{then:%H:%M:%S}  {since:>{_SINCE_WIDTH}}  {_mark(event.type, style)(name)}"
        yield f"{line}  {said_of(event)}".rstrip()


def said_of(event: JobEvent) -> str:
    """Give in words what is known of an event."""
    words = _WORDS.get(event.type)
    return ", ".join(words(event.context)) if words else ""


def _mark(kind: EventType, style: Style) -> Callable[[str], str]:
    if kind is EventType.COMPLETED:
        return style.good
    if kind is EventType.FAILED:
        return style.bad
    if kind in (EventType.PAUSED, EventType.CANCELLED, EventType.CANCEL_REQUESTED):
        return style.warning
    if kind in (EventType.PROGRESS, EventType.CHECKPOINT):
        return style.dim
    return style.bold


def _created(context: Mapping[str, object]) -> list[str]:
    return [f"by {_text(context.get('origin') or 'request')}"]


def _started(context: Mapping[str, object]) -> list[str]:
    return [f"try {_text(context.get('attempt', 1))}", *_files(context)]


def _resumed(context: Mapping[str, object]) -> list[str]:
    waited_ms = context.get("waited_ms")
    if isinstance(waited_ms, int | float):
        return [f"after a wait of {duration(waited_ms)}", *_files(context)]
    return [*_started(context), "its process had ended"]


def _event_progress(context: Mapping[str, object]) -> list[str]:
    words = [_text(context["phase"])] if context.get("phase") else []
    chunks = context.get("chunks_total")
    if context.get("phase") == "embedding" and isinstance(chunks, int):
        words.append(_of(context.get("chunks_done"), chunks, "chunk"))
    else:
        words += _files(context)
    return words


def _checkpoint(context: Mapping[str, object]) -> list[str]:
    words = [_text(context.get("kind", "")).replace("_", " ")]
    files, number_of_bytes = context.get("files"), context.get("bytes")
    if isinstance(files, int):
        words.append(f"{count(files, 'file')} to read")
    if isinstance(number_of_bytes, int):
        words.append(size(number_of_bytes))
    return words + _files(context)


def _paused(context: Mapping[str, object]) -> list[str]:
    return [_text(context.get("reason", "")), *_files(context)]


def _ended(context: Mapping[str, object]) -> list[str]:
    reason = context.get("reason")
    return [*([_text(reason)] if reason else []), *_files(context)]


def _failed(context: Mapping[str, object]) -> list[str]:
    error = context.get("error")
    message = error.get("message", "") if isinstance(error, Mapping) else ""
    return [_text(message), *_files(context)]


def _reason(context: Mapping[str, object]) -> list[str]:
    return [_text(context["reason"])] if context.get("reason") else []


_WORDS: dict[EventType, _Words] = {
    EventType.CREATED: _created,
    EventType.STARTED: _started,
    EventType.RESUMED: _resumed,
    EventType.PROGRESS: _event_progress,
    EventType.CHECKPOINT: _checkpoint,
    EventType.PAUSED: _paused,
    EventType.CANCEL_REQUESTED: _reason,
    EventType.FLAGGED: _reason,
    EventType.COMPLETED: _ended,
    EventType.FAILED: _failed,
    EventType.CANCELLED: _ended,
}


def _files(context: Mapping[str, object]) -> list[str]:
    done = context.get("files_processed", context.get("files_done"))
    total = context.get("files_total")
    if not done and not total:
        return []
    return [_of(done, total, "file")]


def _of(done: object, total: object, noun: str) -> str:
    number = done if isinstance(done, int) else 0
    return f"{number:,}/{count(total, noun)}" if isinstance(total, int) else count(number, noun)


def _text(value: object) -> str:
    return printable(str(value))
