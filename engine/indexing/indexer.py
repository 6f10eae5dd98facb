"""The pipeline: walk → read → parse, embed → store, incremental, stopping only between files.

The main thread walks, reads, hashes and writes; worker processes parse. A blob that is stored
already is never parsed again. The file rows are the checkpoint: whatever was committed when a run
ends early, killed or cancelled, is kept, and the next run does only the rest.

The end of a run: the branch says how far it is.

Deletes what nothing needs any more, a piece at a time, so that neither searches nor a stop wait.

What is left when a run ends early, is for the next one: each asks the database what there is.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from engine.config import LARGEST_FILE_BYTES
from engine.errors import Cancelled, InvalidPathError
from engine.faults import fault_point
from engine.indexing.batch import Batch, FirstIds, Meaning, NewBlob
from engine.indexing.parsing import Outcome, Parsed, Task
from engine.indexing.progress import Journal, Meter, Tally
from engine.indexing.scan import (
    Ground,
    Known,
    Scan,
    is_racy,
    language_or_skip,
    scan,
    sides_of,
)
from engine.indexing.workers import WorkerPool
from engine.records import (
    FAILURES,
    FileEntry,
    FileError,
    FileStat,
    Phase,
    ProgressCallback,
    Skip,
    SkipReason,
    display_path,
)
from engine.source.partial_walk import PathSet
from engine.source.reader import TreeReader, check_root
from engine.source.walker import WalkRules
from engine.store import blobs, files, fulltext, project
from engine.store.connection import Store
from engine.store.project import BranchRow


def end_branch(
    store: Store, before: BranchRow, *, is_whole: bool, is_checked_out: Callable[[], bool]
) -> None:
    """Say how far a branch is; a run over some paths leaves it no more complete than it was.

    What reading refused was no candidate after all; what failed still is one.
    """
    is_complete = is_whole or before.complete
    now_ms = time.time_ns() // 1_000_000 if is_complete else None
    with store.write(durable=is_whole) as handle:
        failures = files.count_reasons(handle, before.id, FAILURES)
        project.update_branch(
            handle,
            before.id,
            found_files=files.count_files(handle, before.id) + failures,
            complete=is_complete and is_checked_out(),
            now_ms=now_ms,
        )
        if now_ms is not None:
            project.finish_project(handle, now_ms=now_ms)
        if is_whole:
            project.delete_stale_fingerprints(handle)
        fault_point("branch finished")


_ORPHANS_AT_ONCE = 100
_ORPHAN_BYTES = 512 << 10  # of text, deleted in one transaction of some 200 ms

#: Called between pieces; raises ``Cancelled`` when the run is to end.
Check = Callable[[], None]


def delete_branches(store: Store, branch_ids: Iterable[int], check: Check) -> None:
    """Delete branches with their files and skips; their blobs stay."""
    for branch_id in branch_ids:
        more = True
        while more:
            check()
            with store.write() as handle:
                more = project.shrink_branch(handle, branch_id)


def delete_orphans(store: Store, check: Check) -> None:
    """Delete the blobs that no file points to."""
    with store.read() as handle:
        groups = blobs.orphans(handle, _ORPHAN_BYTES)
    for group in groups:
        check()
        with store.write() as handle:
            blobs.delete_blobs(handle, group)
            fault_point("orphans deleted")


def delete_left(
    store: Store, blob_ids: Iterable[int], keep_vectors: Callable[[], None], check: Check
) -> None:
    """Delete those of some blobs that no file points to, without looking at the others."""
    with store.read() as handle:
        ids = blobs.orphans_among(handle, blob_ids)
    if ids:
        keep_vectors()
    for start in range(0, len(ids), _ORPHANS_AT_ONCE):
        check()
        with store.write() as handle:
            blobs.delete_blobs(handle, ids[start : start + _ORPHANS_AT_ONCE])


def purge_words(store: Store, check: Check) -> None:
    """Rewrite the index of words without those of deleted texts."""
    is_first = more = True
    while more:
        check()
        with store.write() as handle:
            more = fulltext.merge_words(handle, is_first=is_first)
        is_first = False


_TASK_BYTES = 32 << 10  # source in one message to a worker: small ones keep all cores busy
_TASK_FILES = 16
_LARGE_BYTES = 64 << 10  # files of this size go first: one alone at the end leaves cores idle
# What is parsed and not written is parsed once more when the run is killed: so many files, or
# this part of all; and so many times that wait for the workers or have been through them.
_UNWRITTEN_FILES = 16
_UNWRITTEN_PART = 4000
_AHEAD = 3
_LAST_BATCHES = 8  # so many times smaller are the batches that are written at the end
#: What reading says of a file when it may be the root that is gone or closed.
_OF_THE_ROOT = frozenset({SkipReason.UNREADABLE, SkipReason.VANISHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What an indexing run needs to know."""

    root: str
    branch_id: int
    is_checked_out: Callable[[], bool]  # whether the branch still is what the disk holds
    gone_branch_ids: tuple[int, ...]
    only: PathSet | None  # None: the whole project
    fingerprint_id: int
    rules: WalkRules
    meaning: Meaning | None  # None: vectors are made later, or not at all
    keep_vectors: Callable[[], None]  # called before blobs go whose vectors others can use
    batch_bytes: int
    queue_bytes: int
    journal: Journal
    on_progress: ProgressCallback
    cancelled: Callable[[], bool]


class _Reading(NamedTuple):
    """A file that was read and waits for its blob."""

    path: str
    stat: FileStat


class Indexer:
    """One run over one branch of one project.

    Args:
        store: The project's database; this process must be its only indexer.
        pool: Workers to parse with, shared with other runs.
        run: What to index and whom to tell.
    """

    def __init__(self, store: Store, pool: WorkerPool, run: Run) -> None:
        self._store = store
        self._channel = pool.channel()
        self._run = run
        self._journal = run.journal
        self._tally = run.journal.tally
        self._tally.files_skipped = 0
        self._tally.errors.clear()
        self._tally.done = 0
        self._meter = Meter(run.on_progress, self._tally)
        self._known = Known(files={}, skips={}, fingerprint_id=run.fingerprint_id)
        self._is_whole = run.only is None  # a run over some paths may have to look at all
        with store.read() as handle:
            self._batch = Batch(
                handle,
                branch_id=run.branch_id,
                fingerprint_id=run.fingerprint_id,
                meaning=run.meaning,
            )
            self._before = project.read_branch(handle, run.branch_id)
        self._first_ids = self._batch.first_ids
        self._purges = False  # whether the words of deleted texts must go at once
        self._has_written = False
        self._most_unwritten = _UNWRITTEN_FILES
        self._vanished: list[int] = []  # ids of files that were gone when they were to be read
        self._tasks: list[Task] = []
        self._task_bytes = 0
        # Files that wait for a blob in the workers, by what identifies the blob.
        self._waiting: dict[tuple[bytes, str], list[_Reading]] = {}
        self._tickets: dict[int, tuple[bytes, str]] = {}
        self._last_ticket = 0
        self._batch_blobs: dict[tuple[bytes, str], int] = {}  # in the batch, not yet committed

    @property
    def new_ids(self) -> FirstIds | None:
        """The first ids of what a run over some paths adds; None of one over all."""
        return None if self._is_whole else self._first_ids

    def index(self) -> Tally:
        """Bring the branch up to date with the disk.

        Raises:
            Cancelled: The caller asked to stop; what was committed is kept.
            InvalidPathError: The root cannot be read, or not any more; what was committed is kept.
        """
        found = self._scan()
        self._meter.total = len(found.changed)
        self._meter.bytes_total = sum(entry.stat.size_bytes for entry in found.changed)
        self._journal.found([entry.path for entry in found.changed], self._meter.bytes_total)
        with self._channel:
            self._parse(found.changed)
        self._finish()
        return self._tally

    def _scan(self) -> Scan:
        run = self._run
        self._root = check_root(run.root)
        ground = Ground(run.root, run.rules, run.branch_id, run.fingerprint_id, run.only)
        items, self._known, self._is_whole = sides_of(self._store, ground, run.cancelled)
        # What was deleted may be secrets that an older program, or the run that was cut off, took
        # for something else.
        self._purges = self._is_whole and (
            self._before.was_cut_off
            or any(file.fingerprint_id != run.fingerprint_id for file in self._known.files.values())
        )
        found = scan(items, self._known, any_text=bool(run.rules.include), tell=self._tell_scan)
        self._tally.files_unchanged = max(0, found.unchanged - self._tally.earlier)
        self._tally.files_skipped = found.skipped
        for skip in found.failures:
            self._note_failure(skip)
        if found.failures or found.gone:
            check_root(run.root, self._root)
        has_secret = any(skip.reason is SkipReason.SECRET_FILE for skip in found.new_skips)
        if has_secret and (self._known.files or not self._is_whole):
            self._purges = True  # it may have been a file of another name
        if self._is_whole or self._purges:
            self._begin_branch(len(found.changed) + found.unchanged)
        for skip in found.new_skips:
            self._batch.add_skip(skip)
            self._commit_if_full()
        for path in found.gone_skips:
            self._batch.remove_skip(path)
        for file_id in found.gone:
            self._batch.remove_files([file_id])
            self._commit_if_full()
        self._commit()
        return found

    def _begin_branch(self, number: int) -> None:
        """Write that the branch is not complete until the run ends."""
        with self._store.write() as handle:
            project.update_branch(
                handle,
                self._run.branch_id,
                found_files=number if self._is_whole else self._before.found_files,
                complete=False,
            )
        self._has_written = True
        fault_point("scan stored")

    def _parse(self, changed: list[FileEntry]) -> None:
        """Read what changed, have new blobs parsed, and write both in the order they come."""
        limit = self._run.rules.max_file_size_bytes or LARGEST_FILE_BYTES
        self._most_unwritten = max(_UNWRITTEN_FILES, len(changed) // _UNWRITTEN_PART)
        with TreeReader(self._run.root) as reader:
            for entry in sorted(changed, key=_is_small):
                self._stop_if_cancelled()
                self._meter.path = entry.path
                self._meter.tell(Phase.PARSING)
                self._read(reader, entry, limit)
                while self._channel.is_ahead(self._run.queue_bytes, _AHEAD * self._most_unwritten):
                    self._collect(0.1)
                self._collect(0.0)
        self._submit()
        while self._channel.pending_batches:
            # Nothing is left to read: writing fills the time in which the last files are parsed.
            self._collect(0.1, self._run.batch_bytes // _LAST_BATCHES)
        self._meter.tell(Phase.STORING, force=True)
        self._commit()

    def _read(self, reader: TreeReader, entry: FileEntry, limit: int) -> None:
        if self._journal.is_poison(entry.path):
            detail = "indexing it ended this program several times"
            self._put_skip(Skip(entry.path, SkipReason.PARSER_FAILED, detail, stat=entry.stat))
            return
        self._journal.holds(entry.path)
        fault_point("read", entry.path)
        content = reader.read(entry, limit)
        if isinstance(content, Skip):
            if content.reason in _OF_THE_ROOT:
                self._check_root()
            self._put_skip(content)
        else:
            self._take(entry.path, content.data, content.stat)
        self._journal.holds("")

    def _take(self, path: str, data: bytes, stat: FileStat) -> None:
        """Give a file its blob: one that is stored, one in the workers, or a new one."""
        language = language_or_skip(path, data, stat, any_text=bool(self._run.rules.include))
        if isinstance(language, Skip):
            self._put_skip(language)
            return
        reading = _Reading(path, stat)
        key = (sha256(data).digest(), language)
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(reading)
            return
        blob_id = self._batch_blobs.get(key) or self._stored_blob(key)
        if blob_id is not None:
            self._put_file(reading, blob_id)
            return
        self._last_ticket += 1
        ticket = self._last_ticket
        self._tickets[ticket] = key
        self._waiting[key] = [reading]
        is_embedded = self._run.meaning is not None
        self._tasks.append(Task(ticket, path, language, data, is_embedded=is_embedded))
        self._task_bytes += len(data)
        if self._task_bytes >= _TASK_BYTES or len(self._tasks) >= _TASK_FILES:
            self._submit()

    def _stored_blob(self, key: tuple[bytes, str]) -> int | None:
        with self._store.read() as handle:
            return blobs.find_blob(handle, *key, self._run.fingerprint_id)

    def _submit(self) -> None:
        if self._tasks:
            self._channel.submit(self._tasks)
            self._tasks, self._task_bytes = [], 0

    def _collect(self, timeout_s: float, batch_bytes: int = 0) -> None:
        """Take what the workers finished; write when a batch is full."""
        self._stop_if_cancelled()
        for outcome in self._channel.poll(timeout_s):
            self._put_outcome(outcome)
            self._commit_if_full(batch_bytes)
        self._meter.tell(Phase.PARSING)

    def _put_outcome(self, outcome: Outcome) -> None:
        key = self._tickets.pop(outcome.ticket)
        readings = self._waiting.pop(key)
        self._meter.path = readings[0].path
        result = outcome.result
        if isinstance(result, Skip):
            for path, stat in readings:
                self._put_skip(result._replace(path=path, stat=stat))
            return
        blob_id = self._batch.add_blob(NewBlob(*key, result))
        self._batch_blobs[key] = blob_id
        self._tally.embeddings += 0 if result.vectors is None else len(result.vectors)
        for number, reading in enumerate(readings):
            self._put_file(reading, blob_id, parsed=result if number == 0 else None)
            self._commit_if_full()  # there are folders of equal files

    def _put_file(self, reading: _Reading, blob_id: int, *, parsed: Parsed | None = None) -> None:
        """Write a file's row. Its old skip goes, and it counts as indexed if its blob changed."""
        path, stat = reading
        known = self._known.files.get(path)
        now_ns = time.time_ns()
        self._batch.add_file(
            path,
            stat._replace(mtime_ns=0) if is_racy(stat, now_ns) else stat,
            blob_id,
            known=known,
            now_ms=now_ns // 1_000_000,
        )
        if path in self._known.skips:
            self._batch.remove_skip(path)
        self._count(stat)
        if known and known.blob_id == blob_id:
            self._tally.files_unchanged += 1
            return
        self._tally.files_indexed += 1
        if parsed:
            self._tally.symbols += len(parsed.analysis.symbols)
            self._tally.chunks += len(parsed.analysis.chunks)
        else:
            self._tally.reused += 1

    def _put_skip(self, skip: Skip) -> None:
        """Write a skip found while reading; a file that only failed keeps what is indexed."""
        self._count(skip.stat)
        known = self._known.files.get(skip.path)
        if skip.reason in FAILURES:
            self._note_failure(skip)
        else:
            self._tally.files_skipped += 1
            if known and skip.reason is SkipReason.VANISHED:
                self._vanished.append(known.file_id)
            elif known:
                self._batch.remove_files([known.file_id])
        if skip.reason is SkipReason.VANISHED:
            self._batch.remove_skip(skip.path)
        else:
            self._batch.add_skip(skip)

    def _count(self, stat: FileStat | None) -> None:
        """Count a file whose outcome is known, with the bytes that were to be looked at for it."""
        self._tally.done += 1
        self._meter.bytes_done += stat.size_bytes if stat else 0

    def _note_failure(self, skip: Skip) -> None:
        message = f"{skip.reason.value}: {skip.detail}" if skip.detail else skip.reason.value
        self._tally.errors.append(FileError(file=display_path(skip.path), error=message))

    def _check_root(self) -> None:
        """End the run when it is not a file that cannot be read but the whole tree."""
        try:
            check_root(self._run.root, self._root)
        except InvalidPathError:
            self._commit()
            raise

    def _commit_if_full(self, batch_bytes: int = 0) -> None:
        is_full = self._batch.size_bytes >= (batch_bytes or self._run.batch_bytes)
        if is_full or len(self._batch_blobs) >= self._most_unwritten:
            self._commit()
            self._stop_if_cancelled()

    def _commit(self) -> None:
        if self._batch.is_empty:
            return
        with self._store.write() as handle:
            self._batch.write(handle)
        self._batch_blobs.clear()
        self._has_written = True

    def _finish(self) -> None:
        """Delete what nothing needs any more, and say that the branch is complete."""
        self._meter.tell(Phase.FINISHING, force=True)
        self._check_root()  # a folder is deleted from its files upwards, and itself at last
        self._batch.remove_files(self._vanished)
        self._commit()
        run, check = self._run, self._stop_if_cancelled
        if self._is_whole:
            delete_branches(self._store, run.gone_branch_ids, check)
            run.keep_vectors()
            delete_orphans(self._store, check)
        elif self._has_written:
            known = {file.blob_id for file in self._known.files.values()}
            delete_left(self._store, known, run.keep_vectors, check)
        if self._purges:
            purge_words(self._store, check)
        check()
        if self._is_whole or self._has_written:
            end_branch(
                self._store,
                self._before,
                is_whole=self._is_whole,
                is_checked_out=run.is_checked_out,
            )

    def _stop_if_cancelled(self) -> None:
        if self._run.cancelled():
            self._commit()
            raise Cancelled(
                f"{self._tally.done} of {self._meter.total} files were finished and are kept"
            )

    def _tell_scan(self, number: int, path: str) -> None:
        self._meter.path = path
        self._meter.tell(Phase.SCANNING, found=number)


def _is_small(entry: FileEntry) -> bool:
    return entry.stat.size_bytes < _LARGE_BYTES
