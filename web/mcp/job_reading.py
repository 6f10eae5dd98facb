"""Jobs as agents read them."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from engine.job_records import Job, JobState
from web.console.job_wording import kept_text, line_of
from web.mcp.tool import Answer
from web.terminal import printable
from web.wording import count, duration


def outcome_text(job: Job) -> str:
    """Say how a run ended, or that it goes on and how to hear of its end."""
    if job.status is JobState.COMPLETED:
        return _done_text(job.result or {})
    if job.status is JobState.CANCELLED:
        return f"job {job.job_id} was cancelled; {kept_text(job)}"
    if job.status is JobState.FAILED:
        error = job.error or {}
        return f"job {job.job_id} failed: {printable(str(error.get('message')))}"
    return (
        f"{job.status}, {line_of(job)}\n"
        f'goes on by itself: get_indexing_status with job_id "{job.job_id}"'
    )


def _done_text(report: Mapping[str, object]) -> str:
    numbers = {
        name: value if isinstance(value, int) else 0
        for name, value in report.items()
        if name.startswith("files_") or name in ("duration_ms", "symbols_extracted")
    }
    said = [
        f"indexed {printable(str(report['path']))} in {duration(numbers['duration_ms'])}: "
        f"{count(numbers['files_indexed'], 'file')} new or changed, "
        f"{numbers['files_unchanged']:,} unchanged, {numbers['files_skipped']:,} skipped, "
        f"{numbers['files_failed']:,} failed"
    ]
    notes = report.get("notes")
    said += [f"note: {printable(str(note))}" for note in notes] if isinstance(notes, list) else []
    return "\n".join(said)


def failed_job(job: Job) -> Answer:
    """Give the error that a job ended with, with where to read more."""
    error = error_of(job)
    details = error["details"]
    assert isinstance(details, dict)
    hint = f"\nhint: {details['hint']}" if details.get("hint") else ""
    log = f"\nlog: {details['log']}" if "log" in details else ""
    return Answer(
        content=error,
        text=f"{error['error']}: {printable(str(error['message']))}{hint}{log}",
        is_error=True,
    )


def error_of(job: Job) -> dict[str, object]:
    """Give a failed job's error in the one shape, with the job and its log beside the details."""
    stored = job.error or {}
    found = stored.get("details")
    details = dict(found) if isinstance(found, Mapping) else {}
    details["job_id"] = job.job_id
    if job.log:
        details["log"] = log_uri(job.log, job.path)
    return {
        "error": stored.get("error", "internal_error"),
        "message": stored.get("message") or f"job {job.job_id} failed",
        "details": details,
    }


def log_uri(log: str | None, project: str) -> str | None:
    """Give the resource that is a log of a project; None when there is none yet.

    Args:
        log: Its path.
        project: The root.
    """
    if not log:
        return None
    name = log.rpartition("/")[2]
    return "logs://content?" + urlencode({"file": name, "project": project}, quote_via=quote)
