"""What becomes of a request to index a folder: checked, estimated, and a row in its project."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from engine.dispatch.foresight import Foresight
from engine.dispatch.housekeeping import Housekeeper
from engine.errors import IndexCorruptError, JobConflictError
from engine.index import Index
from engine.indexing.scope import check_options, parameters_of
from engine.job_records import JobOrigin, JobState, Submitted, Waits
from engine.jobs.ledger import Enqueued, Ledger
from engine.records import IndexOptions

if TYPE_CHECKING:
    from engine.doctor.doctor import Doctor

_WAITING_LIMIT_S: Final = 60.0  # what is estimated to take longer goes on in the background
_MAKE_ROOM_S: Final = 5.0  # for a watcher's job to stop when a person asks for another
_POLL_S: Final = 0.1


class Projects(Protocol):
    """How projects are found and opened."""

    def create(self, path: str) -> Index:
        """Open the project of exactly this folder, made when there is none."""

    def open(self, path: str) -> Index:
        """Open the project of a folder, or the one that encloses it."""

    def open_file(self, file: Path) -> Index:
        """Open the project of a database file."""

    def doctor(self, path: str) -> "Doctor":
        """Give the doctor of a project, whose index need not be one that can be opened."""


class Requests:
    """Takes requests for jobs.

    Args:
        projects: Where they are.
        foresight: Says how long they will take.
        keeper: Says whether the model is there.
        make_room: Asks a watcher's job, by its id, to stop.
        ended: Set when a job here has ended.
    """

    def __init__(
        self,
        projects: Projects,
        foresight: Foresight,
        keeper: Housekeeper,
        make_room: Callable[[str], None],
        ended: threading.Event,
    ) -> None:
        self._projects = projects
        self._foresight = foresight
        self._keeper = keeper
        self._make_room = make_room
        self._ended = ended

    def submit(
        self, path: str, options: IndexOptions, origin: JobOrigin, waits: Waits
    ) -> Submitted:
        """Ask for a folder to be indexed; ``Jobs.submit`` says what is raised."""
        check_options(options)  # before anything is made: another request may be making it too
        try:
            return self._enqueue(path, options, origin, waits)
        except IndexCorruptError:
            if not options.force_clean:
                raise
        self._projects.doctor(path).rebuild()
        return self._enqueue(path, options, origin, waits)

    def _enqueue(
        self, path: str, options: IndexOptions, origin: JobOrigin, waits: Waits
    ) -> Submitted:
        is_request = origin is JobOrigin.REQUEST
        index = self._projects.create(path) if is_request else self._projects.open(path)
        index.check(options)
        if waits is Waits.ALWAYS:
            self._keeper.check_embedder()
        ledger = index.for_jobs().ledger
        is_surveyed = is_request and waits is not Waits.ALWAYS
        foreseen = self._foresight.before(
            ledger.store, index.root, options, is_surveyed=is_surveyed
        )
        if waits is Waits.IF_SHORT and _is_short(foreseen.seconds if foreseen else None):
            self._keeper.check_embedder()
        estimated_ms = round(foreseen.seconds * 1000) if foreseen else None
        parameters = parameters_of(options)
        try:
            enqueued = ledger.enqueue(parameters, origin=origin, estimated_ms=estimated_ms)
        except JobConflictError as conflict:
            if not is_request or conflict.details.get("origin") != JobOrigin.WATCH:
                raise
            enqueued = self._instead_of_watch(ledger, str(conflict.details["job_id"]), parameters)
        return _submitted(enqueued)

    def _instead_of_watch(
        self, ledger: Ledger, watch_job: str, parameters: dict[str, object]
    ) -> Enqueued:
        """Let a watcher's job make room: what it was for stays with the watcher."""
        self._make_room(watch_job)
        deadline_s = time.monotonic() + _MAKE_ROOM_S
        while True:
            try:
                return ledger.enqueue(parameters)
            except JobConflictError:
                if time.monotonic() >= deadline_s:
                    raise
                self._ended.wait(_POLL_S)


def _submitted(enqueued: Enqueued) -> Submitted:
    row, is_duplicate = enqueued
    seconds = None if row.estimated_ms is None else row.estimated_ms / 1000
    return Submitted(
        job_id=row.uuid,
        status=JobState(row.state),
        duplicate=is_duplicate,
        estimated_seconds=seconds,
        waits=_is_short(seconds),
    )


def _is_short(seconds: float | None) -> bool:
    return seconds is None or seconds <= _WAITING_LIMIT_S
