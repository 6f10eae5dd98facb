"""Wording for numbers, jobs and notes that all interfaces share."""

import re
from collections.abc import Mapping, Sequence

from engine.humanize import count, duration, percent, printable, size
from engine.index_records import Phase
from engine.records import stored_commits
from engine.state_records import ACTIVE, Job, JobKind, JobOrigin, JobState, ProjectStatus

__all__ = [
    "CHECKED",
    "REMEDY_OF_NEWER",
    "activity_of",
    "age",
    "amount_of",
    "asker_of",
    "branch_text",
    "changes_of",
    "contents_of",
    "count",
    "duration",
    "expected",
    "gave_way",
    "is_active",
    "is_rebuild",
    "is_starting",
    "kept_text",
    "left_contexts",
    "line_of",
    "ordinal",
    "percent",
    "phase_words",
    "progress_of",
    "quantity",
    "queue_place",
    "rate_of",
    "sentence",
    "share_of",
    "short_id",
    "shortened",
    "signature_of",
    "size",
    "state_of",
    "stored_commits",
    "summary_of",
    "time_left_of",
    "wait_of",
    "whole_unit_of",
]

_AFTER_OPENING = re.compile(r"(?<=[(\[]) ")
_BEFORE_CLOSING = re.compile(r"(?<=[^ (\[]),? (?=[)\]])")

_DAY_MS = 86_400_000
#: Each unit, its length, and from which age on it is used: "45 d" says more than "1 mo".
_AGES = (
    ("y", 365.25 * _DAY_MS, 730.5 * _DAY_MS),
    ("mo", 30.4375 * _DAY_MS, 60.875 * _DAY_MS),
    ("d", _DAY_MS, _DAY_MS),
    ("h", 3_600_000, 3_600_000),
    ("min", 60_000, 60_000),
)
#: For each unit its larger units, largest first, and their size in it.
_LARGER = {
    "bytes": (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)),
    "ms": (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)),
    "s": (("d", 86_400), ("h", 3600), ("min", 60)),
}
_SINGULARS = {"days": "day", "jobs": "job", "processes": "process", "threads": "thread"}
#: The command that a page has a button for, unless its words are about the command itself.
_INDEX_COMMAND = re.compile(r"(?<!: )\b(run )?cairn index\b(?! as | -| [A-Z/~])")
_WORD_AT_FIRST = re.compile(r"[a-z][a-z'-]*[,;:]?(?:\s|$)")
_MOST_NAMED = 8  # of a list in a sentence
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_SHORT_ID_CHARS = 8
_SLOW = 10.0  # files per second; slower rates are shown with a decimal
#: What to do about an index that was made by a newer version.
REMEDY_OF_NEWER = "Update CodeCairn to use it. Or remove the project, and index its folder again."
#: What a check of an index counts, by its name in ``Verification.checked``.
CHECKED: Mapping[str, str] = {
    "files": "file",
    "symbols": "symbol",
    "chunks": "chunk",
    "vectors": "vector",
    "path_vectors": "path vector",
    "memories": "memory",
    "jobs": "job",
}
_PHASES: Mapping[str, str] = {
    Phase.SCANNING: "looking for files",
    Phase.PARSING: "indexing",
    Phase.EMBEDDING: "embedding",
    Phase.STORING: "storing",
    Phase.FINISHING: "finishing",
    Phase.HISTORY: "reading the history",
}


def age(milliseconds: float) -> str:
    """Return a time in its largest unit alone: ``12 s``, ``5 min``, ``3 h``, ``2 d``, ``7 mo``."""
    for unit, length_ms, from_ms in _AGES:
        if milliseconds >= from_ms:
            return f"{int(milliseconds // length_ms)} {unit}"
    return f"{max(int(milliseconds // 1000), 0)} s"


def left_contexts(names: Sequence[str]) -> str:
    """Return the end of a sentence on a forgotten project: the contexts that it has left."""
    if not names:
        return ""
    return f"; it has left the context{'s' if len(names) > 1 else ''} {', '.join(names)}"


def ordinal(number: int) -> str:
    """Return a place in a row: ``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    ending = "th" if 10 < number % 100 < 20 else _ORDINALS.get(number % 10, "th")
    return f"{number:,}{ending}"


def quantity(number: int, unit: str) -> str:
    """Return a number in its largest unit: ``1 MiB``, ``1.5 s``, ``1 day``, ``14 days``."""
    for name, many in _LARGER.get(unit, ()):
        if number >= many:
            return f"{number / many:.1f}".removesuffix(".0") + f" {name}"
    return f"{number:,} {_SINGULARS.get(unit, unit) if number == 1 else unit}"


def shortened(text: str) -> str:
    """Shorten the list at the end of a sentence to its first items and the number of others."""
    names = text.split(", ")
    left = len(names) - _MOST_NAMED
    return text if left < 2 else f"{', '.join(names[:_MOST_NAMED])} and {left:,} more"


def sentence(text: str) -> str:
    """Begin a text with a capital, unless it begins with a path, a name or what it quotes."""
    return f"{text[0].upper()}{text[1:]}" if _WORD_AT_FIRST.match(text) else text


def on_page(text: str) -> str:
    """Name the button of a page instead of the command of a terminal that a note or hint names."""
    button = "“Index again” on the project's page"
    return _INDEX_COMMAND.sub(lambda found: f"choose {button}" if found[1] else button, text)


def phase_words(phase: str) -> str:
    """Describe a phase; one that another version has stored keeps its word."""
    return _PHASES.get(phase, printable(phase))


def short_id(job_id: str) -> str:
    """Return the end of a job's id: its beginning is the same for all jobs of a project."""
    return job_id[-_SHORT_ID_CHARS:]


def is_active(job: Job) -> bool:
    """Return whether a job has not ended."""
    return job.status in ACTIVE


def gave_way(job: Job) -> bool:
    """Return whether a job was cancelled in favour of another one, or ended with its watcher."""
    return job.status is JobState.CANCELLED and bool(job.waiting)


def is_starting(job: Job) -> bool:
    """Return whether a job is queued or has only just started."""
    if job.status is JobState.RUNNING:
        return job.phase is None
    return job.status is JobState.PENDING


def state_of(job: Job) -> str:
    """Return a job's state in words; ``stopping`` if its cancellation is pending."""
    if gave_way(job):
        return "gave way"
    return "stopping" if job.cancel_requested and is_active(job) else job.status.value


def activity_of(job: Job) -> str:
    """Describe what a job is doing: its phase, or that it waits."""
    if job.status is JobState.PENDING:
        return "waiting"
    if job.status is JobState.BLOCKED:
        return "blocked"
    return _PHASES[job.phase] if job.phase else "starting"


def whole_unit_of(job: Job) -> str:
    """Return what a whole job counts, whichever phase it is in."""
    return "commit" if job.kind == JobKind.HISTORY else "file"


def unit_of(job: Job) -> str:
    """Return what the progress of a job counts."""
    return "chunk" if job.phase is Phase.EMBEDDING else whole_unit_of(job)


def amount_of(job: Job) -> str:
    """Describe the progress of a phase: ``250/1,000 files``, or ``70 files`` of an unknown total.

    Empty while scanning, when the number of files done means nothing.
    """
    if job.phase is Phase.SCANNING:
        return ""
    if job.total is None:
        return count(job.done, unit_of(job))
    return f"{job.done:,}/{count(job.total, unit_of(job))}"


def _is_by_bytes(job: Job) -> bool:
    """Return whether bytes tell the progress: the largest files come first, so files mislead."""
    return bool(job.bytes_total) and job.phase is not Phase.EMBEDDING


def share_of(job: Job) -> float | None:
    """Return the share of the phase that is done, 0 to 1, or None if the total is unknown.

    While files are read it is the share of their bytes.
    """
    if job.total is None or job.phase is Phase.SCANNING:
        return None
    if job.bytes_total and _is_by_bytes(job):
        return min(job.bytes_done / job.bytes_total, 1.0)
    return min(job.done / job.total, 1.0) if job.total else 1.0


def progress_of(job: Job) -> str:
    """Describe the progress of a phase with its share: ``250/1,000 files, 61% of 3.2 MB``."""
    share, amount = share_of(job), amount_of(job)
    if share is None:
        return amount
    if job.bytes_total and _is_by_bytes(job):
        return f"{amount}, {percent(share)} of {size(job.bytes_total)}"
    return f"{amount} ({percent(share)})"


def rate_of(job: Job) -> str:
    """Return the rate of a job; empty if unknown."""
    if not job.rate:
        return ""
    rate = f"{job.rate:,.1f}" if job.rate < _SLOW else f"{job.rate:,.0f}"
    return f"{rate} {unit_of(job)}s/s"


def time_left_of(job: Job) -> str:
    """Return the estimated time left of a running job, in whole seconds; empty if unknown."""
    if not job.eta_seconds or job.status is JobState.BLOCKED:
        return ""
    seconds = max(1, round(job.eta_seconds))
    return f"{seconds} s left" if seconds < 60 else f"{duration(seconds * 1000)} left"


def queue_place(position: int | None) -> str:
    """Describe a position in the queue; 1 is next."""
    if position is None:
        return "in the queue"
    return "next in the queue" if position == 1 else f"{ordinal(position)} in the queue"


def wait_of(job: Job) -> str:
    """Describe what a job waits for, as printable text; empty if it does not wait."""
    if job.waiting:
        return printable(job.waiting)
    if job.status is JobState.PENDING:
        return queue_place(job.position)
    return "something it needs is unavailable" if job.status is JobState.BLOCKED else ""


def line_of(job: Job) -> str:
    """Describe the progress of a job in one line: phase, files, share, rate, time left, file."""
    if job.status in (JobState.PENDING, JobState.BLOCKED):
        return f"{activity_of(job)}: {wait_of(job)}"
    if job.phase is None:
        return activity_of(job)
    parts = (activity_of(job), progress_of(job), rate_of(job), time_left_of(job))
    line = ", ".join(part for part in parts if part)
    if job.waiting:
        line += f", {printable(job.waiting)}"
    return f"{line}: {printable(job.current_file)}" if job.current_file else line


def is_rebuild(job: Job) -> bool:
    """Return whether a job builds a new index beside the old one."""
    return bool(job.parameters.get("force_clean"))


def kept_text(job: Job) -> str:
    """Describe what an unfinished job has already indexed; of a rebuild, what answers."""
    if is_rebuild(job):
        if is_active(job):
            return "the old index answers until it has ended"
        if job.attempt > 1:  # an earlier attempt may have put the new one in its place
            return "the old index is as it was, unless the new one had replaced it before"
        return "the old index is as it was"
    unit = unit_of(job)
    if not job.files_done:
        return f"no {unit}s done so far; what was indexed before can be searched"
    if job.files_total is None:
        return f"the {count(job.files_done, unit)} done so far can be searched"
    return f"the {job.files_done:,} of {count(job.files_total, unit)} done so far can be searched"


def asker_of(job: Job) -> str:
    """Return what requested a job."""
    return "the watcher" if job.origin is JobOrigin.WATCH else "a request"


#: Of a project whose folder was there when it was indexed.
FOLDER_GONE = "the folder is gone: deleted, moved, emptied or not mounted"


def branch_text(status: ProjectStatus) -> str:
    """Return the branch that is searched, and which others are: ``main; also indexed: v1``."""
    here = status.branch or "none"
    others = [each for each in status.branches if each != status.branch]
    return printable(f"{here}; also indexed: {', '.join(others)}" if others else here)


def expected(seconds: float | None) -> str:
    """Return the expected duration as the end of a phrase; empty if unknown."""
    return "" if seconds is None else f", about {duration(seconds * 1000)}"


def go_duration(seconds: float) -> str:
    """Return a duration as Go programs write it: ``5m0s``, ``2.5s``, ``100ms``."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    found = f"{hours}h" if hours else ""
    if hours or minutes:
        found += f"{minutes}m"
    return f"{found}{round(rest, 3):g}s"


def changes_of(report: Mapping[str, object]) -> str:
    """Count the files of a report: ``3 new or changed, 12 unchanged, 1 skipped, 0 failed``.

    Those that were removed are counted if there are any.
    """
    names = ("new or changed", "unchanged", "skipped", "failed")
    keys = ("files_indexed", "files_unchanged", "files_skipped", "files_failed")
    told = [f"{number_in(report, key):,} {name}" for key, name in zip(keys, names, strict=True)]
    removed = number_in(report, "files_removed")
    return ", ".join([*told[:1], *([f"{removed:,} removed"] if removed else []), *told[1:]])


def history_changes_of(report: Mapping[str, object]) -> str:
    """Count the commits of a report: ``12 new commits, 5,000 in total``."""
    added, gone = number_in(report, "commits_added"), number_in(report, "commits_removed")
    parts = [count(added, "new commit") if added else "no new commits"]
    parts += [f"{gone:,} gone"] if gone else []
    return ", ".join([*parts, f"{number_in(report, 'commits'):,} in total"])


def contents_of(counted: Mapping[str, object]) -> str:
    """Count symbols, chunks and vectors, by the names of a report or of a job's counts."""
    keys = (
        ("symbol", "symbols_extracted", "symbols"),
        ("chunk", "chunks", "chunks"),
        ("vector", "embeddings_generated", "embeddings"),
    )
    return ", ".join(
        count(number_in(counted, name if name in counted else other), noun)
        for noun, name, other in keys
    )


def signature_of(signature: str) -> str:
    """Return a signature as on one line: without what breaking its lines left in the brackets."""
    return _BEFORE_CLOSING.sub("", _AFTER_OPENING.sub("", signature))


def summary_of(job: Job) -> str:
    """Summarize in one line the progress or the outcome of a job."""
    if is_active(job):
        return line_of(job)
    if job.error:
        return printable(str(job.error.get("message", "")))
    if gave_way(job):
        return wait_of(job)
    took = duration(job.elapsed_seconds * 1000)
    if job.status is JobState.CANCELLED and job.started_at is None:
        return "cancelled before it started"
    if job.status is JobState.CANCELLED:
        kept = kept_text(job) if is_rebuild(job) else f"{count(job.files_done, unit_of(job))} kept"
        return f"stopped after {took}, {kept}"
    result = job.result or {}
    if job.kind == JobKind.HISTORY:
        return f"{history_changes_of(result)}, in {took}"
    changed, failed = number_in(result, "files_indexed"), number_in(result, "files_failed")
    removed = number_in(result, "files_removed")
    parts = [f"{changed:,} new or changed"] if changed else []
    parts += [f"{removed:,} removed"] if removed else []
    changes = ", ".join(parts) or "no change"
    return f"{changes}{f', {failed:,} failed' if failed else ''}, in {took}"


def number_in(counted: Mapping[str, object], name: str) -> int:
    """Return a number of a report or a result; 0 if it has none of that name."""
    value = counted.get(name)
    return value if isinstance(value, int) else 0
