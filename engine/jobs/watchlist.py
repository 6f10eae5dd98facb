"""Find the projects with an active job in a data directory, without reading every database.

SQLite changes the size or the time of a database file or of its WAL with each commit, so comparing
both shows whether reading is worth it, for some 50 microseconds a project. But readers see a commit
only after its last byte was written: with a durable one when the disk has taken it, which can be
seconds later. And two commits within one tick of the file system's clock can look the same. So a
file is read again as long as it was written just now, then each time that this is twice as long
ago, until no disk can take so long.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from engine.errors import (
    DamagedIndexError,
    EngineError,
    IndexTooNewError,
    ProjectBusyError,
    UnavailableError,
)
from engine.files import names_in
from engine.locks import indexing_lock
from engine.state_records import JobKind, JobState
from engine.store import jobs
from engine.store.connection import Store
from engine.store.jobs import JobRow

_SUFFIX = ".db"
_NAME_CHARS = 64 + len(_SUFFIX)
_BUSY_TIMEOUT_MS = 1000
_RACY_NS = 100_000_000
_LONGEST_COMMIT_NS = 600 * 10**9

_FileStats = tuple[tuple[int, int, int] | None, ...]


class _Seen(NamedTuple):
    """A look at the files of a database."""

    stats: _FileStats
    age_ns: int  # of what was written last; 0 when they are to be read again in any case

    def is_still_so(self, stats: _FileStats) -> bool:
        """Return whether to read again would show nothing else."""
        if stats != self.stats or self.age_ns < _RACY_NS:
            return False
        return self.age_ns >= _LONGEST_COMMIT_NS or _age_ns(stats) < 2 * self.age_ns


class ActiveJob(NamedTuple):
    """A project with its active job."""

    file: Path
    row: JobRow | None


def queue_order(row: JobRow) -> tuple[int, int, str]:
    """Return a job's sort key: those that had begun by start time, then the others by age.

    Histories, which nobody waits for, are read last.
    """
    if row.state == JobState.PENDING:
        return 1 + (row.kind == JobKind.HISTORY), row.created_at_ms, row.uuid
    return 0, row.started_at_ms or row.created_at_ms, row.uuid


class Watchlist:
    """Tracks which databases of a data directory have changed.

    Args:
        data_dir: The folder.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._seen: dict[Path, _Seen] = {}
        self._has_looked = False
        #: Whether a newer version of this program has written to a database since the first look.
        self.is_outdated = False

    def changed(self) -> Iterator[ActiveJob]:
        """Yield the active jobs of databases that were written since the last call.

        A damaged one, or one of a newer version, has no job until it is written again; one that
        cannot be read now is read again by the next call. Of a data directory that may not be
        listed nothing is known to have changed.
        """
        try:
            files = database_files(self._data_dir)
        except UnavailableError:
            return
        for gone in self._seen.keys() - set(files):
            del self._seen[gone]
            yield ActiveJob(gone, None)
        for file in files:
            look = self._look_at(file)
            if look:
                self._seen[file] = look  # first: another thread may mark it during the reading
                yield ActiveJob(file, self._active_in(file))
        self._has_looked = True

    def touched(self) -> Iterator[Path]:
        """Yield the databases that were written, made or deleted since the last call.

        For callers that read them on their own; use either this or ``changed`` of one watchlist.

        Raises:
            UnavailableError: The data directory may not be listed.
        """
        files = database_files(self._data_dir)
        for gone in self._seen.keys() - set(files):
            del self._seen[gone]
            yield gone
        for file in files:
            look = self._look_at(file)
            if look:
                self._seen[file] = look
                yield file

    def mark_changed(self, file: Path) -> None:
        """Report a database as changed by the next call."""
        seen = self._seen.get(file)
        if seen:
            self._seen[file] = seen._replace(age_ns=0)

    def _active_in(self, file: Path) -> JobRow | None:
        """Return the active job of a database; None for one that cannot be read."""
        try:
            return read_active_job(file)
        except IndexTooNewError:
            self.is_outdated = self.is_outdated or self._has_looked
            return None
        except DamagedIndexError:
            return None
        except EngineError:
            self.mark_changed(file)
            return None

    def _look_at(self, file: Path) -> _Seen | None:
        """Return what its files are like now; None if reading it again would show nothing else."""
        stats = _stats_of(file)
        seen = self._seen.get(file)
        return None if seen and seen.is_still_so(stats) else _Seen(stats, _age_ns(stats))


def database_files(data_dir: Path) -> list[Path]:
    """Return the database files of all projects.

    Raises:
        UnavailableError: Nobody can tell, because the data directory may not be listed.
    """
    names = [name for name in names_in(data_dir) if name.endswith(_SUFFIX)]
    return [data_dir / name for name in sorted(names) if len(name) == _NAME_CHARS]


@contextmanager
def without_job(file: Path) -> Iterator[None]:
    """Hold the right to index the project of a database, to do what is no job.

    Raises:
        ProjectBusyError: It is being indexed; the hint tells how to stop a job that does it.
        UnavailableError: The data directory cannot be written.
    """
    with ExitStack() as held:
        try:
            held.enter_context(indexing_lock(file))
        except ProjectBusyError as busy:
            row = None
            with suppress(EngineError):
                row = read_active_job(file)
            if row is None or row.state != JobState.RUNNING:
                raise
            is_history = row.kind == JobKind.HISTORY
            work = "reading the project's history" if is_history else "indexing the project"
            raise ProjectBusyError(
                f"job {row.uuid} is {work}",
                hint=f"wait for it, or stop it: cairn jobs cancel {row.uuid}",
                job_id=row.uuid,
            ) from busy
        yield


def read_active_job(file: Path) -> JobRow | None:
    """Return the active job of a database.

    Raises:
        EngineError: It cannot be read.
    """
    store = Store(file, busy_timeout_ms=_BUSY_TIMEOUT_MS)
    try:
        with store.read() as handle:
            return jobs.read_active_job(handle)
    finally:
        store.close()


def _age_ns(stats: _FileStats) -> int:
    """Return how long ago the files were written; negative when the clock was set back."""
    return time.time_ns() - max((each[2] for each in stats if each), default=0)


def _stats_of(file: Path) -> _FileStats:
    stats_of_files: list[tuple[int, int, int] | None] = []
    for name in (file, f"{file}-wal"):
        try:
            found = os.stat(name)  # a third of the time of ``Path.stat``, for each project
        except OSError:
            stats_of_files.append(None)
        else:
            stats_of_files.append((found.st_ino, found.st_size, found.st_mtime_ns))
    return tuple(stats_of_files)
