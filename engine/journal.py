"""What an indexing run tells of itself while it goes on, and what it is told from earlier tries.

A job remembers a run: it counts on from where an earlier try of the same job was cut off, and knows
which files ended the process. A run without a job has a ``NoJournal``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.records import FileError


@dataclass(slots=True)
class Tally:
    """What a run did; ``earlier`` tries of the same job included."""

    files_indexed: int = 0
    files_unchanged: int = 0
    files_skipped: int = 0
    symbols: int = 0
    chunks: int = 0
    embeddings: int = 0
    reused: int = 0  # of files_indexed: blobs that were stored already
    done: int = 0  # files with an outcome in this try
    earlier: int = 0  # of files_indexed: done by earlier tries, so no longer found as changed
    errors: list[FileError] = field(default_factory=list)


class Journal(Protocol):
    """Hears what a run does, in the thread that runs it."""

    #: Counted on by the run; what it says belongs to the transaction that is being written.
    tally: Tally

    @property
    def has_begun(self) -> bool:
        """Whether an earlier try of the same run knew its files already."""

    def found(self, paths: Sequence[str], size_bytes: int) -> None:
        """Hear the files that will be read, before any is.

        Args:
            paths: Each once, in walk order.
            size_bytes: Their size in all.
        """

    def holds(self, path: str) -> None:
        """Hear which file's bytes this process handles now; ``""`` when none."""

    def is_poison(self, path: str) -> bool:
        """Say whether a file ended the process too often and must be left alone."""


class NoJournal:
    """Remembers nothing."""

    def __init__(self) -> None:
        self.tally = Tally()

    @property
    def has_begun(self) -> bool:
        """Nothing came before."""
        return False

    def found(self, paths: Sequence[str], size_bytes: int) -> None:
        """Forget it."""

    def holds(self, path: str) -> None:
        """Forget it."""

    def is_poison(self, _path: str) -> bool:
        """No file is."""
        return False
