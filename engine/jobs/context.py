"""One claimed job while it runs: its fencing token, progress, checkpoints and cancellation.

The context takes part in every write of the run (a ``store.connection.TransactionHook``), so
progress is committed in the same transaction as the work. Only committed work is shown as done:
progress never runs ahead of what a crash would leave, and so never falls.

The file being processed is noted outside the database, so that a crash of the process cannot lose
it: one write into the page cache per file, about a microsecond. A power cut may lose the note, but
no file causes power cuts. From these notes the crash tracker learns which file kills the process.
"""

import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from engine.errors import StaleClaim, UnavailableError
from engine.faults import fault_point
from engine.files import open_at_once
from engine.index_records import Phase, Progress
from engine.indexing.progress import Tally
from engine.jobs.ledger import Clock
from engine.jobs.progress import Expected, Measured, ProgressTracker
from engine.locks import IN_FLIGHT, new_file, project_file
from engine.records import display_path
from engine.state_records import CheckpointKind, EventType, JobOrigin
from engine.store import jobs
from engine.store.compression import pack_paths, unpack_paths
from engine.store.connection import Handle, Store
from engine.store.jobs import CheckpointRow, JobRow
from engine.telemetry.metrics import Stages

_LENGTH_BYTES: Final = 4
_MOST_BYTES: Final = 1 << 16

_POISON_TRIES = 3

_EVENT_UNITS = 100
_EVENT_MS = 10_000
_CHECKPOINT_FILES = 500
_CHECKPOINT_MS = 30_000
_BLOCKED_BEAT_MS = 10_000
_BEAT_PATIENCE_S = 0.2  # with other writers, for one thread writes those of all jobs
_COUNTED = ("files_indexed", "symbols", "chunks", "embeddings", "reused")


class InFlightFile:
    """The note of a project's file in flight, among the lock files while a job runs.

    Args:
        database: The project's database.

    Raises:
        UnavailableError: The data directory cannot be written.
    """

    def __init__(self, database: Path) -> None:
        file = project_file(database, IN_FLIGHT)
        #: The path that a process was working on when it died; ``""`` if none did.
        self.left_path = _path_in(file)
        self._file = new_file(file)
        self._is_empty = True

    def mark(self, path: str) -> None:
        """Note a path, or ``""`` for no file in flight; a full disk is ignored."""
        if not path and self._is_empty:
            return
        name = os.fsencode(path)[:_MOST_BYTES]
        data = len(name).to_bytes(_LENGTH_BYTES, "little") + name
        with suppress(OSError):
            os.pwrite(self._file.descriptor, data, 0)
        self._is_empty = not path

    def close(self) -> None:
        """Delete the note: this process has not crashed."""
        self._file.close()


def _path_in(file: Path) -> str:
    try:
        with open(file, "rb", opener=open_at_once) as stream:
            size = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
            return os.fsdecode(stream.read(min(size, _MOST_BYTES)))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UnavailableError(f"cannot read {file}: {error.strerror}") from error


class CrashTracker:
    """Counts the crashes with each file in flight, for one job.

    Args:
        stored: The counts as JSON, from the job's row.
    """

    def __init__(self, stored: str) -> None:
        self._times: dict[str, int] = jobs.object_in(stored)

    def is_poison(self, path: str) -> bool:
        """Return whether a file was in flight at too many crashes."""
        return self._times.get(display_path(path), 0) >= _POISON_TRIES

    def after_crash(self, path: str) -> str:
        """Return the counts as JSON after a crash with this file in flight; ``""`` is none.

        A file that kills the process does so each time: all other files are cleared.
        """
        times = {name: times for name, times in self._times.items() if times >= _POISON_TRIES}
        if path:
            name = display_path(path)
            times[name] = self._times.get(name, 0) + 1
        return json.dumps(times)


class _Marks(NamedTuple):
    """The progress up to the last event and checkpoint."""

    event_units: int  # files, and chunks while vectors are made
    event_ms: int
    checkpoint_files: int
    checkpoint_ms: int


class JobContext:
    """The state of a running job, for its thread; others call ``cancel``, ``suspend``, ``beat``.

    Args:
        store: The project's database.
        row: The job as claimed.
        in_flight: The note of the file in flight.
        expected: Its expected duration and speed.
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
        self._recorded = jobs.object_in(row.counts)
        #: Whether the job was cancelled, and not only suspended.
        self.is_cancelled = False
        #: Whether this process is ending.
        self.is_suspended = False
        self.stages = Stages()  # spans of its phases
        self._suspects = CrashTracker(row.suspects)
        self._base = row.files_done  # files done by earlier attempts
        self._floor = row.files_done  # what is committed
        self._files_total = row.files_total
        self._bytes_floor = int(self._recorded.get("bytes_done", 0))  # what is committed
        self._bytes_base = self._bytes_floor  # bytes of the files done by earlier attempts
        self._bytes_total = int(self._recorded.get("bytes_total", 0))
        self._chunks_base = row.chunks_done  # chunks done by earlier attempts
        self._chunks_floor = row.chunks_done
        self._chunks_total = row.chunks_total
        self._tracker = ProgressTracker(expected)
        now = clock()
        self._marks = _Marks(row.files_done + row.chunks_done, now, row.files_done, now)
        self._next_marks = self._marks
        self._is_checkpoint = False
        self._has_list = False  # whether this attempt has stored its list of files
        #: Whether it is blocked, and so makes no progress.
        self.is_blocked = False
        self._beat_ms = 0
        self.begin()

    @property
    def origin(self) -> JobOrigin:
        """The origin of the job."""
        return JobOrigin(self.row.origin)

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the job."""
        return jobs.object_in(self.row.parameters)

    @property
    def has_begun(self) -> bool:
        """Return whether an attempt at this job, in any process, had its list of files."""
        return self._files_total is not None

    def read_result(self) -> dict[str, object] | None:
        """Return the result, if an attempt has put a new index in the place of the old one."""
        with self._store.read() as handle:
            row = jobs.read_job(handle, self.row.uuid)
        return jobs.object_in(row.result) if row and row.result else None

    @property
    def files_done(self) -> int:
        """Return the number of files with an outcome, over all attempts."""
        return max(self._floor, self._base + self.tally.done)

    @property
    def bytes_done(self) -> int:
        """Return the size of these files."""
        return max(self._bytes_floor, self._bytes_base + self.tally.bytes_done)

    @property
    def chunks_done(self) -> int:
        """Return the number of chunks embedded after their files, over all attempts."""
        if self._embedded_before is None:
            return self._chunks_floor
        made = self.tally.embeddings - self._embedded_before
        return max(self._chunks_floor, self._chunks_base + made)

    # For the thread that runs the job.

    def begin(self) -> None:
        """Begin an attempt; work lost with the last one is not counted, as it is done again."""
        self.tally = Tally(**{name: self._recorded.get(name, 0) for name in _COUNTED})
        self.tally.earlier = self.tally.files_indexed
        self._reused_before = self.tally.reused
        self._base, self._chunks_base = self._floor, self._chunks_floor
        self._bytes_base = self._bytes_floor
        #: Chunks that had vectors when this attempt began to embed the missing ones.
        self._embedded_before: int | None = None
        self._has_list = False

    def cancelled(self) -> bool:
        """Return whether to stop, for any reason."""
        return self._stop.is_set()

    def report(self, progress: Progress) -> None:
        """Record the progress of the run."""
        if progress.phase is Phase.EMBEDDING and self._embedded_before is None:
            self._embedded_before = self.tally.embeddings
            self._chunks_total = self._chunks_base + (progress.total or 0)
        if progress.phase is not self._tracker.phase:
            self.stages.enter(f"job.{progress.phase}")
        self._tracker.note(progress)

    def record_files(self, paths: Sequence[str], size_bytes: int) -> None:
        """Store the list of files to read, before the first is read.

        After a restart it no longer has the files done by earlier attempts, but has those that are
        new on disk.
        """
        with self._store.read() as handle:
            before = jobs.read_last_checkpoint(handle, self.row.id, [CheckpointKind.FILE_LIST])
        new = len(paths)
        if before and before.packed is not None:
            new = len(set(paths).difference(unpack_paths(before.packed)))
        total = max((self._files_total or 0) + new, self._floor + len(paths))
        self._files_total = total
        self._base = total - len(paths) - self.tally.done
        self._bytes_base = self._bytes_floor
        self._bytes_total = self._bytes_base + size_bytes
        at_ms = self._clock()
        state = {"files": len(paths), "bytes": size_bytes, "files_total": total}
        row = CheckpointRow(
            CheckpointKind.FILE_LIST, at_ms, json.dumps(state), pack_paths(list(paths))
        )
        with self._store.write(durable=True, bookkeeping=True) as handle:
            self.after_begin(handle)
            jobs.insert_checkpoint(handle, self.row.id, row)
            changes = {"files_total": total, "files_done": self.files_done}
            counts = json.dumps(self._counts())
            jobs.update_job(handle, self.row.id, {**changes, "counts": counts})
            context = {"kind": row.kind, **self._event_context(), **state}
            jobs.append_event(
                handle, self.row.id, EventType.CHECKPOINT, at_ms=at_ms, context=context
            )
        fault_point("job list stored")
        self._floor = self.files_done
        self._has_list = True

    def record_result(self, handle: Handle, result: Mapping[str, object]) -> None:
        """Record the result, in the transaction that puts a new index in the old one's place.

        With it the job has done its work: it can only end as completed.
        """
        jobs.update_job(handle, self.row.id, {"result": json.dumps(result)})

    def mark_in_flight(self, path: str) -> None:
        """Note the file in flight, so that one that kills the process is known."""
        self._in_flight.mark(path)

    def is_poison(self, path: str) -> bool:
        """Return whether a file was in flight at too many crashes."""
        return self._suspects.is_poison(path)

    # Called within the transactions of its writes.

    def is_durable(self) -> bool:
        """Return whether a checkpoint is due: checkpoints survive a power cut."""
        marks = self._marks
        self._is_checkpoint = self._has_list and (
            self.files_done - marks.checkpoint_files >= _CHECKPOINT_FILES
            or abs(self._clock() - marks.checkpoint_ms) >= _CHECKPOINT_MS
        )
        return self._is_checkpoint

    def after_begin(self, handle: Handle) -> None:
        """Refuse to write if another runner has taken over the job."""
        if not jobs.is_held(handle, self.row.uuid, self.row.attempt):
            raise StaleClaim(self.row.uuid)

    def before_commit(self, handle: Handle) -> None:
        """Write the progress with the rows that make it."""
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

    def after_commit(self) -> None:
        """Record that the transaction was committed."""
        fault_point("job batch committed")
        self._marks = self._next_marks
        self._floor, self._chunks_floor = self.files_done, self.chunks_done
        self._bytes_floor = self.bytes_done
        self._recorded = self._counts()

    # For other threads.

    def cancel(self) -> None:
        """Cancel the job: it ends as soon as it can."""
        self.is_cancelled = True
        self._stop.set()

    def suspend(self) -> None:
        """Stop working on the job in this process; it is left to the next runner."""
        self.is_suspended = True
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait until a timeout or until the job is to stop; return whether it is."""
        return self._stop.wait(seconds)

    def beat(self) -> None:
        """Write a heartbeat with the current position. Committed work is not touched.

        A job that another runner has taken over, or ended, is suspended instead.
        """
        now = self._clock()
        if self.is_blocked and abs(now - self._beat_ms) < _BLOCKED_BEAT_MS:
            return
        self._beat_ms = now
        marks = self._marks
        is_event_due = abs(now - marks.event_ms) >= _EVENT_MS
        with self._store.write(bookkeeping=True, patience_s=_BEAT_PATIENCE_S) as handle:
            row = jobs.read_job(handle, self.row.uuid)
            if row is None or row.attempt != self.row.attempt or row.finished_at_ms is not None:
                self.suspend()  # it belongs to another runner now
                return
            changes: dict[str, object] = {"heartbeat_at_ms": now}
            if row.blocked_at_ms is None:
                changes |= self._live_columns()
                if is_event_due:
                    self._append_progress(handle, now, row)
            jobs.update_job(handle, self.row.id, changes)
        if row.blocked_at_ms is None and is_event_due:
            self._marks = self._marks._replace(event_ms=now)

    def close(self) -> None:
        """Free its resources."""
        self._in_flight.close()

    def record_resume(self) -> None:
        """Record that the job resumes after a wait."""
        self.is_blocked = False
        self._tracker.restart()

    def measured(self) -> Measured:
        """Return the measurements of this attempt."""
        reused_files = self.tally.reused - self._reused_before
        return self._tracker.measured(self.tally.done, reused_files)

    def committed_progress(self) -> dict[str, object]:
        """Return the committed progress as columns."""
        return {"files_done": self._floor, "chunks_done": self._chunks_floor}

    def _columns(self, now: int) -> dict[str, object]:
        return {
            "heartbeat_at_ms": now,
            "files_done": self.files_done,
            "chunks_done": self.chunks_done,
            "chunks_total": self._chunks_total,
            "counts": json.dumps(self._counts()),
            **self._live_columns(),
        }

    def _live_columns(self) -> dict[str, object]:
        """Return the columns that mean nothing once the job has ended."""
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
        return {
            **counts,
            "files_failed": len(self.tally.errors),
            "bytes_done": self.bytes_done,
            "bytes_total": self._bytes_total,
        }

    def _event_context(self) -> dict[str, object]:
        """Return the context of every event."""
        return {
            "files_processed": self.files_done,
            "files_total": self._files_total,
            "phase": self._tracker.phase,
        }

    def _append_progress(self, handle: Handle, now: int, row: JobRow | None = None) -> None:
        done = row.files_done if row else self.files_done
        context = {
            **self._event_context(),
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
        context = {"kind": kind, **self._event_context(), "path": state["path"]}
        jobs.append_event(handle, self.row.id, EventType.CHECKPOINT, at_ms=now, context=context)
