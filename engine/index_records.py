"""The frozen records of an indexing run: its options, progress and report."""

from collections.abc import Callable
from enum import StrEnum

from engine.record_class import record


class Phase(StrEnum):
    """The phase of an indexing run, or of one over the history."""

    SCANNING = "scanning"
    PARSING = "parsing"
    STORING = "storing"  # nothing is left to read or parse
    FINISHING = "finishing"
    EMBEDDING = "embedding"  # of chunks that were stored without vectors
    HISTORY = "history"  # reading commits


@record
class Progress:
    """The progress of an indexing run; passed to the caller's callback."""

    phase: Phase
    done: int  # files with an outcome; while embedding, chunks
    total: int | None  # files to look at, chunks to embed; None while scanning
    current_path: str
    bytes_done: int  # of the files that have an outcome, whatever it is
    bytes_total: int = 0  # 0 while it is not known
    elapsed_ms: int


ProgressCallback = Callable[[Progress], None]


@record
class IndexOptions:
    """The options of an index call. ``None`` keeps the project's stored scope."""

    include_patterns: tuple[str, ...] | None = None
    exclude_patterns: tuple[str, ...] | None = None
    max_file_size: int | None = None  # bytes, 0 means the 10 MB cap
    force: bool = False  # read and parse every file again
    #: Build a new index, which then replaces the old one, damaged or not. The history is read anew.
    force_clean: bool = False
    #: Look at these paths alone, absolute or relative to the root: files, or folders with all below
    #: them; they need not exist. The stored scope holds. Empty: the whole project.
    only: tuple[str, ...] = ()
    #: A branch or a tag to index from git's objects; None, or the one checked out: the disk.
    branch: str | None = None
    confirmed: bool = False  # the user wants even a folder that hardly anybody means to index


@record
class FileError:
    """A file that failed while the others went on."""

    file: str
    error: str


@record
class IndexReport:
    """The result of an indexing run; ``cairn index --json`` prints these keys, notes if any."""

    project_id: str  # SHA-256 of the resolved root, hexadecimal
    path: str
    include_patterns: tuple[str, ...]
    exclude_patterns: tuple[str, ...]
    max_file_size: int
    files_indexed: int  # new or changed files
    files_unchanged: int
    files_skipped: int
    files_failed: int
    symbols_extracted: int  # in files_indexed
    chunks: int  # in files_indexed
    embeddings_generated: int  # vectors of chunks that a model made; taken over ones do not count
    cache_hit_rate: float  # share of indexed and unchanged files that were not parsed, 0 to 1
    duration_ms: int
    indexed_at: str  # ISO 8601, UTC
    errors: tuple[FileError, ...]
    files_removed: int = 0  # from the index, as they are gone or excluded now
    notes: tuple[str, ...] = ()  # what else to know about the run, in sentences; printed when any
