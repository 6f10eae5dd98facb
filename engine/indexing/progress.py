"""The counts, the journal and the progress reports of a run.

``Tally`` counts what a run did. A ``Journal`` belongs to a job: it continues the counts of an
earlier attempt that was cut off, and knows which files crashed the process; a run without a job has
a ``NoJournal``. ``ProgressReporter`` reports at most ten times a second.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.index_records import FileError, Phase, Progress, ProgressCallback

_REPORT_INTERVAL_S = 0.1


@dataclass(slots=True)
class Tally:
    """The counts of a run, including earlier attempts of the same job."""

    files_indexed: int = 0
    files_unchanged: int = 0
    files_skipped: int = 0
    files_removed: int = 0  # in this attempt
    symbols: int = 0
    chunks: int = 0
    embeddings: int = 0
    reused: int = 0  # of files_indexed: blobs that were stored already
    done: int = 0  # files with an outcome in this attempt
    bytes_done: int = 0  # of these files
    earlier: int = 0  # of files_indexed: by earlier attempts, so no longer found as changed
    errors: list[FileError] = field(default_factory=list)


class Journal(Protocol):
    """Records what a run does; called in the thread of the run."""

    #: Updated by the run; stored in the transaction that is being written.
    tally: Tally

    @property
    def has_begun(self) -> bool:
        """Whether an earlier attempt of the same run already knew its files."""

    def record_files(self, paths: Sequence[str], size_bytes: int) -> None:
        """Note the files that will be read, before any is read.

        Args:
            paths: The files, each once, in walk order.
            size_bytes: Their total size.
        """

    def mark_in_flight(self, path: str) -> None:
        """Note which file's bytes this process handles now, or ``""`` for none."""

    def is_poison(self, path: str) -> bool:
        """Return whether a file crashed the process too often and must be skipped."""


class NoJournal:
    """The journal of a run without a job: remembers nothing."""

    def __init__(self) -> None:
        self.tally = Tally()

    @property
    def has_begun(self) -> bool:
        """False: there was no earlier attempt."""
        return False

    def record_files(self, paths: Sequence[str], size_bytes: int) -> None:
        """Do nothing."""

    def mark_in_flight(self, path: str) -> None:
        """Do nothing."""

    def is_poison(self, _path: str) -> bool:
        """Return False."""
        return False


class ProgressReporter:
    """Holds the progress of a run, and reports it.

    Args:
        on_progress: Called with each report.
        tally: Its ``done`` and ``bytes_done`` count the files.
    """

    def __init__(self, on_progress: ProgressCallback, tally: Tally) -> None:
        self._on_progress = on_progress
        self._tally = tally
        self._started = time.monotonic()
        self._last_report_s = 0.0
        #: The path that was handled last.
        self.path = ""
        #: Number of files to index; None while unknown.
        self.total: int | None = None
        #: Bytes of all files to index.
        self.bytes_total = 0

    def report(self, phase: Phase, *, found: int | None = None, force: bool = False) -> None:
        """Report progress, unless the last report was less than 0.1 s ago.

        Args:
            phase: The current phase.
            found: The number of files that a scan has found so far, in place of the files done.
            force: Report in any case.
        """
        now = time.monotonic()
        if not force and now - self._last_report_s < _REPORT_INTERVAL_S:
            return
        self._last_report_s = now
        self._on_progress(
            Progress(
                phase=phase,
                done=self._tally.done if found is None else found,
                total=self.total,
                current_path=self.path,
                bytes_done=self._tally.bytes_done,
                bytes_total=self.bytes_total,
                elapsed_ms=int((now - self._started) * 1000),
            )
        )
