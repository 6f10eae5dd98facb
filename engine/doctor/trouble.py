"""What an examination notes: a finding with what its repair needs, and how it is put in words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.doctor_records import Finding, FindingCode, Severity
from engine.store.vector_checks import VectorTable

#: Places that a finding names.
MOST_PLACES = 20

_REPAIR = "cairn doctor PATH --repair"
_INDEX = "cairn index PATH"

#: What to do about a finding; the rest is mended by a repair.
_FIXES = {
    FindingCode.UNPARSED: _INDEX,
    FindingCode.JOB_WAITS: _INDEX,
}
#: What is no damage.
_NOTES = frozenset({FindingCode.UNPARSED, FindingCode.JOB_WAITS, FindingCode.LEFTOVERS})
#: The order of findings: what makes the others follow comes first.
_ORDER = list(FindingCode)


class Trouble(NamedTuple):
    """Something that was found."""

    code: FindingCode
    message: str
    number: int  # how many of them
    ids: tuple[int, ...] = ()  # of the rows concerned
    names: tuple[str, ...] = ()  # of tables, indexes or files concerned
    places: tuple[str, ...] = ()
    table: VectorTable | None = None
    is_note: bool = False


def finding_of(trouble: Trouble, path: str) -> Finding:
    """Give a trouble as people and programs see it."""
    code = trouble.code
    is_note = trouble.is_note or code in _NOTES
    fix = _INDEX if trouble.is_note else _FIXES.get(code, _REPAIR)
    return Finding(
        code=code,
        message=trouble.message,
        count=trouble.number,
        places=trouble.places[:MOST_PLACES],
        severity=Severity.NOTE if is_note else Severity.DAMAGE,
        fix=fix.replace("PATH", _quoted(path)),
    )


def findings_of(troubles: Iterable[Trouble], path: str) -> tuple[Finding, ...]:
    """Give all findings, damage first."""
    found = [finding_of(trouble, path) for trouble in troubles]
    return tuple(
        sorted(found, key=lambda each: (each.severity is Severity.NOTE, _ORDER.index(each.code)))
    )


def warnings_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Give the findings as sentences, and what is recommended."""
    sentences = [finding.message for finding in findings]
    damage = [finding for finding in findings if finding.severity is Severity.DAMAGE]
    if damage:
        sentences.append(f"Recommend: run {damage[0].fix}")
    return tuple(sentences)


def fixes_of(findings: Sequence[Finding], path: str) -> tuple[str, ...]:
    """Give the commands that help, the first one first."""
    fixes = [finding.fix for finding in findings]
    if any(finding.severity is Severity.DAMAGE for finding in findings):
        fixes.append(f"cairn doctor {_quoted(path)} --rebuild")
    return tuple(dict.fromkeys(fixes))


def _quoted(path: str) -> str:
    safe = path and all(each.isalnum() or each in "/._-+" for each in path)
    return path if safe else "'" + path.replace("'", "'\\''") + "'"
