"""What happens to the jobs and watchers of all projects, for whoever looks again and again.

A look costs some microseconds a project in which nothing happened: only databases that were
written since are asked.
"""

import threading
from operator import attrgetter
from pathlib import Path

from engine.config import Config
from engine.dispatch.listing import JobListing
from engine.errors import EngineError
from engine.job_records import ACTIVE, Job, JobFilter, JobState
from engine.jobs.last_check import LastChecks
from engine.jobs.watchlist import Watchlist, database_files
from engine.records import display_path
from engine.status_records import ProjectPulse
from engine.store.peek import read_root
from engine.watch_board import watch_status_of

_JOBS_A_PROJECT = 3  # the newest; one at most is active
_OUTCOMES = (JobState.COMPLETED, JobState.FAILED)  # what says how a project is


class Feed:
    """Looks at a data directory; for any thread.

    Args:
        config: The settings in force.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._listing = JobListing(config)
        self._watchlist = Watchlist(config.data_dir)
        self._jobs: dict[Path, tuple[Job, ...]] = {}
        self._failed: dict[Path, Job] = {}
        self._paths: dict[Path, str] = {}
        self._checks = LastChecks()
        self._lock = threading.Lock()

    def look(self) -> tuple[ProjectPulse, ...]:
        """Give what goes on in each project that can be read."""
        with self._lock:
            self._read_changed()
            files = [file for file in database_files(self._config.data_dir) if file in self._jobs]
            return tuple(
                ProjectPulse(
                    project_id=file.stem,
                    path=self._paths[file],
                    jobs=self._jobs[file],
                    failed=self._failed.get(file),
                    watch=watch_status_of(file),
                    is_damaged=self._checks.is_damaged(file),
                )
                for file in files
            )

    def active(self) -> tuple[Job, ...]:
        """Give the jobs that still are to do something."""
        return tuple(job for pulse in self.look() for job in pulse.jobs if job.status in ACTIVE)

    def _read_changed(self) -> None:
        changed = {found.file for found in self._watchlist.changed()}
        # Whose turn comes next changes by what happens elsewhere.
        changed |= {file for file, jobs in self._jobs.items() if _waits(jobs)}
        for file in changed:
            try:
                self._read(file)
            except EngineError:  # gone, damaged, or locked: asked again when it is written
                self._jobs.pop(file, None)

    def _read(self, file: Path) -> None:
        if file not in self._paths:
            root = read_root(file, self._config.busy_timeout)
            self._paths[file] = display_path(root)
        self._jobs[file] = self._listing.page(JobFilter(limit=_JOBS_A_PROJECT), file).jobs
        failed = self._failure(file, self._jobs[file])
        self._failed.pop(file, None)
        if failed:
            self._failed[file] = failed

    def _failure(self, file: Path, newest: tuple[Job, ...]) -> Job | None:
        """Give the last job that failed, unless one was completed since."""
        for job in newest:
            if job.status in _OUTCOMES:
                return job if job.status is JobState.FAILED else None
        if len(newest) < _JOBS_A_PROJECT:
            return None
        pages = [self._listing.page(JobFilter(status=state, limit=1), file) for state in _OUTCOMES]
        last = max(
            (job for page in pages for job in page.jobs), key=attrgetter("created_at"), default=None
        )
        return last if last and last.status is JobState.FAILED else None


def _waits(jobs: tuple[Job, ...]) -> bool:
    return any(job.status is JobState.PENDING for job in jobs)
