"""Jobs as a table: one line a job, a second one for what it waits for or why it failed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TextIO

from engine.job_records import Job, JobPage, JobState
from web.console.job_wording import (
    activity_of,
    amount_of,
    is_active,
    marked_state,
    queue_place,
    rate_of,
    share_of,
    short_id,
    state_of,
    time_left_of,
)
from web.terminal import Style, columns_of, printable, shortened, style_for, width_of
from web.wording import age, count, duration, percent

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
_EXPENDABLE = ("bar", "rate", "age", "time")


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
    bar: str  # what the progress begins with when there is room
    detail: str


class _Layout(NamedTuple):
    columns: list[str]
    widths: dict[str, int]
    has_bar: bool


def jobs_text(page: JobPage, view: View, *, is_filtered: bool) -> str:
    """Give jobs as a table with its heads, then how many there are and how to see more.

    Args:
        page: What was found.
        view: Where it is drawn.
        is_filtered: Not all jobs were asked for.
    """
    notes = [view.style.warning(f"note: {printable(error)}") for error in page.errors]
    if not page.jobs:
        return "\n".join([*notes, *_nothing(is_filtered=is_filtered)]) + "\n"
    rows = [_row(job, view) for job in page.jobs]
    layout = _layout(rows, view)
    lines = [view.style.dim(_line(_HEADS, layout, view, {}))]
    for row in rows:
        lines.append(_line(_with_bar(row, layout), layout, view, _marks(row.job, view.style)))
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


def _nothing(*, is_filtered: bool) -> list[str]:
    if is_filtered:
        return ["no job is like that", "  try: cairn jobs list --all"]
    return [
        "no jobs in the last 7 days",
        "  cairn index PATH               indexes a folder and waits for it",
        "  cairn index PATH --background  the same while you go on",
        "  cairn jobs list --all          shows those of the watcher too",
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
        "progress": _progress(job),
        "rate": rate_of(job) if job.status is JobState.RUNNING else "",
        "time": _time(job),
        "age": age(_age_ms(job, view.now)),
    }
    bar = bar_of(share_of(job)) if view.width and _is_under_way(job) else ""
    return _Row(job, cells, bar, _detail(job))


def _is_under_way(job: Job) -> bool:
    return is_active(job) and job.phase is not None


def _progress(job: Job) -> str:
    if job.status is JobState.PENDING:
        return queue_place(job.position)
    if is_active(job):
        share = share_of(job)
        if job.phase is None:
            return activity_of(job)
        amount = f"{job.phase} {amount_of(job)}".rstrip()
        return amount if share is None else f"{amount} {percent(share)}"
    if job.result is not None:
        return f"{_number(job, 'files_indexed'):,} new or changed"
    if not job.started_at:
        return "never began"
    total = "" if job.files_total is None else f" of {job.files_total:,}"
    return f"{job.files_done:,}{total} files kept"


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
        parts.append(f"active for very long: cairn jobs events {short_id(job.job_id)}")
    if job.error:
        parts.append(printable(str(job.error.get("message", "failed"))))
    return ", ".join(parts)


def _layout(rows: Sequence[_Row], view: View) -> _Layout:
    """Choose columns and their widths so that a line fits; the path is cut first."""
    columns, has_bar = list(_HEADS), True
    expendable = list(_EXPENDABLE)
    while True:
        layout = _Layout(columns, _widths(rows, columns, has_bar=has_bar), has_bar)
        excess = 0 if view.width is None else max(_width(layout) - view.width, 0)
        project = layout.widths["project"]
        if project - excess >= min(project, _LEAST_PROJECT) or not expendable:
            layout.widths["project"] = max(project - excess, 1)
            return layout
        least = expendable.pop(0)
        if least == "bar":
            has_bar = False
        else:
            columns.remove(least)


def _widths(rows: Sequence[_Row], columns: Sequence[str], *, has_bar: bool) -> dict[str, int]:
    layout = _Layout(list(columns), {}, has_bar)
    return {
        name: max(len(_HEADS[name]), *(width_of(_with_bar(row, layout)[name]) for row in rows))
        for name in columns
        if name != "rate" or any(row.cells["rate"] for row in rows)
    }


def _width(layout: _Layout) -> int:
    return sum(layout.widths.values()) + len(_GAP) * (len(layout.widths) - 1)


def _with_bar(row: _Row, layout: _Layout) -> dict[str, str]:
    if not (layout.has_bar and row.bar):
        return row.cells
    return {**row.cells, "progress": f"{row.bar} {row.cells['progress']}"}


def _line(
    cells: dict[str, str], layout: _Layout, view: View, marks: dict[str, Callable[[str], str]]
) -> str:
    """Put cells side by side, marked after they have been filled up."""
    parts = []
    left = view.width
    for name, width in layout.widths.items():
        text = cells[name]
        if name == "project":
            text = shortened(text, width, keep="end")
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
