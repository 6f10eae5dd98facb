"""The execution of one claimed job: it works, waits for unavailable resources, and ends.

While a job waits, the resource is probed at growing intervals. A job that resumes without making
progress is still waiting for the same thing, and its rounds get longer, so that a resource that
only seems to be back costs little and does not fill the job's history. A server that sends
Retry-After is not probed before that time, but after a minute at the latest.

A wait is also noted in a small file among the lock files, because a full disk or a locked database
can keep it out of the database. Its space is allocated when the job is claimed, and it counts only
while the database says that this attempt is running.
"""

import json
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from engine.cancellation import CancelToken
from engine.clock import now_ms
from engine.errors import (
    Cancelled,
    DamagedIndexError,
    DiskFullError,
    EmbedderUnavailableError,
    EngineError,
    IndexBusyError,
    IndexCorruptError,
    ProjectBusyError,
    StaleClaim,
    UnavailableError,
)
from engine.faults import fault_point
from engine.files import read_small
from engine.jobs.cancel_notes import CancelRequest, delete_request, noted_request
from engine.jobs.context import JobContext
from engine.jobs.ledger import Ledger, gave_way
from engine.locks import (
    WAITING,
    NamedFile,
    is_being_indexed,
    new_file,
    project_file,
)
from engine.state_records import ACTIVE, JobState
from engine.store import jobs
from engine.store.jobs import EventRow, JobRow
from engine.telemetry.metrics import on_behalf_of, span

_FIRST_PROBE_S = 0.5
_LONGEST_PROBE_S = 8.0
_LONGEST_REST_S = 15.0
_LONGEST_WANTED_S = 60.0  # that a server may keep a job from probing

_BYTES = 4096
_NOTHING = b" " * _BYTES
_ENDING = "ending"  # in place of a state, which older versions take for no note

_TRY_AGAIN_S = 0.5  # to write the end of a job
#: How long that is tried in a database that does not take it, neither locked nor without room.
_DAMAGE_PATIENCE_S = 60.0
_PATIENCE_S = 1.0  # with other writers, then a file says that it is cancelled
_EVENTS_AT_ONCE = 1000


class Outage:
    """The schedule of probes while a job waits.

    Args:
        clock: Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_s = clock()
        self._done: object = None
        self._rounds = 0  # without progress
        self._interval_s = _FIRST_PROBE_S
        self._next_s = self._began_s

    def begin(self, done: object, wanted_s: float = 0.0) -> None:
        """Begin to wait.

        Args:
            done: The progress so far; if equal to the last one, nothing was done in between.
            wanted_s: How long the resource wants not to be probed; at most a minute counts.
        """
        now_s = self._clock()
        if self._rounds == 0 or done != self._done:
            self._began_s, self._done, self._rounds = now_s, done, 0
        rest_s = min(_FIRST_PROBE_S * 2**self._rounds, _LONGEST_REST_S)
        self._rounds += 1
        self._interval_s = _FIRST_PROBE_S
        self._next_s = now_s + max(rest_s, min(wanted_s, _LONGEST_WANTED_S))

    @property
    def lasts_s(self) -> float:
        """Return for how long there has been no progress."""
        return self._clock() - self._began_s

    def until_probe_s(self) -> float:
        """Return how long to wait before the next probe, which then counts as begun.

        Probes begin at most 8 s apart, or as soon as a longer one has ended.
        """
        now_s = self._clock()
        wait_s = max(0.0, self._next_s - now_s)
        self._interval_s = min(2 * self._interval_s, _LONGEST_PROBE_S)
        self._next_s = now_s + wait_s + self._interval_s
        return wait_s


class WaitNote:
    """The note of one attempt at a job. Write errors are ignored.

    Args:
        database: The project's database.
        row: The job as claimed.
    """

    def __init__(self, database: Path, row: JobRow) -> None:
        self._row = row
        self._file: NamedFile | None = None
        self._is_clear = False
        with suppress(EngineError):
            self._file = new_file(project_file(database, WAITING))
        self.clear()

    def write(self, reason: str) -> None:
        """Note that the job waits, and why in words."""
        self._write(JobState.BLOCKED, reason)

    def end(self, state: JobState, error: EngineError | None = None) -> None:
        """Note that the job has ended, and of what."""
        self._write(state, error.message if error else "", error.code if error else "")

    def begin_end(self) -> None:
        """Note that the end of the job is being written: it is too late to cancel it.

        Not if it waits or has ended for all who read the note.
        """
        if self._is_clear:
            self._write(_ENDING, "")

    def _write(self, state: str, reason: str, code: str = "") -> None:
        note = {"job": self._row.uuid, "attempt": self._row.attempt, "state": state}
        note |= {"at_ms": now_ms(), "reason": reason, "code": code}
        text = json.dumps(note).encode()
        while len(text) > _BYTES:
            note["reason"] = reason = reason[: len(reason) // 2]
            text = json.dumps(note).encode()
        self._put(text.ljust(_BYTES))
        self._is_clear = state == _ENDING

    def clear(self) -> None:
        """Note that the job does not wait, or that the database has recorded it."""
        self._put(_NOTHING)
        self._is_clear = True

    def close(self) -> None:
        """Delete the note."""
        if self._file:
            self._file.close()

    def leave(self) -> None:
        """Leave the note to others, until the job is claimed again."""
        if self._file:
            os.close(self._file.descriptor)
            self._file = None

    def _put(self, content: bytes) -> None:
        if self._file:
            with suppress(OSError):
                os.pwrite(self._file.descriptor, content, 0)


def as_noted(row: JobRow, database: Path) -> JobRow:
    """Return a row with its noted state: it may be blocked or have ended, or be about to."""
    if row.state not in ACTIVE:
        return row
    noted = noted_request(database, row.uuid)
    if noted:
        row = row._replace(cancel_requested_at_ms=row.cancel_requested_at_ms or now_ms())
        if row.state == JobState.PENDING:  # nobody begins it any more
            waiting = gave_way(row, noted._asdict())
            return row._replace(
                state=JobState.CANCELLED.value, waiting=waiting, finished_at_ms=now_ms()
            )
    try:
        note = _read_note(database)
        if (note["job"], note["attempt"]) != (row.uuid, row.attempt):
            return row
        return _with_note(row, note)
    except (ValueError, KeyError, TypeError):
        return row


def is_ending(database: Path, job_id: str) -> bool:
    """Return whether the end of a job is being written, so that no note can cancel it any more."""
    note = _read_note(database)
    return (note.get("job"), note.get("state")) == (job_id, _ENDING)


def _read_note(database: Path) -> dict[str, Any]:
    """Return the note that stands beside a database; empty if none can be read."""
    try:
        found = json.loads(read_small(project_file(database, WAITING), _BYTES))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _with_note(row: JobRow, note: Mapping[str, Any]) -> JobRow:
    state, reason = JobState(note["state"]), str(note["reason"])
    if state is JobState.BLOCKED:
        return row._replace(state=state.value, waiting=reason)
    ended = row._replace(
        state=state.value, waiting=None, current_path=None, finished_at_ms=int(note["at_ms"])
    )
    if state is JobState.FAILED:
        ended = ended._replace(error=json.dumps({"error": note["code"], "message": reason}))
    return ended._replace(rate=None, remaining_ms=None)


#: The work of a kind of job; returns its result, the JSON of a report.
Work = Callable[[JobContext], dict[str, object]]

#: Returns whether the resource that an error missed is available.
IsBack = Callable[[EngineError, CancelToken], bool]
#: Returns for how many seconds a job waits for the resource that an error missed.
PatienceFor = Callable[[EngineError], float]


class Resources(NamedTuple):
    """Probes of the resources that a job may wait for."""

    is_back: IsBack
    patience_s: PatienceFor


class OpenProject(NamedTuple):
    """A project for the runner."""

    root: str  # the resolved folder
    ledger: Ledger
    works: Mapping[str, Work]  # by the kind of job


class Slots(Protocol):
    """The limited slots of running jobs."""

    def release_slot(self, execution: "JobExecution") -> None:
        """Give up the slot."""

    def acquire_slot(self, execution: "JobExecution") -> bool:
        """Wait for a slot; return False if the job is to stop."""


class JobExecution:
    """The execution of one claimed job by this process, with all its waits.

    Args:
        file: The project's database file.
        project: The project.
        context: The job as claimed.
        slots: The slots of running jobs.
        last_event: The number of the last event of earlier attempts, which logged it.
    """

    def __init__(
        self,
        file: Path,
        project: OpenProject,
        context: JobContext,
        slots: Slots,
        last_event: int = 0,
    ) -> None:
        self.file = file
        self.project = project
        self.context = context
        self.has_slot = True
        self._slots = slots
        self._outage = Outage()
        self._note = WaitNote(file, context.row)
        #: The error of a job that has waited too long, while it cannot be written.
        self.unwritten_end: EngineError | None = None
        self._unavailable: EngineError | None = None  # what it waits for
        #: The number of the last event that was logged.
        self.last_event = last_event
        #: Held while its events are logged: each is logged once.
        self.logging = threading.Lock()

    def run(self, resources: Resources) -> None:
        """Work until the job has ended or this process is to stop.

        Args:
            resources: Probes of the resources.

        Raises:
            StaleClaim: Another runner has taken over the job.
            EngineError: It has failed, and a damaged database has not taken that for a minute.
            DamagedIndexError: It was cancelled, which a damaged database cannot be told.
        """
        row = self.context.row
        with on_behalf_of("runner", self.request_id), span("job") as job_span:
            job_span.set_attributes(
                job_id=row.uuid, project_id=self.file.stem, kind=row.kind, origin=row.origin
            )
            job_span.set_attributes(attempt=row.attempt, request_id=self.request_id)
            try:
                self._run(resources)
            except StaleClaim:
                raise
            except Exception as failure:  # noqa: BLE001 - a job never ends without saying how
                self.fail(failure)
            last = self.last_row()
            job_span.set_attributes(state=last.state if last else None)
            if last and last.state == JobState.FAILED:
                job_span.set_error(_code_in(last.error))

    def _run(self, resources: Resources) -> None:
        while True:
            unavailable = self._try()
            self.context.stages.leave()
            if unavailable is None:
                return
            if self.context.is_cancelled:
                self._end_cancelled()
                return
            if not isinstance(unavailable, UnavailableError | ProjectBusyError):
                raise unavailable  # waiting does not help: what was to be written fails
            if not self._wait_for(unavailable, resources):
                return

    def _try(self) -> EngineError | None:
        """Work once; return the error of an unavailable resource if the job has to wait."""
        ledger, row = self.project.ledger, self.context.row
        error: dict[str, Any]
        self.context.begin()
        try:
            with ledger.store.giving_up(lambda: self.context.is_cancelled):
                result = self.project.works[row.kind](self.context)
        except Cancelled:
            self.check_cancel()  # the database may know before this context does
            return self._put(self._cancelled)
        except (
            DiskFullError,
            EmbedderUnavailableError,
            IndexBusyError,
            ProjectBusyError,
        ) as unavailable:
            return unavailable
        except StaleClaim:
            raise
        except Exception as failure:  # noqa: BLE001 - a job never ends without saying how
            error = as_engine_error(failure).as_json()
        else:
            fault_point("job worked")
            return self._put_worked(result)
        if self.context.is_cancelled:  # an interrupted statement fails in many ways
            return self._put(self._cancelled)
        return self._put(
            lambda: ledger.fail(row, error, self.context.committed_progress(), self._last_look)
        )

    def _last_look(self) -> CancelRequest | None:
        """Return the request of a note, from now on the only one that counts.

        Whoever writes a note and then finds that the job is ending waits until it has ended.
        """
        self._note.begin_end()
        return noted_request(self.file, self.context.row.uuid)

    def fail(self, failure: Exception) -> None:
        """Write that the job has failed, as soon as that can be written.

        Args:
            failure: What nobody foresaw, outside of the work itself.

        Raises:
            EngineError: The failure, which a damaged database has not taken for a minute; a note
                says it until the job is claimed again.
        """
        error = as_engine_error(failure)
        row, ledger = self.context.row, self.project.ledger
        self._slots.release_slot(self)
        sound_s = time.monotonic()  # when the database was last no worse than busy or full
        while not self.context.is_cancelled:
            unwritten = self._put(
                _foreseen(lambda: ledger.fail(row, error.as_json(), {}, self._last_look))
            )
            if unwritten is None:
                self.unwritten_end = None
                return
            self.unwritten_end = error
            self._note.end(JobState.FAILED, error)
            if isinstance(unwritten, UnavailableError):
                sound_s = time.monotonic()
            elif time.monotonic() - sound_s > _DAMAGE_PATIENCE_S:
                self._note.leave()
                raise error
            if self.context.wait(_TRY_AGAIN_S) and self.context.is_suspended:
                return
        self._end_cancelled()

    def _put_worked(self, result: dict[str, object]) -> EngineError | None:
        """Write that the job has completed, or is cancelled: who was told so sees it stopped.

        Not so once a new index is in the place of the old one, which the ledger knows.
        """
        self.check_cancel()

        def write() -> None:
            if self.context.is_cancelled:
                self._cancelled()
                return
            changes = self.context.committed_progress()
            self.project.ledger.complete(self.context.row, result, changes, self._last_look)

        return self._put(write)

    def _put(self, write: Callable[[], None]) -> EngineError | None:
        """Write the outcome of the job; return the error if it cannot be written now.

        On a full disk the WAL is checkpointed first, which can free space.
        """
        unavailable = _attempt(write)
        if isinstance(unavailable, DiskFullError):
            self.project.ledger.store.make_room()
            unavailable = _attempt(write)
        return unavailable

    def _cancelled(self) -> None:
        fault_point("job stopped")
        if not self.context.is_cancelled:
            return
        ledger, row = self.project.ledger, self.context.row
        try:
            ledger.cancel(
                row, self.context.committed_progress(), self._last_look, patience_s=_PATIENCE_S
            )
        except StaleClaim:
            raise
        except Exception:
            self._note.end(JobState.COMPLETED if self._is_done() else JobState.CANCELLED)
            raise
        delete_request(self.file, row.uuid)

    def _is_done(self) -> bool:
        """Return whether its result is in place, so that it cannot end but as completed."""
        with suppress(EngineError):
            return self.context.read_result() is not None
        return False

    def _end_cancelled(self) -> None:
        """Write that the job is cancelled, as soon as that can be written.

        Raises:
            DamagedIndexError: The database has to be repaired first.
        """
        self._slots.release_slot(self)
        while (unwritten := self._put(_foreseen(self._cancelled))) is not None:
            if isinstance(unwritten, DamagedIndexError):
                raise unwritten
            if self.context.is_suspended:
                return
            time.sleep(_TRY_AGAIN_S)

    def _wait_for(self, unavailable: EngineError, resources: Resources) -> bool:
        """Wait as a blocked job until the resource is back; return False if it is not to resume."""
        context = self.context
        self._unavailable = unavailable
        wanted_s = unavailable.details.get("retry_after_s")
        self._outage.begin(
            context.committed_progress(), wanted_s if isinstance(wanted_s, float) else 0.0
        )
        is_written = self._block(unavailable)
        self._slots.release_slot(self)
        context.is_blocked = True
        while not context.wait(self._rest_s()):
            is_written = is_written or self.unwritten_end is not None or self._block(unavailable)
            if self._outage.lasts_s > resources.patience_s(unavailable):
                if self._give_up(unavailable):
                    return False
            elif self._is_back(unavailable, resources) and self._unblock(is_written=is_written):
                return True  # cancelled meanwhile or not: who works next ends as cancelled
        self._end_cancelled()
        return False

    def _rest_s(self) -> float:
        return self._outage.until_probe_s() if self.unwritten_end is None else _TRY_AGAIN_S

    def _give_up(self, unavailable: EngineError) -> bool:
        """Fail a job that has waited too long; return False if that cannot be written now."""
        end = _lasting(unavailable, self._outage.lasts_s)
        row, changes = self.context.row, self.context.committed_progress()
        ledger = self.project.ledger
        if self._put(lambda: ledger.fail(row, end.as_json(), changes, self._last_look)) is None:
            return True
        if self._is_done():  # it has not failed, and still waits for its end to be written
            return False
        self.unwritten_end = end
        self._note.end(JobState.FAILED, end)
        return False

    def _is_back(self, unavailable: EngineError, resources: Resources) -> bool:
        if isinstance(unavailable, ProjectBusyError):
            return not is_being_indexed(self.file)
        if isinstance(unavailable, IndexBusyError):
            return not isinstance(_attempt(self._take_write_lock), IndexBusyError)
        return resources.is_back(unavailable, self.context.cancelled)

    def _take_write_lock(self) -> None:
        """Take the database's write lock and release it.

        Raises:
            IndexBusyError: Another process holds it.
        """
        with self.project.ledger.store.write(bookkeeping=True, patience_s=_PATIENCE_S):
            pass

    def _block(self, unavailable: EngineError) -> bool:
        """Write that the job is blocked, and why; return False if that cannot be written."""
        ledger, row, changes = (
            self.project.ledger,
            self.context.row,
            self.context.committed_progress(),
        )
        reason, error = reason_of(unavailable), unavailable.as_json()
        if self.context.is_cancelled:
            return False
        if isinstance(
            unavailable, DiskFullError | IndexBusyError
        ):  # which would fail this write too
            self._note.write(reason)
        if self._put(lambda: ledger.block(row, reason, error, changes)):
            self._note.write(reason)
            return False
        self._note.clear()
        fault_point("job blocked")
        return True

    def _unblock(self, *, is_written: bool) -> bool:
        if not self._slots.acquire_slot(self):
            return False
        row = self.context.row
        if is_written and _attempt(lambda: self.project.ledger.unblock(row)):
            self._slots.release_slot(self)
            return False
        self._unavailable = None
        self._note.clear()
        fault_point("job unblocked")
        self.context.record_resume()
        return True

    def check_cancel(self) -> None:
        """Check whether the cancellation of the job was requested."""
        if noted_request(self.file, self.context.row.uuid):
            self.context.cancel()
            return
        try:
            with self.project.ledger.store.read() as handle:
                if jobs.is_cancel_requested(handle, self.context.row.id):
                    self.context.cancel()
        except EngineError:
            return  # checked again soon

    def beat(self) -> None:
        """Write a heartbeat; if it cannot be written now, the next one is."""
        if not isinstance(self._unavailable, DiskFullError):  # the remaining space is for its end
            _attempt(self.context.beat)

    def new_events(self) -> list[EventRow]:
        """Return the events since the last call; those logged by earlier attempts are left out."""
        try:
            with self.project.ledger.store.read() as handle:
                found = jobs.read_events(
                    handle, self.context.row.id, after=self.last_event, limit=_EVENTS_AT_ONCE
                )
        except EngineError:
            return []
        self.last_event = found[-1].sequence if found else self.last_event
        return found

    @cached_property
    def request_id(self) -> str | None:
        """The id of the request for the job, from its first event; None if there is none."""
        try:
            with self.project.ledger.store.read() as handle:
                found = jobs.read_events(handle, self.context.row.id, limit=1)
            return jobs.object_in(found[0].context).get("request_id") if found else None
        except EngineError:
            return None

    def last_row(self) -> JobRow | None:
        """Return the current row; None if it cannot be read."""
        try:
            with self.project.ledger.store.read() as handle:
                return jobs.read_job(handle, self.context.row.uuid)
        except EngineError:
            return None

    def close(self) -> None:
        """Free its resources."""
        self.context.close()
        self._note.close()
        self.project.ledger.store.release_readers()


def _foreseen(write: Callable[[], None]) -> Callable[[], None]:
    """Return a function that writes, and whose unforeseen failures are to be tried again too."""

    def act() -> None:
        try:
            write()
        except (EngineError, StaleClaim):
            raise
        except Exception as unforeseen:
            raise as_engine_error(unforeseen) from unforeseen

    return act


def _attempt(write: Callable[[], None]) -> EngineError | None:
    try:
        write()
    except EngineError as unavailable:
        return unavailable
    return None


def reason_of(unavailable: EngineError) -> str:
    """Describe what a job waits for."""
    if isinstance(unavailable, DiskFullError):
        return f"disk full: {unavailable.message}"
    if isinstance(unavailable, EmbedderUnavailableError):
        return f"embedding model unavailable: {unavailable.message}"
    if isinstance(unavailable, ProjectBusyError):
        return f"project busy: {unavailable.message}"
    if isinstance(unavailable, IndexBusyError):
        return f"database busy: {unavailable.message}"
    return unavailable.message


def _lasting(unavailable: EngineError, lasts_s: float) -> EngineError:
    """Return the error of a job that has waited too long."""
    reason = reason_of(unavailable)
    if isinstance(unavailable, DiskFullError):
        reason = f"insufficient storage: {unavailable.message}"
    message = f"{reason}; it has lasted {lasts_s:,.0f} s"
    return type(unavailable)(message, hint=unavailable.hint, **unavailable.details)


def _code_in(error: str | None) -> str:
    with suppress(IndexCorruptError):
        return str(jobs.object_in(error or "{}").get("error", EngineError.code))
    return EngineError.code


def as_engine_error(failure: BaseException) -> EngineError:
    """Return a failure as an error that can be told and stored, whoever foresaw it."""
    if isinstance(failure, EngineError):
        return failure
    return EngineError(
        f"{type(failure).__name__}: {failure}", traceback=traceback.format_exception(failure)[-8:]
    )
