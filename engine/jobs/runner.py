"""The runner: claims the jobs of a data directory in order, and runs a limited number at a time.

One process per data directory is the runner, by the kernel's lock on a file, so no lock can be
stale and no other process can run the same job. Jobs that have not ended when it does stay as they
are in the databases; the next runner takes them over, those that had begun first, in their old
order.
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple
from uuid import uuid4

from engine.cancellation import CancelToken
from engine.clock import now_ms
from engine.errors import EngineError, IndexBusyError, StaleClaim, UnavailableError
from engine.faults import fault_point
from engine.files import is_there
from engine.jobs.cancel_notes import delete_request, noted_request
from engine.jobs.context import CrashTracker, InFlightFile, JobContext
from engine.jobs.execution import (
    IsBack,
    JobExecution,
    OpenProject,
    PatienceFor,
    Resources,
    as_engine_error,
)
from engine.jobs.ledger import Clock
from engine.jobs.progress import Expected
from engine.jobs.watchlist import ActiveJob, Watchlist, queue_order
from engine.state_records import JobKind
from engine.store.jobs import EventRow, JobRow
from engine.telemetry.metrics import on_behalf_of

_LOOK_EVERY_S = 0.2  # for requests by other processes; one of this process wakes the runner
_BEAT_EVERY_S = 1.0
_IDLE_S = 2.0  # without a job, before a runner that ends when idle does
_STUCK_S = 5.0  # of failing to start a job, before whoever waits for it is told
_RETRY_S = 2.0  # before a job that this runner had is tried again, then twice as long each time
_LONGEST_RETRY_S = 600.0
_DAILY_S = 24 * 3600.0
_CLAIM_PATIENCE_S = 0.2  # with the writers of all databases with pending jobs, before the next look
# For housekeeping to end with its project when the runner ends. Only an upgrade of a large index
# takes longer; one that is broken off begins anew.
_TIDY_S = 10.0


class RunnerDependencies(NamedTuple):
    """The dependencies of the runner."""

    data_dir: Path
    most_running: int
    open_project: Callable[[Path], OpenProject]  # by its database file
    is_back: IsBack
    patience_s: PatienceFor
    expected: Callable[[JobRow], Expected]  # the expectation for a job
    on_end: Callable[[OpenProject, JobRow, JobContext], None]  # with the final row
    on_cancel: Callable[[OpenProject, str], None]  # with the id of a job that it does not begin
    log: Callable[[OpenProject, JobRow, EventRow], None]  # an event of a job
    daily: Callable[[CancelToken], None]  # housekeeping
    clock: Clock = now_ms


class _Stuck(NamedTuple):
    """A job that cannot be started or ended, as when its database cannot be written."""

    job_id: str
    since_s: float
    error: EngineError
    tried_s: float  # when it was tried last
    pause_s: float  # before it is tried again, if this runner had it


class Runner:
    """Runs the jobs of a data directory; the caller holds its lock.

    Args:
        dependencies: Its dependencies.
    """

    def __init__(self, dependencies: RunnerDependencies) -> None:
        self._dependencies = dependencies
        self.runner_id = uuid4().hex
        self._watchlist = Watchlist(dependencies.data_dir)
        self._executions: dict[str, JobExecution] = {}  # by job id, running and blocked
        self._lock = threading.Condition()
        self._starting = 0  # jobs that are being claimed, each with a slot already
        self._returning = 0  # jobs that were blocked and wait for a slot: they go first
        self._waiting: dict[str, ActiveJob] = {}
        self._stuck: dict[Path, _Stuck] = {}  # by database file
        self._logged: dict[str, int] = {}  # by job id, the number of the last event
        self._wake = threading.Event()
        self._is_stopping = False
        #: Whether it stopped while there were jobs that another process can resume.
        self.has_left_work = False
        self._next_daily_s = 0.0
        self._housekeeping: threading.Thread | None = None

    def wake(self) -> None:
        """Look for jobs now."""
        self._wake.set()

    def run(self, *, until_idle: Callable[[], bool], cancelled: CancelToken) -> None:
        """Run jobs until stopped, or, if wanted, until there has been none for a while.

        Wanted or not, also once a newer version of this program has written to a database: that one
        may wait to become the runner, and this one cannot see its jobs.

        Args:
            until_idle: Called when there has been none; false waits for more.
            cancelled: Called several times a second; true ends.

        Raises:
            EngineError: There is no other job than those that cannot be started.
        """
        heartbeat = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        heartbeat.start()
        idle_since_s = time.monotonic()
        try:
            while not cancelled() and self._dependencies.data_dir.exists():
                self._run_housekeeping()
                looked_s = time.monotonic()
                self._find_jobs()
                self._start_pending()
                if self._executions or self._waiting:
                    idle_since_s = time.monotonic()
                elif looked_s > self._idle_until_s(idle_since_s) and (
                    self._watchlist.is_outdated or until_idle()
                ):
                    self._raise_stuck()
                    break
                self._wake.wait(_LOOK_EVERY_S)
                self._wake.clear()
        finally:
            self._suspend_all()
            heartbeat.join()
            if self._housekeeping:
                self._housekeeping.join(_TIDY_S)

    def _find_jobs(self) -> None:
        """Find active jobs in databases that were written since the last call."""
        self._stop_executions()
        for found in self._watchlist.changed():
            if found.row is None:
                self._waiting.pop(found.file.stem, None)
                self._stuck.pop(found.file, None)
            elif found.row.runner != self.runner_id or self._is_left(found.file):
                self._waiting[found.file.stem] = found

    def _stop_executions(self) -> None:
        """Stop the jobs that are to be cancelled, and those whose database is gone."""
        with self._lock:
            executions = list(self._executions.values())
        for execution in executions:
            execution.check_cancel()
            with suppress(UnavailableError):
                if _is_out_of_place(execution):
                    execution.context.suspend()

    def _is_left(self, file: Path) -> bool:
        """Return whether nobody runs a job that is claimed; soon after a failure, look again."""
        with self._lock:
            if self._runs(file):
                return False
        stuck = self._stuck.get(file)
        if stuck is None or time.monotonic() - stuck.tried_s > stuck.pause_s:
            return True
        self._watchlist.mark_changed(file)
        return False

    def _runs(self, file: Path) -> bool:
        """Return whether this process runs a job of a database. The caller holds the lock."""
        return any(execution.file == file for execution in self._executions.values())

    def _start_pending(self) -> None:
        """Start pending jobs in order, while there are free slots.

        Locked databases are waited for only a moment, however many there are: cancellations of
        other jobs are looked for between.
        """
        patient_until_s = time.monotonic() + _CLAIM_PATIENCE_S
        for found in sorted(self._waiting.values(), key=_queue_order):
            with self._lock:
                if not self._has_room(self._returning + 1):
                    return
                if self._runs(found.file):
                    continue  # it is just ending
                if not self._may_start(found):
                    continue
                self._starting += 1
            del self._waiting[found.file.stem]
            try:
                self._start(found, max(0.0, patient_until_s - time.monotonic()))
            except Exception as failure:  # noqa: BLE001 - it costs this job, not the others
                self._note_stuck(found, as_engine_error(failure))
                self._watchlist.mark_changed(found.file)
            finally:
                with self._lock:
                    self._starting -= 1
            self._stop_executions()  # to open a project can take long

    def _note_stuck(self, found: ActiveJob, error: EngineError) -> None:
        """Keep why a job cannot be started; one that others write to is started later."""
        if isinstance(error, IndexBusyError) or not found.row:
            self._stuck.pop(found.file, None)
            return
        known = self._stuck.get(found.file)
        now_s = time.monotonic()
        since_s = known.since_s if known and known.job_id == found.row.uuid else now_s
        pause_s = self._pause_s(found.row, known)
        self._stuck[found.file] = _Stuck(found.row.uuid, since_s, error, now_s, pause_s)

    def _pause_s(self, row: JobRow, known: _Stuck | None) -> float:
        """Return how long a job is left alone, each time longer once this runner has had it."""
        if known is None or known.job_id != row.uuid:
            return _RETRY_S
        if row.runner != self.runner_id:
            return known.pause_s
        return min(2 * known.pause_s, _LONGEST_RETRY_S)

    def _idle_until_s(self, since_s: float) -> float:
        """Return when a runner without a job ends: not before it tried a stuck one once more."""
        stuck = list(self._stuck.values())
        if not stuck:
            return since_s + _IDLE_S
        return max(since_s, *(each.since_s for each in stuck)) + _STUCK_S

    def _raise_stuck(self) -> None:
        for file, stuck in self._stuck.items():
            if file.exists():
                raise stuck.error

    def _may_start(self, found: ActiveJob) -> bool:
        """Return whether there is room for a job. With the lock held.

        A history, which nobody waits for, leaves a slot to others, unless there is only one.
        """
        is_history = found.row is not None and found.row.kind == JobKind.HISTORY
        left = int(is_history and self._dependencies.most_running > 1)
        return self._has_room(self._returning + 1 + left)

    def _start(self, found: ActiveJob, patience_s: float) -> None:
        """Start a job; wait for other writers of its database for at most some seconds."""
        project = self._dependencies.open_project(found.file)
        row = found.row
        assert row
        noted = noted_request(found.file, row.uuid)
        if noted:  # this process alone can run it, and does not
            project.ledger.request_cancel(
                row.uuid, **noted._asdict(), is_orphan=True, patience_s=patience_s
            )
            delete_request(found.file, row.uuid)
            self._dependencies.on_cancel(project, row.uuid)
            self._stuck.pop(found.file, None)
            return
        # Started before the claim: a system without another thread leaves the job to a later try.
        handed: SimpleQueue[JobExecution | None] = SimpleQueue()
        served = handed, self._stuck.get(found.file)
        threading.Thread(target=self._serve, args=served, name="job", daemon=True).start()
        execution = None
        try:
            execution = self._claim(found, row, project, patience_s)
            self._stuck.pop(found.file, None)  # before its thread can fail
        finally:
            handed.put(execution)

    def _claim(
        self, found: ActiveJob, row: JobRow, project: OpenProject, patience_s: float
    ) -> JobExecution | None:
        """Claim a job; None if it can no longer be claimed.

        What can fail is done before the claim: a job that could not be started stays as it was.
        """
        expected = self._dependencies.expected(row)
        if row.uuid not in self._logged:  # else an attempt of this runner may have logged nothing
            self._logged[row.uuid] = project.ledger.last_event(row) if row.attempt else 0
        with ExitStack() as undo:
            # Read before the claim: a runner that dies between the two blames no file once more.
            in_flight = InFlightFile(found.file)
            undo.callback(in_flight.close)
            suspects = CrashTracker(row.suspects).after_crash(in_flight.left_path)
            claimed = project.ledger.claim(row, self.runner_id, suspects, patience_s=patience_s)
            if claimed is None:
                self._watchlist.mark_changed(found.file)
                del self._logged[row.uuid]
                return None
            undo.pop_all()
        fault_point("job claimed")
        context = JobContext(
            project.ledger.store, claimed, in_flight, expected, self._dependencies.clock
        )
        execution = JobExecution(found.file, project, context, self, self._logged.pop(row.uuid))
        with self._lock:
            self._executions[claimed.uuid] = execution
        return execution

    def unwritten_end(self, job_id: str) -> EngineError | None:
        """Return the error of a failed job, or of one that cannot start, if it is not written."""
        with self._lock:
            execution = self._executions.get(job_id)
        if execution:
            return execution.unwritten_end
        for file, stuck in list(self._stuck.items()):
            waits_for_slot = file.stem in self._waiting  # and may well start then
            lasts_s = time.monotonic() - stuck.since_s
            if stuck.job_id == job_id and lasts_s > _STUCK_S and not waits_for_slot:
                return stuck.error
        return None

    def _has_room(self, jobs: int) -> bool:
        """Return whether this many more jobs can run. The caller holds the lock."""
        running = self._starting + sum(
            execution.has_slot for execution in self._executions.values()
        )
        return running + jobs <= self._dependencies.most_running

    def release_slot(self, execution: JobExecution) -> None:
        """Free the slot of a blocked job."""
        with self._lock:
            execution.has_slot = False
            self._lock.notify_all()
        self._wake.set()

    def acquire_slot(self, execution: JobExecution) -> bool:
        """Wait for a slot for a job that was blocked; return False if it is to stop."""
        with self._lock:
            self._returning += 1
            try:
                while not execution.context.cancelled():
                    if self._has_room(1):
                        execution.has_slot = True
                        return True
                    self._lock.wait(_LOOK_EVERY_S)
            finally:
                self._returning -= 1
        return False

    def _serve(self, handed: SimpleQueue[JobExecution | None], known: _Stuck | None) -> None:
        """Run the job that is handed over, if any, and forget it, whatever happens."""
        execution = handed.get()
        if execution is None:
            return
        resources = Resources(self._dependencies.is_back, self._dependencies.patience_s)
        try:
            execution.run(resources)
        except StaleClaim:
            pass  # the runner that has it now reports its end
        except Exception as failure:  # noqa: BLE001 - its end cannot be written
            self._tell_unwritten(execution, failure, known)
        else:
            self._ended(execution)
        finally:
            self._forget(execution)

    def _tell_unwritten(
        self, execution: JobExecution, failure: Exception, known: _Stuck | None
    ) -> None:
        """Keep the failure of a job whose end cannot be written, for whoever waits for it."""
        now_s = time.monotonic()
        row, error = execution.context.row, as_engine_error(failure)
        with execution.logging:
            self._logged[row.uuid] = execution.last_event
        pause_s = self._pause_s(row, known)
        self._stuck[execution.file] = _Stuck(row.uuid, now_s - _STUCK_S, error, now_s, pause_s)

    def _forget(self, execution: JobExecution) -> None:
        try:
            execution.close()
        finally:
            with self._lock:
                del self._executions[execution.context.row.uuid]
                self._lock.notify_all()
            self._watchlist.mark_changed(execution.file)
            self._wake.set()

    def _log(self, execution: JobExecution) -> None:
        with execution.logging, on_behalf_of("runner", execution.request_id):
            for event in execution.new_events():
                self._dependencies.log(execution.project, execution.context.row, event)

    def _ended(self, execution: JobExecution) -> None:
        self._log(execution)
        row = execution.last_row()
        if row is not None and row.finished_at_ms is not None:
            delete_request(execution.file, row.uuid)
            self._dependencies.on_end(execution.project, row, execution.context)
        elif execution.unwritten_end is None:
            self.has_left_work = True

    def _beat(self) -> None:
        """Write the jobs' heartbeats, in a separate thread, which a slow disk may block."""
        while not self._is_stopping:
            with self._lock:
                executions = list(self._executions.values())
            for execution in executions:
                with suppress(Exception):  # the work itself meets what is wrong, and says so
                    execution.beat()
                    self._log(execution)
            with self._lock:
                self._lock.wait_for(lambda: self._is_stopping, _BEAT_EVERY_S)

    def _run_housekeeping(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_daily_s:
            self._next_daily_s = now_s + _DAILY_S
            self._housekeeping = threading.Thread(
                target=self._dependencies.daily,
                args=(lambda: self._is_stopping,),
                name="housekeeping",
                daemon=True,
            )
            self._housekeeping.start()

    def _suspend_all(self) -> None:
        with self._lock:
            self._is_stopping = True
            self.has_left_work = bool(self._waiting)
            for execution in self._executions.values():
                execution.context.suspend()
            self._lock.notify_all()
            while self._executions:
                self._lock.wait()
        self._find_jobs()  # the end of a job can bring another
        self.has_left_work = self.has_left_work or bool(self._waiting)


def _is_out_of_place(execution: JobExecution) -> bool:
    """Return whether the database of a job was deleted, or replaced while the job does no work.

    One that works replaces it itself, when it rebuilds a damaged index.

    Raises:
        UnavailableError: The data directory may not be searched.
    """
    is_idle = execution.context.is_blocked or execution.unwritten_end is not None
    is_replaced = is_idle and not execution.project.ledger.store.is_current()
    return is_replaced or not is_there(execution.file)


def _queue_order(found: ActiveJob) -> tuple[int, int, str]:
    assert found.row
    return queue_order(found.row)
