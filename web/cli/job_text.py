"""Jobs as text: a table with one line per job, and all details of a single job.

In the table a second line says what a job waits for or why it failed. On a narrow terminal columns
are dropped; in a pipe nothing is cut and no bar is drawn.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TextIO

from engine.errors import with_file
from engine.record_class import record
from engine.state_records import STOPPED_WITH_WATCHER, Job, JobKind, JobPage, JobState
from web.terminal import Style, columns_of, printable, shortened, style_for, width_of
from web.wording import (
    activity_of,
    age,
    asker_of,
    contents_of,
    count,
    duration,
    gave_way,
    history_changes_of,
    is_active,
    is_rebuild,
    kept_text,
    line_of,
    number_in,
    percent,
    progress_of,
    queue_place,
    rate_of,
    share_of,
    short_id,
    state_of,
    time_left_of,
    unit_of,
    wait_of,
)

_GAP = "  "
_BAR_CELLS = 10
_MIN_PROJECT_WIDTH = 14  # below that other columns are dropped first
_INDENT = 10  # of a second line, to align it with the state

_HEADERS = {
    "id": "ID",
    "state": "STATE",
    "project": "PROJECT",
    "progress": "PROGRESS",
    "rate": "RATE",
    "time": "TIME",
    "age": "AGE",
}
# What is dropped on a narrow terminal, in this order.
_DROPPABLE = ("bar", "rate", "age", "time", "amount")
_NAME_WIDTH = 9
_COUNTS = {
    "files_indexed": "new or changed",
    "files_removed": "removed",
    "files_unchanged": "unchanged",
    "files_skipped": "skipped",
    "files_failed": "failed",
}


@record
class View:
    """The output that text is formatted for."""

    style: Style
    width: int | None  # columns of the terminal; None in a pipe
    now: datetime


def view_of(stream: TextIO) -> View:
    """Return the view for a stream at the current time."""
    return View(style=style_for(stream), width=columns_of(stream), now=datetime.now(UTC))


class _Row(NamedTuple):
    job: Job
    cells: dict[str, str]  # by column; printable and without colours
    progress: tuple[str, str, str]  # with a bar, without a bar, and short
    detail: str


def jobs_text(
    page: JobPage, view: View, *, is_filtered: bool, has_watchers: bool, retention_days: int
) -> str:
    """Format jobs as a table with headers, then totals and how to see more.

    Args:
        page: The jobs.
        view: The output to format for.
        is_filtered: Whether the list is filtered.
        has_watchers: Whether the jobs of the watcher are listed too.
        retention_days: How long finished jobs are kept.
    """
    notes = [view.style.warning(f"note: {printable(error)}") for error in page.errors]
    if not page.jobs:
        return "\n".join([*notes, *_nothing(None if is_filtered else retention_days)]) + "\n"
    rows = [_row(job, view) for job in page.jobs]
    widths = _fit(rows, view)
    lines = [view.style.dim(_line(_HEADERS, widths, view, {}))]
    for row in rows:
        lines.append(_line(row.cells, widths, view, _marks(row.job, view.style)))
        if row.detail:
            detail = " " * _INDENT + row.detail
            lines.append(view.style.dim(shortened(detail, view.width) if view.width else detail))
    lines += [*notes, view.style.dim(_totals(page, has_watchers=has_watchers))]
    return "\n".join(lines) + "\n"


def bar_of(share: float | None) -> str:
    """Draw a share as a small bar; empty if it is unknown."""
    if share is None:
        return ""
    full = int(share * _BAR_CELLS)
    return "█" * full + "░" * (_BAR_CELLS - full)


def _nothing(retention_days: int | None) -> list[str]:
    if retention_days is None:
        return ["No jobs match.", "  try: cairn jobs list --all"]
    return [
        f"No jobs in the last {count(retention_days, 'day')}.",
        "  cairn index PATH               index a folder and wait for it",
        "  cairn index PATH --background  index it in the background",
        "  cairn jobs list --all          include the watcher's jobs",
    ]


def _totals(page: JobPage, *, has_watchers: bool) -> str:
    active = sum(is_active(job) for job in page.jobs)
    jobs = count(page.total, "job" if has_watchers else "requested job")
    if page.next_cursor:
        text = f"{len(page.jobs):,} of {jobs}, {active:,} active"
        return f"{text}; more: --cursor {printable(page.next_cursor)}"
    text = f"{jobs}, {active:,} active"
    return text if has_watchers else f"{text}; with the watcher's: --all"


def _row(job: Job, view: View) -> _Row:
    cells = {
        "id": short_id(job.job_id),
        "state": state_of(job),
        "project": printable(job.path),
        "rate": rate_of(job) if job.status is JobState.RUNNING else "",
        "time": _time(job),
        "age": age(_age_ms(job, view.now)),
    }
    return _Row(job, cells, _progress(job, view), _detail(job))


def _progress(job: Job, view: View) -> tuple[str, str, str]:
    """Describe the progress of a job: with a bar, without a bar, and short."""
    if is_active(job) and job.phase is not None:
        return _share(job, view)
    if job.status is JobState.PENDING:
        full = brief = queue_place(job.position)
    elif is_active(job):
        full = brief = activity_of(job)
    elif job.result is not None and job.kind == JobKind.HISTORY:
        full = history_changes_of(job.result)
        brief = f"{number_in(job.result, 'commits_added'):,} new"
    elif job.result is not None:
        changed = number_in(job.result, "files_indexed")
        full, brief = f"{changed:,} new or changed", f"{changed:,} changed"
    elif not job.started_at:
        full = brief = "never started"
    elif is_rebuild(job):
        full = brief = "not replaced" if job.attempt == 1 else "not ended"
    else:
        total = "" if job.files_total is None else f" of {job.files_total:,}"
        full, brief = f"{job.files_done:,}{total} {unit_of(job)}s kept", f"{job.files_done:,} kept"
    return full, full, brief


def _share(job: Job, view: View) -> tuple[str, str, str]:
    share = share_of(job)
    many = "" if share is None else percent(share)
    full, brief = (f"{job.phase} {words}".rstrip() for words in (progress_of(job), many))
    bar = bar_of(share) if view.width else ""
    return f"{bar} {full}".lstrip(), full, brief


def _time(job: Job) -> str:
    if job.status is JobState.PENDING:
        return "" if job.estimated_seconds is None else f"~{duration(job.estimated_seconds * 1000)}"
    if is_active(job):
        return time_left_of(job) or f"for {age(job.elapsed_seconds * 1000)}"
    return f"took {duration(job.elapsed_seconds * 1000)}" if job.started_at else ""


def _age_ms(job: Job, now: datetime) -> float:
    return (now - datetime.fromisoformat(job.created_at)).total_seconds() * 1000


def _detail(job: Job) -> str:
    parts = []
    if (is_active(job) or gave_way(job)) and job.waiting:
        parts.append(printable(job.waiting))
    if job.flagged:
        parts.append(f"active for a long time: cairn jobs events {short_id(job.job_id)}")
    if job.error:
        parts.append(printable(str(job.error.get("message", "failed"))))
    return ", ".join(parts)


def _fit(rows: Sequence[_Row], view: View) -> dict[str, int]:
    """Choose the columns, their level of detail and their widths; the path is cut first."""
    widths: dict[str, int] = {}
    for number in range(len(_DROPPABLE) + 1):
        missing = _DROPPABLE[:number]
        for row in rows:
            row.cells["progress"] = row.progress[("bar" in missing) + ("amount" in missing)]
        widths = {
            name: max(len(head), *(width_of(row.cells[name]) for row in rows))
            for name, head in _HEADERS.items()
            if name not in missing and (name != "rate" or any(row.cells[name] for row in rows))
        }
        if view.width is None:
            break
        room = view.width - sum(widths.values()) - len(_GAP) * (len(widths) - 1)
        wanted = widths["project"]
        room += wanted
        widths["project"] = max(1, min(wanted, room))
        if room >= min(wanted, _MIN_PROJECT_WIDTH):
            break
    return widths


def _line(
    cells: dict[str, str],
    widths: dict[str, int],
    view: View,
    marks: dict[str, Callable[[str], str]],
) -> str:
    """Join the cells of a row; colours are added after padding, so that widths stay right."""
    parts = []
    left = view.width
    for name, width in widths.items():
        text = cells[name]
        if name == "project":
            text = shortened(text, width, keep="start" if cells is _HEADERS else "end")
        if left is not None:
            if left <= 0:
                break
            text = shortened(text, left)
            left -= width + len(_GAP)
        filled = text + " " * (width - width_of(text))
        parts.append(marks.get(name, str)(filled))
    return _GAP.join(parts).rstrip()


def _marks(job: Job, style: Style) -> dict[str, Callable[[str], str]]:
    return {
        "id": style.bold,
        "state": lambda text: marked_state(text, job, style),
        "age": style.dim,
    }


def marked_state(text: str, job: Job, style: Style) -> str:
    """Colour text according to the state of a job."""
    marks = {
        JobState.PENDING: style.dim,
        JobState.RUNNING: style.place,
        JobState.BLOCKED: style.warning,
        JobState.COMPLETED: style.good,
        JobState.FAILED: style.bad,
        JobState.CANCELLED: style.warning,
    }
    return marks[job.status](text)


def job_text(job: Job, view: View) -> str:
    """Format all details of a job and the possible next step.

    Args:
        job: The job.
        view: The output to format for.
    """
    style = view.style
    rows = [
        ("job", style.bold(job.job_id)),
        ("project", printable(job.path)),
        ("state", marked_state(_state(job), job, style)),
        *_progress_rows(job, view),
        *_history_rows(job, view),
        *_outcome_rows(job, style),
    ]
    lines = [f"{name:<{_NAME_WIDTH}} {value}" for name, value in rows if value]
    return "\n".join([*lines, style.dim(f"{'next':<{_NAME_WIDTH}} {next_step(job)}")]) + "\n"


def job_line(job: Job, view: View) -> str:
    """Format a job of a known project as one line: state, id, and progress or outcome."""
    state = marked_state(f"{state_of(job):<9}", job, view.style)
    return f"{state}  {short_id(job.job_id)}  {_short_outcome(job, view)}"


def _short_outcome(job: Job, view: View) -> str:
    if is_active(job):
        return line_of(job)
    if gave_way(job):
        return wait_of(job)
    message = str(job.error.get("message", "")) if job.error else ""
    ended = f"{_ago(job.finished_at, view)} ago" if job.finished_at else ""
    return ": ".join(part for part in (ended, printable(message)) if part)


def next_step(job: Job) -> str:
    """Return what can be done with a job in its state."""
    name = short_id(job.job_id)
    if job.cancel_requested and is_active(job):
        return "it is stopping and keeps what it did"
    if job.status is JobState.BLOCKED:
        return f"it continues by itself; cairn jobs cancel {name} stops it"
    if is_active(job):
        return f"cairn jobs show {name} --follow, or cairn jobs cancel {name}"
    if job.status is JobState.COMPLETED:
        return f"cairn search QUERY --project {printable(shlex.quote(job.path))}"
    if gave_way(job) and job.waiting == STOPPED_WITH_WATCHER:
        path = printable(shlex.quote(job.path))
        return f"cairn watch {path}, or cairn index {path}, indexes what is left"
    if gave_way(job):
        return "nothing: it continues by itself"
    return f"cairn jobs retry {name} continues with what is left"


def _state(job: Job) -> str:
    facts = [state_of(job)]
    if job.status is JobState.PENDING:
        facts.append(queue_place(job.position))
    if job.attempt > 1:
        facts.append(f"attempt {job.attempt}: continued after its process had ended")
    if job.flagged:
        facts.append("active for a long time")
    return ", ".join(facts)


def _progress_rows(job: Job, view: View) -> list[tuple[str, str]]:
    rows = []
    if is_active(job) and job.phase:
        share = share_of(job)
        bar = f"{bar_of(share)} " if view.width and share is not None else ""
        facts = [f"{bar}{job.phase} {progress_of(job)}".rstrip(), rate_of(job), time_left_of(job)]
        rows.append(("progress", ", ".join(fact for fact in facts if fact)))
    if is_active(job):
        rows.append(("file", printable(job.current_file or "")))
    waiting = wait_of(job) if job.waiting or job.status is JobState.BLOCKED else ""
    rows.append(("waiting", view.style.warning(waiting) if waiting else ""))
    return rows


def _history_rows(job: Job, view: View) -> list[tuple[str, str]]:
    estimate = (
        ""
        if job.estimated_seconds is None
        else f", {duration(job.estimated_seconds * 1000)} expected"
    )
    took = f", took {duration(job.elapsed_seconds * 1000)}" if job.started_at else ""
    running = f", {duration(job.elapsed_seconds * 1000)} so far" if is_active(job) else ""
    return [
        ("created", f"{_moment(job.created_at, view)} by {asker_of(job)}{estimate}"),
        ("options", _parameters_text(job.parameters)),
        ("started", f"{_moment(job.started_at, view)}{running}" if job.started_at else ""),
        ("ended", f"{_moment(job.finished_at, view)}{took}" if job.finished_at else ""),
        ("heartbeat", _moment(job.heartbeat_at, view) if is_active(job) else ""),
    ]


def _outcome_rows(job: Job, style: Style) -> list[tuple[str, str]]:
    rows = [("done", _done_text(job))]
    if job.error:
        found = job.error.get("details")
        details: Mapping[str, object] = found if isinstance(found, Mapping) else {}
        hint = details.get("hint")
        message = with_file(str(job.error.get("message", "")), details)
        rows.append(("error", style.bad(printable(message))))
        rows.append(("hint", printable(str(hint or ""))))
    rows.append(("log", printable(job.log or "")))
    return rows


def _done_text(job: Job) -> str:
    """Describe what a job has done: its result, or its counts so far."""
    if job.kind == JobKind.HISTORY:
        return history_changes_of(job.result) if job.result is not None else kept_text(job)
    if job.result is not None:
        facts = [
            f"{value:,} {name}"
            for key, name in _COUNTS.items()
            if isinstance(value := job.result.get(key), int) and (value or key == "files_indexed")
        ]
        return f"{', '.join(facts)}; {contents_of(job.result)}"
    if not job.started_at:
        return ""
    return f"{contents_of(job.counts)}; {kept_text(job)}"


def _parameters_text(parameters: Mapping[str, object]) -> str:
    """Format the parameters that are set as ``name value``."""
    parts = []
    for name, value in parameters.items():
        if value is None or value is False or value in ((), [], ""):
            continue
        parts.append(_parameter_text(name.removesuffix("_patterns").replace("_", " "), value))
    return ", ".join(parts)


def _parameter_text(name: str, value: object) -> str:
    if value is True:
        return name
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{name} {printable(' '.join(str(each) for each in value))}"
    return f"{name} {printable(str(value))}"


def _moment(timestamp: str | None, view: View) -> str:
    """Format a time to the second, and how long ago it was."""
    if timestamp is None:
        return ""
    then = datetime.fromisoformat(timestamp)
    return f"{then:%Y-%m-%d %H:%M:%S}Z, {_ago(timestamp, view)} ago"


def _ago(timestamp: str, view: View) -> str:
    return age((view.now - datetime.fromisoformat(timestamp)) / timedelta(milliseconds=1))
