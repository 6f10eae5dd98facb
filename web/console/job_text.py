"""One job as lines of name and value, with what can be done next."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from engine.job_records import Job, JobState
from web.console.job_table import View, bar_of
from web.console.job_wording import (
    amount_of,
    is_active,
    kept_text,
    line_of,
    marked_state,
    queue_place,
    rate_of,
    share_of,
    short_id,
    state_of,
    time_left_of,
    wait_of,
)
from web.terminal import Style, printable
from web.wording import age, count, duration, percent

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
        return "it stops soon and keeps what it did"
    if job.status is JobState.BLOCKED:
        return f"it goes on by itself; cairn jobs cancel {name} gives it up"
    if is_active(job):
        return f"cairn jobs show {name} --follow, or cairn jobs cancel {name}"
    if job.status is JobState.COMPLETED:
        return f"cairn search QUERY --project {printable(shlex.quote(job.path))}"
    return f"cairn jobs retry {name} goes on with what is left"


def _state(job: Job) -> str:
    facts = [state_of(job)]
    if job.status is JobState.PENDING:
        facts.append(queue_place(job.position))
    if job.attempt > 1:
        facts.append(f"try {job.attempt}: it went on after its process had ended")
    if job.flagged:
        facts.append("active for very long")
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
    rows.append(("waits", view.style.warning(waiting) if waiting else ""))
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
        ("asked", f"{_moment(job.created_at, view)} by {_asker(job)}{estimate}"),
        ("for", _wishes(job.parameters)),
        ("started", f"{_moment(job.started_at, view)}{running}" if job.started_at else ""),
        ("ended", f"{_moment(job.finished_at, view)}{took}" if job.finished_at else ""),
        ("alive", _moment(job.heartbeat_at, view) if is_active(job) and job.heartbeat_at else ""),
    ]


def _outcome_rows(job: Job, style: Style) -> list[tuple[str, str]]:
    rows = [("did", _done_text(job))]
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
        return f"{', '.join(facts)}; {_contents(job.result)}"
    if not job.started_at:
        return ""
    return f"{_contents(job.counts)}; {kept_text(job)}"


def _contents(counted: Mapping[str, object]) -> str:
    """Count symbols, chunks and vectors, by the names of reports or of counts."""
    keys = (
        ("symbol", ("symbols_extracted", "symbols")),
        ("chunk", ("chunks",)),
        ("vector", ("embeddings_generated", "embeddings")),
    )
    facts = []
    for noun, names in keys:
        found = next((counted[name] for name in names if name in counted), 0)
        facts.append(count(found if isinstance(found, int) else 0, noun))
    return ", ".join(facts)


def _asker(job: Job) -> str:
    return "the watcher" if job.origin == "watch" else "request"


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
