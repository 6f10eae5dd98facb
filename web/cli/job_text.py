"""One job as lines of name and value, with what can be done next.

Jobs as a table: one line a job, a second one for what it waits for or why it failed.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TextIO

from engine.state_records import Job, JobPage, JobState
from web.terminal import Style, columns_of, printable, shortened, style_for, width_of
from web.wording import (
    activity_of,
    age,
    amount_of,
    asker_of,
    contents_of,
    count,
    duration,
    is_active,
    kept_text,
    line_of,
    percent,
    queue_place,
    rate_of,
    share_of,
    short_id,
    state_of,
    time_left_of,
    wait_of,
)

_GAP = "  "
_BAR_CELLS = 10
_LEAST_PROJECT = 14  # columns; below that other columns go first
_INDENT = 10  # of a second line: below the state

_HEADS = {
    "id": "ID",
    "state": "STATE",
    "project": "PROJECT",
    "progress": "PROGRESS",
    "rate": "RATE",
    "time": "TIME",
    "age": "AGE",
}
# What a narrow terminal does without, in this order.
_EXPENDABLE = ("bar", "rate", "age", "time", "amount")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a table is drawn for."""

    style: Style
    width: int | None  # columns of the terminal; None in a pipe, where nothing is cut or drawn
    now: datetime


def view_of(stream: TextIO) -> View:
    """Give what can be drawn on a stream now."""
    return View(style=style_for(stream), width=columns_of(stream), now=datetime.now(UTC))


class _Row(NamedTuple):
    job: Job
    cells: dict[str, str]  # by column; printable and without colours
    progress: tuple[str, str, str]  # the same with a bar, without, and in few words
    detail: str


def jobs_text(page: JobPage, view: View, *, is_filtered: bool, retention_days: int) -> str:
    """Give jobs as a table with its heads, then how many there are and how to see more.

    Args:
        page: What was found.
        view: Where it is drawn.
        is_filtered: Not all jobs were asked for.
        retention_days: How long jobs are kept after their end.
    """
    notes = [view.style.warning(f"note: {printable(error)}") for error in page.errors]
    if not page.jobs:
        return "\n".join([*notes, *_nothing(None if is_filtered else retention_days)]) + "\n"
    rows = [_row(job, view) for job in page.jobs]
    widths = _fit(rows, view)
    lines = [view.style.dim(_line(_HEADS, widths, view, {}))]
    for row in rows:
        lines.append(_line(row.cells, widths, view, _marks(row.job, view.style)))
        if row.detail:
            detail = " " * _INDENT + row.detail
            lines.append(view.style.dim(shortened(detail, view.width) if view.width else detail))
    lines += [*notes, view.style.dim(_totals(page))]
    return "\n".join(lines) + "\n"


def bar_of(share: float | None) -> str:
    """Draw a share as a small bar; empty when it is not known."""
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


def _totals(page: JobPage) -> str:
    active = sum(is_active(job) for job in page.jobs)
    many = f"{len(page.jobs):,} of {count(page.total, 'job')}, {active:,} active"
    if page.next_cursor:
        return f"{many}; more: --cursor {printable(page.next_cursor)}"
    return f"{count(page.total, 'job')}, {active:,} active"


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
    """Say how far a job is: with a bar, without, and in few words."""
    if is_active(job) and job.phase is not None:
        return _share(job, view)
    if job.status is JobState.PENDING:
        said = brief = queue_place(job.position)
    elif is_active(job):
        said = brief = activity_of(job)
    elif job.result is not None:
        changed = _number(job, "files_indexed")
        said, brief = f"{changed:,} new or changed", f"{changed:,} changed"
    elif not job.started_at:
        said = brief = "never started"
    else:
        total = "" if job.files_total is None else f" of {job.files_total:,}"
        said, brief = f"{job.files_done:,}{total} files kept", f"{job.files_done:,} kept"
    return said, said, brief


def _share(job: Job, view: View) -> tuple[str, str, str]:
    share = share_of(job)
    many = "" if share is None else percent(share)
    said, brief = (
        " ".join(filter(None, parts))
        for parts in ((job.phase, amount_of(job), many), (job.phase, many))
    )
    bar = bar_of(share) if view.width else ""
    return f"{bar} {said}".lstrip(), said, brief


def _number(job: Job, name: str) -> int:
    value = (job.result or {}).get(name, 0)
    return value if isinstance(value, int) else 0


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
    if is_active(job) and job.waiting:
        parts.append(printable(job.waiting))
    if job.flagged:
        parts.append(f"active for a long time: cairn jobs events {short_id(job.job_id)}")
    if job.error:
        parts.append(printable(str(job.error.get("message", "failed"))))
    return ", ".join(parts)


def _fit(rows: Sequence[_Row], view: View) -> dict[str, int]:
    """Choose columns, how much they say, and their widths; the path is cut first."""
    widths: dict[str, int] = {}
    for gone in range(len(_EXPENDABLE) + 1):
        missing = _EXPENDABLE[:gone]
        for row in rows:
            row.cells["progress"] = row.progress[("bar" in missing) + ("amount" in missing)]
        widths = {
            name: max(len(head), *(width_of(row.cells[name]) for row in rows))
            for name, head in _HEADS.items()
            if name not in missing and (name != "rate" or any(row.cells[name] for row in rows))
        }
        if view.width is None:
            break
        room = view.width - sum(widths.values()) - len(_GAP) * (len(widths) - 1)
        wished = widths["project"]
        room += wished
        widths["project"] = max(1, min(wished, room))
        if room >= min(wished, _LEAST_PROJECT):
            break
    return widths


def _line(
    cells: dict[str, str],
    widths: dict[str, int],
    view: View,
    marks: dict[str, Callable[[str], str]],
) -> str:
    """Put cells side by side, marked after they have been filled up."""
    parts = []
    left = view.width
    for name, width in widths.items():
        text = cells[name]
        if name == "project":
            text = shortened(text, width, keep="start" if cells is _HEADS else "end")
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


_NAME_WIDTH = 9

_COUNTS = {
    "files_indexed": "new or changed",
    "files_unchanged": "unchanged",
    "files_skipped": "skipped",
    "files_failed": "failed",
}


def job_text(job: Job, view: View) -> str:
    """Give all there is to know of a job, and what can be done now.

    Args:
        job: The job.
        view: Where it is shown.
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
    """Give a job of a known project in one line: state, id, and how it goes or how it ended."""
    state = marked_state(f"{state_of(job):<9}", job, view.style)
    return f"{state}  {short_id(job.job_id)}  {_short_outcome(job, view)}"


def _short_outcome(job: Job, view: View) -> str:
    if is_active(job):
        return line_of(job)
    message = str(job.error.get("message", "")) if job.error else ""
    ended = f"{_ago(job.finished_at, view)} ago" if job.finished_at else ""
    return ": ".join(part for part in (ended, printable(message)) if part)


def next_step(job: Job) -> str:
    """Say what can be done with a job in its state."""
    name = short_id(job.job_id)
    if job.cancel_requested and is_active(job):
        return "it is stopping and keeps what it did"
    if job.status is JobState.BLOCKED:
        return f"it continues by itself; cairn jobs cancel {name} stops it"
    if is_active(job):
        return f"cairn jobs show {name} --follow, or cairn jobs cancel {name}"
    if job.status is JobState.COMPLETED:
        return f"cairn search QUERY --project {printable(shlex.quote(job.path))}"
    return f"cairn jobs retry {name} continues with what is left"


def _state(job: Job) -> str:
    facts = [state_of(job)]
    if job.status is JobState.PENDING:
        facts.append(queue_place(job.position))
    if job.attempt > 1:
        facts.append(f"attempt {job.attempt}: continued after its process had died")
    if job.flagged:
        facts.append("active for a long time")
    return ", ".join(facts)


def _progress_rows(job: Job, view: View) -> list[tuple[str, str]]:
    rows = []
    if is_active(job) and job.phase:
        share = share_of(job)
        bar = f"{bar_of(share)} " if view.width and share is not None else ""
        amount = amount_of(job) if share is None else f"{amount_of(job)} ({percent(share)})"
        facts = [f"{bar}{job.phase} {amount}".rstrip(), rate_of(job), time_left_of(job)]
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
        ("options", _wishes(job.parameters)),
        ("started", f"{_moment(job.started_at, view)}{running}" if job.started_at else ""),
        ("ended", f"{_moment(job.finished_at, view)}{took}" if job.finished_at else ""),
        ("heartbeat", _moment(job.heartbeat_at, view) if is_active(job) else ""),
    ]


def _outcome_rows(job: Job, style: Style) -> list[tuple[str, str]]:
    rows = [("done", _done_text(job))]
    if job.error:
        details = job.error.get("details")
        hint = details.get("hint") if isinstance(details, Mapping) else ""
        rows.append(("error", style.bad(printable(str(job.error.get("message", ""))))))
        rows.append(("hint", printable(str(hint or ""))))
    rows.append(("log", printable(job.log or "")))
    return rows


def _done_text(job: Job) -> str:
    """Say what a job did: its result, or what it has counted so far."""
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


def _wishes(parameters: Mapping[str, object]) -> str:
    """Give the parameters that say something as ``name value``."""
    said = []
    for name, value in parameters.items():
        if value is None or value is False or value in ((), [], ""):
            continue
        said.append(_wish(name.removesuffix("_patterns").replace("_", " "), value))
    return ", ".join(said)


def _wish(name: str, value: object) -> str:
    if value is True:
        return name
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"{name} {printable(' '.join(str(each) for each in value))}"
    return f"{name} {printable(str(value))}"


def _moment(timestamp: str | None, view: View) -> str:
    """Give a time to the second, and how long ago it was."""
    if timestamp is None:
        return ""
    then = datetime.fromisoformat(timestamp)
    return f"{then:%Y-%m-%d %H:%M:%S}Z, {_ago(timestamp, view)} ago"


def _ago(timestamp: str, view: View) -> str:
    return age((view.now - datetime.fromisoformat(timestamp)) / timedelta(milliseconds=1))
