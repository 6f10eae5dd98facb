"""One claimed job while it runs: its fence, its progress, its checkpoints, and the wish to stop.

It accompanies every write of the run (see ``store.connection.Companion``), so that what is said of
the work stands in the same transaction as the work. What is shown as done is on record: progress
never runs ahead of what a crash would leave, and so never falls.

Which file a process is working on, noted so that a crash of the process cannot lose it.

One write into the page cache a file, about a microsecond; a process that dies leaves it. A power
cut may lose it, and no file causes those.

Which files may be what kills the process: those in flight when it died, and how often.
"""

import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from engine.errors import StaleClaim, UnavailableError
from engine.faults import fault_point
from engine.indexing.progress import Tally
from engine.jobs.ledger import Clock
from engine.jobs.progress import Expected, Measured, ProgressTracker
from engine.locks import IN_FLIGHT, new_file, project_file
from engine.records import Phase, Progress, display_path
from engine.state_records import CheckpointKind, EventType, JobOrigin
from engine.store import jobs
from engine.store.compression import pack_paths, unpack_paths
from engine.store.connection import Handle, Store
from engine.store.jobs import CheckpointRow, JobRow
from engine.telemetry.metrics import Stages

_LENGTH_BYTES: Final = 4
_MOST_BYTES: Final = 1 << 16


class InFlightFile:
    """The note of one project, in the folder of the lock files while a job of it runs.

    Args:
        database: The project's database.

    Raises:
        UnavailableError: The data directory cannot be written.
    """

    def __init__(self, database: Path) -> None:
        file = project_file(database, IN_FLIGHT)
        #: The path on which a process worked that has died since; ``""`` when none did.
        self.left_path = _path_in(file)
        self._file = new_file(file)
        self._is_empty = True

    def hold(self, path: str) -> None:
        """Note a path, or with ``""`` that no file is in flight; nothing on a full disk."""
        if not path and self._is_empty:
            return
        name = os.fsencode(path)[:_MOST_BYTES]
        data = len(name).to_bytes(_LENGTH_BYTES, "little") + name
        with suppress(OSError):
            os.pwrite(self._file.descriptor, data, 0)
        self._is_empty = not path

    def close(self) -> None:
        """Delete the note: who comes to this has not crashed."""
        self._file.close()


def _path_in(file: Path) -> str:
    try:
        with open(file, "rb") as stream:
            size = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
            return os.fsdecode(stream.read(min(size, _MOST_BYTES)))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UnavailableError(f"cannot read {file}: {error.strerror}") from error


_POISON_TRIES = 3


class Suspects:
    """The suspects of one job.

    Args:
        stored: They as JSON, as the job's row has them.
    """

    def __init__(self, stored: str) -> None:
        self._times: dict[str, int] = json.loads(stored)

    def is_poison(self, path: str) -> bool:
        """Say whether a file was worked on too often when the process died."""
        return self._times.get(display_path(path), 0) >= _POISON_TRIES

    def after_crash(self, path: str) -> str:
        """Return them as JSON after a death with this file in flight; ``""`` is none.

        A file that ends the process does so each time: who was not in flight this time is cleared.
        """
        times = {name: times for name, times in self._times.items() if times >= _POISON_TRIES}
        if path:
            name = display_path(path)
            times[name] = self._times.get(name, 0) + 1
        return json.dumps(times)


_EVENT_UNITS = 100
_EVENT_MS = 10_000
_CHECKPOINT_FILES = 500
_CHECKPOINT_MS = 30_000
_BLOCKED_BEAT_MS = 10_000
_COUNTED = ("files_indexed", "symbols", "chunks", "embeddings", "reused")


class _Marks(NamedTuple):
    """Up to where events and checkpoints tell."""

    event_units: int  # files, and chunks while vectors are made
    event_ms: int
    checkpoint_files: int
    checkpoint_ms: int


class JobContext:
    """What the thread of a job works with. ``cancel``, ``suspend`` and ``beat`` are for others.

    Args:
        store: The project's database.
        row: The job as claimed.
        in_flight: Where the file is noted on which this process works.
        expected: What is expected of it.
        clock: Milliseconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        row: JobRow,
        in_flight: InFlightFile,
        expected: Expected,
        clock: Clock,
    ) -> None:
        self.row = row
        self._store = store
        self._in_flight = in_flight
        self._clock = clock
        self._stop = threading.Event()
        self._recorded = json.loads(row.counts)
        #: Whether somebody wants the job to end, and not only this process.
        self.is_cancelled = False
        #: Whether this process is to end.
        self.is_suspended = False
        self.stages = Stages()  # of what is traced
        self._suspects = Suspects(row.suspects)
        self._base = row.files_done  # files that earlier tries did
        self._floor = row.files_done  # what is on record
        self._files_total = row.files_total
        self._chunks_base = row.chunks_done  # chunks that earlier tries did
        self._chunks_floor = row.chunks_done
        self._chunks_total = row.chunks_total
        self._tracker = ProgressTracker(expected)
        now = clock()
        self._marks = _Marks(row.files_done + row.chunks_done, now, row.files_done, now)
        self._next_marks = self._marks
        self._is_checkpoint = False
        #: The sequence of the last event of earlier tries.
        self.told_before = 0
        if row.attempt > 1:
            with store.read() as handle:
                last, _ = jobs.read_last_event_place(handle, row.id)
            self.told_before = last - 1  # the last one says that it was resumed
        self._has_list = False  # whether this try has said which files it will read
        #: Whether it waits, and so has little to say.
        self.is_blocked = False
        self._beat_ms = 0
        self.begin()

    @property
    def origin(self) -> JobOrigin:
        """Who wanted the job."""
        return JobOrigin(self.row.origin)

    @property
    def parameters(self) -> dict[str, object]:
        """What was asked for."""
        found: dict[str, object] = json.loads(self.row.parameters)
        return found

    @property
    def has_begun(self) -> bool:
        """Say whether a try of this job, in this process or an earlier one, knew its files."""
        return self._files_total is not None

    @property
    def files_done(self) -> int:
        """Give the files with an outcome, of all tries."""
        return max(self._floor, self._base + self.tally.done)

    @property
    def chunks_done(self) -> int:
        """Give the chunks whose vectors were made after their files, of all tries."""
        if self._embedded_before is None:
            return self._chunks_floor
        made = self.tally.embeddings - self._embedded_before
        return max(self._chunks_floor, self._chunks_base + made)

    # For the thread that runs the job.

    def begin(self) -> None:
        """Begin a try: what was lost with the last one is not counted, for it is done again."""
        self.tally = Tally(**{name: self._recorded.get(name, 0) for name in _COUNTED})
        self.tally.earlier = self.tally.files_indexed
        self._reused_before = self.tally.reused
        self._base, self._chunks_base = self._floor, self._chunks_floor
        #: Chunks that had vectors when this try began to make those that were missing.
        self._embedded_before: int | None = None
        self._has_list = False

    def cancelled(self) -> bool:
        """Say whether to stop, for whatever reason."""
        return self._stop.is_set()

    def report(self, progress: Progress) -> None:
        """Hear how far the run is."""
        if progress.phase is Phase.EMBEDDING and self._embedded_before is None:
            self._embedded_before = self.tally.embeddings
            self._chunks_total = self._chunks_base + (progress.total or 0)
        if progress.phase is not self._tracker.phase:
            self.stages.enter(f"job.{progress.phase}")
        self._tracker.note(progress)

    def found(self, paths: Sequence[str], size_bytes: int) -> None:
        """Hear the files that will be read, and keep the list before any is.

        After a restart those that an earlier try did are not among them any more; what is new on
        the disk since joins the job.
        """
        with self._store.read() as handle:
            before = jobs.read_last_checkpoint(handle, self.row.id, [CheckpointKind.FILE_LIST])
        new = len(paths)
        if before and before.packed is not None:
            new = len(set(paths).difference(unpack_paths(before.packed)))
        total = max((self._files_total or 0) + new, self._floor + len(paths))
        self._files_total = total
        self._base = total - len(paths) - self.tally.done
        at_ms = self._clock()
        state = {"files": len(paths), "bytes": size_bytes, "files_total": total}
        row = CheckpointRow(
            CheckpointKind.FILE_LIST, at_ms, json.dumps(state), pack_paths(list(paths))
        )
        with self._store.write(durable=True, bookkeeping=True) as handle:
            self.began(handle)
            jobs.insert_checkpoint(handle, self.row.id, row)
            jobs.update_job(
                handle, self.row.id, {"files_total": total, "files_done": self.files_done}
            )
            context = {"kind": row.kind, **self._told(), **state}
            jobs.append_event(
                handle, self.row.id, EventType.CHECKPOINT, at_ms=at_ms, context=context
            )
        fault_point("job list stored")
        self._floor = self.files_done
        self._has_list = True

    def holds(self, path: str) -> None:
        """Note on which file this process works, so that one that kills it is known."""
        self._in_flight.hold(path)

    def is_poison(self, path: str) -> bool:
        """Say whether a file was worked on too often when the process died."""
        return self._suspects.is_poison(path)

    # The companion of its writes.

    def is_durable(self) -> bool:
        """Say whether a checkpoint is due: those survive a power cut."""
        marks = self._marks
        self._is_checkpoint = self._has_list and (
            self.files_done - marks.checkpoint_files >= _CHECKPOINT_FILES
            or abs(self._clock() - marks.checkpoint_ms) >= _CHECKPOINT_MS
        )
        return self._is_checkpoint

    def began(self, handle: Handle) -> None:
        """Refuse to write when another runner has taken the job over."""
        if not jobs.is_held(handle, self.row.id, self.row.attempt):
            raise StaleClaim(self.row.uuid)

    def committing(self, handle: Handle) -> None:
        """Write how far the job is with the rows that bring it there."""
        now = self._clock()
        units = self.files_done + self.chunks_done
        marks = self._marks
        jobs.update_job(handle, self.row.id, self._columns(now))
        if units - marks.event_units >= _EVENT_UNITS or abs(now - marks.event_ms) >= _EVENT_MS:
            self._append_progress(handle, now)
            marks = marks._replace(event_units=units, event_ms=now)
        if self._is_checkpoint:
            self._append_checkpoint(handle, now)
            marks = marks._replace(checkpoint_files=self.files_done, checkpoint_ms=now)
        self._next_marks = marks
        fault_point("job batch filled")

    def committed(self) -> None:
        """Take what was written for written."""
        fault_point("job batch committed")
        self._marks = self._next_marks
        self._floor, self._chunks_floor = self.files_done, self.chunks_done
        self._recorded = self._counts()

    # For other threads.

    def cancel(self) -> None:
        """Let the job end as soon as it can."""
        self.is_cancelled = True
        self._stop.set()

    def suspend(self) -> None:
        """Let this process stop working on the job, which stays as it is for the next runner."""
        self.is_suspended = True
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until the job is to stop; whether it is."""
        return self._stop.wait(seconds)

    def beat(self) -> None:
        """Say that the job lives, and where it is. Does not touch what is done.

        One that another runner has taken over, or ended, is let go instead.
        """
        now = self._clock()
        if self.is_blocked and abs(now - self._beat_ms) < _BLOCKED_BEAT_MS:
            return
        self._beat_ms = now
        marks = self._marks
        is_event_due = abs(now - marks.event_ms) >= _EVENT_MS
        with self._store.write(bookkeeping=True) as handle:
            row = jobs.read_job(handle, self.row.uuid)
            if row is None or row.attempt != self.row.attempt or row.finished_at_ms is not None:
                self.suspend()  # whose it is not any more
                return
            changes: dict[str, object] = {"heartbeat_at_ms": now}
            if row.blocked_at_ms is None:
                changes |= self._momentary()
                if is_event_due:
                    self._append_progress(handle, now, row)
            jobs.update_job(handle, self.row.id, changes)
        if row.blocked_at_ms is None and is_event_due:
            self._marks = self._marks._replace(event_ms=now)

    def close(self) -> None:
        """Free what it holds."""
        self._in_flight.close()

    def resumes(self) -> None:
        """Hear that the job goes on after a wait."""
        self.is_blocked = False
        self._tracker.restart()

    def measured(self) -> Measured:
        """Give what this try measured."""
        reused_files = self.tally.reused - self._reused_before
        return self._tracker.measured(self.tally.done, reused_files)

    def on_record(self) -> dict[str, object]:
        """Give how far the job is by what is committed."""
        return {"files_done": self._floor, "chunks_done": self._chunks_floor}

    def _columns(self, now: int) -> dict[str, object]:
        return {
            "heartbeat_at_ms": now,
            "files_done": self.files_done,
            "chunks_done": self.chunks_done,
            "chunks_total": self._chunks_total,
            "counts": json.dumps(self._counts()),
            **self._momentary(),
        }

    def _momentary(self) -> dict[str, object]:
        """Give what is true now and means nothing later."""
        tracker = self._tracker
        return {
            "phase": tracker.phase,
            "current_path": tracker.path.encode("utf-8", "surrogateescape") or None,
            "rate": tracker.rate,
            "remaining_ms": tracker.remaining_ms,
            "waiting": tracker.reason_to_wait,
        }

    def _counts(self) -> dict[str, int]:
        counts = {name: getattr(self.tally, name) for name in _COUNTED}
        return {**counts, "files_failed": len(self.tally.errors)}

    def _told(self) -> dict[str, object]:
        """Give what every event says."""
        return {
            "files_processed": self.files_done,
            "files_total": self._files_total,
            "phase": self._tracker.phase,
        }

    def _append_progress(self, handle: Handle, now: int, row: JobRow | None = None) -> None:
        done = row.files_done if row else self.files_done
        context = {
            **self._told(),
            "files_processed": done,
            "chunks_done": row.chunks_done if row else self.chunks_done,
            "chunks_total": self._chunks_total,
            "chunks": self._recorded.get("chunks", 0) if row else self.tally.chunks,
            "current_file": display_path(self._tracker.path),
            "rate": self._tracker.rate,
            "remaining_ms": self._tracker.remaining_ms,
        }
        jobs.append_event(handle, self.row.id, EventType.PROGRESS, at_ms=now, context=context)

    def _append_checkpoint(self, handle: Handle, now: int) -> None:
        is_embedding = self._tracker.phase is Phase.EMBEDDING
        kind = CheckpointKind.EMBEDDING if is_embedding else CheckpointKind.POSITION
        state = {
            "path": display_path(self._tracker.path),
            "files_done": self.files_done,
            "files_total": self._files_total,
            "chunks_done": self.chunks_done,
        }
        row = CheckpointRow(kind, now, json.dumps(state), None)
        jobs.insert_checkpoint(handle, self.row.id, row)
        fault_point("job checkpoint filled")
        context = {"kind": kind, **self._told(), "path": state["path"]}
        jobs.append_event(handle, self.row.id, EventType.CHECKPOINT, at_ms=now, context=context)
