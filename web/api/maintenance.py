"""Maintenance that runs in the background, for pages: checks, repairs, compactions and exports.

A project has one maintenance task at a time; the latest one is remembered until the server ends.

An export copies an index to an unlinked temporary file, which takes as much disk space as the
index and vanishes when closed. So only a few exports run at once, and one whose download stalls is
ended.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import BinaryIO

from engine.cancellation import CancelToken
from engine.doctor_records import CheckProgress, Compaction, Repair, Verification
from engine.errors import Cancelled, ConflictError, EngineError, UnavailableError
from web.api.executors import BoundedExecutor
from web.errors import UNFORESEEN

Outcome = Verification | Repair | Compaction
_MOST_KEPT = 100
_MOST_EXPORTS = 3
_STALL_S = 60.0


class MaintenanceKind(StrEnum):
    """A kind of maintenance."""

    VERIFY = "verify"
    REPAIR = "repair"
    COMPACT = "compact"


#: What happens to an index meanwhile, as a participle for messages.
_DONE_TO = {
    MaintenanceKind.VERIFY: "checked",
    MaintenanceKind.REPAIR: "repaired",
    MaintenanceKind.COMPACT: "compacted",
}


@dataclass(slots=True)
class MaintenanceTask:
    """Maintenance of one index: running, or ended with an outcome or an error."""

    kind: MaintenanceKind
    progress: CheckProgress | None = None
    outcome: Outcome | None = None
    error: EngineError | None = None
    ended_at: str | None = None  # ISO 8601, UTC
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def is_active(self) -> bool:
        """Whether it is running."""
        return self.ended_at is None

    @property
    def can_be_stopped(self) -> bool:
        """Whether it can be cancelled."""
        return self.kind is not MaintenanceKind.COMPACT

    def report(self, progress: CheckProgress) -> None:
        """Record the progress."""
        self.progress = progress


#: Does the work, reporting progress to its task.
MaintenanceWork = Callable[[MaintenanceTask, CancelToken], Outcome]


def _conflict_with(task: MaintenanceTask) -> ConflictError:
    how = "stop that first, or try again" if task.can_be_stopped else "try again"
    return ConflictError(
        f"the index is being {_DONE_TO[task.kind]}, so nothing else was started",
        hint=f"{how} when it has ended",
    )


def _ignore_error(_error: BaseException) -> None:
    """Ignore an error."""


class Maintenance:
    """The latest task of each project; started in the event loop, readable in any thread.

    Args:
        note: Called with unexpected exceptions.
    """

    def __init__(self, note: Callable[[BaseException], None] = _ignore_error) -> None:
        self._note = note
        self._latest: OrderedDict[str, MaintenanceTask] = OrderedDict()
        self._running: dict[str, asyncio.Task[None]] = {}

    def of(self, project_id: str) -> MaintenanceTask | None:
        """Return the latest task of a project."""
        return self._latest.get(project_id)

    def forget(self, project_id: str) -> None:
        """Forget the task of a project; cancel it if it is running."""
        task = self._latest.pop(project_id, None)
        if task:
            task.stopping.set()

    async def start(
        self,
        project_id: str,
        kind: MaintenanceKind,
        work: MaintenanceWork,
        *,
        executor: BoundedExecutor,
        cancelled: CancelToken,
        wait_s: float,
    ) -> MaintenanceTask:
        """Start a task, or return the running one if it is of the same kind.

        Args:
            project_id: The project.
            kind: The kind of maintenance.
            work: Does the work, in a thread.
            executor: The executor that runs it.
            cancelled: Polled while the task runs; so is a request to stop it.
            wait_s: Seconds to wait for the task to end; it continues after that.

        Raises:
            ConflictError: A task of another kind is running.
        """
        known = self._latest.get(project_id)
        if known and known.is_active:
            if known.kind is not kind:
                raise _conflict_with(known)
            return known
        task = self._latest[project_id] = MaintenanceTask(kind)
        self._latest.move_to_end(project_id)
        self._drop_old()

        def is_stopped() -> bool:
            return task.stopping.is_set() or cancelled()

        running = asyncio.create_task(self._run(task, work, executor, cancelled=is_stopped))
        self._running[project_id] = running
        running.add_done_callback(lambda done: self._remove(project_id, done))
        await asyncio.wait({running}, timeout=wait_s)
        return task

    def _remove(self, project_id: str, running: "asyncio.Task[None]") -> None:
        if self._running.get(project_id) is running:
            del self._running[project_id]

    def _drop_old(self) -> None:
        for project_id in list(self._latest)[: max(len(self._latest) - _MOST_KEPT, 0)]:
            if not self._latest[project_id].is_active:
                del self._latest[project_id]

    async def _run(
        self,
        task: MaintenanceTask,
        work: MaintenanceWork,
        executor: BoundedExecutor,
        *,
        cancelled: CancelToken,
    ) -> None:
        try:
            task.outcome = await executor.run(lambda: work(task, cancelled))
        except EngineError as error:
            task.error = error
        except Cancelled:
            task.error = UnavailableError("it was stopped", hint="start it again at any time")
        except Exception as error:  # noqa: BLE001 - nothing awaits the task
            self._note(error)
            task.error = EngineError(UNFORESEEN)
        finally:
            task.ended_at = datetime.now(UTC).isoformat(timespec="seconds")


class Export:
    """An export, for the event loop's thread only.

    Args:
        exports: The exports that it belongs to.
        patience_s: Seconds for which the client may read nothing.
    """

    def __init__(self, exports: "Exports", patience_s: float) -> None:
        self._exports = exports
        self._patience_s = patience_s
        self._file: BinaryIO | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the copy is closed."""
        return self._file is None

    def attach(self, file: BinaryIO) -> None:
        """Take over the copy; it is closed at the end, or when the client stops reading."""
        self._file = file
        self.restart_timeout()

    def restart_timeout(self) -> None:
        """Restart the timeout: the client has read something."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._patience_s, self.close)

    def close(self) -> None:
        """Close the copy and make room for another export; idempotent."""
        if self._timer:
            self._timer.cancel()
        if self._file:
            with suppress(OSError):
                self._file.close()
        self._file = None
        self._exports.forget(self)


class Exports:
    """The running exports of a server, for the event loop's thread only.

    Args:
        patience_s: Seconds for which the client of an export may read nothing.
    """

    def __init__(self, patience_s: float = _STALL_S) -> None:
        self._patience_s = patience_s
        self._running: set[Export] = set()

    def begin(self) -> Export:
        """Start an export; the caller must close it.

        Raises:
            ConflictError: The limit is reached.
        """
        if len(self._running) >= _MOST_EXPORTS:
            raise ConflictError(
                f"{len(self._running)} exports are already running, and each"
                " takes as much disk space as its index",
                hint="wait until one of them ends, or cancel its download",
            )
        export = Export(self, self._patience_s)
        self._running.add(export)
        return export

    def forget(self, export: Export) -> None:
        """Remove an export that has ended."""
        self._running.discard(export)
