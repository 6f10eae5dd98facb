"""Rebuilds an index beside the old one, which answers until the new one takes its place.

The new index is a database of its own, filled like that of a new project. Then, in one transaction,
all its pages replace those of the old one, with the jobs, events, checkpoints and memories that the
old one has by then. So nothing is between the two, whenever a process is killed, and open
connections, the file and its lock stay as they are.

A job that is resumed goes on with what it has built. A file that is left when it has ended is
deleted by the runner, or by the next one.
"""

from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from types import TracebackType
from typing import Self

from engine.cancellation import CancelToken
from engine.clock import now_ms
from engine.config import Config
from engine.doctor.jobs import make_jobs_readable
from engine.doctor.memories import make_readable, words_of_memories
from engine.doctor.rebuild import rebuild_file
from engine.errors import Cancelled, EngineError, IndexCorruptError
from engine.faults import fault_point
from engine.index_records import IndexReport, Phase, Progress
from engine.jobs.cancel_notes import noted_request
from engine.jobs.context import JobContext
from engine.project_files import beside, delete_checks
from engine.store import checks, jobs, kept_rows, memories, project
from engine.store.connection import Handle, Store
from engine.store.deleting import delete_database


class Rebuilding:
    """A new index beside the old one; a context manager. The caller holds the right to index.

    Args:
        store: The database of the project.
        root: The resolved folder.
        config: The settings in force.
        job: The job that does it; None for a run without one.
        cancelled: Whether to stop.
    """

    def __init__(
        self,
        store: Store,
        root: str,
        config: Config,
        job: JobContext | None,
        cancelled: CancelToken,
    ) -> None:
        self._old = store
        self._root = root
        self._config = config
        self._job = job
        self._cancelled = cancelled
        self._file = beside(store.path, job.row.uuid if job else None)
        self._is_finished = False
        self._notes: tuple[str, ...] = ()  # of what was damaged

    def __enter__(self) -> Self:
        if not self._is_sound():
            self._put_aside()
        #: The new index.
        self.store = self._begun() or self._made()
        try:
            self._keep_rows()
        except BaseException:
            self.store.close()
            raise
        fault_point("rebuild begun")
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self.store.close()
        if self._is_finished or self._job is None or self._job.is_cancelled:
            with suppress(EngineError):
                delete_database(self._file)

    def finish(self, report: IndexReport) -> IndexReport:
        """Put the new index in the place of the old one.

        Args:
            report: The result of the run.

        Returns:
            The same with what is to be known of an old index that was damaged.

        Raises:
            Cancelled: It was cancelled; the old index is as it was.
            DiskFullError: There is no room for a second copy of the new index meanwhile.
            IndexBusyError: Another process held the lock of the old one.
            StaleClaim: Another runner has taken over the job.
        """
        fault_point("rebuild filled")
        if self._job:
            self._job.report(_storing(self._job))
            RebuildHook(self._old, self._job).after_commit()
        noted = replace(report, notes=(*report.notes, *self._notes))
        complete = partial(self._complete, noted)
        self._old.replace_contents(self.store, complete, self._check)
        self._is_finished = True
        if self._job is None:  # whose log would say that what a check found is gone
            delete_checks(self._old.path)
        return noted

    def _begun(self) -> Store | None:
        """Open what an earlier attempt of the job has built."""
        with suppress(EngineError):
            store = Store(self._file, busy_timeout_ms=self._config.busy_timeout)
            try:
                with store.read() as handle:
                    if project.read_project(handle):
                        return store
            except EngineError:
                pass
            store.close()
        return None

    def _made(self) -> Store:
        delete_database(self._file)
        store = Store(self._file, busy_timeout_ms=self._config.busy_timeout, create=True)
        try:
            with self._old.read() as old, store.write() as new:
                row = project.known_project(old, self._root)
                project.insert_project(
                    new,
                    project_id=row.project_id,
                    root=row.root,
                    max_file_size=row.max_file_size,
                    now_ms=now_ms(),
                )
                project.update_scope(
                    new,
                    include_patterns=row.include_patterns,
                    exclude_patterns=row.exclude_patterns,
                    max_file_size=row.max_file_size,
                    allow_secret_files=row.allow_secret_files,
                )
        except BaseException:
            store.close()
            raise
        return store

    def _is_sound(self) -> bool:
        """Return whether all of the old index can be read, and what the new one needs of it."""
        try:
            with self._old.read() as old, checks.interruptible(old, self._cancelled):
                project.known_project(old, self._root)
                return not (checks.read_problems(old, 1) or checks.read_schema_problems(old))
        except IndexCorruptError:
            return False

    def _put_aside(self) -> None:
        """Put the old index aside; an empty one with the rows that can be saved takes its place."""
        rebuilt = rebuild_file(self._old.path, self._root, self._config)
        self._old.reopen()
        aside = f" and is kept as {rebuilt.aside.name}" if rebuilt.aside else ""
        lost = f"; only {rebuilt.loses} could be read" if rebuilt.loses else ""
        self._notes = (f"the old index was damaged{aside}{lost}",)

    def _keep_rows(self) -> None:
        """Copy what outlives the contents now, which takes longest while the old one is not locked.

        With the row of the job comes its fencing token. An old index with rows that violate a
        constraint, or that are no text, is put aside without them.
        """
        try:
            self._copy_kept()
        except EngineError as error:
            if not isinstance(error, IndexCorruptError) and error.code != EngineError.code:
                raise
            self._put_aside()
            self._copy_kept()

    def _copy_kept(self) -> None:
        with self._old.read() as old, self.store.write(bookkeeping=True) as new:
            copy_kept(old, new)

    def _complete(self, report: IndexReport, old: Handle, new: Handle) -> None:
        if self._job:
            self._job.after_begin(old)
            if jobs.is_cancel_requested(old, self._job.row.id):
                raise Cancelled("the old index is as it was")
            self._check()
        copy_kept(old, new)
        if self._job:
            self._job.record_result(new, asdict(report))
        fault_point("kept rows copied")

    def _check(self) -> None:
        """Stop if that is wanted, also by those who cannot write to the old index now."""
        job = self._job
        if self._cancelled() or (job and noted_request(self._old.path, job.row.uuid)):
            raise Cancelled("the old index is as it was")


def _storing(job: JobContext) -> Progress:
    done, size_bytes = job.files_done, job.bytes_done
    return Progress(
        phase=Phase.STORING,
        done=done,
        total=done,
        current_path="",
        bytes_done=size_bytes,
        bytes_total=size_bytes,
        elapsed_ms=0,
    )


def copy_kept(old: Handle, new: Handle) -> None:
    """Replace the rows that outlive contents by those of another database, with their words."""
    changed = kept_rows.copy_kept_rows(old, new)
    make_jobs_readable(new)
    mended = make_readable(new, checks.read_memory_ids(new))
    for row, terms in words_of_memories(new, sorted({*changed, *mended})):
        memories.insert_words(new, row.id, terms)


class RebuildHook:
    """The job that fills a new index: it is shown in the old one, which everybody reads.

    Progress is written there after the work that it counts, in a transaction of its own.

    Args:
        old: The database of the project.
        job: The job.
    """

    def __init__(self, old: Store, job: JobContext) -> None:
        self._old = old
        self._job = job

    def is_durable(self) -> bool:
        """Return whether a checkpoint is due."""
        return self._job.is_durable()

    def after_begin(self, handle: Handle) -> None:
        """Refuse to write if another runner has taken over the job."""
        self._job.after_begin(handle)

    def before_commit(self, handle: Handle) -> None:
        """Do nothing yet."""

    def after_commit(self) -> None:
        """Write the progress."""
        with self._old.write(durable=self._job.is_durable(), bookkeeping=True) as handle:
            self._job.after_begin(handle)
            self._job.before_commit(handle)
        self._job.after_commit()
