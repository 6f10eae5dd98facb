"""Watches one project and requests a run when something changed.

Events are hints. When no more come, the paths they name are compared with the index, and a run over
those that differ is requested. The whole project is compared at the start, after a failure of the
system's watch, after a burst of events, when another branch is checked out, when the root comes
back, and every few minutes, because events can be lost. Where the system cannot watch, the watcher
polls: it compares the whole project at intervals.

The watcher reports its status in its process, and to other processes through its lock file.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from engine.cancellation import CancelToken
from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.errors import (
    Cancelled,
    DiskFullError,
    EmbedderUnavailableError,
    EngineError,
    IndexBusyError,
    InvalidPathError,
    ProjectBusyError,
    ProjectNotFoundError,
)
from engine.locks import WatchLock, hold_watch_lock
from engine.source.open_folders import Identity
from engine.source.reader import EMPTIED
from engine.source.walker import WalkRules
from engine.state_records import Job, JobState, WatchState, WatchStatus
from engine.telemetry.metrics import Measure, count
from engine.watch.debounce import PendingPaths, collapse_paths
from engine.watch.listener import (
    Events,
    Listener,
    UnwatchableError,
    WatchFailedError,
    WatchLimitError,
    identity_of,
)

StatusCallback = Callable[[WatchStatus], None]

#: How often to check whether the root and the project still exist.
_CHECK_S: Final = 1.0
#: After so many failures of the system's watch within this time, the watcher polls.
_MAX_FAILURES: Final = 3
_FAILURES_WITHIN_S: Final = 60.0
#: Polling uses a twentieth of a core, with intervals within these bounds.
_POLL_SHARE: Final = 0.05
_MIN_POLL_S: Final = 2.0
_MAX_POLL_S: Final = 60.0
_LIMIT_REACHED: Final = (
    "the system's limit on watched folders is reached: sysctl fs.inotify.max_user_watches=1048576"
    " raises it, and fs.inotify.max_user_instances=512 the limit on watchers"
)
_AWAY: Final = "the project's folder cannot be read: it is missing, or permission is denied"
_RETRIED: Final = "retrying"
_CONTINUES: Final = "indexing continues by itself"
#: What passes without anybody's help; the hints of other errors say what to do.
_PASSING: Final = (DiskFullError, EmbedderUnavailableError, IndexBusyError, ProjectBusyError)
#: What keeps changes waiting does not matter in these states.
_UNBLOCKED: Final = frozenset({WatchState.WAITING, WatchState.STOPPED})


class _Obstacle(NamedTuple):
    """Why changes cannot be indexed for now."""

    reason: str  # with what comes next
    file: str = ""  # of the index that it is about


def _obstacle_of(error: EngineError) -> _Obstacle:
    is_passing = isinstance(error, _PASSING)
    parts = (str(error), "" if is_passing else error.hint, _CONTINUES if is_passing else _RETRIED)
    file = str(error.details.get("file", ""))
    return _Obstacle("; ".join(part for part in parts if part), file)


class StatusReporter:
    """Holds the status of a watcher and reports each change.

    Args:
        on_change: Called with each new status.
        clock: Returns milliseconds since 1970.
    """

    def __init__(self, on_change: StatusCallback | None, clock: Callable[[], int]) -> None:
        self._on_change = on_change
        self._clock = clock
        self.lock: WatchLock | None = None
        #: The current status; replaced, never changed, so any thread may read it.
        self.status = WatchStatus(state=WatchState.STOPPED, since=self.now(), pid=os.getpid())

    def now(self) -> str:
        """Return the time in ISO format."""
        return iso_time(self._clock())

    def note(self, **values: Any) -> None:
        """Change fields of the status, to be reported with the next change."""
        self.status = replace(self.status, **values)

    def set_state(self, state: WatchState, reason: str = "", **values: Any) -> None:
        """Report a new state.

        Args:
            state: The state.
            reason: The reason, or the last failure.
            values: Other fields of the status.
        """
        before = self.status
        since = before.since if state is before.state else self.now()
        self.status = replace(before, state=state, reason=reason, since=since, **values)
        if self.lock:
            self.lock.publish(self.status)
        if self._on_change:
            self._on_change(self.status)


#: Runs an indexing of some paths (None: of all), waits for its end, and returns whether it was
#: completed. The second argument, called several times a second, ends the wait.
SubmitRun = Callable[[tuple[str, ...] | None, CancelToken], bool]


class WatchTarget(Protocol):
    """The project to watch."""

    @property
    def root(self) -> str:
        """The resolved folder."""

    @property
    def file(self) -> Path:
        """The database file."""

    def rules(self) -> WalkRules:
        """Return which files belong to it; raise ProjectNotFoundError if it was forgotten."""

    def check_not_emptied(self) -> None:
        """Raise InvalidPathError if nothing is left in the root though files of it are indexed."""

    def stale(self, only: Iterable[str] = (), *, cancelled: CancelToken) -> tuple[str, ...] | None:
        """Return the paths that a run would change; None if it must be over the whole project."""

    def other_names(self, paths: Iterable[str]) -> set[str]:
        """Return the indexed paths that are hard links to the files at some paths."""


class IndexingPausedError(EngineError):
    """Indexing is paused by a user; pending paths wait."""


class Watcher:
    """Watches one project, in a thread of its own (``start``) or in the caller's (``run``).

    Args:
        project: The project.
        submit: Runs an indexing.
        config: The settings in force.
        on_change: Called with each new status, in the watcher's thread.
        clock: Returns milliseconds since 1970, for the status.
        timer: Returns monotonic seconds, for waits.
    """

    def __init__(
        self,
        project: WatchTarget,
        submit: SubmitRun,
        config: Config,
        *,
        on_change: StatusCallback | None = None,
        clock: Callable[[], int] = now_ms,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._project = project
        self._submit = submit
        self._reconcile_every_s = float(config.watch_reconcile)
        self._timer = timer
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._reporter = StatusReporter(on_change, clock)
        self._listener = Listener(project.root, self._stop)
        self._pending = PendingPaths(config.watch_debounce / 1000)
        self._root_identity: Identity | None = None
        self._is_first = True  # the project was not compared yet
        self._is_listed = False  # the folders were listed since the last comparison and event
        self._mode = WatchState.STOPPED  # how it watches
        self._mode_reason = ""
        self._paused = ""  # why it runs nothing until a user asks for it; empty if it does
        self._held_up: _Obstacle | None = None  # why the last work was not done
        self._failing: _Obstacle | None = None  # why the last step failed
        self._failures: deque[float] = deque(maxlen=_MAX_FAILURES)
        self._poll_s = _MIN_POLL_S
        self._checked_s = self._reconcile_s = self._watch_again_s = 0.0

    @property
    def status(self) -> WatchStatus:
        """The current status; thread-safe."""
        return self._reporter.status

    def start(self) -> None:
        """Watch in a thread of its own.

        Raises:
            ProjectBusyError: Another watcher watches the project.
            UnavailableError: The data directory cannot be written.
        """
        ready = threading.Event()
        refusals: list[Exception] = []

        def watch() -> None:
            try:
                self._watch(ready)
            except Exception as error:
                if ready.is_set():  # its status says so
                    raise
                refusals.append(error)
            finally:
                ready.set()

        self._stop.clear()
        self._thread = threading.Thread(target=watch, name="watcher", daemon=True)
        self._thread.start()
        ready.wait()
        if refusals:
            raise refusals[0]

    def run(self) -> None:
        """Watch in this thread until ``stop`` is called or the project is forgotten.

        Raises:
            ProjectBusyError: Another watcher watches the project.
            UnavailableError: The data directory cannot be written.
        """
        self._stop.clear()
        self._watch(threading.Event())

    def stop(self) -> None:
        """Stop watching, within a second; the next start finds pending changes."""
        self._stop.set()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None

    def _watch(self, ready: threading.Event) -> None:
        with hold_watch_lock(self._project.file) as lock:
            self._reporter.lock = lock
            self._held_up = self._failing = None
            self._paused = ""
            self._set_state(WatchState.STARTING)
            ready.set()
            reason = ""
            try:
                while not self._stop.is_set():
                    self._try_step()
            except Cancelled:
                pass
            except ProjectNotFoundError as error:
                self._pending.clear()
                reason = str(error)
            except Exception as error:
                self._pending.clear()
                reason = f"internal error: {type(error).__name__}: {error}"
                raise
            finally:
                self._listener.close()
                self._set_state(WatchState.STOPPED, reason)
                self._reporter.lock = None

    def _try_step(self) -> None:
        try:
            self._step()
        except ProjectNotFoundError:
            raise
        except EngineError as error:  # for example a database that stays locked
            self._failing = _obstacle_of(error)
            self._report()
            self._stop.wait(_CHECK_S)
        else:
            if self._failing:
                self._failing = None
                self._report()

    def _step(self) -> None:
        """Wait for the next thing to do, and do it."""
        self._wait_for_events(max(0.0, self._next_s() - self._timer()))
        if self._timer() >= self._checked_s + _CHECK_S:
            self._check_root()
        if self._stop.is_set() or self._mode is WatchState.WAITING:
            return
        if self._timer() >= self._reconcile_s:
            self._compare_all()
        due_s = self._pending.due_s()
        if due_s is not None and self._timer() >= due_s:
            self._work()

    def _next_s(self) -> float:
        """Return when there is something to do even without events."""
        look_s = self._checked_s + _CHECK_S
        due_s = self._pending.due_s()
        if self._mode is WatchState.WAITING:
            return look_s
        return min(look_s, self._reconcile_s, look_s if due_s is None else due_s)

    def _wait_for_events(self, timeout_s: float) -> None:
        try:
            heard = self._listener.wait(timeout_s)
        except WatchFailedError as error:
            self._fail(str(error))
        else:
            self._note(heard)

    def _note(self, heard: Events) -> None:
        if heard.paths:
            self._is_listed = False
            count(Measure.WATCH_EVENTS, amount=heard.events)
            self._pending.add(heard.paths, self._timer(), events=heard.events)
            self._reporter.note(last_event_at=self._reporter.now(), pending=len(self._pending))
            if self.status.state is WatchState.BLOCKED:
                self._report()
            # At once: the name by which a file was changed may be gone when the paths are due.
            self._pending.add(self._project.other_names(heard.paths), self._timer())

    def _is_stopped(self) -> bool:
        """Return whether to stop; while a run is blocked, changes are noted at each call."""
        if self._held_up:
            # The next step meets a watch that has failed, or a database that cannot be read.
            with suppress(WatchFailedError, EngineError):
                self._note(self._listener.wait(0.0))
        return self._stop.is_set()

    def _begin(self) -> None:
        """Watch all folders, and compare the whole project."""
        identity = self._find_root()
        if identity is not None and self._listen():
            self._is_listed = True
            self._set_state(WatchState.WATCHING)
        self._root_identity = identity
        self._compare_all()

    def _listen(self, below: Iterable[str] = ()) -> bool:
        """Watch the folders that exist; return False if that is not possible."""
        try:
            heard = self._listener.listen(
                self._project.rules(), below=below, cancelled=self._stop.is_set
            )
        except InvalidPathError as error:
            self._await_root(_why_away(error))
        except WatchLimitError:
            self._poll(_LIMIT_REACHED)
        except UnwatchableError as error:
            self._poll(str(error))
        except WatchFailedError as error:
            self._fail(str(error))
        else:
            self._pending.add(heard.paths, self._timer(), events=heard.events)
            return True
        return False

    def _compare_all(self) -> None:
        """Make the whole project due now, and schedule the next comparison."""
        if self._mode is WatchState.POLLING and self._timer() >= self._watch_again_s:
            self._watch_again_s = self._timer() + self._reconcile_every_s
            if self._listen():
                self._set_state(WatchState.WATCHING)
        self._pending.add_whole(self._timer())
        self._plan()

    def _plan(self) -> None:
        """Schedule the next comparison of the whole project."""
        is_polling = self._mode is WatchState.POLLING
        wait_s = self._poll_s if is_polling else self._reconcile_every_s
        self._reconcile_s = self._timer() + wait_s

    def _work(self) -> None:
        """Compare pending paths with the index, and run an indexing of those that differ."""
        taken = self._pending.take()
        reason = paused = ""
        held_up: _Obstacle | None = None
        try:
            is_done = self._index_all() if taken is None else self._index_paths(taken)
            if not is_done:
                reason = f"the last run was not completed; {_RETRIED}"
        except ProjectNotFoundError:
            raise
        except InvalidPathError as error:
            is_done = False
            self._await_root(_why_away(error))
        except IndexingPausedError as error:
            is_done, paused = False, str(error)
        except Cancelled as error:
            is_done, reason = False, f"{error}; {_RETRIED}"
        except EngineError as error:
            is_done, held_up = False, _obstacle_of(error)
        if is_done:
            self._pending.succeeded()
        else:
            self._pending.put_back(taken, self._timer(), is_held_up=held_up is not None)
        self._held_up, self._paused = held_up, paused
        is_watching = self._mode is WatchState.WATCHING
        self._set_state(self._mode, reason if is_watching else self._mode_reason)

    def hear(self, job: Job) -> None:
        """Report that the run asked for waits, or goes on; called in this watcher's thread."""
        held_up: _Obstacle | None = None
        if job.status is JobState.BLOCKED:
            what = job.waiting or "something it needs is unavailable"
            held_up = _Obstacle(f"{what}; {_CONTINUES}")
        if held_up != self._held_up:
            self._held_up = held_up
            self._report()

    def _index_paths(self, paths: tuple[str, ...]) -> bool:
        changed = self._listener.changed_folders(paths)
        if changed:
            self._listen(changed)
        return self._run_if_stale(self._compare(paths))

    def _index_all(self) -> bool:
        if self._listener.is_on and not self._is_listed:
            self._listen()
        self._is_listed = False
        started_s = self._timer()
        stale = self._compare()
        cost_s = self._timer() - started_s
        self._poll_s = min(max(cost_s / _POLL_SHARE, _MIN_POLL_S), _MAX_POLL_S)
        is_done = self._run_if_stale(None if self._is_first else stale)
        count(Measure.WATCH_RECONCILES, "done" if is_done else "failed")
        if is_done:
            self._is_first = False
            self._reporter.note(last_reconcile_at=self._reporter.now())
            self._plan()
        return is_done

    def _compare(self, paths: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        stale = self._project.stale(paths, cancelled=self._stop.is_set)
        if stale is not None:
            self._pending.found(stale)
        return stale

    def _run_if_stale(self, stale: tuple[str, ...] | None) -> bool:
        """Run an indexing unless nothing differs; return whether it was completed."""
        if stale == ():
            return True
        self._project.check_not_emptied()  # else the run would fail
        return self._submit(None if stale is None else collapse_paths(stale), self._is_stopped)

    def _fail(self, reason: str) -> None:
        """Restart after a failure of the system's watch; if it fails often, poll."""
        self._listener.close()
        now_s = self._timer()
        self._failures.append(now_s)
        is_often = len(self._failures) == _MAX_FAILURES
        if is_often and now_s - self._failures[0] < _FAILURES_WITHIN_S:
            self._failures.clear()
            self._poll(f"the system's watch keeps failing: {reason}")
            self._compare_all()
        else:
            self._begin()

    def _poll(self, reason: str) -> None:
        """Poll until the next attempt to watch."""
        self._listener.close()
        self._watch_again_s = self._timer() + self._reconcile_every_s
        self._set_state(WatchState.POLLING, reason)
        self._plan()

    def _check_root(self) -> None:
        """Check that the project exists, and that its root is still the watched folder."""
        self._checked_s = self._timer()
        self._project.rules()
        identity = self._find_root()
        is_deaf = self._mode is not WatchState.POLLING and not self._listener.is_on
        if identity is not None and (is_deaf or identity != self._root_identity):
            self._listener.close()
            self._begin()

    def _find_root(self) -> Identity | None:
        """Return the identity of the root, or None, and wait for it, if it is away or emptied."""
        identity = identity_of(self._project.root)
        if identity is None:
            self._await_root(_AWAY)
            return None
        try:
            self._project.check_not_emptied()
        except InvalidPathError as error:
            self._await_root(_why_away(error))
            return None
        return identity

    def _await_root(self, reason: str) -> None:
        self._listener.close()
        if (self._mode, self._mode_reason) != (WatchState.WAITING, reason):
            self._set_state(WatchState.WAITING, reason)

    def _set_state(self, mode: WatchState, reason: str = "") -> None:
        self._mode, self._mode_reason = mode, reason
        self._report()

    def _report(self) -> None:
        """Report how the project is watched, or that its changes wait."""
        held_up = self._held_up or self._failing
        paused = ""
        if self._mode in _UNBLOCKED:
            state, (reason, file) = self._mode, _Obstacle(self._mode_reason)
        elif held_up:
            state, (reason, file) = WatchState.BLOCKED, held_up
        else:
            paused = self._paused
            reasons = filter(None, (self._mode_reason, paused))
            state, (reason, file) = self._mode, _Obstacle("; ".join(reasons))
        is_polling = self._mode is WatchState.POLLING
        self._reporter.set_state(
            state,
            reason,
            file=file,
            folders=self._listener.folders,
            pending=len(self._pending),
            poll_interval_ms=int(self._poll_s * 1000) if is_polling else None,
            paused=bool(paused),
        )


def _why_away(error: InvalidPathError) -> str:
    if error.details.get("reason") == EMPTIED:
        return f"{error}; {error.hint}"
    return f"the project's folder cannot be read: {error}"
