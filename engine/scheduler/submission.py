"""Acceptance of requests to index a folder: checked and estimated, then a row in the project.

The job of a watcher, and one that reads the history, make room for a request by a user.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from engine.errors import (
    DiskFullError,
    IndexCorruptError,
    InvalidPathError,
    JobConflictError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.files import free_bytes_at
from engine.folder_check import FolderCheck
from engine.humanize import size
from engine.index_records import IndexOptions
from engine.indexing.scope import check_options, parameters_of
from engine.jobs.ledger import Enqueued, Ledger
from engine.project import Project
from engine.records import display_path
from engine.scheduler.estimate import Estimate, Estimator
from engine.scheduler.housekeeping import Housekeeper
from engine.state_records import JobKind, JobOrigin, JobState, SubmittedJob, WaitMode

if TYPE_CHECKING:
    from engine.doctor.doctor import Doctor

_WAITING_LIMIT_S: Final = 60.0  # jobs estimated to take longer run in the background
_ROOM_BYTES: Final = 64 << 20  # required free space when no estimate is made
_TIGHT_BYTES: Final = 2 * _ROOM_BYTES  # with less free space one is always made
_MAKE_ROOM_S: Final = 5.0  # for a watcher's job to stop when a user requests another
_TRY_EVERY_S: Final = 0.1  # meanwhile
_DELETIONS: Final = 3  # of a project between its creation and the job in it


class Projects(Protocol):
    """Finds and opens projects."""

    def check_folder(self, path: str) -> FolderCheck:
        """Return what speaks against indexing a folder."""

    def require_permission(self, path: str, *, is_confirmed: bool = False) -> str:
        """Return the resolved path of a folder that may be indexed."""

    def create(self, path: str, *, is_confirmed: bool = False) -> Project:
        """Open the project of exactly this folder, creating it if there is none."""

    def open(self, path: str) -> Project:
        """Open the project of a folder, or the one that encloses it."""

    def open_file(self, file: Path) -> Project:
        """Open the project of a database file."""

    def doctor(self, path: str) -> "Doctor":
        """Return the doctor of a project, whose index may be impossible to open."""


class Submitter:
    """Accepts requests for jobs.

    Args:
        projects: Opens projects.
        estimator: Estimates their duration.
        keeper: Checks that the model is available.
        make_room: Cancels a watcher's job, by its id.
        ended: Set when a job in this process has ended.
        data_dir: Where indexes live.
    """

    def __init__(
        self,
        projects: Projects,
        estimator: Estimator,
        keeper: Housekeeper,
        make_room: Callable[[str], None],
        ended: threading.Event,
        data_dir: Path,
    ) -> None:
        self._projects = projects
        self._data_dir = data_dir
        self._estimator = estimator
        self._keeper = keeper
        self._make_room = make_room
        self._ended = ended

    def submit(
        self, path: str, options: IndexOptions, origin: JobOrigin, waits: WaitMode
    ) -> SubmittedJob:
        """Submit a job; see ``Jobs.submit``."""
        check_options(options)  # before anything is created: another request may be creating it too
        is_request = origin is JobOrigin.REQUEST
        overlap = self._projects.check_folder(path).overlap if is_request else ""
        try:
            submitted = self._enqueue(path, options, origin, waits)
        except IndexCorruptError:
            if not options.force_clean:
                raise
            self._projects.doctor(path).rebuild()
            submitted = self._enqueue(path, options, origin, waits)
        return replace(submitted, warnings=(overlap,)) if overlap else submitted

    def _enqueue(
        self, path: str, options: IndexOptions, origin: JobOrigin, waits: WaitMode
    ) -> SubmittedJob:
        for _ in range(_DELETIONS if origin is JobOrigin.REQUEST else 0):
            with suppress(ProjectNotFoundError):
                return self._enqueue_in(path, options, origin, waits)
        return self._enqueue_in(path, options, origin, waits)

    def _enqueue_in(
        self, path: str, options: IndexOptions, origin: JobOrigin, waits: WaitMode
    ) -> SubmittedJob:
        is_request = origin is JobOrigin.REQUEST
        is_tight = _is_tight(self._data_dir)  # then it is worth a walk to know what is needed
        if is_request:
            if is_tight:
                self._check_room_for_new(path, options)
            index = self._projects.create(path, is_confirmed=options.confirmed)
        else:
            index = self._projects.open(path)
        index.check(options)
        if waits is WaitMode.ALWAYS:
            self._keeper.check_embedder()
        ledger = index.for_jobs().ledger
        parameters = parameters_of(options)
        if duplicate := ledger.find_duplicate(parameters, origin):  # before the folder is walked
            submitted = submitted_as(duplicate)
            if waits is WaitMode.IF_SHORT and submitted.waits:
                self._keeper.check_embedder()
            return submitted
        is_surveyed = is_request and waits is not WaitMode.ALWAYS
        estimate = None
        if is_surveyed or options.only or is_tight:
            estimate = self._estimate(ledger, index.root, options)
        needed_bytes = estimate.needed_bytes if estimate else _ROOM_BYTES
        check_room(ledger.store.path.parent, index.root, needed_bytes)
        seconds = estimate.seconds if estimate else None
        if waits is WaitMode.IF_SHORT and _is_short(seconds):
            self._keeper.check_embedder()
        estimated_ms = None if seconds is None else round(seconds * 1000)
        return submitted_as(self._enqueue_soon(ledger, parameters, origin, estimated_ms))

    def _check_room_for_new(self, path: str, options: IndexOptions) -> None:
        """Refuse a folder that is no project and has no room, before a project is made of it."""
        root = self._projects.require_permission(path, is_confirmed=options.confirmed)
        if estimate := self._estimator.of_new(root, options):
            check_room(self._data_dir, root, estimate.needed_bytes)

    def _estimate(self, ledger: Ledger, root: str, options: IndexOptions) -> Estimate | None:
        """Estimate the job; None when a damaged index that it replaces cannot be compared."""
        try:
            return self._estimator.before(ledger.store, root, options)
        except IndexCorruptError:
            if not options.force_clean:
                raise
            return None

    def _enqueue_soon(
        self,
        ledger: Ledger,
        parameters: dict[str, object],
        origin: JobOrigin,
        estimated_ms: int | None,
    ) -> Enqueued:
        """Write a job as soon as those have ended that are cancelled in its favour.

        These are a watcher's, which still has its changes, and one that reads the history, which
        follows again; as the first ends, the second can take its place.

        Raises:
            JobConflictError: The job in its way does not give way, or has not ended for seconds.
        """
        deadline_s = time.monotonic() + _MAKE_ROOM_S
        asked: set[str] = set()
        while True:
            self._ended.clear()
            try:
                return ledger.enqueue(parameters, origin=origin, estimated_ms=estimated_ms)
            except JobConflictError as conflict:
                job_id = str(conflict.details["job_id"])
                if not _gives_way(conflict, origin) or time.monotonic() >= deadline_s:
                    raise
            if job_id not in asked:
                asked.add(job_id)
                self._make_room(job_id)
            else:
                self._ended.wait(_TRY_EVERY_S)


def _gives_way(conflict: JobConflictError, origin: JobOrigin) -> bool:
    """Return whether the job that is in the way of one of this origin gives way to it."""
    is_watchers = conflict.details.get("origin") == JobOrigin.WATCH
    is_history = conflict.details.get("kind") == JobKind.HISTORY
    return is_history or (is_watchers and origin is JobOrigin.REQUEST)


def submitted_as(enqueued: Enqueued) -> SubmittedJob:
    """Return a job that was written, or one that was there already, as its caller is told."""
    row, is_duplicate = enqueued
    seconds = None if row.estimated_ms is None else row.estimated_ms / 1000
    return SubmittedJob(
        job_id=row.uuid,
        status=JobState(row.state),
        duplicate=is_duplicate,
        attempt=row.attempt,
        estimated_seconds=seconds,
        waits=_is_short(seconds),
    )


def check_room(data_dir: Path, root: str, needed_bytes: int) -> None:
    """Make sure that the root can be read and the index has space to grow.

    Args:
        data_dir: The folder of the index; created later if missing.
        root: The folder to index.
        needed_bytes: What the index is expected to need.

    Raises:
        InvalidPathError: The root cannot be read.
        UnavailableError: The data directory cannot be written.
        DiskFullError: Less than ``needed_bytes`` are free; ``details`` has both numbers.
    """
    if not os.access(root, os.R_OK | os.X_OK):
        raise InvalidPathError(
            f"permission denied: {display_path(root)}",
            hint="make the folder readable",
            field="path",
            path=display_path(root),
        )
    folder = _existing(data_dir)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UnavailableError(
            f"cannot write the data directory {data_dir}",
            hint="make it writable, or set CAIRN_HOME to a folder that you can write",
        )
    free_bytes = free_bytes_at(folder)
    if free_bytes < needed_bytes:
        raise DiskFullError(
            f"the index needs about {size(needed_bytes)},"
            f" but only {size(free_bytes)} is free in {folder}",
            hint="free some disk space, or exclude a part of the tree; nothing was changed",
            needed_bytes=needed_bytes,
            free_bytes=free_bytes,
        )


def _existing(folder: Path) -> Path:
    """Return a folder, or the nearest one around it that exists."""
    return next(each for each in (folder, *folder.parents) if each.exists())


def _is_tight(data_dir: Path) -> bool:
    """Return whether there is little free space; False where that cannot be told."""
    try:
        return free_bytes_at(_existing(data_dir)) < _TIGHT_BYTES
    except OSError:
        return False


def _is_short(seconds: float | None) -> bool:
    return seconds is None or seconds <= _WAITING_LIMIT_S
