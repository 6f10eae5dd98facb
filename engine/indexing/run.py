"""One indexing run from beginning to end: scope, branch and models, the pipeline, the report.

A run ends with a compaction when much of the database file is empty. SQLite rewrites the file in
place while readers go on, at the price of a WAL as large as the file and of a moment in which
nobody else can write; so large files are compacted only on request.

``without_full_gc`` keeps full garbage collections out of runs. A run holds millions of
live objects, and each full collection visits all of them with the interpreter lock held: 230 ms for
100,000 files, and a tenth of the time of the whole run.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from engine.cancellation import CancelToken
from engine.clock import iso_time, now_ms
from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import (
    DiskFullError,
    EmbedderUnavailableError,
    IndexBusyError,
    ProjectNotFoundError,
)
from engine.faults import fault_point
from engine.index_records import FileError, IndexOptions, IndexReport, ProgressCallback
from engine.indexing.batch import FirstIds
from engine.indexing.indexer import Indexer, RunParameters
from engine.indexing.progress import Journal, Tally
from engine.indexing.scope import Scope, fingerprint, may_stay_partial
from engine.indexing.vectors import ModelSwitch
from engine.indexing.workers import WorkerPool
from engine.records import display_path
from engine.source.git import GitHead, branch_exists, read_branch, read_head
from engine.source.partial_walk import PathSet
from engine.source.reader import check_not_emptied, check_root, is_empty
from engine.store import files, project, repair
from engine.store.connection import Handle, Store

if TYPE_CHECKING:
    from engine.source.commit_tree import CommitTree

#: The share of the file that may be unused: a fresh file, at 0.1, may grow by a factor of 1.2.
_MAX_WASTE = 0.2
#: A file is measured again when its pages per chunk have grown by this share.
_ROOMIER = 0.05
_MIN_BYTES = 512 << 10
_MAX_BYTES = 256 << 20  # two to three seconds

# A run is repeated, at most so many times, if another branch was checked out meanwhile.
_MAX_BRANCH_SWITCHES = 2

_NEVER = 1 << 30


def report_of(
    project_id: str, root: str, scope: Scope, tally: Tally, switch: ModelSwitch, started_s: float
) -> IndexReport:
    """Return the report of a run.

    Args:
        project_id: The project's id.
        root: Its resolved root.
        scope: Which files belong to it.
        tally: The counts of the run.
        switch: The models of the run.
        started_s: When it began, by the monotonic clock.
    """
    return IndexReport(
        project_id=project_id,
        path=display_path(root),
        include_patterns=scope.include_patterns,
        exclude_patterns=scope.exclude_patterns,
        max_file_size=scope.max_file_size,
        files_indexed=tally.files_indexed,
        files_unchanged=tally.files_unchanged,
        files_skipped=tally.files_skipped,
        files_failed=len(tally.errors),
        symbols_extracted=tally.symbols,
        chunks=tally.chunks,
        embeddings_generated=tally.embeddings,
        cache_hit_rate=_hit_rate(tally),
        duration_ms=int((time.monotonic() - started_s) * 1000),
        indexed_at=iso_time(now_ms()),
        errors=_sorted(tally.errors),
        files_removed=tally.files_removed,
        notes=tuple(switch.notes),
    )


def _hit_rate(tally: Tally) -> float:
    """Return the share of files that needed no parsing, 0 if there are none."""
    files = tally.files_indexed + tally.files_unchanged
    return (tally.files_unchanged + tally.reused) / files if files else 0.0


def _sorted(errors: Sequence[FileError]) -> tuple[FileError, ...]:
    return tuple(sorted(errors, key=lambda error: error.file))


class Start(NamedTuple):
    """The starting point of a run."""

    branch_id: int
    branch_names: dict[int, str]  # of all branches, by id; empty in a run over some paths
    fingerprint_id: int
    only: PathSet | None  # None: the run is about the whole project


class _Source(NamedTuple):
    """What a run reads."""

    head: GitHead  # the branch and the commit
    tree: "CommitTree | None"  # None: the disk
    is_current: Callable[[], bool]  # whether that is still the branch
    cancelled: CancelToken


def start_run(
    store: Store, root: str, scope: Scope, options: IndexOptions, head: GitHead, switch: ModelSwitch
) -> Start:
    """Store scope, branch and model, and a new fingerprint if contents are stale.

    A run over some paths becomes one over the whole project if the rest is out of date. Otherwise
    there is nothing to store, and nothing is written.
    """
    if scope.only and not options.force:
        with store.read() as handle:
            partial = reusable_start(handle, root, scope, head)
            if partial and switch.resume(handle):
                return partial
    value = fingerprint()
    now = now_ms()
    with store.write() as handle:
        row = project.known_project(handle, root)
        project.update_scope(
            handle,
            include_patterns=scope.include_patterns,
            exclude_patterns=scope.exclude_patterns,
            max_file_size=scope.max_file_size,
            allow_secret_files=scope.rules.allow_secret_files,
        )
        fingerprint_id = row.fingerprint_id
        if fingerprint_id is None or row.fingerprint != value or options.force:
            fingerprint_id = project.start_fingerprint(handle, value, now_ms=now)
        branch_id = project.upsert_branch(handle, head.branch, head.commit)
        names = {branch.id: branch.name for branch in project.read_branches(handle)}
        switch.begin(handle, now_ms=now)
    return Start(branch_id, names, fingerprint_id, None)


def reusable_start(handle: Handle, root: str, scope: Scope, head: GitHead) -> Start | None:
    """Return the start of a run that has nothing to store, or None if the index is out of date."""
    row = project.known_project(handle, root)
    branches = project.read_branches(handle)
    if row.fingerprint_id is None or row.fingerprint != fingerprint():
        return None
    if not may_stay_partial(scope, row, branches, head.branch):
        return None
    return Start(branches[0].id, {}, row.fingerprint_id, scope.only)


def check_has_something(store: Store, root: str) -> None:
    """Check that a project with indexed files still has something on disk.

    With a disk that is away, its branch is away too, so the files of all branches count.

    Raises:
        InvalidPathError: Its root is empty; ``details`` has the reason ``EMPTIED``.
        OSError: Its root cannot be read.
    """
    if is_empty(root):
        with store.read() as handle:
            has_files = files.count_all(handle) > 0
        if has_files:
            check_not_emptied(root)


def compact_if_wasteful(store: Store) -> None:
    """Compact the database file if a fifth of it or more is unused.

    A file that is in use, or that the disk has no room to compact, is left as it is.
    """
    with store.read() as handle:
        if not _MIN_BYTES <= repair.file_bytes(handle) <= _MAX_BYTES:
            return
        before, now = repair.read_last_usage(handle), repair.measure_usage(handle)
        if before and not now.has_more_pages_than(before, _ROOMIER):
            return
        is_wasteful = before is not None and repair.wasted_share(handle) >= _MAX_WASTE
    with suppress(DiskFullError, IndexBusyError):
        if is_wasteful:
            fault_point("compaction begun")
            store.compact()
            fault_point("compaction done")
        with store.write(bookkeeping=True) as handle:
            repair.record_usage(handle)


class IndexingRun:
    """Brings one project up to date with the disk.

    Args:
        store: The project's database; this process must be its only indexer.
        root: The resolved folder.
        config: The settings in force.
        pool: Workers to parse with.
        open_embedder: Opens the model that the settings name.
    """

    def __init__(
        self,
        store: Store,
        root: str,
        config: Config,
        pool: WorkerPool,
        open_embedder: OpenEmbedder,
    ) -> None:
        self._store = store
        self._root = root
        self._config = config
        self._pool = pool
        self._open_embedder = open_embedder
        #: Why vectors are missing after a run that was otherwise completed, or None.
        self.embedder_error: EmbedderUnavailableError | None = None

    def bring_up_to_date(
        self,
        scope: Scope,
        options: IndexOptions,
        *,
        journal: Journal,
        on_progress: ProgressCallback,
        cancelled: CancelToken,
    ) -> IndexReport:
        """Index, and return the report; ``Project.index`` says what is raised."""
        started = time.monotonic()
        if not self._store.is_current():
            raise ProjectNotFoundError(
                f"{display_path(self._root)} was removed meanwhile", hint="index it again"
            )
        # What an earlier attempt of this run has added may lack its vectors.
        new: FirstIds | None = FirstIds(0, 0) if journal.has_begun else None
        with ModelSwitch(self._store, self._config, self._open_embedder, cancelled) as switch:
            for _ in range(1 + _MAX_BRANCH_SWITCHES):
                with ExitStack() as opened:
                    source = self._source(scope, options, cancelled, opened)
                    run = self._start(scope, options, source, switch, journal, on_progress)
                    indexer = Indexer(self._store, self._pool, run)
                    indexer.index()
                new = indexer.new_ids and (new or indexer.new_ids)
                if run.is_checked_out():
                    break
            switch.complete(on_progress, journal.tally, new=new)
        self.embedder_error = switch.embedder_error
        compact_if_wasteful(self._store)
        if new is None:
            self._store.checkpoint()
        return report_of(self._store.path.stem, self._root, scope, journal.tally, switch, started)

    def _source(
        self, scope: Scope, options: IndexOptions, cancelled: CancelToken, opened: ExitStack
    ) -> _Source:
        """Return what is to be read: what is checked out, or a branch that is not."""
        check_root(self._root)
        if not options.force_clean:
            check_has_something(self._store, self._root)
        head = read_head(self._root)
        if options.branch is None or options.branch == head.branch:
            return _Source(head, None, lambda: read_branch(self._root) == head.branch, cancelled)
        from engine.source.commit_tree import CommitTree  # most runs read the disk

        tree = opened.enter_context(CommitTree(self._root, options.branch, scope.rules, cancelled))
        return _Source(GitHead(options.branch, tree.commit), tree, lambda: True, cancelled)

    def _start(
        self,
        scope: Scope,
        options: IndexOptions,
        source: _Source,
        switch: ModelSwitch,
        journal: Journal,
        on_progress: ProgressCallback,
    ) -> RunParameters:
        """Start a run; a root that is gone is on no branch."""
        begun = start_run(self._store, self._root, scope, options, source.head, switch)
        return RunParameters(
            root=self._root,
            branch_id=begun.branch_id,
            is_checked_out=source.is_current,
            gone_branch_ids=tuple(
                id_
                for id_, name in begun.branch_names.items()
                if not branch_exists(self._root, name)
            ),
            only=begun.only,
            tree=source.tree,
            fingerprint_id=begun.fingerprint_id,
            rules=scope.rules,
            inline_model=switch.inline_model,
            keep_vectors=switch.keep_vectors,
            batch_bytes=self._config.batch_bytes,
            queue_bytes=self._config.queue_bytes,
            journal=journal,
            on_progress=on_progress,
            cancelled=source.cancelled,
        )


_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []  # as they were before each of the active runs


@contextmanager
def without_full_gc() -> Iterator[None]:
    """Suspend full garbage collections in the whole process; blocks may nest and overlap.

    Garbage in cycles that survived two collections is freed after the block. If the collector is
    off, it stays off.
    """
    with _lock:
        _thresholds.append(gc.get_threshold())
        young, middle, _ = _thresholds[0]
        gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        with _lock:
            before = _thresholds[0]
            _thresholds.pop()
            if not _thresholds:
                gc.set_threshold(*before)
