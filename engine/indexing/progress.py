"""What an indexing run tells of itself while it goes on, and what it is told from earlier tries.

A job remembers a run: it counts on from where an earlier try of the same job was cut off, and knows
which files ended the process. A run without a job has a ``NoJournal``.

How far an indexing run is, told at most ten times a second.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.records import FileError, Phase, Progress, ProgressCallback


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


_TELL_EVERY_S = 0.1


class Meter:
    """Keeps what a run's progress is made of.

    Args:
        on_progress: Who hears it.
        tally: Whose ``done`` counts the files.
    """

    def __init__(self, on_progress: ProgressCallback, tally: Tally) -> None:
        self._on_progress = on_progress
        self._tally = tally
        self._started = time.monotonic()
        self._told = 0.0
        #: The last path that anything was done with.
        self.path = ""
        #: Files to look at; None while that is not known.
        self.total: int | None = None
        #: Bytes of source that have an outcome, and all that are to have one.
        self.bytes_done = self.bytes_total = 0

    def tell(self, phase: Phase, *, found: int | None = None, force: bool = False) -> None:
        """Report progress, unless the last report was just now.

        Args:
            phase: What goes on.
            found: What a scan has found so far, in place of the files that are done.
            force: Report it in any case.
        """
        now = time.monotonic()
        if not force and now - self._told < _TELL_EVERY_S:
            return
        self._told = now
        self._on_progress(
            Progress(
                phase=phase,
                done=self._tally.done if found is None else found,
                total=self.total,
                current_path=self.path,
                bytes_done=self.bytes_done,
                bytes_total=self.bytes_total,
                elapsed_ms=int((now - self._started) * 1000),
            )
        )
