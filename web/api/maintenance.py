"""What the doctor does while nobody waits: for pages, which show how far it is and what came of it.

A project has one treatment at a time, and the latest one is remembered until the server ends.

Copies of indexes that are being made or sent: a few at once, and none for longer than it goes.

A copy takes as much room as its index, in a file without a name: it goes when it is closed.
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

from engine.errors import Cancelled, ConflictError, EngineError, UnavailableError
from engine.state_records import CheckProgress, Compaction, Repair, Verification
from web.api.executors import Lane

Outcome = Verification | Repair | Compaction
_MOST_KEPT = 100


class Care(StrEnum):
    """What a doctor does."""

    VERIFY = "verify"
    REPAIR = "repair"
    COMPACT = "compact"


#: What is being done to an index meanwhile, in the words of a sentence.
_DONE_TO = {Care.VERIFY: "checked", Care.REPAIR: "repaired", Care.COMPACT: "made small"}


@dataclass(slots=True)
class Treatment:
    """One of them: it goes on, or it has an outcome or an error."""

    care: Care
    progress: CheckProgress | None = None
    outcome: Outcome | None = None
    error: EngineError | None = None
    ended_at: str | None = None  # ISO 8601, UTC
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def is_active(self) -> bool:
        """Whether it goes on."""
        return self.ended_at is None

    @property
    def can_be_stopped(self) -> bool:
        """Whether it asks if it should go on."""
        return self.care is not Care.COMPACT

    def tell(self, progress: CheckProgress) -> None:
        """Take in how far it is."""
        self.progress = progress


#: Does it, telling and asking the treatment meanwhile.
Act = Callable[[Treatment, Callable[[], bool]], Outcome]


def _conflict_with(treatment: Treatment) -> ConflictError:
    how = "stop that first, or ask again" if treatment.can_be_stopped else "ask again"
    return ConflictError(
        f"the index is being {_DONE_TO[treatment.care]} just now, so nothing else was begun",
        hint=f"{how} when it has ended",
    )


def _nowhere(_error: BaseException) -> None:
    """Note nothing."""


class Treatments:
    """The latest treatment of each project. Begun in the event loop, looked at by any thread.

    Args:
        note: Hears of failures that nobody foresaw.
    """

    def __init__(self, note: Callable[[BaseException], None] = _nowhere) -> None:
        self._note = note
        self._of: OrderedDict[str, Treatment] = OrderedDict()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def of(self, project_id: str) -> Treatment | None:
        """Give the latest treatment of a project."""
        return self._of.get(project_id)

    def forget(self, project_id: str) -> None:
        """Forget what came of a treatment; one that goes on is to stop."""
        treatment = self._of.pop(project_id, None)
        if treatment:
            treatment.stopping.set()

    async def begin(
        self,
        project_id: str,
        care: Care,
        act: Act,
        *,
        lane: Lane,
        is_ending: Callable[[], bool],
        wait_s: float,
    ) -> Treatment:
        """Begin a treatment; the one that goes on is given when it does the same.

        Args:
            project_id: Whose.
            care: What is done.
            act: Does it, in a thread.
            lane: Of which the thread is.
            is_ending: Says that the server ends, and the treatment has to.
            wait_s: How long to wait for its end, in seconds; it goes on after that.

        Raises:
            ConflictError: One that does something else goes on.
        """
        known = self._of.get(project_id)
        if known and known.is_active:
            if known.care is not care:
                raise _conflict_with(known)
            return known
        treatment = self._of[project_id] = Treatment(care)
        self._of.move_to_end(project_id)
        self._drop_old()

        def is_to_stop() -> bool:
            return treatment.stopping.is_set() or is_ending()

        task = asyncio.create_task(self._treat(treatment, act, lane, is_to_stop))
        self._tasks[project_id] = task
        task.add_done_callback(lambda done: self._end(project_id, done))
        await asyncio.wait({task}, timeout=wait_s)
        return treatment

    def _end(self, project_id: str, task: "asyncio.Task[None]") -> None:
        if self._tasks.get(project_id) is task:
            del self._tasks[project_id]

    def _drop_old(self) -> None:
        for project_id in list(self._of)[: max(len(self._of) - _MOST_KEPT, 0)]:
            if not self._of[project_id].is_active:
                del self._of[project_id]

    async def _treat(
        self, treatment: Treatment, act: Act, lane: Lane, is_to_stop: Callable[[], bool]
    ) -> None:
        try:
            treatment.outcome = await lane.run(lambda: act(treatment, is_to_stop))
        except EngineError as error:
            treatment.error = error
        except Cancelled:
            treatment.error = UnavailableError("it was stopped", hint="begin it again at any time")
        except Exception as error:  # noqa: BLE001 - nobody else waits for it
            self._note(error)
            treatment.error = EngineError("the server failed", hint="its log says why")
        finally:
            treatment.ended_at = datetime.now(UTC).isoformat(timespec="seconds")


_MOST = 3
_PATIENCE_S = 60.0


class Export:
    """One of them, of the event loop's thread.

    Args:
        exports: All of them.
        patience_s: How long its receiver may take nothing.
    """

    def __init__(self, exports: "Exports", patience_s: float) -> None:
        self._exports = exports
        self._patience_s = patience_s
        self._file: BinaryIO | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_over(self) -> bool:
        """Whether the copy is gone."""
        return self._file is None

    def hold(self, file: BinaryIO) -> None:
        """Take in the copy: it is closed at the end, or when its receiver takes nothing."""
        self._file = file
        self.go_on()

    def go_on(self) -> None:
        """Note that its receiver has taken something."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._patience_s, self.end)

    def end(self) -> None:
        """Close the copy and make room for another one; again is no harm."""
        if self._timer:
            self._timer.cancel()
        if self._file:
            with suppress(OSError):
                self._file.close()
        self._file = None
        self._exports.forget(self)


class Exports:
    """The exports of a server, of the event loop's thread.

    Args:
        patience_s: How long the receiver of one may take nothing.
    """

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._going: set[Export] = set()

    def begin(self) -> Export:
        """Begin an export; whoever does has to end it.

        Raises:
            ConflictError: As many as may go on do so already.
        """
        if len(self._going) >= _MOST:
            raise ConflictError(
                f"{len(self._going)} exports are being made or downloaded already, and each"
                " takes as much room on the disk as its index",
                hint="wait until one of them has ended, or stop its download",
            )
        export = Export(self, self._patience_s)
        self._going.add(export)
        return export

    def forget(self, export: Export) -> None:
        """Count one no more."""
        self._going.discard(export)
