"""Hosts the runner in a thread of this process, or starts a process for it."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from engine.cancellation import CancelToken
from engine.config import Config, environment_of
from engine.errors import EngineError, UnavailableError
from engine.files import open_at_once, rotate_if_large
from engine.jobs.execution import as_engine_error
from engine.jobs.runner import Runner, RunnerDependencies
from engine.locks import Lock, runner_lock_file, take_lock
from engine.processes import import_paths

# Cancelling an orphaned job holds the lock for a moment, and so does a runner that is ending.
_PATIENCE_S = 2.0
_TRY_EVERY_S = 0.1
_ROOM_BYTES = 32 << 20  # free space at which a job that waits for space resumes
_SHARE_OF_ROOM = 20  # on a small disk, 1/20 of it


class RunnerHost:
    """Hosts the runner of a data directory in this process.

    Args:
        config: The settings in force.
        dependencies: The runner's dependencies.
    """

    def __init__(self, config: Config, dependencies: RunnerDependencies) -> None:
        self._config = config
        self._dependencies = dependencies
        self._lock = threading.Lock()
        self._held: Lock | None = None
        self._runner: Runner | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._failure: BaseException | None = None

    def wake(self) -> None:
        """Make the runner look for jobs at once, if it is in this process."""
        runner = self._runner
        if runner:
            runner.wake()

    def unwritten_end(self, job_id: str) -> EngineError | None:
        """Return the error of a job that failed, or cannot start, here, if it is not written."""
        runner = self._runner
        return runner.unwritten_end(job_id) if runner else None

    def become(self) -> bool:
        """Run jobs in a thread unless another process does; return whether this one does.

        Raises:
            UnavailableError: The data directory cannot be written, no thread can be started, or
                running has failed; the next call tries again.
        """
        with self._lock:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise _unavailable(failure) from failure
            if self._runner is not None:
                return True
            runner = self._claimed()
            if runner is None:
                return False
            thread = threading.Thread(target=self._run, args=(runner,), name="runner", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                self._release()
                raise UnavailableError(
                    "no thread can be started to run jobs", hint="check the limits on processes"
                ) from error
            self._thread = thread
            return True

    def work(self, *, until_idle: Callable[[], bool], cancelled: CancelToken) -> bool:
        """Run jobs in this thread; return False if another process does, and continues to.

        Raises:
            UnavailableError: The data directory cannot be written.
            EngineError: There is no other job than those that cannot be started.
        """
        deadline_s = time.monotonic() + _PATIENCE_S
        while True:
            with self._lock:
                runner = self._claimed()
            if runner is not None:
                break
            if cancelled() or time.monotonic() >= deadline_s or self._stop.wait(_TRY_EVERY_S):
                return False
        try:
            runner.run(until_idle=until_idle, cancelled=lambda: cancelled() or self._is_over())
        finally:
            with self._lock:
                self._release()
        return True

    def close(self) -> bool:
        """Stop running; return whether unfinished jobs are left to the next runner."""
        self._stop.set()
        runner, thread = self._runner, self._thread
        if runner is None or thread is None:
            return False
        runner.wake()
        thread.join()
        return runner.has_left_work

    def if_nobody_runs(self, act: Callable[[], None]) -> bool:
        """Call a function while no runner can start; return False if there is a runner."""
        with self._lock:
            if self._runner is not None:
                return False
            lock = take_lock(runner_lock_file(self._config.data_dir))
            if lock is None:
                return False
            with lock:
                act()
            return True

    def start_detached(self) -> None:
        """Start a process that runs jobs until there are none; it ends at once if another runs.

        Raises:
            UnavailableError: It cannot be started.
        """
        log = self._config.data_dir / "logs" / "runner-errors.log"
        code = (
            f"import sys; sys.path[:0] = {import_paths()!r}; "
            f"from engine.runner_process import main; main({os.getpid()})"
        )
        try:
            log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            rotate_if_large(log)
            with open(log, "ab", opener=open_at_once) as errors:
                process = subprocess.Popen(  # noqa: S603 - our interpreter and our code
                    [sys.executable, "-I", "-c", code],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    cwd="/",
                    env=environment_of(self._config),
                    start_new_session=True,
                )
        except OSError as error:
            raise UnavailableError(
                f"no background process can be started: {error.strerror}: {error.filename}",
                hint="check the limits on processes, and that the data directory can be written",
            ) from error
        # Reaps the process, which may end before this one.
        threading.Thread(target=process.wait, name="reaper", daemon=True).start()

    def _claimed(self) -> Runner | None:
        """Take the runner's lock; None if another process has it, or a runner of this one."""
        lock = take_lock(runner_lock_file(self._config.data_dir))
        if lock is None:
            return None
        self._held = lock
        self._runner = Runner(self._dependencies)
        return self._runner

    def _release(self) -> None:
        """Release the runner's lock. The caller holds ``self._lock``."""
        self._runner = None
        if self._held:
            self._held.close()
            self._held = None

    def _is_over(self) -> bool:
        """Return whether to stop: if asked to, or if the lock file was replaced."""
        return self._stop.is_set() or self._held is None or not self._held.is_in_place()

    def _run(self, runner: Runner) -> None:
        try:
            runner.run(until_idle=lambda: False, cancelled=self._is_over)
        except BaseException as error:  # noqa: BLE001 - reported to waiting callers
            self._failure = error
        finally:
            with self._lock:
                self._release()


def _unavailable(failure: BaseException) -> UnavailableError:
    """Return the error for a runner that has failed."""
    error = as_engine_error(failure)
    hint = error.hint or "the next request tries again"
    message = f"running jobs has failed: {error.message}"
    return UnavailableError(message, hint=hint, **error.details)


def has_room(config: Config) -> bool:
    """Return whether the data directory has enough free space again."""
    import shutil  # only after a disk was full

    try:
        disk = shutil.disk_usage(config.data_dir)
    except OSError:
        return False
    return disk.free >= min(_ROOM_BYTES, disk.total // _SHARE_OF_ROOM)
