"""The runner: claims the jobs of a data directory in order, and runs a limited number at a time.

One process per data directory is the runner, by the kernel's lock on a file, so no lock can be
stale and no other process can run the same job. Jobs that have not ended when it does stay as they
are in the databases; the next runner takes them over, those that had begun first, in their old
order.
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from engine.cancellation import CancelToken
from engine.clock import now_ms
from engine.errors import EngineError, StaleClaim
from engine.faults import fault_point
from engine.jobs.context import CrashTracker, InFlightFile, JobContext
from engine.jobs.ledger import Clock
from engine.jobs.progress import Expected
from engine.jobs.run import IsBack, OpenProject, PatienceFor, Resources, Run
from engine.jobs.watchlist import Found, Watchlist
from engine.state_records import JobState
from engine.store.jobs import EventRow, JobRow
from engine.telemetry.metrics import on_behalf_of

_LOOK_EVERY_S = 0.2  # for requests by other processes; one of this process wakes the runner
_BEAT_EVERY_S = 1.0
_IDLE_S = 2.0  # without a job, before a runner that ends when idle does
_DAILY_S = 24 * 3600.0
_TIDY_S = 1.0  # for housekeeping to close its files when the runner ends


class RunnerContext(NamedTuple):
    """The dependencies of the runner."""

    data_dir: Path
    most_running: int
    open_project: Callable[[Path], OpenProject]  # by its database file
    is_back: IsBack
    patience_s: PatienceFor
    expected: Callable[[JobRow], Expected]  # the expectation for a job
    on_end: Callable[[OpenProject, JobRow, JobContext], None]  # with the final row
    log: Callable[[OpenProject, JobRow, EventRow], None]  # an event of a job
    daily: Callable[[CancelToken], None]  # housekeeping
    clock: Clock = now_ms


class Runner:
    """Runs the jobs of a data directory; the caller holds its lock.

    Args:
        around: Its dependencies.
    """

    def __init__(self, around: RunnerContext) -> None:
        self._around = around
        self.boot_id = uuid4().hex
        self._watchlist = Watchlist(around.data_dir)
        self._runs: dict[str, Run] = {}  # by job id, running and blocked
        self._lock = threading.Condition()
        self._starting = 0  # jobs that are being claimed, each with a slot already
        self._returning = 0  # jobs that were blocked and wait for a slot: they go first
        self._waiting: dict[str, Found] = {}
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

        Args:
            until_idle: Called when there has been none; false waits for more.
            cancelled: Called several times a second; true ends.
        """
        pulse = threading.Thread(target=self._beat, name="pulse", daemon=True)
        pulse.start()
        idle_since_s = time.monotonic()
        try:
            while not cancelled() and self._around.data_dir.exists():
                self._run_housekeeping()
                self._look()
                self._start_some()
                if self._runs or self._waiting:
                    idle_since_s = time.monotonic()
                elif time.monotonic() - idle_since_s > _IDLE_S and until_idle():
                    break
                self._wake.wait(_LOOK_EVERY_S)
                self._wake.clear()
        finally:
            self._suspend_all()
            pulse.join()
            if self._housekeeping:
                self._housekeeping.join(_TIDY_S)

    def _look(self) -> None:
        """Find active jobs in databases that were written since the last call."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.check_cancel()
            if not run.file.exists():  # the project was forgotten
                run.context.suspend()
        for found in self._watchlist.changed():
            if found.row is None:
                self._waiting.pop(found.file.stem, None)
            elif found.row.runner != self.boot_id:
                self._waiting[found.file.stem] = found

    def _start_some(self) -> None:
        """Start pending jobs in order, while there are free slots."""
        for found in sorted(self._waiting.values(), key=_turn):
            with self._lock:
                if not self._has_room(self._returning + 1):
                    return
                if any(run.file == found.file for run in self._runs.values()):
                    continue  # it is just ending
                self._starting += 1
            del self._waiting[found.file.stem]
            try:
                self._start(found)
            except EngineError:
                self._watchlist.look_again(found.file)
            finally:
                with self._lock:
                    self._starting -= 1

    def _start(self, found: Found) -> None:
        project = self._around.open_project(found.file)
        row = found.row
        assert row
        with ExitStack() as undo:
            # Read before the claim: a runner that dies between the two blames no file once more.
            in_flight = InFlightFile(found.file)
            undo.callback(in_flight.close)
            suspects = CrashTracker(row.suspects).after_crash(in_flight.left_path)
            claimed = project.ledger.claim(row, self.boot_id, suspects)
            if claimed is None:
                self._watchlist.look_again(found.file)
                return
            undo.pop_all()
        fault_point("job claimed")
        expected = self._around.expected(claimed)
        context = JobContext(project.ledger.store, claimed, in_flight, expected, self._around.clock)
        run = Run(found.file, project, context, self)
        with self._lock:
            self._runs[claimed.uuid] = run
        thread = threading.Thread(target=self._serve, args=(run,), name="job", daemon=True)
        thread.start()

    def unwritten_end(self, job_id: str) -> EngineError | None:
        """Return the error of a failed job, if it cannot be written."""
        with self._lock:
            run = self._runs.get(job_id)
            return run.unwritten_end if run else None

    def _has_room(self, jobs: int) -> bool:
        """Return whether this many more jobs can run. The caller holds the lock."""
        running = self._starting + sum(run.has_slot for run in self._runs.values())
        return running + jobs <= self._around.most_running

    def give_slot(self, run: Run) -> None:
        """Free the slot of a blocked job."""
        with self._lock:
            run.has_slot = False
            self._lock.notify_all()
        self._wake.set()

    def take_slot(self, run: Run) -> bool:
        """Wait for a slot for a job that was blocked; return False if it is to stop."""
        with self._lock:
            self._returning += 1
            try:
                while not run.context.cancelled():
                    if self._has_room(1):
                        run.has_slot = True
                        return True
                    self._lock.wait(_LOOK_EVERY_S)
            finally:
                self._returning -= 1
        return False

    def _serve(self, run: Run) -> None:
        try:
            run.run(Resources(self._around.is_back, self._around.patience_s))
            self._ended(run)
        except StaleClaim:
            pass  # the runner that has it now reports its end
        finally:
            run.close()
            with self._lock:
                del self._runs[run.context.row.uuid]
                self._lock.notify_all()
            self._watchlist.look_again(run.file)
            self._wake.set()

    def _log(self, run: Run) -> None:
        with on_behalf_of("runner", run.request_id):
            for event in run.new_events():
                self._around.log(run.project, run.context.row, event)

    def _ended(self, run: Run) -> None:
        self._log(run)
        row = run.last_row()
        if row is not None and row.finished_at_ms is not None:
            self._around.on_end(run.project, row, run.context)
        elif run.unwritten_end is None:
            self.has_left_work = True

    def _beat(self) -> None:
        """Write the jobs' heartbeats, in a separate thread, which a slow disk may block."""
        while not self._is_stopping:
            with self._lock:
                runs = list(self._runs.values())
            for run in runs:
                run.beat()
                self._log(run)
            with self._lock:
                self._lock.wait_for(lambda: self._is_stopping, _BEAT_EVERY_S)

    def _run_housekeeping(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_daily_s:
            self._next_daily_s = now_s + _DAILY_S
            self._housekeeping = threading.Thread(
                target=self._around.daily,
                args=(lambda: self._is_stopping,),
                name="housekeeping",
                daemon=True,
            )
            self._housekeeping.start()

    def _suspend_all(self) -> None:
        with self._lock:
            self._is_stopping = True
            self.has_left_work = bool(self._waiting)
            for run in self._runs.values():
                run.context.suspend()
            self._lock.notify_all()
            while self._runs:
                self._lock.wait()


def _turn(found: Found) -> tuple[int, int, str]:
    """Return a job's sort key: those that had begun by start time, then the others by age."""
    row = found.row
    assert row
    if row.state == JobState.PENDING:
        return 1, row.created_at_ms, row.uuid
    return 0, row.started_at_ms or row.created_at_ms, row.uuid
