"""The log of a verification, for people: ``verify-<UTC time>.log`` among those of jobs."""

from collections.abc import Iterator
from pathlib import Path

from engine.clock import now_ms
from engine.doctor_records import Finding, Severity, Verification
from engine.jobs.operation_log import VERIFIED_SOUND, log_block, write_log
from engine.jobs.wording import bytes_of, duration_of, number_of


def write_verify_log(folder: Path, found: Verification, size_bytes: int) -> Path | None:
    """Write the log; None when it cannot be written, which changes nothing of what was found.

    Args:
        folder: The project's logs.
        found: The verification.
        size_bytes: Of the index.
    """
    at_ms = now_ms()
    try:
        return write_log(folder, "verify", at_ms, _lines(found, at_ms, size_bytes))
    except OSError:
        return None


def _lines(found: Verification, at_ms: int, size_bytes: int) -> Iterator[str]:
    started_ms = at_ms - found.took_ms
    yield from log_block(
        started_ms, "VERIFY START", f"Repository: {found.path}", f"Index: {found.project_id}.db"
    )
    counted = [f"{name.capitalize()}: {number_of(n)}" for name, n in found.checked.items()]
    if counted:
        yield from log_block(at_ms, "Checked", *counted)
    for finding in found.findings:
        title = "DAMAGE" if finding.severity is Severity.DAMAGE else "Note"
        yield from log_block(at_ms, f"{title} {finding.code}", *_told(finding))
    lines = [f"Warnings: {len(found.warnings)}"]
    lines += [f"What to do: {fix}" for fix in found.suggested_fixes]
    lines += [f"Duration: {duration_of(found.took_ms)}", f"Index size: {bytes_of(size_bytes)}"]
    end = VERIFIED_SOUND if found.ok else "VERIFY COMPLETE: damaged"
    yield from list(log_block(at_ms, end, *lines))[:-1]


def _told(finding: Finding) -> Iterator[str]:
    yield finding.message
    yield from (f"  {place}" for place in finding.places)
    left = finding.count - len(finding.places)
    if finding.places and left > 0:
        yield f"  and {number_of(left)} more"
