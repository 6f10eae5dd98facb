"""The state of all projects, for callers that poll.

A poll costs some microseconds for each project without changes: only databases written since the
last one are read. What a project holds is counted when its database was written or another branch
was checked out; counting takes milliseconds, and more in large projects. Whether the last check
found damage is read from the project's operation logs.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from engine.config import Config
from engine.doctor.rebuild import root_of
from engine.errors import (
    DamagedIndexError,
    EngineError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.files import size_of
from engine.jobs.operation_log import found_damage
from engine.jobs.watchlist import Watchlist, database_files
from engine.locks import watch_status_of
from engine.project import Project
from engine.record_class import record
from engine.records import LanguageShare, display_path
from engine.scheduler.listing import JobListing
from engine.source.git import read_branch
from engine.source.reader import is_folder_there
from engine.state_records import (
    ACTIVE,
    Job,
    JobFilter,
    JobKind,
    JobState,
    ProjectActivity,
    ProjectStatus,
    ProjectSummary,
    ProjectView,
)
from engine.store.project import read_root

_RACY_NS = 100_000_000  # two logs within one tick of the clock can look like one

_JOBS_A_PROJECT = 3  # the newest; one at most is active
_LOOKED_AT = 100  # of those that completed or failed, for the last one of each kind

_SHARE_OF_TIME = 20  # counting a project that changes all the time takes at most 1/20 of the time


class LastChecks:
    """Caches the outcome of the last checks until a log is added; a call then costs one ``stat``.

    The caller serializes the calls.
    """

    def __init__(self) -> None:
        self._cached: dict[Path, tuple[int, bool]] = {}  # by folder: its mtime, and the answer

    def is_damaged(self, file: Path) -> bool:
        """Return whether the last check of a database found damage that was not removed since.

        A repair ends with a check; a run removes damage only if it started from an empty index.
        """
        folder = file.parent / "logs" / file.stem
        try:
            changed_ns = os.stat(folder).st_mtime_ns
        except OSError:
            self._cached.pop(folder, None)
            return False
        known = self._cached.get(folder)
        if known and known[0] == changed_ns:
            return known[1]
        found = found_damage(folder)
        self._cached.pop(folder, None)
        if time.time_ns() - changed_ns > _RACY_NS:
            self._cached[folder] = changed_ns, found
        return found


class ActivityPoller:
    """Polls a data directory; for any thread.

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
        self._stale: set[Path] = set()  # to be read by this look, or the next
        self._lock = threading.Lock()

    def poll(self) -> tuple[ProjectActivity, ...]:
        """Return the activity of each readable project."""
        with self._lock:
            self._read_changed()
            files = [file for file in database_files(self._config.data_dir) if file in self._jobs]
            return tuple(
                ProjectActivity(
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
        """Return the active jobs."""
        return tuple(
            job for activity in self.poll() for job in activity.jobs if job.status in ACTIVE
        )

    def _read_changed(self) -> None:
        self._stale.update(found.file for found in self._watchlist.changed())
        # Positions in the queue change with the jobs of other projects.
        self._stale.update(file for file, jobs in self._jobs.items() if _waits(jobs))
        for file in sorted(self._stale):
            try:
                self._read(file)
            except DamagedIndexError:  # read again when it is written
                self._jobs.pop(file, None)
            except EngineError:  # locked, or gone just now
                self._jobs.pop(file, None)
                self._watchlist.mark_changed(file)
            self._stale.discard(file)

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
        """Return the last failed job, unless one of its kind has completed since."""
        completed: set[str] = set()
        for job in newest:
            if job.status is JobState.FAILED and job.kind not in completed:
                return job
            if job.status is JobState.COMPLETED:
                completed.add(job.kind)
        if completed == set(JobKind):
            return None
        if len(newest) < _JOBS_A_PROJECT:
            return None
        failed = self._listing.page(JobFilter(status=JobState.FAILED, limit=_LOOKED_AT), file).jobs
        if not failed:
            return None
        done = self._listing.page(JobFilter(status=JobState.COMPLETED, limit=_LOOKED_AT), file).jobs
        last = {job.kind: job for job in sorted((*done, *failed), key=attrgetter("created_at"))}
        left = [job for job in last.values() if job.status is JobState.FAILED]
        return max(left, key=attrgetter("created_at"), default=None)


def _waits(jobs: tuple[Job, ...]) -> bool:
    return any(job.status is JobState.PENDING for job in jobs)


@record
class _Counted:
    """The counted contents of a project."""

    status: ProjectStatus
    languages: tuple[LanguageShare, ...]
    root: str
    branch: str  # that was checked out
    at_s: float
    took_s: float


class ProjectViews:
    """Polls a data directory; for any thread.

    Args:
        config: The settings in force.
        activity: Polls the activity of projects.
        open_file: Opens the project of a database file.
    """

    def __init__(
        self, config: Config, activity: ActivityPoller, open_file: Callable[[Path], Project]
    ) -> None:
        self._config = config
        self._activity = activity
        self._open_file = open_file
        self._watchlist = Watchlist(config.data_dir)
        self._counted: dict[Path, _Counted] = {}
        self._broken: dict[Path, ProjectView] = {}
        self._stale: set[Path] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def end(self) -> None:
        """End all calls at the next project, and refuse new ones."""
        self._ended.set()

    def poll(self) -> tuple[ProjectView, ...]:
        """Return all projects by path, unreadable ones with their error.

        The first call counts all of them: 50 small ones take a second.

        Raises:
            UnavailableError: It was ended.
        """
        activities = {each.project_id: each for each in self._activity.poll()}
        with self._lock:
            self._stale.update(self._watchlist.touched())
            files = database_files(self._config.data_dir)
            for gone in (self._counted.keys() | self._broken.keys() | self._stale) - set(files):
                self._forget(gone)
                self._stale.discard(gone)
            for file in files:
                self._check_not_ended()
                self._refresh(file)
            found = [file for file in files if file in self._counted or file in self._broken]
            views = [self._view(file, activities.get(file.stem)) for file in found]
        return tuple(sorted(views, key=lambda each: each.summary.path))

    def _check_not_ended(self) -> None:
        if self._ended.is_set():
            raise UnavailableError("the server ends", hint="ask again when it is back")

    def _forget(self, file: Path) -> None:
        self._counted.pop(file, None)
        self._broken.pop(file, None)

    def _refresh(self, file: Path) -> None:
        known = self._counted.get(file)
        if known is None and file in self._broken and file not in self._stale:
            return
        if known is not None:
            is_stale = file in self._stale or read_branch(known.root) != known.branch
            rest_s = known.took_s * _SHARE_OF_TIME
            if not is_stale or time.monotonic() - known.at_s < rest_s:
                return
        self._stale.discard(file)
        try:
            counted = self._count(file)
        except ProjectNotFoundError:  # forgotten just now, or not filled yet
            self._stale.add(file)
            self._forget(file)
        except EngineError as error:
            if not isinstance(error, DamagedIndexError):  # locked, or gone just now
                self._stale.add(file)
            self._forget(file)
            self._broken[file] = ProjectView(
                summary=broken_summary(file, error, self._config), error_code=error.code
            )
        else:
            self._forget(file)
            self._counted[file] = counted

    def _count(self, file: Path) -> _Counted:
        began_s = time.monotonic()
        index = self._open_file(file)
        branch = read_branch(index.root)
        status, languages = index.status(), index.browse.languages()
        now_s = time.monotonic()
        return _Counted(
            status=status,
            languages=languages,
            root=index.root,
            branch=branch,
            at_s=now_s,
            took_s=now_s - began_s,
        )

    def _view(self, file: Path, activity: ProjectActivity | None) -> ProjectView:
        counted = self._counted.get(file)
        if counted is None:
            return self._broken[file]
        is_there = is_folder_there(counted.root, counted.status.files)
        status = replace(counted.status, folder_exists=is_there)
        if activity is not None:
            status = replace(status, jobs=_notable(activity.jobs), watch=activity.watch)
        return ProjectView(
            summary=ProjectSummary(
                project_id=file.stem,
                path=status.path,
                files=status.files,
                size_bytes=status.size_bytes,
                last_indexed_at=status.last_indexed_at,
                folder_exists=status.folder_exists,
            ),
            status=status,
            languages=counted.languages,
            is_damaged=activity is not None and activity.is_damaged,
        )


def summary_of(file: Path, config: Config) -> ProjectSummary | None:
    """Summarize the project of a database file, or its error; None if it holds no project."""
    try:
        with Project.peek(file, config) as index:
            return index.summary()
    except ProjectNotFoundError:
        return None
    except EngineError as error:
        return broken_summary(file, error, config)


def broken_summary(file: Path, error: EngineError, config: Config) -> ProjectSummary:
    """Summarize a project that cannot be opened; its root is taken from its logs, if any."""
    root = root_of(file, (), config.busy_timeout)
    return ProjectSummary(
        project_id=file.stem,
        path=display_path(root) if root else "",
        files=0,
        size_bytes=size_of(file),
        last_indexed_at=None,
        error=error.message,
    )


def _notable(jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """Return the active job, and the newest one if it failed."""
    return tuple(job for job in jobs[:1] if job.status in (*ACTIVE, JobState.FAILED))
