"""The pipeline: walk → read → parse, embed → store, incremental, cancellable between files.

The main thread walks, reads, hashes and writes; worker processes parse. A blob that is already
stored is never parsed again. The file rows are the checkpoint: what was committed when a run was
killed or cancelled is kept, and the next run does only the rest.

At the end a run deletes what nothing refers to any more, in small transactions, so that neither
searches nor a cancellation wait, and marks how complete the branch is. Deletions that an early end
leaves undone need no record: each run asks the database what there is to delete.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from hashlib import sha256
from typing import TYPE_CHECKING

from engine.cancellation import CancelToken
from engine.config import LARGEST_FILE_BYTES
from engine.errors import Cancelled, InvalidPathError
from engine.faults import fault_point
from engine.index_records import FileError, Phase, ProgressCallback
from engine.indexing.batch import Batch, FirstIds, InlineModel, NewBlob
from engine.indexing.parse_records import Outcome, Parsed, Task
from engine.indexing.progress import Journal, ProgressReporter, Tally
from engine.indexing.scan import (
    IndexedState,
    Scan,
    ScanTarget,
    is_racy,
    language_or_skip,
    scan,
    scan_inputs,
)
from engine.indexing.workers import WorkerPool
from engine.record_class import record
from engine.records import FAILURES, FileEntry, FileStat, Skip, SkipReason, display_path
from engine.source.file_formats import DOCUMENTS
from engine.source.partial_walk import PathSet
from engine.source.reader import TreeReader, check_not_emptied, check_root
from engine.source.walker import WalkRules
from engine.store import blobs, files, fulltext, project
from engine.store.connection import Store
from engine.store.project import BranchRow

if TYPE_CHECKING:
    from engine.source.commit_tree import CommitTree

_ORPHANS_AT_ONCE = 100
_ORPHAN_BYTES = 512 << 10  # of text, deleted in one transaction of some 200 ms

_TASK_BYTES = 32 << 10  # source in one message to a worker: small ones keep all cores busy
_TASK_FILES = 16
_LARGE_BYTES = 64 << 10  # files of this size go first: one alone at the end leaves cores idle
# Files that are parsed but not written are parsed again after a kill: at most so many, or this
# part of all. Up to ``_AHEAD`` times as many are with the workers.
_UNWRITTEN_FILES = 16
_UNWRITTEN_PART = 4000
_AHEAD = 3
_HASH_START = 8  # bytes that tell contents apart, nearly always
_NO_LANGUAGE = "text"  # of a task without content
_LAST_BATCHES = 8  # the batches at the end are smaller by this factor
#: Skips that may mean that the whole root is gone or closed.
_OF_THE_ROOT = frozenset({SkipReason.UNREADABLE, SkipReason.VANISHED})
_NOT_READ = frozenset({SkipReason.UNREADABLE, SkipReason.CHANGING})  # for a while


def end_branch(
    store: Store, before: BranchRow, *, is_whole: bool, is_checked_out: Callable[[], bool]
) -> None:
    """Write how complete a branch is; a run over some paths does not make it more complete.

    Files that were skipped on reading do not count as found; those that failed do.
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


#: Called between transactions; raises ``Cancelled`` when the run was cancelled.
CheckCancelled = Callable[[], None]


def delete_branches(store: Store, branch_ids: Iterable[int], check: CheckCancelled) -> None:
    """Delete branches with their files and skips; their blobs stay."""
    for branch_id in branch_ids:
        more = True
        while more:
            check()
            with store.write() as handle:
                more = project.shrink_branch(handle, branch_id)


def delete_orphans(store: Store, check: CheckCancelled) -> None:
    """Delete the blobs that no file points to."""
    with store.read() as handle:
        groups = blobs.orphans(handle, _ORPHAN_BYTES)
    for group in groups:
        check()
        with store.write() as handle:
            blobs.delete_blobs(handle, group)
            fault_point("orphans deleted")


def delete_unreferenced(
    store: Store, blob_ids: Iterable[int], keep_vectors: Callable[[], None], check: CheckCancelled
) -> None:
    """Delete those of the given blobs that no file points to; other blobs are not examined."""
    with store.read() as handle:
        ids = blobs.orphans_among(handle, blob_ids)
    if ids:
        keep_vectors()
    for start in range(0, len(ids), _ORPHANS_AT_ONCE):
        check()
        with store.write() as handle:
            blobs.delete_blobs(handle, ids[start : start + _ORPHANS_AT_ONCE])


def purge_words(store: Store, check: CheckCancelled) -> None:
    """Rewrite the full-text index without the words of deleted texts."""
    is_first = more = True
    while more:
        check()
        with store.write() as handle:
            more = fulltext.merge_words(handle, is_first=is_first)
        is_first = False


@record
class RunParameters:
    """Parameters of an indexing run."""

    root: str
    branch_id: int
    is_checked_out: Callable[[], bool]  # whether the branch is still checked out
    gone_branch_ids: tuple[int, ...]
    only: PathSet | None  # None: the whole project
    tree: "CommitTree | None"  # what is read in place of the disk
    fingerprint_id: int
    rules: WalkRules
    inline_model: InlineModel | None  # None: vectors are made later, or not at all
    keep_vectors: Callable[[], None]  # called before blobs are deleted whose vectors others can use
    batch_bytes: int
    queue_bytes: int
    journal: Journal
    on_progress: ProgressCallback
    cancelled: CancelToken


class Indexer:
    """One run over one branch of one project.

    Args:
        store: The project's database; this process must be its only indexer.
        pool: Workers to parse with, shared with other runs.
        run: What to index, and who is told.
    """

    def __init__(self, store: Store, pool: WorkerPool, run: RunParameters) -> None:
        self._store = store
        self._channel = pool.channel()
        self._run = run
        self._journal = run.journal
        self._tally = run.journal.tally
        self._tally.files_skipped = 0
        self._tally.errors.clear()
        self._tally.done = self._tally.bytes_done = 0
        self._progress = ProgressReporter(run.on_progress, self._tally)
        self._known = IndexedState(files={}, skips={}, fingerprint_id=run.fingerprint_id)
        self._is_whole = run.only is None  # a run over some paths may turn into one over all
        with store.read() as handle:
            self._batch = Batch(
                handle,
                branch_id=run.branch_id,
                fingerprint_id=run.fingerprint_id,
                inline_model=run.inline_model,
            )
            self._before = project.read_branch(handle, run.branch_id)
            # Beginnings of the hashes of all contents; None where an earlier run has stored some.
            self._stored: set[bytes] | None = None if blobs.has_any(handle) else set()
        self._first_ids = self._batch.first_ids
        self._must_purge_words = False  # whether the words of deleted texts must go at once
        self._has_written = False
        self._unfit = 0  # files of the batch that the scan counted, and that cannot be indexed
        self._max_unwritten = _UNWRITTEN_FILES
        self._vanished: list[int] = []  # ids of files that were gone when they were to be read
        self._tasks: list[Task] = []
        self._task_bytes = 0
        # Files that wait for a blob in the workers, by what identifies the blob.
        self._waiting: dict[tuple[bytes, str], list[FileEntry]] = {}
        self._tickets: dict[int, tuple[bytes, str]] = {}
        self._last_ticket = 0
        # Files with a known content whose paths are embedded by the workers, by ticket.
        self._copies: dict[int, tuple[FileEntry, int]] = {}
        self._batch_blobs: dict[tuple[bytes, str], int] = {}  # in the batch, not yet committed

    @property
    def new_ids(self) -> FirstIds | None:
        """The first ids that a run over some paths adds; None for a run over the whole project."""
        return None if self._is_whole else self._first_ids

    def index(self) -> Tally:
        """Bring the branch up to date with the disk.

        Raises:
            Cancelled: The run was cancelled; what was committed is kept.
            InvalidPathError: The root cannot be read (any more); what was committed is kept.
        """
        found = self._scan()
        self._progress.total = len(found.changed)
        self._progress.bytes_total = sum(entry.stat.size_bytes for entry in found.changed)
        self._channel.expected_bytes = self._progress.bytes_total
        self._journal.record_files(
            [entry.path for entry in found.changed], self._progress.bytes_total
        )
        with self._channel:
            self._parse(found.changed)
        self._finish()
        return self._tally

    def _scan(self) -> Scan:
        run = self._run
        self._root = check_root(run.root)
        target = ScanTarget(run.root, run.rules, run.branch_id, run.fingerprint_id, run.only)
        target = target._replace(tree=run.tree)
        items, self._known, self._is_whole = scan_inputs(self._store, target, run.cancelled)
        # Deleted texts may hold secrets that an older version, or the run that was cut off, did not
        # recognise.
        self._must_purge_words = self._is_whole and (
            self._before.was_cut_off
            or any(file.fingerprint_id != run.fingerprint_id for file in self._known.files.values())
        )
        found = scan(items, self._known, on_progress=self._report_scan)
        self._tally.files_unchanged = max(0, found.unchanged - self._tally.earlier)
        self._tally.files_skipped = found.skipped
        self._tally.files_removed = len(found.gone)
        for skip in found.failures:
            self._note_failure(skip)
        if found.failures or found.gone:
            check_root(run.root, self._root)
        if run.tree is None and found.gone and not (found.changed or found.unchanged):
            check_not_emptied(run.root)
        has_secret = any(skip.reason is SkipReason.SECRET_FILE for skip in found.new_skips)
        if has_secret and (self._known.files or not self._is_whole):
            self._must_purge_words = True  # it may have been indexed under another name
        if self._is_whole or self._must_purge_words:
            self._begin_branch(len(found.changed) + found.unchanged)
        for skip in found.new_skips:
            self._batch.add_skip(skip)
            self._commit_if_full()
        for path in found.gone_skips:
            self._batch.remove_skip(path)
            self._commit_if_full()
        for file_id in found.gone:
            self._batch.remove_files([file_id])
            self._commit_if_full()
        self._commit()
        return found

    def _begin_branch(self, number: int) -> None:
        """Mark the branch as incomplete until the run ends."""
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
        """Read changed files, have new blobs parsed, and write the outcomes as they come."""
        limit = self._run.rules.max_file_size_bytes or LARGEST_FILE_BYTES
        self._max_unwritten = max(_UNWRITTEN_FILES, len(changed) // _UNWRITTEN_PART)
        with (
            nullcontext(self._run.tree) if self._run.tree else TreeReader(self._run.root) as reader
        ):
            for entry in sorted(changed, key=_is_small):
                self._stop_if_cancelled()
                self._progress.path = entry.path
                self._progress.report(Phase.PARSING)
                self._read(reader, entry, limit)
                self._commit_if_full()  # a run may have nothing to parse
                while self._channel.is_ahead(self._run.queue_bytes, _AHEAD * self._max_unwritten):
                    self._collect(0.1)
                self._collect(0.0)
        self._submit()
        while self._channel.pending_batches:
            # Nothing is left to read: write while the last files are being parsed.
            self._collect(0.1, self._run.batch_bytes // _LAST_BATCHES)
            self._submit()
        self._progress.report(Phase.STORING, force=True)
        self._commit()

    def _read(self, reader: "TreeReader | CommitTree", entry: FileEntry, limit: int) -> None:
        if self._journal.is_poison(entry.path):
            detail = "indexing it crashed this program several times"
            self._store_skip(Skip(entry.path, SkipReason.PARSER_FAILED, detail, stat=entry.stat))
            return
        self._journal.mark_in_flight(entry.path)
        fault_point("read", entry.path)
        before_ns = time.time_ns()
        content = reader.read(entry, limit)
        if isinstance(content, Skip):
            if content.reason in _OF_THE_ROOT:
                self._check_root()
            self._store_skip(content)
        else:
            stat = content.stat
            if is_racy(stat, before_ns):
                stat = stat._replace(mtime_ns=0)
            self._assign_blob(entry._replace(stat=stat), content.data)
        self._journal.mark_in_flight("")

    def _assign_blob(self, entry: FileEntry, data: bytes) -> None:
        """Find the blob of a file: stored already, with the workers, or to be parsed now."""
        language = language_or_skip(entry.path, data, entry.stat)
        if isinstance(language, Skip):
            self._store_skip(language)
            return
        key = (sha256(data).digest(), language)
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(entry)
            return
        blob_id = self._batch_blobs.get(key) or self._stored_blob(key)
        if blob_id is not None:
            self._store_copy(entry, blob_id)
            return
        self._last_ticket += 1
        ticket = self._last_ticket
        self._tickets[ticket] = key
        self._waiting[key] = [entry]
        is_embedded = self._run.inline_model is not None
        self._add_task(Task(ticket, entry.path, language, data, is_embedded=is_embedded))

    def _add_task(self, task: Task) -> None:
        is_alone = task.language in DOCUMENTS  # it may cost its worker, with all that goes along
        if is_alone:
            self._submit()
        self._tasks.append(task)
        self._task_bytes += len(task.data)
        if is_alone or self._task_bytes >= _TASK_BYTES or len(self._tasks) >= _TASK_FILES:
            self._submit()

    def _stored_blob(self, key: tuple[bytes, str]) -> int | None:
        if self._stored is not None and key[0][:_HASH_START] not in self._stored:
            return None
        with self._store.read() as handle:
            return blobs.find_blob(handle, *key, self._run.fingerprint_id)

    def _submit(self) -> None:
        if self._tasks:
            self._channel.submit(self._tasks)
            self._tasks, self._task_bytes = [], 0

    def _collect(self, timeout_s: float, batch_bytes: int = 0) -> None:
        """Store what the workers have finished; commit when the batch is full."""
        self._stop_if_cancelled()
        for outcome in self._channel.poll(timeout_s):
            self._store_outcome(outcome)
            self._commit_if_full(batch_bytes)
        self._progress.report(Phase.PARSING)

    def _store_outcome(self, outcome: Outcome) -> None:
        copy = self._copies.pop(outcome.ticket, None)
        if copy:
            self._store_file(*copy, path_vector=_path_vector_of(outcome.result))
            return
        key = self._tickets.pop(outcome.ticket)
        entries = self._waiting.pop(key)
        self._progress.path = entries[0].path
        result = outcome.result
        if isinstance(result, Skip):
            for entry in entries:
                self._store_skip(result._replace(path=entry.path, stat=entry.stat))
            return
        blob_id = self._batch.add_blob(NewBlob(*key, result))
        self._batch_blobs[key] = blob_id
        if self._stored is not None:
            self._stored.add(key[0][:_HASH_START])
        self._tally.embeddings += 0 if result.vectors is None else len(result.vectors.exact)
        self._store_file(entries[0], blob_id, parsed=result, path_vector=result.path_vector)
        for entry in entries[1:]:
            self._store_copy(entry, blob_id)
            self._commit_if_full()  # a folder may hold many equal files

    def _store_copy(self, entry: FileEntry, blob_id: int) -> None:
        """Store a file whose content is known, or let a worker make the vector of its path first.

        Here it would take numpy, whose import takes longer than many small runs, but not as long as
        starting the first worker.
        """
        known = self._known.files.get(entry.path)
        is_kept = known is not None and known.fingerprint_id == self._run.fingerprint_id
        has_vector = self._run.inline_model is None or is_kept
        if has_vector or not self._last_ticket:
            self._store_file(entry, blob_id)
            return
        self._last_ticket += 1
        self._copies[self._last_ticket] = (entry, blob_id)
        task = Task(self._last_ticket, entry.path, _NO_LANGUAGE, b"")
        self._add_task(task._replace(is_parsed=False, is_embedded=True))

    def _store_file(
        self,
        entry: FileEntry,
        blob_id: int,
        *,
        parsed: Parsed | None = None,
        path_vector: bytes | None = None,
    ) -> None:
        """Add a file and remove its old skip; count it as indexed if its blob changed."""
        path, stat, _ = entry
        known = self._known.files.get(path)
        self._batch.add_file(
            entry,
            blob_id,
            known=known,
            vector=path_vector,
            now_ms=time.time_ns() // 1_000_000,
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

    def _store_skip(self, skip: Skip) -> None:
        """Add a skip found on reading; a file that could not be read keeps its old content."""
        self._count(skip.stat)
        known = self._known.files.get(skip.path)
        if skip.reason in FAILURES:
            self._note_failure(skip)
        else:
            self._unfit += 1
            self._tally.files_skipped += skip.reason is not SkipReason.VANISHED
        if known and skip.reason is SkipReason.VANISHED:
            self._vanished.append(known.file_id)
            self._tally.files_removed += 1
        elif known and skip.reason not in _NOT_READ:
            self._batch.remove_files([known.file_id])
            self._tally.files_removed += 1
        if skip.reason is SkipReason.VANISHED:
            self._batch.remove_skip(skip.path)
        else:
            self._batch.add_skip(skip)

    def _count(self, stat: FileStat | None) -> None:
        """Count a file whose outcome is known, and its bytes."""
        self._tally.done += 1
        self._tally.bytes_done += stat.size_bytes if stat else 0

    def _note_failure(self, skip: Skip) -> None:
        message = f"{skip.reason.value}: {skip.detail}" if skip.detail else skip.reason.value
        self._tally.errors.append(FileError(file=display_path(skip.path), error=message))

    def _check_root(self) -> None:
        """End the run if the whole tree, not just a file, cannot be read."""
        try:
            check_root(self._run.root, self._root)
        except InvalidPathError:
            self._commit()
            raise

    def _commit_if_full(self, batch_bytes: int = 0) -> None:
        is_full = self._batch.size_bytes >= (batch_bytes or self._run.batch_bytes)
        if is_full or len(self._batch_blobs) >= self._max_unwritten:
            self._commit()
            self._stop_if_cancelled()

    def _commit(self) -> None:
        if self._batch.is_empty:
            return
        with self._store.write() as handle:
            self._batch.write(handle)
            if self._unfit and self._is_whole:
                project.lower_found(handle, self._run.branch_id, self._unfit)
        self._batch_blobs.clear()
        self._unfit = 0
        self._has_written = True

    def _finish(self) -> None:
        """Delete what nothing refers to any more, and mark the branch as complete."""
        self._progress.report(Phase.FINISHING, force=True)
        self._check_root()  # a folder is deleted from its files upwards, and itself at last
        for file_id in self._vanished:
            self._batch.remove_files([file_id])
            self._commit_if_full()
        self._commit()
        run, check = self._run, self._stop_if_cancelled
        if self._is_whole:
            delete_branches(self._store, run.gone_branch_ids, check)
            run.keep_vectors()
            delete_orphans(self._store, check)
        elif self._has_written:
            known = {file.blob_id for file in self._known.files.values()}
            delete_unreferenced(self._store, known, run.keep_vectors, check)
        if self._must_purge_words:
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
                f"{self._tally.done} of {self._progress.total} files were finished and are kept"
            )

    def _report_scan(self, number: int, path: str) -> None:
        self._progress.path = path
        self._progress.report(Phase.SCANNING, found=number)


def _path_vector_of(result: Parsed | Skip) -> bytes | None:
    """Return the vector of the path of a task without content; None if its worker was lost."""
    return result.path_vector if isinstance(result, Parsed) else None


def _is_small(entry: FileEntry) -> bool:
    return entry.stat.size_bytes < _LARGE_BYTES
