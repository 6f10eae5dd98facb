"""What is done about jobs besides their work: probes, logs, lessons, and old ones forgotten."""

import json
import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.embedding.load import OpenEmbedder, check_embedder
from engine.errors import Cancelled, DiskFullError, EmbedderUnavailableError, EngineError
from engine.jobs.context import JobContext
from engine.jobs.operation_log import keep_operation_log
from engine.jobs.retention import DAY_MS, prune, prune_logs_of_others, thin
from engine.jobs.run import OpenProject
from engine.jobs.watchlist import database_files
from engine.project_files import clean_up
from engine.records import display_path
from engine.scheduler.estimate import Estimator
from engine.scheduler.runner_process import has_room
from engine.state_records import EventType, JobOrigin, JobState
from engine.store import jobs, project
from engine.store.connection import Store
from engine.store.jobs import EventRow, JobRow
from engine.telemetry.logs import JobLog, all_logs
from engine.telemetry.recording import origin

_MOST_EVENTS = 10_000


class Housekeeper:
    """Serves the runner of a data directory.

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

    def check_embedder(self) -> None:
        """Make sure that there are vectors to be had.

        Raises:
            EmbedderUnavailableError: There are none; ``details`` has ``diagnostics``.
        """
        try:
            check_embedder(self._config, self._open_embedder, lambda: False)
        except EmbedderUnavailableError as error:
            raise EmbedderUnavailableError(
                error.message,
                hint=f"{error.hint or 'start it'}; or index without vectors: CAIRN_MODEL=none",
                diagnostics={"embedding": {"model": self._config.model, "status": "unavailable"}},
            ) from error

    def is_back(self, away: EngineError, stop: Callable[[], bool]) -> bool:
        """Say whether what a job waits for seems to be there again."""
        if isinstance(away, DiskFullError):
            return has_room(self._config)
        if isinstance(away, EmbedderUnavailableError):
            try:
                check_embedder(self._config, self._open_embedder, stop)
            except (EmbedderUnavailableError, Cancelled):
                return False
        return True

    def patience_s(self, away: EngineError) -> float:
        """Give for how many seconds a job waits for it."""
        if isinstance(away, DiskFullError):
            return self._config.storage_patience
        return self._config.embedder_patience

    def note_end(self, project: OpenProject, row: JobRow, context: JobContext) -> None:
        """Learn from a job that has ended, and write its log; those of watchers are thinned."""
        if row.state == JobState.COMPLETED and row.attempt == 1:
            self._estimator.learn(context.measured())
        self.keep_log(project, row.uuid)
        if row.origin == JobOrigin.WATCH:
            with suppress(EngineError):  # the next one tries again
                thin(project.ledger.store)

    def keep_log(self, project: OpenProject, job_id: str) -> None:
        """Write the operation log of a job, if it has ended and lacks one."""
        store = project.ledger.store
        with suppress(EngineError):
            with store.read() as handle:
                is_lacking = job_id in jobs.read_unlogged(handle)
            if is_lacking:
                keep_operation_log(store, self._logs / store.path.stem, project.root, job_id)

    def log(self, project: OpenProject, row: JobRow, event: EventRow) -> None:
        """Write what happened to a job for programs, with the request that it is done for."""
        request_id = origin().request_id
        known = {} if request_id is None else {"request_id": request_id}
        self._job_log.event(
            event.type,
            level="error" if event.type == EventType.FAILED else "info",
            job_id=row.uuid,
            project=display_path(project.root),
            happened_at=iso_time(event.at_ms),
            **(known | json.loads(event.context)),
        )

    def note_cancelled(self, project: OpenProject, job_id: str, *, is_orphan: bool) -> None:
        """Write the logs of a job that was cancelled and that no runner will tell of.

        Args:
            project: Its project.
            job_id: Its id.
            is_orphan: Its runner, if it ever had one, was gone when it was cancelled.
        """
        self.keep_log(project, job_id)
        with suppress(EngineError):
            row = project.ledger.find(job_id)
            if row.attempt and not is_orphan:
                return
            with project.ledger.store.read() as handle:
                events = jobs.read_events(handle, row.id, limit=_MOST_EVENTS)
            told = (EventType.CANCEL_REQUESTED, EventType.CANCELLED)  # a runner told of the others
            for event in events:
                if not row.attempt or event.type in told:
                    self.log(project, row, event)

    def keep_house(self, is_stopped: Callable[[], bool]) -> None:
        """Forget old jobs of all projects; one that cannot be written now waits for the next time.

        Called at each start of a runner and once a day. Operation logs that a runner has left
        unwritten, because it was killed, are written, and what other dead processes left in the
        data directory is deleted: their temp files here, their WAL by opening and closing an index.

        Args:
            is_stopped: Asked between two projects.
        """
        config = self._config
        clean_up(config.data_dir)
        retention_ms = config.job_retention * DAY_MS
        files = database_files(config.data_dir)
        for file in files:
            if is_stopped():
                return
            folder = self._logs / file.stem
            try:
                with closing(Store(file, busy_timeout_ms=config.busy_timeout)) as store:
                    prune(store, folder, now_ms=now_ms(), retention_ms=retention_ms)
                    _keep_logs(store, folder)
            except EngineError:
                continue
        for log in all_logs(config.data_dir):
            log.forget(retention_ms)
        project_ids = frozenset(file.stem for file in files)
        prune_logs_of_others(self._logs, project_ids, before_ms=now_ms() - retention_ms)


def _keep_logs(store: Store, folder: Path) -> None:
    with store.read() as handle:
        row = project.read_project(handle)
        unlogged = jobs.read_unlogged(handle)
    if row is None:
        return
    for uuid in unlogged:
        keep_operation_log(store, folder, os.fsdecode(row.root), uuid)
