"""All projects with what they hold, for whoever looks again and again.

What a project holds is counted when its database was written since, or another branch is checked
out; counting takes milliseconds, and in large projects more. What goes on is read at each look.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from engine.browse_records import LanguageShare
from engine.config import Config
from engine.dispatch.feed import Feed
from engine.doctor.whereabouts import root_of
from engine.errors import DamagedIndexError, EngineError, UnavailableError
from engine.index import Index
from engine.job_records import ACTIVE, Job, JobState
from engine.jobs.watchlist import Watchlist, database_files
from engine.records import ProjectSummary, display_path
from engine.source.git import read_branch
from engine.status_records import ProjectPulse, ProjectStatus, ProjectView

_SHARE_OF_TIME = 20  # a project that changes all the time is counted for a part of the time alone


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """What a project held when it was counted."""

    status: ProjectStatus
    languages: tuple[LanguageShare, ...]
    root: str
    branch: str  # that was checked out
    at_s: float
    took_s: float


class ProjectViews:
    """Looks at a data directory; for any thread.

    Args:
        config: The settings in force.
        feed: Tells what goes on.
        open_file: Opens the project of a database file.
    """

    def __init__(self, config: Config, feed: Feed, open_file: Callable[[Path], Index]) -> None:
        self._config = config
        self._feed = feed
        self._open_file = open_file
        self._watchlist = Watchlist(config.data_dir)
        self._counted: dict[Path, _Counted] = {}
        self._broken: dict[Path, ProjectSummary] = {}
        self._stale: set[Path] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def end(self) -> None:
        """Let looks stop at the next project, and nobody look any more."""
        self._ended.set()

    def look(self) -> tuple[ProjectView, ...]:
        """Give all projects by path, those that cannot be read with their error.

        The first look counts all of them: 50 small ones take a second.

        Raises:
            UnavailableError: It was ended.
        """
        pulses = {each.project_id: each for each in self._feed.look()}
        with self._lock:
            self._stale.update(self._watchlist.touched())
            files = database_files(self._config.data_dir)
            for gone in (self._counted.keys() | self._broken.keys() | self._stale) - set(files):
                self._forget(gone)
                self._stale.discard(gone)
            for file in files:
                self._go_on()
                self._refresh(file)
            views = [self._view(file, pulses.get(file.stem)) for file in files]
        return tuple(sorted(views, key=lambda each: each.summary.path))

    def _go_on(self) -> None:
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
        except EngineError as error:
            if not isinstance(error, DamagedIndexError):  # locked, or gone just now
                self._stale.add(file)
            self._forget(file)
            self._broken[file] = broken_summary(file, error, self._config)
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

    def _view(self, file: Path, pulse: ProjectPulse | None) -> ProjectView:
        counted = self._counted.get(file)
        if counted is None:
            return ProjectView(summary=self._broken[file])
        status = counted.status
        if pulse is not None:
            status = replace(status, jobs=_that_matter(pulse.jobs), watch=pulse.watch)
        return ProjectView(
            summary=ProjectSummary(
                project_id=file.stem,
                path=status.path,
                files=status.files,
                size_bytes=status.size_bytes,
                last_indexed_at=status.last_indexed_at,
            ),
            status=status,
            languages=counted.languages,
            is_root_there=os.path.isdir(counted.root),
            is_damaged=pulse is not None and pulse.is_damaged,
        )


def summary_of(file: Path, config: Config) -> ProjectSummary:
    """Describe the project of a database file in short, one that cannot be opened by its error."""
    try:
        with Index.peek(file, config) as index:
            return index.summary()
    except EngineError as error:
        return broken_summary(file, error, config)


def broken_summary(file: Path, error: EngineError, config: Config) -> ProjectSummary:
    """Describe a project that cannot be opened; its root is told when its logs have it."""
    root = root_of(file, (), config.busy_timeout)
    try:
        size_bytes = file.stat().st_size
    except OSError:  # forgotten just now
        size_bytes = 0
    return ProjectSummary(
        project_id=file.stem,
        path=display_path(root) if root else "",
        files=0,
        size_bytes=size_bytes,
        last_indexed_at=None,
        error=error.message,
    )


def _that_matter(jobs: tuple[Job, ...]) -> tuple[Job, ...]:
    """Give the active job, and the newest one when it failed."""
    return tuple(job for job in jobs[:1] if job.status in (*ACTIVE, JobState.FAILED))
