"""The jobs of all projects: submit, show, cancel, wait for and run them.

``Catalog.jobs`` is a ``Jobs``. A process that waits for a job while the data directory has no
runner becomes the runner; others follow what the runner writes into the project's database.
"""

import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from engine.cancellation import CancelToken
from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import (
    DiskFullError,
    EngineError,
    IndexBusyError,
    JobConflictError,
    JobNotFoundError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.index_records import IndexOptions
from engine.indexing.scope import options_of
from engine.jobs.cancel_notes import CancelRequest, delete_request, note_request
from engine.jobs.context import JobContext
from engine.jobs.execution import OpenProject, as_noted, is_ending
from engine.jobs.ledger import ended_already
from engine.jobs.operation_log import OperationLog, operation_logs
from engine.jobs.runner import RunnerDependencies
from engine.jobs.view import event_of
from engine.locks import delete_notes
from engine.roots import folder_at
from engine.scheduler.estimate import Estimate, Estimator
from engine.scheduler.housekeeping import Housekeeper
from engine.scheduler.listing import JobListing
from engine.scheduler.runner_host import RunnerHost
from engine.scheduler.submission import Projects, Submitter, submitted_as
from engine.state_records import (
    TERMINAL,
    EventType,
    Job,
    JobEvent,
    JobFilter,
    JobHistory,
    JobKind,
    JobOrigin,
    JobPage,
    JobState,
    MakesWay,
    SubmittedJob,
    WaitMode,
)
from engine.store import jobs
from engine.store.jobs import JobRow

_WAIT_POLL_S: Final = 0.1
_CANCEL_S: Final = 1.0  # then a file says what the database cannot be told
_END_S: Final = 5.0  # for an end that is only noted to be written, when it is retried

_PROGRESS = frozenset({EventType.PROGRESS, EventType.CHECKPOINT})
_MOST_SAMPLES = 240
_POLL_S = 0.1
_TRY_TO_RUN_S = 0.5
_TRY_TO_START_S = 10.0  # a process takes a second or two until it runs jobs


ChangeCallback = Callable[[Job], None]


class Jobs:
    """All jobs of a data directory. ``close`` leaves unfinished jobs to the next runner.

    Args:
        config: The settings in force.
        projects: Opens projects.
        open_embedder: Opens the model that the settings name.
        runs_here: Whether this process becomes the runner when it waits for a job and no runner
            lives; False for a process that may be killed at any time.
    """

    def __init__(
        self,
        config: Config,
        projects: Projects,
        open_embedder: OpenEmbedder,
        *,
        runs_here: bool = True,
    ) -> None:
        self._projects = projects
        self._config = config
        self._runs_here = runs_here
        self._listing = JobListing(config)
        self._estimator = estimator = Estimator(config)
        self._keeper = Housekeeper(config, open_embedder, estimator)
        self._ended = threading.Event()
        self._submitter = Submitter(
            projects, estimator, self._keeper, self._make_room, self._ended, config.data_dir
        )
        dependencies = RunnerDependencies(
            data_dir=config.data_dir,
            most_running=config.jobs,
            open_project=lambda file: projects.open_file(file).for_jobs(),
            is_back=self._keeper.is_back,
            expected=estimator.expected,
            patience_s=self._keeper.patience_s,
            on_end=self._on_end,
            on_cancel=lambda *found: self._keeper.note_cancelled(*found, is_orphan=True),
            log=self._keeper.log,
            daily=self._keeper.run_housekeeping,
        )
        self._host = RunnerHost(config, dependencies)

    @property
    def retention_days(self) -> int:
        """How long jobs are kept after their end."""
        return self._config.job_retention

    def submit(
        self,
        path: str,
        options: IndexOptions | None = None,
        *,
        origin: JobOrigin = JobOrigin.REQUEST,
        waits: WaitMode = WaitMode.NEVER,
    ) -> SubmittedJob:
        """Submit a job that indexes a folder; nothing is written if it cannot be indexed.

        A job that is in the way is made to run, as its runner may have been killed.

        Args:
            path: The folder.
            options: Scope to store and how to run.
            origin: The origin of the request.
            waits: Whether the caller waits for the whole answer: then an unavailable
                model is an error at once.

        Raises:
            InvalidInputError: The folder, a pattern or the size is not valid.
            UnavailableError: The disk is full, or the caller would wait for an unavailable model.
            JobConflictError: A job with other parameters is active on this project.
            IndexCorruptError: The index cannot be read; with ``force_clean`` it is rebuilt.
        """
        try:
            submitted = self._submitter.submit(path, options or IndexOptions(), origin, waits)
        except JobConflictError:
            with suppress(UnavailableError):
                self.ensure_runner()
            raise
        self._host.wake()
        return submitted

    def submit_history(self, path: str, *, origin: JobOrigin = JobOrigin.REQUEST) -> SubmittedJob:
        """Submit a job that reads the history of a project.

        Raises:
            ProjectNotFoundError: The folder is not indexed.
            JobConflictError: Another job is active on this project.
        """
        project = self._projects.open(path).for_jobs()
        enqueued = project.ledger.enqueue({}, kind=JobKind.HISTORY, origin=origin)
        self._host.wake()
        return submitted_as(enqueued)

    def estimate(self, path: str) -> Estimate | None:
        """Estimate the first run over a folder; None if it is a project, or nothing is known.

        Raises:
            InvalidInputError: The folder cannot be read.
        """
        return self._estimator.of_new(folder_at(path), IndexOptions())

    def show(self, job_id: str) -> Job:
        """Return a job.

        Raises:
            JobNotFoundError: No project has it.
        """
        return self._shown(self._project_of(job_id), job_id)

    def list(self, wanted: JobFilter | None = None) -> JobPage:
        """List jobs of all projects, the newest first.

        Raises:
            InvalidInputError: The filter cannot be read.
            ProjectNotFoundError: Its target is not indexed.
        """
        wanted = wanted or JobFilter()
        target = None
        if wanted.target is not None:
            target = self._projects.open(wanted.target).for_jobs().ledger.store.path
        return self._listing.page(wanted, target)

    def events(self, job_id: str, *, after: int = 0, limit: int = 1000) -> tuple[JobEvent, ...]:
        """Return the events of a job, in order.

        Args:
            job_id: The job's id.
            after: The sequence number after which to start.
            limit: The most events to return.

        Raises:
            JobNotFoundError: No project has it.
        """
        project = self._project_of(job_id)
        row = project.ledger.find(job_id)
        with project.ledger.store.read() as handle:
            rows = jobs.read_events(handle, row.id, after=after, limit=limit)
        return tuple(event_of(job_id, project.root, each) for each in rows)

    def history(
        self,
        job_id: str,
        *,
        types: Collection[EventType] = tuple(EventType),
        before: int | None = None,
        limit: int = 200,
    ) -> JobHistory:
        """Return the last events of a job, and samples of its whole course.

        Args:
            job_id: The job's id.
            types: Types of events.
            before: The sequence number before which to end; None for the latest events.
            limit: The most events to return.

        Raises:
            JobNotFoundError: No project has it.
        """
        project = self._project_of(job_id)
        row = project.ledger.find(job_id)
        with project.ledger.store.read() as handle:
            numbers = jobs.count_events(handle, row.id)
            found = jobs.read_last_events(handle, row.id, types, before=before, limit=limit + 1)
            course = jobs.read_samples(
                handle, row.id, set(EventType) - _PROGRESS, sampled=_PROGRESS, most=_MOST_SAMPLES
            )
        shown = found[-limit:]
        return JobHistory(
            numbers={EventType(type_): number for type_, number in numbers.items()},
            events=tuple(event_of(job_id, project.root, each) for each in shown),
            earlier=shown[0].sequence if len(found) > limit else None,
            course=tuple(event_of(job_id, project.root, each) for each in course),
        )

    def logs(self, path: str) -> tuple[OperationLog, ...]:
        """Return the operation logs of a project's ended jobs, the newest first.

        Raises:
            ProjectNotFoundError: Neither the folder nor one above it is indexed.
        """
        folder = self._config.data_dir / "logs" / self._projects.open(path).project_id
        return operation_logs(folder)

    def cancel(self, job_id: str, *, reason: str = "", makes_way: MakesWay | None = None) -> Job:
        """Cancel a job without waiting for its end; idempotent.

        Args:
            job_id: The job's id.
            reason: Why, for its history.
            makes_way: For what, if its work then continues by itself; None if a user stops it.

        Raises:
            JobNotFoundError: No project has it.
            JobConflictError: It has ended already.
        """
        project = self._project_of(job_id)
        asked = CancelRequest(reason, makes_way)

        def cancel_orphan() -> None:
            request(is_orphan=True)
            delete_notes(project.ledger.store.path)

        def request(*, is_orphan: bool = False) -> None:
            try:
                project.ledger.request_cancel(
                    job_id, **asked._asdict(), is_orphan=is_orphan, patience_s=_CANCEL_S
                )
            except (DiskFullError, IndexBusyError):
                if project.ledger.find(job_id).state in TERMINAL:
                    raise
                note_request(project.ledger.store.path, job_id, asked)
                refuse_if_late()

        def is_decided(row: JobRow) -> bool:
            return row.state in TERMINAL or not is_ending(project.ledger.store.path, job_id)

        def refuse_if_late() -> None:
            row = self._row_when(is_decided, project, job_id)
            if row.state in TERMINAL:  # its last look for a note may have been before this one
                delete_request(project.ledger.store.path, job_id)
                if row.state != JobState.CANCELLED:
                    raise ended_already(row)

        is_orphan = self._host.if_nobody_runs(cancel_orphan)
        if not is_orphan:
            request()
            self._host.wake()
        self._keeper.note_cancelled(project, job_id, is_orphan=is_orphan)
        return self._shown(project, job_id)

    def retry(self, job_id: str) -> SubmittedJob:
        """Submit a new job with the parameters of a failed or cancelled one.

        Raises:
            JobNotFoundError: No project has it.
            JobConflictError: It did not fail and was not cancelled, or another job is active.
        """
        project = self._project_of(job_id)
        row = self._ended_row(project, job_id)
        if row.state not in (JobState.FAILED, JobState.CANCELLED):
            raise JobConflictError(
                f"job {job_id} is {row.state}; only failed and cancelled jobs can be retried",
                job_id=job_id,
                status=row.state,
            )
        if row.kind == JobKind.HISTORY:
            return self.submit_history(project.root)
        return self.submit(project.root, options_of(parameters_from(row)))

    def _ended_row(self, project: OpenProject, job_id: str) -> JobRow:
        """Return a job, written when it has ended, for which its runner may have needed room."""

        def is_written(row: JobRow) -> bool:
            return as_noted(row, project.ledger.store.path).state == row.state

        return self._row_when(is_written, project, job_id)

    def _row_when(
        self, is_so: Callable[[JobRow], bool], project: OpenProject, job_id: str
    ) -> JobRow:
        """Return a job as it is when something is so of it, or some seconds later."""
        deadline_s = time.monotonic() + _END_S
        while True:
            row = project.ledger.find(job_id)
            if is_so(row) or time.monotonic() >= deadline_s:
                return project.ledger.find(job_id)
            self._host.wake()
            time.sleep(_WAIT_POLL_S)

    def follow(
        self,
        job_id: str,
        *,
        on_change: ChangeCallback | None = None,
        cancelled: CancelToken | None = None,
        makes_way: MakesWay | None = None,
        stop_waiting: Callable[[], bool] | None = None,
        timeout_s: float | None = None,
    ) -> Job:
        """Wait until a job has ended, and run it if no other process does.

        Args:
            job_id: The job's id.
            on_change: Called in this thread with the job, at most ten times a second.
            cancelled: Called as often; when true the job is cancelled, and waited for.
            makes_way: For what it is cancelled then; see ``cancel``.
            stop_waiting: Called as often; when true, this returns and the job goes on.
            timeout_s: How long to wait at most; None means forever.

        Returns:
            The job as it is now; not ended only after ``timeout_s`` or ``stop_waiting``.

        Raises:
            JobNotFoundError: No project has it.
            UnavailableError: It has waited too long in this process for a resource that its end
                needs too, for example disk space; the next runner resumes it.
            EngineError: It cannot be started in this process, for several seconds now.
        """
        project = self._project_of(job_id)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        next_try_s = 0.0
        is_cancelled = False
        before: Job | None = None
        while True:
            self._ended.clear()
            now_s = time.monotonic()
            if now_s >= next_try_s:
                next_try_s = now_s + (_TRY_TO_RUN_S if self._runs_here else _TRY_TO_START_S)
                self.ensure_runner()
            job = self._shown(project, job_id)
            if on_change and job != before:
                on_change(job)
            before = job
            is_late = deadline_s is not None and now_s >= deadline_s
            if job.status in TERMINAL or is_late or (stop_waiting is not None and stop_waiting()):
                return job
            end = self._host.unwritten_end(job_id)
            if end is not None:
                raise end
            if not is_cancelled and cancelled is not None and cancelled():
                is_cancelled = True
                self._cancel_if_active(job_id, "interrupted", makes_way)
            self._ended.wait(_POLL_S)

    def work(self, *, until_idle: Callable[[], bool], cancelled: CancelToken) -> bool:
        """Run jobs in this thread until stopped; return False if another process does already.

        Args:
            until_idle: Called when there has been no job for a moment; true ends.
            cancelled: Called several times a second; true ends.

        Raises:
            UnavailableError: The data directory cannot be written.
            EngineError: There is no other job than those that cannot be started.
        """
        return self._host.work(until_idle=until_idle, cancelled=cancelled)

    def run_here(self) -> bool:
        """Run jobs in a thread of this process; return False if another process does."""
        return self._host.become()

    def ensure_runner(self) -> bool:
        """Make sure that there is a runner: this process, or a new one if this one may not be it.

        Returns:
            Whether a process was started; it takes a moment to become the runner.

        Raises:
            UnavailableError: The data directory cannot be written, or no process can be started.
        """
        if self._runs_here:
            self._host.become()
            return False
        return self._host.if_nobody_runs(self._host.start_detached)

    def start_detached(self) -> None:
        """Start a process that runs the pending jobs and then ends.

        Raises:
            UnavailableError: It cannot be started.
        """
        self._host.start_detached()

    def close(self) -> None:
        """Stop running jobs here; unfinished ones continue in a process of their own."""
        if self._host.close():
            self._host.start_detached()

    def _on_end(self, project: OpenProject, row: JobRow, context: JobContext) -> None:
        self._keeper.note_end(project, row, context)
        self._ended.set()
        if (row.kind, row.state) == (JobKind.INDEX, JobState.COMPLETED):
            with suppress(EngineError):  # the next run tries again
                self._follow_with_history(project, JobOrigin(row.origin))

    def _follow_with_history(self, project: OpenProject, origin: JobOrigin) -> None:
        """Submit a job that reads the history, if that has changed.

        After a watcher's job only if the last such job came to an end by itself.
        """
        if origin is JobOrigin.WATCH and _was_history_stopped(project):
            return
        if self._projects.open_file(project.ledger.store.path).is_history_due():
            self.submit_history(project.root, origin=origin)

    def _make_room(self, job_id: str) -> None:
        self._cancel_if_active(job_id, "a request goes first", MakesWay.REQUEST)

    def _cancel_if_active(self, job_id: str, reason: str, makes_way: MakesWay | None) -> None:
        with suppress(JobConflictError, JobNotFoundError):  # it has just ended
            self.cancel(job_id, reason=reason, makes_way=makes_way)

    def _project_of(self, job_id: str) -> OpenProject:
        file = self._listing.file_of(job_id)
        if file is not None:
            try:
                return self._projects.open_file(file).for_jobs()
            except ProjectNotFoundError:
                pass  # deleted just now
        raise JobNotFoundError(
            f"no job has the id {job_id}",
            hint="cairn jobs list; ended jobs are kept for some days",
            job_id=job_id,
        )

    def _shown(self, project: OpenProject, job_id: str) -> Job:
        row = project.ledger.find(job_id)
        return self._listing.shown(project.ledger.project_id, project.root, row)


def _was_history_stopped(project: OpenProject) -> bool:
    """Return whether the last reading of the history failed, or a user stopped it."""
    with project.ledger.store.read() as handle:
        last = jobs.read_last_ended(handle, JobKind.HISTORY)
    return last is not None and last.state != JobState.COMPLETED and not last.waiting


def parameters_from(row: JobRow) -> dict[str, object]:
    """Return the parameters of a job."""
    return jobs.object_in(row.parameters)
