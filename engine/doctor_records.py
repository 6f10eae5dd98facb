"""The frozen records of the doctor: findings, and what was verified, repaired, compacted and kept.

Times are milliseconds.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

from engine.record_class import record


class Severity(StrEnum):
    """The severity of a finding."""

    DAMAGE = "damage"  # answers can be wrong or incomplete; can be repaired
    NOTE = "note"  # nothing is wrong, but worth knowing


class FindingCode(StrEnum):
    """The kind of a finding."""

    UNREADABLE = "unreadable"  # SQLite cannot open the file, or it is another program's
    PAGES = "pages"  # pages, tables or rows that SQLite cannot read as they should be
    SCHEMA = "schema"  # tables or indexes are missing, or others than they should be
    INDEXES = "indexes"  # an index of SQLite's does not agree with its table
    STRAY_ROWS = "stray_rows"  # rows with dangling references
    TEXTS = "texts"  # stored texts that do not match their hashes
    SYMBOLS = "symbols"  # symbols that do not agree with the chunks of their text
    WORDS = "words"  # the index of words is damaged or holds other words
    WORDS_MISSING = "words_missing"
    WORDS_LOST = "words_lost"  # words whose owner is gone
    PATHS = "paths"  # like words, for paths
    PATHS_MISSING = "paths_missing"
    PATHS_LOST = "paths_lost"
    JOBS = "jobs"  # jobs of which a part is no JSON
    MEMORIES = "memories"  # memories whose text, context or tags cannot be read
    MEMORY_WORDS = "memory_words"  # like words, for memories
    MEMORY_WORDS_MISSING = "memory_words_missing"
    MEMORY_WORDS_LOST = "memory_words_lost"
    VECTOR_TABLES = "vector_tables"  # tables of vectors that are missing or do not hold together
    VECTORS = "vectors"  # vectors that do not match their checksums
    VECTORS_MISSING = "vectors_missing"
    VECTORS_LOST = "vectors_lost"  # vectors whose owner is gone
    HISTORY_WORDS = "history_words"  # the index of the words of commits is damaged
    HISTORY = "history"  # commits whose parts are missing or cannot be read
    HISTORY_VECTORS = "history_vectors"  # vectors of commits that do not match their checksums
    HISTORY_LOST = "history_lost"  # files or words of commits that are gone
    UNPARSED = "unparsed"  # files whose damaged contents were removed; the next run reads them
    UNFINISHED = "unfinished"  # a repair that did something, and could not be finished or checked
    JOB_WAITS = "job_waits"  # a job is active, but there is no runner
    CHANGES_WAIT = "changes_wait"  # the watcher cannot index what has changed, for now
    LEFTOVERS = "leftovers"  # files of dead processes


class Remedy(StrEnum):
    """A remedy for findings, from the mildest to the most drastic."""

    INDEX = "index"  # an indexing run restores it
    REPAIR = "repair"
    REBUILD = "rebuild"


def remedy_of(code: FindingCode, severity: Severity) -> Remedy | None:
    """Return the remedy for a kind of finding; None if it passes by itself."""
    if code is FindingCode.CHANGES_WAIT:
        return None
    is_mended = severity is Severity.DAMAGE or code is FindingCode.LEFTOVERS
    return Remedy.REPAIR if is_mended else Remedy.INDEX


@record
class Finding:
    """A finding of a check."""

    code: FindingCode
    message: str  # a sentence without its full stop
    count: int
    places: Annotated[tuple[str, ...], "paths, or path:line; some of them only"]
    severity: Severity
    fix: Annotated[str, "what to do; empty if it passes by itself"]


def remedies_of(findings: Sequence[Finding]) -> tuple[Remedy, ...]:
    """Return the remedies for findings, each once, the first to apply first."""
    remedies = [remedy_of(finding.code, finding.severity) for finding in findings]
    found = [remedy for remedy in remedies if remedy]
    if any(finding.severity is Severity.DAMAGE for finding in findings):
        found.append(Remedy.REBUILD)
    return tuple(dict.fromkeys(found))


@record
class Verification:
    """The result of a check."""

    project_id: str
    path: str
    ok: bool  # nothing is damaged
    checked: Mapping[str, int]  # how many, by what
    findings: tuple[Finding, ...]  # the worst first
    warnings: tuple[str, ...]  # the same in sentences, with a recommendation at the end
    suggested_fixes: tuple[str, ...]  # commands
    took_ms: int
    log: str | None  # the log, a path; None when there is none, or it cannot be written

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The remedies, the first to apply first; ``suggested_fixes`` has the same as commands."""
        return remedies_of(self.findings)


@record
class Repair:
    """The result of a repair."""

    project_id: str
    path: str
    ok: bool  # nothing is damaged any more
    done: tuple[str, ...]  # sentences
    kept: tuple[str, ...]  # sentences
    needs_index: bool  # files were removed: the next indexing run restores them
    aside: str | None  # the new path of the damaged file, if the index was rebuilt
    before: Verification
    after: Verification
    took_ms: int


@record
class Compaction:
    """The result of a compaction."""

    project_id: str
    path: str
    bytes_before: int
    bytes_after: int
    took_ms: int


@record
class Backup:
    """A copy of an index; restoring means copying it back."""

    project_id: str
    path: str
    file: str
    size_bytes: int
    took_ms: int


@record
class CheckProgress:
    """The progress of a verification or a repair."""

    step: str  # what is being checked or repaired
    done: int
    total: int | None


CheckCallback = Callable[[CheckProgress], None]
