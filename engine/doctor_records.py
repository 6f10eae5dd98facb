"""The frozen records of the doctor that cross borders between rooms. Times are milliseconds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is."""

    DAMAGE = "damage"  # answers can be wrong or incomplete; repair mends it
    NOTE = "note"  # nothing is wrong, but somebody may want to know


class FindingCode(StrEnum):
    """What can be found."""

    UNREADABLE = "unreadable"  # SQLite cannot open the file, or it is another program's
    PAGES = "pages"  # pages, tables or rows that SQLite cannot read as they should be
    SCHEMA = "schema"  # tables or indexes are missing, or others than they should be
    INDEXES = "indexes"  # an index of SQLite's does not agree with its table
    STRAY_ROWS = "stray_rows"  # rows that refer to what is not there
    TEXTS = "texts"  # stored texts that are not what was stored
    SYMBOLS = "symbols"  # symbols that do not agree with the chunks of their text
    WORDS = "words"  # the index of words is damaged or holds other words
    WORDS_MISSING = "words_missing"
    WORDS_LOST = "words_lost"  # words of what is gone
    PATHS = "paths"  # as words, of paths
    PATHS_MISSING = "paths_missing"
    PATHS_LOST = "paths_lost"
    MEMORIES = "memories"  # memories whose text, context or tags cannot be read
    MEMORY_WORDS = "memory_words"  # as words, of memories
    MEMORY_WORDS_MISSING = "memory_words_missing"
    MEMORY_WORDS_LOST = "memory_words_lost"
    VECTOR_TABLES = "vector_tables"  # tables of vectors that are missing or do not hold together
    VECTORS = "vectors"  # numbers that are not those that were written
    VECTORS_MISSING = "vectors_missing"
    VECTORS_LOST = "vectors_lost"  # of what is gone
    UNPARSED = "unparsed"  # files whose damaged contents were taken out; the next run reads them
    JOB_WAITS = "job_waits"  # a job is active and nobody runs it
    LEFTOVERS = "leftovers"  # files of processes that died


class Remedy(StrEnum):
    """What helps, of the least first."""

    INDEX = "index"  # a run brings it back
    REPAIR = "repair"
    REBUILD = "rebuild"


def remedy_of(code: FindingCode, severity: Severity) -> Remedy:
    """Say what helps against what was found."""
    is_mended = severity is Severity.DAMAGE or code is FindingCode.LEFTOVERS
    return Remedy.REPAIR if is_mended else Remedy.INDEX


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found."""

    code: FindingCode
    message: str  # a sentence without its full stop
    count: int
    places: tuple[str, ...]  # paths, or path:line; some of them only
    severity: Severity
    fix: str  # what to do


def remedies_of(findings: Sequence[Finding]) -> tuple[Remedy, ...]:
    """Give what helps against findings, each once, the first one first."""
    found = [remedy_of(finding.code, finding.severity) for finding in findings]
    if any(finding.severity is Severity.DAMAGE for finding in findings):
        found.append(Remedy.REBUILD)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was checked, and what was found."""

    project_id: str
    path: str
    ok: bool  # nothing is damaged
    checked: Mapping[str, int]  # how many of what
    findings: tuple[Finding, ...]  # the worst first
    warnings: tuple[str, ...]  # the same in sentences, with a recommendation at the end
    suggested_fixes: tuple[str, ...]  # commands
    took_ms: int
    log: str | None  # the log, a path; None when it cannot be written

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What helps, the first one first; ``suggested_fixes`` has the same as commands."""
        return remedies_of(self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What a repair did."""

    project_id: str
    path: str
    ok: bool  # nothing is damaged any more
    done: tuple[str, ...]  # sentences
    kept: tuple[str, ...]  # sentences
    needs_index: bool  # files were taken out: the next indexing run brings them back
    aside: str | None  # where the damaged file is now, when it was built anew
    before: Verification
    after: Verification
    took_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What a compaction did."""

    project_id: str
    path: str
    bytes_before: int
    bytes_after: int
    took_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy of an index; restoring means copying it back."""

    project_id: str
    path: str
    file: str
    size_bytes: int
    took_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckProgress:
    """How far a verification or a repair is."""

    step: str  # what is looked at, or mended
    done: int
    total: int | None


CheckCallback = Callable[[CheckProgress], None]
