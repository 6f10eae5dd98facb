"""The events of a job as a timeline in text."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from engine.state_records import CheckpointKind, EventType, JobEvent, JobOrigin
from web.terminal import Style, printable
from web.wording import count, duration, phase_words, size

_EVENT_NAME_WIDTH = 16  # of the longest type
_SINCE_WIDTH = 12

_Words = Callable[[Mapping[str, object]], list[str]]


def event_lines(events: Iterable[JobEvent], style: Style, unit: str = "file") -> Iterator[str]:
    """Yield a line for each event: time, time since the first event, type and details.

    A separate line shows each new day.

    Args:
        events: The events in order; lines are yielded as events arrive.
        style: Colours or none.
        unit: What the job counts: ``file`` or ``commit``.
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
        yield f"{line}  {describe_event(event, unit)}".rstrip()


def describe_event(event: JobEvent, unit: str = "file") -> str:
    """Describe the details of an event of a job that counts files or commits."""
    words = _WORDS.get(event.type)
    return ", ".join(words({**event.context, "unit": unit})) if words else ""


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
    origin = context.get("origin") or JobOrigin.REQUEST
    return ["by the watcher" if origin == JobOrigin.WATCH else "by a request"]


def _started(context: Mapping[str, object]) -> list[str]:
    return [f"attempt {_text(context.get('attempt', 1))}", *_files(context)]


def _resumed(context: Mapping[str, object]) -> list[str]:
    waited_ms = context.get("waited_ms")
    if isinstance(waited_ms, int | float):
        return [f"after waiting {duration(waited_ms)}", *_files(context)]
    return [*_started(context), "its process had ended"]


def _event_progress(context: Mapping[str, object]) -> list[str]:
    words = [phase_words(str(context["phase"]))] if context.get("phase") else []
    chunks = context.get("chunks_total")
    if context.get("phase") == "embedding" and isinstance(chunks, int):
        words.append(_of(context.get("chunks_done"), chunks, "chunk"))
    else:
        words += _files(context)
    return words


def _checkpoint(context: Mapping[str, object]) -> list[str]:
    unit = _text(context["unit"])
    kind = _text(context.get("kind", ""))
    words = [f"{unit} list" if kind == CheckpointKind.FILE_LIST else kind.replace("_", " ")]
    if unit != "file":
        return words + _files(context)
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
    return [_of(done, total, _text(context["unit"]))]


def _of(done: object, total: object, noun: str) -> str:
    number = done if isinstance(done, int) else 0
    return f"{number:,}/{count(total, noun)}" if isinstance(total, int) else count(number, noun)


def _text(value: object) -> str:
    return printable(str(value))
