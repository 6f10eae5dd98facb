"""What an examination notes: a finding with what its repair needs, and how it is put in words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.state_records import (
    Finding,
    FindingCode,
    Remedy,
    Severity,
    remedies_of,
    remedy_of,
)
from engine.store.checks import VectorTable

#: Places that a finding names.
MOST_PLACES = 20

_COMMANDS = {
    Remedy.INDEX: "cairn index PATH",
    Remedy.REPAIR: "cairn doctor PATH --repair",
    Remedy.REBUILD: "cairn doctor PATH --rebuild",
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
    return tuple(_command_of(remedy, path) for remedy in remedies_of(findings))


def _command_of(remedy: Remedy, path: str) -> str:
    """Give the command of a remedy; where the folder is not known, whoever reads it fills it in."""
    return _COMMANDS[remedy].replace("PATH", _quoted(path) if path else "PATH")


def _quoted(path: str) -> str:
    safe = path and all(each.isalnum() or each in "/._-+" for each in path)
    return path if safe else "'" + path.replace("'", "'\\''") + "'"
