"""One job in the hands of the runner: it works, waits for what is away, and comes to its end."""

import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from engine.errors import (
    Cancelled,
    DiskFullError,
    EmbedderUnavailableError,
    EngineError,
    IndexBusyError,
    ProjectBusyError,
    StaleClaim,
)
from engine.faults import fault_point
from engine.jobs.context import JobContext
from engine.jobs.ledger import Ledger
from engine.store import jobs
from engine.store.jobs import EventRow, JobRow

#: What a kind of job does; gives its result, the JSON of a report.
Work = Callable[[JobContext], dict[str, object]]

_FIRST_PROBE_S = 0.5
_LONGEST_PROBE_S = 8.0
_EVENTS_AT_ONCE = 1000
_STORAGE_PATIENCE_S = 600.0
_PATIENCE_S = 24 * 3600.0


class OpenProject(NamedTuple):
    """A project as the runner needs it."""

    root: str  # the resolved folder
    ledger: Ledger
    works: Mapping[str, Work]  # by the kind of job


class Slots(Protocol):
    """Where a job's right to run comes from."""

    def give_slot(self, run: "Run") -> None:
        """Let others run."""

    def take_slot(self, run: "Run") -> bool:
        """Wait for the right to run; False when the job is to stop."""


class Run:
    """One job's run in this process, with all its waits.

    Args:
        file: The project's database file.
        project: The project.
        context: The job as claimed.
        slots: Where the right to run is given back and taken.
    """

    def __init__(self, file: Path, project: OpenProject, context: JobContext, slots: Slots) -> None:
        self.file = file
        self.project = project
        self.context = context
        self.has_slot = True
        self._slots = slots
        self._told = context.told_before  # the last event that earlier tries told of
        self._blocked_s: float | None = None  # when it began to wait, without progress since
        self._blocked_at: tuple[int, int] | None = None  # files and chunks done by then

    def run(self, is_back: Callable[[EngineError], bool]) -> None:
        """Work until the job has ended, or until this process is to stop.

        Raises:
            StaleClaim: Another runner has taken it over.
        """
        while True:
            away = self._try()
            if away is None or not self._wait_for(away, is_back):
                return

    def _try(self) -> EngineError | None:
        """Work once; gives what is away when the job has to wait for it."""
        ledger, row = self.project.ledger, self.context.row
        error: dict[str, Any]
        self.context.begin()
        try:
            result = self.project.works[row.kind](self.context)
        except Cancelled:
            return self._ending(self._cancelled)
        except (DiskFullError, EmbedderUnavailableError, IndexBusyError, ProjectBusyError) as away:
            return away
        except EngineError as failure:
            error = failure.as_json()
        except StaleClaim:
            raise
        except Exception as failure:  # noqa: BLE001 - a job never ends without saying how
            error = _internal(failure)
        else:
            fault_point("job worked")
            return self._ending(lambda: ledger.complete(row, result, self.context.final_columns()))
        if self.context.is_cancelled:  # an interrupted statement fails in many ways
            return self._ending(self._cancelled)
        return self._ending(lambda: ledger.fail(row, error, self.context.final_columns()))

    def _ending(self, end: Callable[[], None]) -> EngineError | None:
        """Write how the job ended; gives what is away when that cannot be written now."""
        try:
            end()
        except (DiskFullError, IndexBusyError) as away:
            return away
        return None

    def _cancelled(self) -> None:
        fault_point("job stopped")
        if self.context.is_cancelled:
            self.project.ledger.cancel(self.context.row, self.context.final_columns())

    def _wait_for(self, away: EngineError, is_back: Callable[[EngineError], bool]) -> bool:
        """Wait as a blocked job until what was away is back; False when it is not to go on."""
        self._note_blocked()
        is_written = self._block(away)
        self._slots.give_slot(self)
        self.context.is_blocked = True
        probe_s = _FIRST_PROBE_S
        while not self.context.wait(probe_s):
            probe_s = min(2 * probe_s, _LONGEST_PROBE_S)
            is_written = is_written or self._block(away)
            if self._is_out_of_patience(away):
                self._ending(
                    lambda: self.project.ledger.fail(
                        self.context.row, _lasting(away), self.context.final_columns()
                    )
                )
                return False
            if is_back(away) and self._unblock(is_written=is_written):
                return not self.context.cancelled()
        self._ending(self._cancelled)
        return False

    def _note_blocked(self) -> None:
        done = (self.context.files_done, self.context.chunks_done)
        if self._blocked_s is None or done != self._blocked_at:
            self._blocked_s, self._blocked_at = time.monotonic(), done

    def _is_out_of_patience(self, away: EngineError) -> bool:
        limit_s = _STORAGE_PATIENCE_S if isinstance(away, DiskFullError) else _PATIENCE_S
        return time.monotonic() - (self._blocked_s or 0.0) > limit_s

    def _block(self, away: EngineError) -> bool:
        """Write that the job waits, and why; False when not even that can be written."""
        try:
            self.project.ledger.block(self.context.row, reason_of(away), away.as_json())
        except (DiskFullError, IndexBusyError):
            return False
        fault_point("job blocked")
        return True

    def _unblock(self, *, is_written: bool) -> bool:
        if not self._slots.take_slot(self):
            return False
        try:
            if is_written:
                self.project.ledger.unblock(self.context.row)
        except (DiskFullError, IndexBusyError):
            self._slots.give_slot(self)
            return False
        fault_point("job unblocked")
        self.context.resumes()
        return True

    def hear_cancel(self) -> None:
        """Look whether somebody wants the job to end."""
        try:
            with self.project.ledger.store.read() as handle:
                if jobs.is_cancel_requested(handle, self.context.row.id):
                    self.context.cancel()
        except EngineError:
            return  # the next look is soon

    def beat(self) -> None:
        """Say that the job lives; what cannot be written now is written by the next beat."""
        try:
            self.context.beat()
        except EngineError:
            return

    def new_events(self) -> list[EventRow]:
        """Give what happened since the last call; what earlier tries told is left out."""
        try:
            with self.project.ledger.store.read() as handle:
                found = jobs.read_events(
                    handle, self.context.row.id, after=self._told, limit=_EVENTS_AT_ONCE
                )
        except EngineError:
            return []
        self._told = found[-1].sequence if found else self._told
        return found

    def last_row(self) -> JobRow | None:
        """Give the job as it is now; None when it cannot be read."""
        try:
            with self.project.ledger.store.read() as handle:
                return jobs.read_job(handle, self.context.row.uuid)
        except EngineError:
            return None

    def close(self) -> None:
        """Free what the run held."""
        self.context.close()
        self.project.ledger.store.release_thread()


def reason_of(away: EngineError) -> str:
    """Say for people what a job waits for."""
    if isinstance(away, DiskFullError):
        return f"disk full: {away.message}"
    if isinstance(away, EmbedderUnavailableError):
        return f"embedding model away: {away.message}"
    return f"database busy: {away.message}"


def _lasting(away: EngineError) -> dict[str, object]:
    shape = away.as_json()
    shape["message"] = f"{reason_of(away)}, and it lasted too long"
    return shape


def _internal(failure: Exception) -> dict[str, object]:
    return {
        "error": EngineError.code,
        "message": f"{type(failure).__name__}: {failure}",
        "details": {"traceback": traceback.format_exception(failure)[-8:]},
    }
