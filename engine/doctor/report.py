"""How a verification is told: findings in words with what helps, and its log.

The log is for people: ``verify-<UTC time>.log`` among those of jobs.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from engine.clock import now_ms
from engine.doctor.check import MOST_PLACES, Trouble
from engine.jobs.operation_log import VERIFIED_SOUND, duration_of, log_block, write_log
from engine.state_records import (
    Finding,
    FindingCode,
    Remedy,
    Severity,
    Verification,
    remedies_of,
    remedy_of,
)
from engine.wording import size

_COMMANDS = {
    Remedy.INDEX: "cairn index PATH",
    Remedy.REPAIR: "cairn doctor PATH --repair",
    Remedy.REBUILD: "cairn doctor PATH --rebuild",
}
#: What is no damage.
_NOTES = frozenset({FindingCode.UNPARSED, FindingCode.JOB_WAITS, FindingCode.LEFTOVERS})
#: The order of findings: what makes the others follow comes first.
_ORDER = list(FindingCode)


def _finding_of(trouble: Trouble, path: str) -> Finding:
    """Return a trouble as people and programs see it."""
    code = trouble.code
    severity = Severity.NOTE if trouble.is_note or code in _NOTES else Severity.DAMAGE
    return Finding(
        code=code,
        message=trouble.message,
        count=trouble.number,
        places=trouble.places[:MOST_PLACES],
        severity=severity,
        fix=_command_of(remedy_of(code, severity), path),
    )


def findings_of(troubles: Iterable[Trouble], path: str) -> tuple[Finding, ...]:
    """Return all findings, damage first."""
    found = [_finding_of(trouble, path) for trouble in troubles]
    return tuple(
        sorted(found, key=lambda each: (each.severity is Severity.NOTE, _ORDER.index(each.code)))
    )


def warnings_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the findings as sentences, and what is recommended."""
    sentences = [finding.message for finding in findings]
    damage = [finding for finding in findings if finding.severity is Severity.DAMAGE]
    if damage:
        sentences.append(f"Recommend: run {damage[0].fix}")
    return tuple(sentences)


def fixes_of(findings: Sequence[Finding], path: str) -> tuple[str, ...]:
    """Return the commands that help, the first one first."""
    return tuple(_command_of(remedy, path) for remedy in remedies_of(findings))


def _command_of(remedy: Remedy, path: str) -> str:
    """Return the command of a remedy; whoever reads it fills in a folder that is not known."""
    return _COMMANDS[remedy].replace("PATH", _quoted(path) if path else "PATH")


def _quoted(path: str) -> str:
    safe = path and all(each.isalnum() or each in "/._-+" for each in path)
    return path if safe else "'" + path.replace("'", "'\\''") + "'"


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
    counted = [f"{name.capitalize()}: {n:,}" for name, n in found.checked.items()]
    if counted:
        yield from log_block(at_ms, "Checked", *counted)
    for finding in found.findings:
        title = "DAMAGE" if finding.severity is Severity.DAMAGE else "Note"
        yield from log_block(at_ms, f"{title} {finding.code}", *_told(finding))
    lines = [f"Warnings: {len(found.warnings)}"]
    lines += [f"What to do: {fix}" for fix in found.suggested_fixes]
    lines += [f"Duration: {duration_of(found.took_ms)}", f"Index size: {size(size_bytes)}"]
    end = VERIFIED_SOUND if found.ok else "VERIFY COMPLETE: damaged"
    yield from list(log_block(at_ms, end, *lines))[:-1]


def _told(finding: Finding) -> Iterator[str]:
    yield finding.message
    yield from (f"  {place}" for place in finding.places)
    left = finding.count - len(finding.places)
    if finding.places and left > 0:
        yield f"  and {left:,} more"
