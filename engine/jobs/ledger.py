"""The jobs of one project: each operation is one durable transaction, its events included.

Every change of state is checked against the table of transitions. Nothing here runs a job.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from engine.clock import now_ms
from engine.errors import IndexCorruptError, JobConflictError, JobNotFoundError, StaleClaim
from engine.faults import fault_point
from engine.jobs.cancel_notes import CancelRequest
from engine.state_records import (
    ACTIVE,
    STOPPED_WITH_WATCHER,
    TERMINAL,
    EventType,
    JobKind,
    JobOrigin,
    JobState,
    MakesWay,
)
from engine.store import jobs
from engine.store.connection import Handle, Store
from engine.store.jobs import JobRow, NewJob
from engine.telemetry.metrics import origin as caller

#: From → to, and the event that records it.
TRANSITIONS: dict[JobState, dict[JobState, EventType]] = {
    JobState.PENDING: {
        JobState.RUNNING: EventType.STARTED,
        JobState.CANCELLED: EventType.CANCELLED,
    },
    JobState.RUNNING: {
        JobState.COMPLETED: EventType.COMPLETED,
        JobState.FAILED: EventType.FAILED,
        JobState.CANCELLED: EventType.CANCELLED,
        JobState.BLOCKED: EventType.PAUSED,
    },
    JobState.BLOCKED: {
        JobState.RUNNING: EventType.RESUMED,
        JobState.FAILED: EventType.FAILED,
        JobState.CANCELLED: EventType.CANCELLED,
    },
    JobState.COMPLETED: {},
    JobState.FAILED: {},
    JobState.CANCELLED: {},
}

#: Columns that mean nothing once a job has ended.
_MOMENTARY = {"waiting": None, "current_path": None, "rate": None, "remaining_ms": None}
_PROJECT_DIGITS = 12  # of a job id: 48 bits that RFC 9562 leaves to the application in version 8


class IllegalTransitionError(Exception):
    """A transition that is not in the table: a defect of this program, never a user's error."""


def event_of(before: JobState, after: JobState) -> EventType:
    """Return the event that records a transition.

    Raises:
        IllegalTransitionError: There is no such transition.
    """
    try:
        return TRANSITIONS[before][after]
    except KeyError:
        raise IllegalTransitionError(f"{before} → {after}") from None


Clock = Callable[[], int]

#: Returns the request to cancel a job that a note has, while nobody else can write its database.
LastLook = Callable[[], CancelRequest | None]


def new_job_id(project_id: str) -> str:
    """Return a UUID of version 8 whose first 48 bits are those of the project id."""
    random = uuid.uuid4().int
    value = int(project_id[:_PROJECT_DIGITS], 16) << 80 | random & ((1 << 80) - 1)
    value = value & ~(0xF << 76) | 8 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


def project_digits_of(job_id: str) -> str:
    """Return the first digits of the project id in a job's id.

    Raises:
        JobNotFoundError: No job can have this id.
    """
    try:
        return uuid.UUID(job_id).hex[:_PROJECT_DIGITS]
    except ValueError as error:
        raise JobNotFoundError(f"no job has the id {job_id!r}", job_id=job_id) from error


class Enqueued(NamedTuple):
    """The result of a request."""

    row: JobRow
    is_duplicate: bool


def _repeated(
    active: JobRow | None, kind: str, parameters: str, origin: JobOrigin
) -> Enqueued | None:
    if active and (active.kind, active.parameters, active.origin) == (kind, parameters, origin):
        return Enqueued(active, is_duplicate=True)
    return None


def ended_already(row: JobRow) -> JobConflictError:
    """Return the error of a request to cancel a job that has ended."""
    return JobConflictError(
        f"job {row.uuid} is {row.state} already", job_id=row.uuid, status=row.state
    )


class Ledger:
    """The jobs of one project.

    Args:
        store: Its database.
        project_id: Its id.
        clock: Returns milliseconds since 1970.
    """

    def __init__(self, store: Store, project_id: str, clock: Clock = now_ms) -> None:
        self.store = store
        self.project_id = project_id
        self._clock = clock

    def find_duplicate(
        self, parameters: Mapping[str, object], origin: JobOrigin, kind: str = "index"
    ) -> Enqueued | None:
        """Return the active job that a request would only repeat; takes no lock."""
        with self.store.read() as handle:
            active = jobs.read_active_job(handle)
        return _repeated(active, kind, canonical(parameters), origin)

    def enqueue(
        self,
        parameters: Mapping[str, object],
        *,
        origin: JobOrigin = JobOrigin.REQUEST,
        kind: str = "index",
        estimated_ms: int | None = None,
        context: Mapping[str, object] | None = None,
    ) -> Enqueued:
        """Write a pending job, or return the active one with the same parameters.

        Raises:
            JobConflictError: Another job is active; ``details`` has its ``job_id``, ``status``,
                ``origin`` and ``kind``.
        """
        text = canonical(parameters)
        with self.store.write(durable=True, bookkeeping=True) as handle:
            active = jobs.read_active_job(handle)
            if duplicate := _repeated(active, kind, text, origin):
                return duplicate
            if active:
                raise JobConflictError(
                    f"job {active.uuid} is {active.state} on this project with other parameters",
                    hint=f"wait for it, or stop it: cairn jobs cancel {active.uuid}",
                    job_id=active.uuid,
                    status=active.state,
                    origin=active.origin,
                    kind=active.kind,
                )
            at_ms = self._clock()
            new = NewJob(new_job_id(self.project_id), kind, origin, text, at_ms, estimated_ms)
            row = jobs.insert_job(handle, new)
            created = {"parameters": dict(parameters), "origin": origin, **(context or {})}
            request_id = caller().request_id
            if request_id is not None:
                created["request_id"] = request_id
            _append_event(handle, row, EventType.CREATED, at_ms, created)
        fault_point("job enqueued")
        return Enqueued(row, is_duplicate=False)

    def claim(
        self,
        row: JobRow,
        runner: str,
        suspects: str | None = None,
        *,
        patience_s: float | None = None,
    ) -> JobRow | None:
        """Claim a job that nobody runs: a pending one, or one that a runner has left.

        The caller must hold the data directory's runner lock, so that no other runner lives. The
        new ``attempt`` is the fencing token: writes with an older one are refused.

        Args:
            row: The job as it was found.
            runner: The runner that claims it.
            suspects: The crash counts to store if its runner died.
            patience_s: How long to wait for other writers; None for as long as usual.

        Returns:
            The job as claimed; None if it has ended, or was claimed since it was found.
        """
        with self.store.write(durable=True, bookkeeping=True, patience_s=patience_s) as handle:
            found = jobs.read_job(handle, row.uuid)
            if found is None or found.state not in ACTIVE or found.attempt != row.attempt:
                return None
            at_ms = self._now_ms(handle, found)
            changes: dict[str, object] = {
                "attempt": found.attempt + 1,
                "runner": runner,
                "heartbeat_at_ms": at_ms,
                "waiting": None,
            }
            if found.started_at_ms is None:
                changes["started_at_ms"] = at_ms
            context = {"attempt": found.attempt + 1}
            if found.state == JobState.RUNNING:  # its runner died, or failed to begin it
                if suspects is not None:
                    changes["suspects"] = suspects
                jobs.update_job(handle, found.id, changes)
                _append_event(handle, found, EventType.RESUMED, at_ms, context)
            else:
                self._move(handle, found, JobState.RUNNING, changes, context)
            return jobs.read_job(handle, row.uuid)

    def block(
        self,
        row: JobRow,
        reason: str,
        error: Mapping[str, object],
        changes: Mapping[str, object] | None = None,
    ) -> None:
        """Block a running job, which waits for something outside.

        Args:
            row: The job as claimed.
            reason: Why, for people.
            error: Why, as error JSON.
            changes: Final values of columns, for example ``chunks_done``.
        """
        with self.store.write(durable=True, bookkeeping=True) as handle:
            found = self._held(handle, row)
            context = {"reason": reason, "error": dict(error)}
            known = {**(changes or {}), "waiting": reason}
            self._move(handle, found, JobState.BLOCKED, known, context)

    def unblock(self, row: JobRow) -> None:
        """Unblock a job."""
        with self.store.write(durable=True, bookkeeping=True) as handle:
            found = self._held(handle, row)
            waited_ms = self._now_ms(handle, found) - (found.blocked_at_ms or 0)
            self._move(handle, found, JobState.RUNNING, {"waiting": None}, {"waited_ms": waited_ms})

    def complete(
        self,
        row: JobRow,
        result: Mapping[str, object],
        changes: Mapping[str, object],
        last_look: LastLook = lambda: None,
    ) -> None:
        """Complete a job; if its cancellation was requested, it ends as cancelled all the same.

        Not so if it has a result already, which is in place and cannot be undone: then it ends as
        completed, whoever ends it.

        Args:
            row: The job as claimed.
            result: Its summary.
            changes: Final values of columns, for example ``counts``.
            last_look: Looks for a request that could not be written.
        """
        self._end(row, JobState.COMPLETED, changes, {"result": result}, last_look)

    def fail(
        self,
        row: JobRow,
        error: Mapping[str, object],
        changes: Mapping[str, object],
        last_look: LastLook = lambda: None,
    ) -> None:
        """Fail a job; if its cancellation was requested, it ends as cancelled."""
        self._end(row, JobState.FAILED, changes, {"error": error}, last_look)

    def cancel(
        self,
        row: JobRow,
        changes: Mapping[str, object],
        last_look: LastLook = lambda: None,
        *,
        patience_s: float | None = None,
    ) -> None:
        """End a job as cancelled, after it has stopped."""
        self._end(row, JobState.CANCELLED, changes, {}, last_look, patience_s=patience_s)

    def request_cancel(
        self,
        job_id: str,
        *,
        reason: str = "",
        makes_way: MakesWay | None = None,
        is_orphan: bool = False,
        patience_s: float | None = None,
    ) -> JobRow:
        """Request the cancellation of a job: a pending one ends at once, others soon.

        Idempotent.

        Args:
            job_id: The job's id.
            reason: Why, for its history.
            makes_way: For what, if its work then continues by itself; None if a user stops it.
            is_orphan: The caller holds the runner lock, so no process runs it: it ends at once.
            patience_s: How long to wait for other writers; None for as long as usual.

        Raises:
            JobNotFoundError: There is no such job.
            JobConflictError: It has ended already.
        """
        with self.store.write(durable=True, bookkeeping=True, patience_s=patience_s) as handle:
            found = self._found(handle, job_id)
            if found.state in TERMINAL:
                raise ended_already(found)
            self._write_request(handle, found, CancelRequest(reason, makes_way))
            if is_orphan and found.result is not None:
                self._complete_placed(handle, found, {})
            elif found.state == JobState.PENDING or is_orphan:
                self._move(handle, found, JobState.CANCELLED, {}, _reason_of(handle, found))
            asked = self._found(handle, job_id)
        fault_point("job cancel requested")
        return asked

    def find(self, job_id: str) -> JobRow:
        """Return a job.

        Raises:
            JobNotFoundError: There is no such job.
        """
        with self.store.read() as handle:
            return self._found(handle, job_id)

    def last_event(self, row: JobRow) -> int:
        """Return the number of a job's last event."""
        with self.store.read() as handle:
            return jobs.read_last_event_place(handle, row.id)[0]

    def active(self) -> JobRow | None:
        """Return the pending, running or blocked job."""
        with self.store.read() as handle:
            return jobs.read_active_job(handle)

    def _end(
        self,
        row: JobRow,
        state: JobState,
        changes: Mapping[str, object],
        outcome: Mapping[str, Mapping[str, object]],
        last_look: LastLook,
        *,
        patience_s: float | None = None,
    ) -> None:
        with self.store.write(durable=True, bookkeeping=True, patience_s=patience_s) as handle:
            found = self._held(handle, row)
            noted = last_look()
            if noted:
                self._write_request(handle, found, noted)
                found = self._found(handle, row.uuid)
            context: dict[str, object] = dict(outcome)
            if found.result is not None:
                self._complete_placed(handle, found, changes)
            elif found.cancel_requested_at_ms is None:
                texts = {name: _json(value) for name, value in outcome.items()}
                self._move(handle, found, state, {**changes, **texts}, context)
            else:  # the caller was told that it stops
                context |= _reason_of(handle, found)
                self._move(handle, found, JobState.CANCELLED, changes, context)
            fault_point("job ending")
        fault_point("job ended")

    def _write_request(self, handle: Handle, row: JobRow, request: CancelRequest) -> None:
        """Write the first request to cancel a job."""
        if row.cancel_requested_at_ms is None:
            context = {name: value for name, value in request._asdict().items() if value}
            at_ms = self._now_ms(handle, row)
            jobs.update_job(handle, row.id, {"cancel_requested_at_ms": at_ms})
            _append_event(handle, row, EventType.CANCEL_REQUESTED, at_ms, context)

    def _complete_placed(self, handle: Handle, row: JobRow, changes: Mapping[str, object]) -> None:
        """Complete a job whose result is in place already."""
        if row.state == JobState.BLOCKED:
            self._move(handle, row, JobState.RUNNING, {"waiting": None}, {})
            row = self._found(handle, row.uuid)
        result = {"result": jobs.object_in(row.result or "{}")}
        self._move(handle, row, JobState.COMPLETED, changes, result)

    def _held(self, handle: Handle, row: JobRow) -> JobRow:
        """Return the current row, if this claim is still the latest."""
        found = jobs.read_job(handle, row.uuid)
        if found is None or found.attempt != row.attempt or found.state in TERMINAL:
            raise StaleClaim(row.uuid)
        return found

    def _found(self, handle: Handle, job_id: str) -> JobRow:
        found = jobs.read_job(handle, job_id)
        if found is None:
            raise JobNotFoundError(
                f"no job has the id {job_id}", hint="cairn jobs list", job_id=job_id
            )
        return found

    def _move(
        self,
        handle: Handle,
        row: JobRow,
        after: JobState,
        changes: Mapping[str, object],
        context: Mapping[str, object],
    ) -> None:
        """Change a job's state and append the event of the transition."""
        event = event_of(JobState(row.state), after)
        at_ms = self._now_ms(handle, row)
        stamps: dict[str, object] = {
            "state": after,
            "blocked_at_ms": at_ms if after is JobState.BLOCKED else None,
        }
        if after in TERMINAL:
            stamps |= {"finished_at_ms": at_ms, **_MOMENTARY}
            stamps["waiting"] = gave_way(row, context) if after is JobState.CANCELLED else None
            jobs.delete_checkpoints(handle, row.id)
        jobs.update_job(handle, row.id, {**changes, **stamps})
        _append_event(handle, self._found(handle, row.uuid), event, at_ms, context)

    def _now_ms(self, handle: Handle, row: JobRow) -> int:
        """Return the time, never earlier than the job's last event."""
        return max(self._clock(), jobs.read_last_event_place(handle, row.id)[1])


def canonical(parameters: Mapping[str, object]) -> str:
    """Return parameters as canonical JSON, which is equal for equal requests."""
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"))


def _append_event(
    handle: Handle, row: JobRow, event: EventType, at_ms: int, context: Mapping[str, object]
) -> None:
    """Append an event with the progress of the job."""
    progress = {
        "files_processed": row.files_done,
        "files_total": row.files_total,
        "phase": row.phase,
    }
    jobs.append_event(handle, row.id, event, at_ms=at_ms, context={**progress, **context})


def _reason_of(handle: Handle, row: JobRow) -> dict[str, object]:
    """Return why a job is cancelled, as far as that was told."""
    event = jobs.read_last_event(handle, row.id, EventType.CANCEL_REQUESTED)
    context: dict[str, object] = {}
    if event:
        with suppress(IndexCorruptError):  # it ends as it was asked to, without the reason
            context = jobs.object_in(event.context)
    return {name: context[name] for name in ("reason", "makes_way") if name in context}


def gave_way(row: JobRow, context: Mapping[str, object]) -> str | None:
    """Return to what a cancelled job gave way, if a later job continues its work."""
    makes_way = context.get("makes_way")
    if makes_way == MakesWay.WATCHER:
        return STOPPED_WITH_WATCHER
    if makes_way == MakesWay.CHANGES:
        return "gave way to newer changes; a later job covers them"
    if makes_way == MakesWay.REQUEST and row.kind == JobKind.HISTORY:
        return "gave way to indexing; continues by itself after the next run"
    if makes_way == MakesWay.REQUEST:
        return "gave way to a request; the watcher indexes what is left"
    return None


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value)
