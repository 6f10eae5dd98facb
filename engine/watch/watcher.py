"""Watches one project and asks for a run when something changed: events are hints, looking decides.

An event names a path. When no more come, the paths are compared with the index, and a run is asked
for over those that differ, if any do. The whole project is compared at the start, after a failure
of the system's watch, after a burst of events, when another branch is checked out, when the root
came back, and every few minutes, as events can be lost.

Where the system cannot watch, the whole project is compared now and then instead.

Tells how a watcher does: in its process, and to others through the board.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.errors import Cancelled, EngineError, InvalidPathError, ProjectNotFoundError
from engine.locks import watch_board
from engine.source.walker import WalkRules
from engine.state_records import WatchState, WatchStatus
from engine.telemetry.metrics import Measure, count
from engine.watch.debounce import Pending, gathered
from engine.watch.listener import Listener, NoRoomToWatchError, NoticesFailedError

if TYPE_CHECKING:
    from engine.locks import Board

StatusCallback = Callable[[WatchStatus], None]


class Teller:
    """Holds a watcher's status and tells of each change.

    Args:
        on_change: Hears each new status.
        clock: Milliseconds since 1970.
    """

    def __init__(self, on_change: StatusCallback | None, clock: Callable[[], int]) -> None:
        self._on_change = on_change
        self._clock = clock
        self.board: Board | None = None
        #: How it goes; replaced, never changed, so any thread may read it.
        self.status = WatchStatus(state=WatchState.STOPPED, since=self.now(), pid=os.getpid())

    def now(self) -> str:
        """Give the time as it is shown."""
        return iso_time(self._clock())

    def note(self, **values: Any) -> None:
        """Change fields of the status, to be told with the next change."""
        self.status = replace(self.status, **values)

    def tell(self, state: WatchState, reason: str = "", **values: Any) -> None:
        """Tell that this is the state now.

        Args:
            state: The state.
            reason: Why, or what failed last.
            values: Other fields of the status.
        """
        before = self.status
        since = before.since if state is before.state else self.now()
        self.status = replace(before, state=state, reason=reason, since=since, **values)
        if self.board:
            self.board.show(self.status)
        if self._on_change:
            self._on_change(self.status)


#: How often to see whether the root and the project are still there.
_LOOK_S: Final = 1.0
#: After so many failures of the system's watch within so long a time, the watcher polls.
_MOST_FAILURES: Final = 3
_FAILURES_WITHIN_S: Final = 60.0
#: Polling takes a twentieth of a core, within these bounds.
_POLL_SHARE: Final = 0.05
_SHORTEST_POLL_S: Final = 2.0
_LONGEST_POLL_S: Final = 60.0
_NO_ROOM: Final = (
    "the system's limit on watched folders is reached: sysctl fs.inotify.max_user_watches=1048576"
    " raises it, fs.inotify.max_user_instances=512 that on watchers"
)
_AWAY: Final = "it is away, or may not be opened"
_TRIED_AGAIN: Final = "it is tried again"

#: Runs, or has somebody run, an indexing of some paths (None: of all) and waits for its end; False
#: when that is no good one. Asks its second argument now and then whether to wait no longer.
Submit = Callable[[tuple[str, ...] | None, Callable[[], bool]], bool]


class Watched(Protocol):
    """The project that is watched."""

    @property
    def root(self) -> str:
        """The resolved folder."""

    @property
    def file(self) -> Path:
        """The database file."""

    def rules(self) -> WalkRules:
        """Give which files belong to it; ProjectNotFoundError when it was forgotten."""

    def stale(
        self, only: Iterable[str] = (), *, cancelled: Callable[[], bool]
    ) -> tuple[str, ...] | None:
        """Give the paths that a run would do something about; None when it must be a whole one."""

    def other_names(self, paths: Iterable[str]) -> set[str]:
        """Give what the index has under other names of the files at some paths."""


class HeldError(EngineError):
    """A run that somebody does not want; what waits stays until it is wanted."""


class Watcher:
    """Watches one project, in a thread of its own (``start``) or in the caller's (``run``).

    Args:
        project: What is watched.
        submit: Has a run done.
        config: The settings in force.
        on_change: Hears each new status, in the watcher's thread.
        clock: Milliseconds since 1970, for what is told.
        timer: Seconds that never go back, for what is waited for.
    """

    def __init__(
        self,
        project: Watched,
        submit: Submit,
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
        self._teller = Teller(on_change, clock)
        self._listener = Listener(project.root, self._stop)
        self._pending = Pending(config.watch_debounce / 1000)
        self._root_identity: tuple[int, int] | None = None
        self._is_first = True  # nothing was compared yet
        self._is_listed = False  # the folders were looked for since the last comparison
        self._failures: deque[float] = deque(maxlen=_MOST_FAILURES)
        self._poll_s = _SHORTEST_POLL_S
        self._looked_s = self._reconcile_s = self._watch_again_s = 0.0

    @property
    def status(self) -> WatchStatus:
        """How it goes; for any thread."""
        return self._teller.status

    def start(self) -> None:
        """Watch in a thread of its own.

        Raises:
            ProjectBusyError: Another watcher watches the project.
            UnavailableError: The data directory cannot be written.
        """
        ready = threading.Event()
        refusals: list[EngineError] = []

        def watch() -> None:
            try:
                self._watch(ready)
            except EngineError as error:
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
        """Watch no more, within a second; what waits is found at the next start."""
        self._stop.set()
        if self._thread and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None

    def _watch(self, ready: threading.Event) -> None:
        with watch_board(self._project.file) as board:
            self._teller.board = board
            self._tell(WatchState.STARTING)
            ready.set()
            reason = ""
            try:
                while not self._stop.is_set():
                    self._try_turn()
            except Cancelled:
                pass
            except ProjectNotFoundError as error:
                reason = error.message
            except Exception as error:
                reason = f"an error of the program: {type(error).__name__}: {error}"
                raise
            finally:
                self._listener.close()
                self._tell(WatchState.STOPPED, reason)
                self._teller.board = None

    def _try_turn(self) -> None:
        try:
            self._turn()
        except ProjectNotFoundError:
            raise
        except EngineError as error:  # such as a database that is locked for long
            self._tell(self._state, f"{error}; {_TRIED_AGAIN}")
            self._stop.wait(_LOOK_S)

    def _turn(self) -> None:
        """Wait for something to do, and do it."""
        self._hear(max(0.0, self._next_s() - self._timer()))
        if self._timer() >= self._looked_s + _LOOK_S:
            self._look_after_root()
        if self._stop.is_set() or self._state is WatchState.WAITING:
            return
        if self._timer() >= self._reconcile_s:
            self._compare_all()
        due_s = self._pending.due_s()
        if due_s is not None and self._timer() >= due_s:
            self._work()

    def _next_s(self) -> float:
        """Give the time at which there is something to do even if nothing happens."""
        look_s = self._looked_s + _LOOK_S
        due_s = self._pending.due_s()
        if self._state is WatchState.WAITING:
            return look_s
        return min(look_s, self._reconcile_s, look_s if due_s is None else due_s)

    def _hear(self, timeout_s: float) -> None:
        try:
            heard = self._listener.hear(timeout_s)
        except NoticesFailedError as error:
            self._fail(str(error))
            return
        if heard.paths:
            count(Measure.WATCH_EVENTS, amount=heard.events)
            # At once: a name by which a file was changed may be gone when the time has come.
            paths = heard.paths | self._project.other_names(heard.paths)
            self._pending.add(paths, self._timer(), events=heard.events)
            self._teller.note(last_event_at=self._teller.now(), pending=len(self._pending))

    def _begin(self) -> None:
        """Watch all folders, and have the whole project compared."""
        identity = _identity_of(self._project.root)
        if identity is None:
            self._await_root(_AWAY)
        elif self._listen():
            self._is_listed = True
            self._tell(WatchState.WATCHING)
        self._root_identity = identity
        self._compare_all()

    def _listen(self, below: Iterable[str] = ()) -> bool:
        """Watch the folders that are there; False when that is not possible."""
        try:
            heard = self._listener.listen(
                self._project.rules(), below=below, cancelled=self._stop.is_set
            )
        except InvalidPathError as error:
            self._await_root(error.message)
        except NoRoomToWatchError:
            self._poll(_NO_ROOM)
        except NoticesFailedError as error:
            self._fail(str(error))
        else:
            self._pending.add(heard.paths, self._timer(), events=heard.events)
            return True
        return False

    def _compare_all(self) -> None:
        """Have the whole project compared now, and again in time."""
        if self._state is WatchState.POLLING and self._timer() >= self._watch_again_s:
            self._watch_again_s = self._timer() + self._reconcile_every_s
            if self._listen():
                self._tell(WatchState.WATCHING)
        self._pending.add_whole(self._timer())
        self._plan()

    def _plan(self) -> None:
        """Set when the whole project is compared the next time."""
        is_polling = self._state is WatchState.POLLING
        wait_s = self._poll_s if is_polling else self._reconcile_every_s
        self._reconcile_s = self._timer() + wait_s

    def _work(self) -> None:
        """Compare what waits with the index, and have a run done over what differs."""
        taken = self._pending.take()
        reason = ""
        try:
            is_done = self._did_all() if taken is None else self._did(taken)
            if not is_done:
                reason = f"the last run did not come to its end; {_TRIED_AGAIN}"
        except ProjectNotFoundError:
            raise
        except InvalidPathError as error:
            is_done = False
            self._await_root(error.message)
        except HeldError as error:
            is_done, reason = False, str(error)
        except (Cancelled, EngineError) as error:
            is_done, reason = False, f"{error}; {_TRIED_AGAIN}"
        if is_done:
            self._pending.succeeded()
        else:
            self._pending.put_back(taken, self._timer())
        is_watching = self._state is WatchState.WATCHING
        self._tell(self._state, reason if is_watching else self.status.reason)

    def _did(self, paths: tuple[str, ...]) -> bool:
        changed = self._listener.changed_folders(paths)
        if changed:
            self._listen(changed)
        return self._ran(self._project.stale(paths, cancelled=self._stop.is_set))

    def _did_all(self) -> bool:
        if self._listener.is_on and not self._is_listed:
            self._listen()
        self._is_listed = False
        started_s = self._timer()
        stale = self._project.stale(cancelled=self._stop.is_set)
        cost_s = self._timer() - started_s
        self._poll_s = min(max(cost_s / _POLL_SHARE, _SHORTEST_POLL_S), _LONGEST_POLL_S)
        is_done = self._ran(None if self._is_first else stale)
        count(Measure.WATCH_RECONCILES, "done" if is_done else "failed")
        if is_done:
            self._is_first = False
            self._teller.note(last_reconcile_at=self._teller.now())
            self._plan()
        return is_done

    def _ran(self, stale: tuple[str, ...] | None) -> bool:
        """Have a run done unless nothing differs; whether it came to a good end."""
        if stale == ():
            return True
        return self._submit(None if stale is None else gathered(stale), self._stop.is_set)

    def _fail(self, reason: str) -> None:
        """Begin anew after a failure of the system's watch; when it fails often, poll."""
        self._listener.close()
        now_s = self._timer()
        self._failures.append(now_s)
        is_often = len(self._failures) == _MOST_FAILURES
        if is_often and now_s - self._failures[0] < _FAILURES_WITHIN_S:
            self._failures.clear()
            self._poll(f"the system's watch fails again and again: {reason}")
            self._compare_all()
        else:
            self._begin()

    def _poll(self, reason: str) -> None:
        """Do without events until the next try to watch."""
        self._listener.close()
        self._watch_again_s = self._timer() + self._reconcile_every_s
        self._tell(WatchState.POLLING, reason)
        self._plan()

    def _look_after_root(self) -> None:
        """See whether the project is there, and its root the folder that is watched."""
        self._looked_s = self._timer()
        self._project.rules()
        identity = _identity_of(self._project.root)
        is_deaf = self._state is not WatchState.POLLING and not self._listener.is_on
        if identity is None:
            if self._state is not WatchState.WAITING:
                self._await_root(_AWAY)
        elif is_deaf or identity != self._root_identity:
            self._listener.close()
            self._begin()

    def _await_root(self, reason: str) -> None:
        self._listener.close()
        self._tell(WatchState.WAITING, f"the project's folder cannot be read: {reason}")

    @property
    def _state(self) -> WatchState:
        return self._teller.status.state

    def _tell(self, state: WatchState, reason: str = "") -> None:
        poll_ms = int(self._poll_s * 1000) if state is WatchState.POLLING else None
        self._teller.tell(
            state,
            reason,
            folders=self._listener.folders,
            pending=len(self._pending),
            poll_interval_ms=poll_ms,
        )


def _identity_of(folder: str) -> tuple[int, int] | None:
    """Tell a folder from another of the same name; None when it is away or cannot be read."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        return found.st_dev, found.st_ino
    finally:
        os.close(descriptor)
