"""The runner's work besides running jobs: probes, logs, learning rates, and retention.

Ended jobs are kept for some days, and of a watcher's successful jobs only the latest. Active jobs
are always kept; one that stays active beyond the retention period is flagged for a person to look
at.
"""

import os
import re
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from engine.cancellation import CancelToken
from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.embedding.load import OpenEmbedder, check_embedder
from engine.errors import (
    Cancelled,
    DiskFullError,
    EmbedderUnavailableError,
    EngineError,
    IndexCorruptError,
    UnavailableError,
)
from engine.files import entries_of
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject
from engine.jobs.operation_log import keep_operation_log, last_check
from engine.jobs.watchlist import database_files
from engine.project_files import clean_up, delete_temp_files
from engine.records import display_path
from engine.roots import is_project_id
from engine.scheduler.estimate import Estimator
from engine.scheduler.runner_host import has_room
from engine.state_records import EventType, JobKind, JobOrigin, JobState
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import EndedJob, EventRow, JobRow
from engine.store.migrate import delete_copies
from engine.telemetry.logs import JobLog, all_logs
from engine.telemetry.metrics import origin

DAY_MS = 24 * 3600 * 1000
#: For a database that is locked: a runner that ends waits for its housekeeping.
_PATIENCE_MS = 1000

# The most that one transaction deletes: some 10 ms, and a few times more on a slow disk.
_MOST_JOBS = 200
_EVENTS_AT_ONCE = 2000
# Of a watcher's successful jobs, how many are kept, and how many more are deleted at once.
_WATCHED_KEPT = 30
_WATCHED_AT_ONCE = 10
_LOG_NAME = re.compile(r"\.?[a-z]+-[0-9-]+\.log(\.[0-9]+)?")  # of a finished one, or half written

_MOST_EVENTS = 10_000


class Pruned(NamedTuple):
    """The result of pruning a project's jobs."""

    removed: int = 0  # jobs, with their events, checkpoints and logs
    flagged: int = 0  # jobs that are active for too long, found now
    logs: int = 0  # that no job had


def prune(store: Store, logs: Path, *, now_ms: int, retention_ms: int) -> Pruned:
    """Delete jobs that ended too long ago, and flag one that has been active for too long.

    A job dated in the future, by a wrong clock, stays until that time has passed.

    Args:
        store: The project's database.
        logs: The folder of the project's operation logs; need not exist.
        now_ms: The time.
        retention_ms: How long jobs are kept after their end.

    Raises:
        UnavailableError: The database stayed locked, or cannot be written.
    """
    before_ms = now_ms - retention_ms
    removed = 0
    # Before the logs of jobs: that of a rebuild says that what an older check found is gone.
    orphaned = _delete_orphaned_logs(logs, _kept_logs(store, logs), before_ms)
    while True:
        gone = _remove_some(store, before_ms)
        if not gone:
            break
        removed += len(gone)
        for row in gone:
            if row.log:
                _delete(logs / Path(row.log).name)
    flagged = _flag(store, before_ms, now_ms)
    return Pruned(removed, flagged, orphaned)


def _kept_logs(store: Store, logs: Path) -> frozenset[str]:
    """Return the names of logs that are kept whatever their age."""
    with store.read() as handle:
        kept = jobs.read_log_names(handle)
    check = last_check(logs)
    if check and not check.is_sound:  # nothing else says that the index is damaged
        kept |= {check.log.name}
    return kept


def prune_watch_jobs(store: Store) -> int:
    """Delete a watcher's older successful jobs; return how many.

    A watcher has a job for every few saves, whose parameters name the saved files: kept for
    days they would take more space than the index. Their results are in the index.

    Raises:
        UnavailableError: The database stayed locked, or cannot be written.
    """
    with store.read() as handle:
        gone = jobs.watched_before(handle, _WATCHED_KEPT, _MOST_JOBS)
    if len(gone) < _WATCHED_AT_ONCE:
        return 0
    with store.write(bookkeeping=True) as handle:
        jobs.delete_jobs(handle, gone)
    return len(gone)


def prune_logs_of_others(logs: Path, project_ids: frozenset[str], *, before_ms: int) -> int:
    """Delete old operation logs of deleted projects; return how many.

    Args:
        logs: The folder that holds one folder a project.
        project_ids: The existing projects.
        before_ms: Younger logs stay.
    """
    deleted = 0
    for folder in entries_of(logs):
        if not folder.is_dir() or folder.is_symlink() or not is_project_id(folder.name):
            continue
        if folder.name in project_ids:
            continue
        deleted += _delete_orphaned_logs(folder, frozenset(), before_ms)
        with suppress(OSError):  # it is not empty
            folder.rmdir()
    return deleted


def _remove_some(store: Store, before_ms: int) -> list[EndedJob]:
    """Delete the oldest jobs that ended before a time, a batch of them, and return these."""
    with store.read() as handle:
        found = jobs.ended_before(handle, before_ms, _MOST_JOBS)
    gone: list[EndedJob] = []
    events = 0
    for row in found:
        events += row.events
        if gone and events > _EVENTS_AT_ONCE:
            break
        gone.append(row)
    if gone:
        with store.write(bookkeeping=True) as handle:
            jobs.delete_jobs(handle, [row.id for row in gone])
    return gone


def _flag(store: Store, before_ms: int, now_ms: int) -> int:
    with store.read() as handle:
        row = jobs.read_active_job(handle)
    if row is None or not _is_overdue(row, before_ms):
        return 0
    with store.write(bookkeeping=True) as handle:
        row = jobs.read_active_job(handle)
        if row is None or not _is_overdue(row, before_ms):
            return 0
        context = {"state": row.state, "since": iso_time(_since_ms(row)), "phase": row.phase}
        jobs.update_job(handle, row.id, {"flagged_at_ms": now_ms})
        jobs.append_event(handle, row.id, EventType.FLAGGED, at_ms=now_ms, context=context)
    return 1


def _is_overdue(row: JobRow, before_ms: int) -> bool:
    return row.flagged_at_ms is None and _since_ms(row) < before_ms


def _since_ms(row: JobRow) -> int:
    return row.created_at_ms if row.started_at_ms is None else row.started_at_ms


def _delete_orphaned_logs(folder: Path, kept: frozenset[str], before_ms: int) -> int:
    """Delete the logs of a folder that are older than a time and belong to no job."""
    deleted = 0
    for file in entries_of(folder):
        if file.name in kept or not _LOG_NAME.fullmatch(file.name):
            continue
        with suppress(OSError):
            if file.lstat().st_mtime_ns < before_ms * 1_000_000:
                file.unlink()
                deleted += 1
    return deleted


def _delete(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


class Housekeeper:
    """Does the runner's work besides jobs.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
        estimator: Learns from jobs that have completed.
    """

    def __init__(self, config: Config, open_embedder: OpenEmbedder, estimator: Estimator) -> None:
        self._config = config
        self._open_embedder = open_embedder
        self._estimator = estimator
        self._logs = config.data_dir / "logs"
        self._job_log = JobLog(self._logs)
        self._keeping = threading.Lock()  # an operation log: jobs end during housekeeping too

    def check_embedder(self) -> None:
        """Make sure that the embedding model is available.

        Raises:
            EmbedderUnavailableError: It is not; ``details`` has ``diagnostics``.
        """
        try:
            check_embedder(self._config, self._open_embedder, lambda: False)
        except EmbedderUnavailableError as error:
            raise EmbedderUnavailableError(
                error.message,
                hint=f"{error.hint or 'start it'}; or index without vectors: CAIRN_MODEL=none",
                diagnostics={"embedding": {"model": self._config.model, "status": "unavailable"}},
            ) from error

    def is_back(self, unavailable: EngineError, cancelled: CancelToken) -> bool:
        """Return whether the resource that a job waits for seems to be available again."""
        if isinstance(unavailable, DiskFullError):
            return has_room(self._config)
        if isinstance(unavailable, EmbedderUnavailableError):
            try:
                check_embedder(self._config, self._open_embedder, cancelled)
            except (EmbedderUnavailableError, Cancelled):
                return False
        return True

    def patience_s(self, unavailable: EngineError) -> float:
        """Return for how many seconds a job waits for this resource."""
        if isinstance(unavailable, DiskFullError):
            return self._config.storage_patience
        return self._config.embedder_patience

    def note_end(self, project: OpenProject, row: JobRow, context: JobContext) -> None:
        """Learn from an ended job, write its log, and delete its files and a watcher's old jobs."""
        if (row.kind, row.state, row.attempt) == (JobKind.INDEX, JobState.COMPLETED, 1):
            self._estimator.learn(context.measured())
        self.keep_log(project, row.uuid)
        delete_temp_files(project.ledger.store.path)
        if row.origin == JobOrigin.WATCH:
            with suppress(EngineError):  # the next one tries again
                prune_watch_jobs(project.ledger.store)

    def keep_log(self, project: OpenProject, job_id: str) -> None:
        """Write the operation log of an ended job that has none."""
        store = project.ledger.store
        with suppress(EngineError):
            with store.read() as handle:
                is_lacking = job_id in jobs.read_unlogged(handle)
            if is_lacking:
                self._keep_operation_log(store, project.root, job_id)

    def log(self, project: OpenProject, row: JobRow, event: EventRow) -> None:
        """Write an event of a job to the structured log, with the request behind it."""
        request_id = origin().request_id
        known = {} if request_id is None else {"request_id": request_id}
        with suppress(IndexCorruptError):  # what it tells is lost, not that it happened
            known |= jobs.object_in(event.context)
        self._job_log.event(
            event.type,
            level="error" if event.type == EventType.FAILED else "info",
            job_id=row.uuid,
            project=display_path(project.root),
            happened_at=iso_time(event.at_ms),
            **known,
        )

    def note_cancelled(self, project: OpenProject, job_id: str, *, is_orphan: bool) -> None:
        """Write the logs of a cancelled job that no runner will write, and delete its files.

        Args:
            project: Its project.
            job_id: Its id.
            is_orphan: It had no live runner when it was cancelled.
        """
        self.keep_log(project, job_id)
        delete_temp_files(project.ledger.store.path)
        with suppress(EngineError):
            row = project.ledger.find(job_id)
            if row.attempt and not is_orphan:
                return
            with project.ledger.store.read() as handle:
                events = jobs.read_events(handle, row.id, limit=_MOST_EVENTS)
            of_cancelling = (EventType.CANCEL_REQUESTED, EventType.CANCELLED)
            for event in events:  # a runner logged the others
                if not row.attempt or event.type in of_cancelling:
                    self.log(project, row, event)

    def run_housekeeping(self, cancelled: CancelToken) -> None:
        """Delete old jobs and copies of all projects; a locked project waits for the next time.

        Called at each start of a runner and once a day; a data directory that cannot be read waits
        for the next time too. Operation logs that a killed runner did not write are written, and
        leftovers of other dead processes are removed: temp files here, WAL files by opening and
        closing each index.

        Args:
            cancelled: Called between two projects; true stops.

        Raises:
            ExceptionGroup: Something unforeseen happened to some projects; the others are done.
        """
        config = self._config
        retention_ms = config.job_retention * DAY_MS
        try:
            clean_up(config.data_dir)
            files = database_files(config.data_dir)
        except (OSError, UnavailableError):
            return
        failures = []
        for file in files:
            if cancelled():
                return
            try:
                self._tidy(file, retention_ms)
            except EngineError:  # of a locked or damaged one
                continue
            except Exception as failure:  # noqa: BLE001 - it costs this project, not the others
                failures.append(failure)
        for log in all_logs(config.data_dir):
            log.forget(retention_ms)
        project_ids = frozenset(file.stem for file in files)
        prune_logs_of_others(self._logs, project_ids, before_ms=now_ms() - retention_ms)
        if failures:
            raise ExceptionGroup("housekeeping of some projects failed", failures)

    def _tidy(self, file: Path, retention_ms: int) -> None:
        """Delete old jobs and copies of one project, and write the logs that its jobs lack."""
        folder = self._logs / file.stem
        with suppress(UnavailableError):
            before_s = (now_ms() - retention_ms) / 1000
            delete_copies(file, keeps_damaged=True, before_s=before_s)
        patience_ms = min(self._config.busy_timeout, _PATIENCE_MS)
        with closing(Store(file, busy_timeout_ms=patience_ms)) as store:
            prune(store, folder, now_ms=now_ms(), retention_ms=retention_ms)
            self._keep_logs(store)

    def _keep_logs(self, store: Store) -> None:
        with store.read() as handle:
            row = project.read_project(handle)
            unlogged = jobs.read_unlogged(handle)
        if row is None:
            return
        for job_id in unlogged:
            self._keep_operation_log(store, os.fsdecode(row.root), job_id)

    def _keep_operation_log(self, store: Store, root: str, job_id: str) -> None:
        with self._keeping:
            keep_operation_log(store, self._logs / store.path.stem, root, job_id)
