"""Operation logs: one text file per job for people, made from its row and its events alone.

``<completed|failed|cancelled|verify>-<UTC time of its end>.log``. It names paths and counts, never
the content of a file.
"""

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.clock import iso_time
from engine.errors import EngineError, with_file
from engine.humanize import count, printable, size
from engine.records import display_path
from engine.state_records import CheckpointKind, EventType, JobKind
from engine.store import jobs, models
from engine.store.connection import Store
from engine.store.jobs import EventRow, JobRow

MOST_FILES = 1000  # failed files that are named
_MOST_EVENTS = 100_000  # that are read
_MOST_PROGRESS = 20  # lines of progress
_MOST_NAMES = 1000  # of logs that end in the same second
_NAME = re.compile(
    r"(completed|failed|cancelled|verify)-(\d{4}(?:-\d\d){5})(?:-(\d+))?\.log", re.ASCII
)
_JOB = "Job: "
_ENDS = {"completed": "COMPLETE", "failed": "FAILED", "cancelled": "CANCELLED"}
_COUNTS = {  # of a report, and of what a job that did not complete has counted
    "files_indexed": "Files indexed",
    "files_removed": "Files removed",
    "files_unchanged": "Files unchanged",
    "files_skipped": "Files skipped",
    "files_failed": "Files failed",
    "symbols_extracted": "Symbols extracted",
    "symbols": "Symbols extracted",
    "chunks": "Chunks",
    "embeddings_generated": "Embeddings generated",
    "embeddings": "Embeddings generated",
    "commits": "Commits",
    "commits_added": "Commits added",
    "commits_removed": "Commits removed",
}


#: The line of a check's log if nothing is damaged.
VERIFIED_SOUND = "VERIFY COMPLETE: sound"
#: The line of a job's log if the index was rebuilt.
FORCED_CLEAN = "Force Clean: true"


class LogFacts(NamedTuple):
    """Facts in a log that are not in the job's own rows."""

    root: str  # the project's folder
    size_bytes: int  # of the index
    model: str = ""  # whose vectors answer; empty without any
    dimension: int | None = None  # of its vectors


class OperationLog(NamedTuple):
    """An existing log."""

    name: str
    status: str  # completed, failed, cancelled or verify
    ended_at: str  # ISO 8601, UTC, to the second
    size_bytes: int
    path: Path

    def read(self) -> str:
        """Return its text.

        Raises:
            OSError: It is gone, or a link stands in its place.
        """
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, encoding="utf-8", errors="replace") as file:
            return file.read()


class LastCheck(NamedTuple):
    """The last check of an index."""

    log: OperationLog
    is_sound: bool


def keep_operation_log(store: Store, folder: Path, root: str, uuid: str) -> Path | None:
    """Write the log of a job that has ended, and note its name in the job's row.

    A job does not depend on its log: write errors are ignored.

    Args:
        store: The project's database.
        folder: The project's logs.
        root: The project's folder.
        uuid: The job's id.

    Returns:
        The log; None if there is none, or the job has not ended.
    """
    try:
        with store.read() as handle:
            row = jobs.read_job(handle, uuid)
            if row is None or row.finished_at_ms is None:
                return None
            if row.log is not None:
                return folder / row.log
            events = jobs.read_events(handle, row.id, limit=_MOST_EVENTS)
            model = models.read_current_model(handle)
        facts = LogFacts(
            root=display_path(root),
            size_bytes=store.size_bytes(),
            model=model.name if model else "",
            dimension=model.dimension if model else None,
        )
        path = write_operation_log(folder, row, events, facts)
        with store.write(bookkeeping=True) as handle:
            jobs.update_job(handle, row.id, {"log": path.name})
    except (OSError, EngineError):
        return None
    return path


def write_operation_log(
    folder: Path, row: JobRow, events: Sequence[EventRow], facts: LogFacts
) -> Path:
    """Write the log of a job that has ended, atomically.

    A process may have died after writing it but before the job's row named it: then it exists.

    Args:
        folder: The project's logs; created if missing.
        row: The job.
        events: All of its events, in order.
        facts: Further facts.

    Raises:
        OSError: It cannot be written.
    """
    at_ms = row.finished_at_ms or 0
    written = _written_log(folder, f"{row.state}-{_stamp(at_ms)}", row.uuid)
    return written or write_log(folder, row.state, at_ms, _lines(row, events, facts))


def write_log(folder: Path, status: str, at_ms: int, lines: Iterable[str]) -> Path:
    """Write a log atomically.

    Args:
        folder: The project's logs; created if missing.
        status: completed, failed, cancelled or verify.
        at_ms: The end of what it describes.
        lines: Its lines.

    Raises:
        OSError: It cannot be written.
    """
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    text = "\n".join(lines) + "\n"
    stem = f"{status}-{_stamp(at_ms)}"
    beside = folder / f".{stem}.log.{os.getpid()}"
    try:
        with open(beside, "w", encoding="utf-8", opener=_open_private) as file:
            file.write(text)
        return _named(beside, folder, stem)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def operation_logs(folder: Path, status: str = "*") -> tuple[OperationLog, ...]:
    """Return the logs of a project, all or of one status, the newest first."""
    found: list[tuple[str, int, OperationLog]] = []
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{status}-*.log"):
            match = _NAME.fullmatch(path.name)
            if match is None:
                continue
            with contextlib.suppress(OSError):
                facts = path.stat(follow_symlinks=False)
                if not stat.S_ISREG(facts.st_mode):
                    continue
                status, stamp, number = match.groups()
                day, time = stamp[:10], stamp[11:].replace("-", ":")
                log = OperationLog(path.name, status, f"{day}T{time}Z", facts.st_size, path)
                found.append((stamp, int(number or 1), log))
    return tuple(log for _, _, log in sorted(found, reverse=True))


def latest_log(folder: Path, status: str) -> OperationLog | None:
    """Return the newest log of a kind; None when there is none."""
    return next(iter(operation_logs(folder, status)), None)


def last_check(folder: Path) -> LastCheck | None:
    """Return the last check of an index, as far as it still holds.

    Args:
        folder: The logs of the project.

    Returns:
        The check; None if there is none, or if the index was rebuilt after damage was found.
    """
    log = latest_log(folder, "verify")
    if log is None:
        return None
    try:
        is_sound = VERIFIED_SOUND in log.read()
    except OSError:
        return None
    if not is_sound:
        runs = operation_logs(folder, "completed")
        if any(_is_rebuild(run) for run in runs if run.ended_at >= log.ended_at):
            return None
    return LastCheck(log, is_sound)


def found_damage(folder: Path) -> bool:
    """Return whether the last check in a folder of logs found damage that was not removed since."""
    check = last_check(folder)
    return check is not None and not check.is_sound


def _is_rebuild(log: OperationLog) -> bool:
    try:
        return FORCED_CLEAN in log.read()
    except OSError:
        return False


def _written_log(folder: Path, stem: str, uuid: str) -> Path | None:
    """Find the log of a job among those that end in the same second."""
    owner = f"\n{_JOB}{uuid}\n"
    for log in operation_logs(folder):
        if log.name.startswith(stem) and owner in log.read():
            return log.path
    return None


def _named(beside: Path, folder: Path, stem: str) -> Path:
    """Rename a written file to the first name that is free in its second."""
    for number in range(1, _MOST_NAMES):
        path = folder / (f"{stem}.log" if number == 1 else f"{stem}-{number}.log")
        try:
            os.link(beside, path)
        except FileExistsError:
            continue
        except OSError:  # a file system without links
            if path.exists():
                continue
            os.replace(beside, path)
            return path
        beside.unlink()
        return path
    raise FileExistsError(f"{stem}.log")


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _lines(row: JobRow, events: Sequence[EventRow], facts: LogFacts) -> Iterator[str]:
    """Yield all lines of a log."""
    yield from _start(row, facts)
    if facts.model:
        shown = f"{facts.model} ({facts.dimension}D)" if facts.dimension else facts.model
        yield from log_block(row.started_at_ms or row.created_at_ms, "Embedding", f"Model: {shown}")
    result: Mapping[str, Any] = jobs.object_in(row.result) if row.result else {}
    sampled = _sampled_progress(events)
    for event in events:
        yield from _event_lines(event, _unit_of(row), is_shown=event.sequence in sampled)
    yield from _failures(row, result.get("errors", ()))
    yield from _end(row, result, facts)


def log_block(at_ms: int, title: str, *lines: str) -> Iterator[str]:
    """Yield a time with a title, and the lines below it."""
    yield f"[{_moment(at_ms)}] {title}"
    yield from map(printable, lines)
    yield ""


def _start(row: JobRow, facts: LogFacts) -> Iterator[str]:
    parameters: Mapping[str, Any] = jobs.object_in(row.parameters)
    lines = [f"Repository: {facts.root}", f"{_JOB}{row.uuid}"]
    is_clean = bool(parameters.get("force_clean"))
    mode = "all files anew" if is_clean or parameters.get("force") else "what has changed"
    cleaned = f", {FORCED_CLEAN}" if is_clean else ""
    lines.append(f"Mode: {mode}{cleaned}, Asked for by: {row.origin}")
    for name, value in sorted(parameters.items()):
        if name not in ("force", "force_clean") and value not in (None, [], "", False):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"{name.replace('_', ' ').capitalize()}: {shown}")
    if row.estimated_ms is not None:
        lines.append(f"Estimated: {duration_of(row.estimated_ms)}")
    if row.started_at_ms is not None:
        waited_ms = max(0, row.started_at_ms - row.created_at_ms)
        lines.append(f"Waited for its turn: {duration_of(waited_ms)}")
    yield from log_block(row.created_at_ms, f"{row.kind.upper()} START", *lines)


def _sampled_progress(events: Sequence[EventRow]) -> frozenset[int]:
    """Choose the progress events to show: a few, spread over all."""
    found = [event.sequence for event in events if event.type == EventType.PROGRESS]
    step = max(1, -(-len(found) // _MOST_PROGRESS))
    return frozenset(found[step - 1 :: step])


def _event_lines(event: EventRow, unit: str, *, is_shown: bool) -> Iterator[str]:
    context: Mapping[str, Any] = jobs.object_in(event.context)
    done = _done(context, unit)
    if event.type == EventType.CHECKPOINT and context.get("kind") == CheckpointKind.FILE_LIST:
        found = count(_whole(context.get("files")), unit)
        if unit == "file":
            found += f", {size(_whole(context.get('bytes')))}"
        yield from log_block(event.at_ms, "Scanning", f"To be read: {found}")
    elif event.type == EventType.PROGRESS and is_shown:
        phase = str(context.get("phase") or "working").capitalize()
        yield from log_block(event.at_ms, printable(phase), done)
    elif event.type == EventType.PAUSED:
        details = (context.get("error") or {}).get("details") or {}
        reason = with_file(str(context.get("reason")), details)
        yield from log_block(event.at_ms, "PAUSED", f"Reason: {reason}", done)
    elif event.type == EventType.RESUMED:
        reason = "The process that ran it had ended"
        if "waited_ms" in context:
            reason = f"Waited: {duration_of(context['waited_ms'])}"
        yield from log_block(event.at_ms, "RESUMED", reason, done)
    elif event.type == EventType.CANCEL_REQUESTED:
        reasons = [f"Reason: {context['reason']}"] if context.get("reason") else []
        yield from log_block(event.at_ms, "CANCEL REQUESTED", *reasons)
    elif event.type == EventType.FLAGGED:
        yield from log_block(event.at_ms, "FLAGGED", f"Active since {context.get('since')}")


def _unit_of(row: JobRow) -> str:
    return "commit" if row.kind == JobKind.HISTORY else "file"


def _done(context: Mapping[str, Any], unit: str) -> str:
    """Describe the progress of the job."""
    done = _whole(context.get("files_processed", context.get("files_done")))
    total = context.get("files_total")
    files = count(done, unit) if total is None else f"{done:,} of {count(_whole(total), unit)}"
    chunks = _whole(context.get("chunks_total"))
    more = ""
    if chunks:
        embedded = _whole(context.get("chunks_done"))
        more = f", {embedded:,} of {count(chunks, 'chunk')} embedded"
    return f"Done: {files}{more}"


def _failures(row: JobRow, errors: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not errors:
        return
    lines = [f"{error.get('file')}: {error.get('error')}" for error in errors[:MOST_FILES]]
    if len(errors) > MOST_FILES:
        lines.append(f"and {len(errors) - MOST_FILES:,} more")
    title = f"Failed files, left out: {len(errors):,}"
    yield from log_block(row.finished_at_ms or 0, title, *lines)


def _end(row: JobRow, result: Mapping[str, Any], facts: LogFacts) -> Iterator[str]:
    counts: Mapping[str, Any] = result or jobs.object_in(row.counts)
    lines = []
    for name, label in _COUNTS.items():
        if name in counts:
            vectors = facts.dimension and label == "Embeddings generated"
            shape = f" ({facts.dimension}D)" if vectors else ""
            lines.append(f"{label}: {_whole(counts[name]):,}{shape}")
    if not result:
        done = {"files_done": row.files_done, "files_total": row.files_total}
        lines.insert(0, _done(done, _unit_of(row)))
    if row.error:
        error: Mapping[str, Any] = jobs.object_in(row.error)
        details = error.get("details") or {}
        lines.append(f"Error: {error.get('error')}: {with_file(error.get('message', ''), details)}")
        hint = details.get("hint")
        if hint:
            lines.append(f"What to do: {hint}")
    lines.extend(f"Note: {note}" for note in result.get("notes", ()))
    if row.attempt > 1:
        lines.append(f"Tries: {row.attempt}")
    if row.started_at_ms is not None and row.finished_at_ms is not None:
        duration_ms = max(0, row.finished_at_ms - row.started_at_ms)
        lines.append(f"Duration: {duration_of(duration_ms)}")
    lines.append(f"Index size: {size(facts.size_bytes)}")
    title = f"{row.kind.upper()} {_ENDS.get(row.state, row.state.upper())}"
    block = list(log_block(row.finished_at_ms or 0, title, *lines))
    yield from block[:-1]


def _moment(at_ms: int) -> str:
    return f"{iso_time(at_ms)[:19]}Z"


def _stamp(at_ms: int) -> str:
    return iso_time(at_ms)[:19].replace("T", "-").replace(":", "-")


def duration_of(milliseconds: int) -> str:
    """Format a duration as these logs always have: ``0.4s``, ``27s``, ``5m 27s``."""
    seconds = milliseconds / 1000
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
