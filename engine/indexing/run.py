"""One indexing of a project from beginning to end: scope, branch and models, then the pipeline.

What an indexing run did, as the record that its caller gets.

What a run starts from: its branch, its fingerprint, and which paths it is about.

The end of a run that left the file badly filled: it is written anew, without gaps.

SQLite can do that in place and for all who read meanwhile, at the price of a WAL as large as the
file and of a moment in which nobody else writes; so a large file waits to be asked.

Keeps full collections of garbage out of runs, as they hold up every thread of the process.

A run holds millions of objects that are no garbage. Each full collection looks at all of them with
the interpreter's lock held: 230 ms for 100,000 files, and a tenth of the whole run's time.
"""

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

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
from engine.indexing.batch import FirstIds
from engine.indexing.indexer import Indexer, Run
from engine.indexing.progress import Journal, Tally
from engine.indexing.scope import Scope, fingerprint, may_stay_partial
from engine.indexing.vectors import ModelSwitch
from engine.indexing.workers import WorkerPool
from engine.records import (
    FileError,
    IndexOptions,
    IndexReport,
    ProgressCallback,
    display_path,
)
from engine.source.git import GitHead, branch_exists, read_branch, read_head
from engine.source.partial_walk import PathSet
from engine.store import project, repair
from engine.store.connection import Handle, Store


def report_of(
    project_id: str, root: str, scope: Scope, tally: Tally, switch: ModelSwitch, started_s: float
) -> IndexReport:
    """Put a report together.

    Args:
        project_id: The project's id.
        root: Its resolved root.
        scope: Which files belonged to it.
        tally: What became of them.
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
        cache_hit_rate=tally.reused / tally.files_indexed if tally.files_indexed else 0.0,
        duration_ms=int((time.monotonic() - started_s) * 1000),
        indexed_at=iso_time(now_ms()),
        errors=_sorted(tally.errors),
        notes=tuple(switch.notes),
    )


def _sorted(errors: Sequence[FileError]) -> tuple[FileError, ...]:
    return tuple(sorted(errors, key=lambda error: error.file))


class Start(NamedTuple):
    """The beginning of a run."""

    branch_id: int
    branch_names: dict[int, str]  # of all branches, by id; empty in a run over some paths
    fingerprint_id: int
    only: PathSet | None  # None: the run is about the whole project


def start_run(
    store: Store, root: str, scope: Scope, options: IndexOptions, head: GitHead, switch: ModelSwitch
) -> Start:
    """Store scope, branch and model, and a new fingerprint when contents are stale.

    A run over some paths becomes one over the whole project when the rest is out of date. When it
    does not, there is nothing to store, and nothing is written.
    """
    if scope.only and not options.force:
        with store.read() as handle:
            partial = standing(handle, root, scope, head)
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
        )
        fingerprint_id = row.fingerprint_id
        if fingerprint_id is None or row.fingerprint != value or options.force:
            fingerprint_id = project.start_fingerprint(handle, value, now_ms=now)
        branch_id = project.upsert_branch(handle, head.branch, head.commit)
        names = {branch.id: branch.name for branch in project.read_branches(handle)}
        switch.begin(handle, now_ms=now)
    return Start(branch_id, names, fingerprint_id, None)


def standing(handle: Handle, root: str, scope: Scope, head: GitHead) -> Start | None:
    """Give what a run finds that has nothing to store first; None when the rest is out of date."""
    row = project.known_project(handle, root)
    branches = project.read_branches(handle)
    if row.fingerprint_id is None or row.fingerprint != fingerprint():
        return None
    if not may_stay_partial(scope, row, branches, head.branch):
        return None
    return Start(branches[0].id, {}, row.fingerprint_id, scope.only)


#: This share of the file may hold nothing. A fresh one is at 0.1: it becomes 1.2 times as large.
_MOST_WASTE = 0.2
#: A file that has this share more pages a chunk than at the last look is looked at again.
_ROOMIER = 0.05
_LEAST_BYTES = 512 << 10
_MOST_BYTES = 256 << 20  # two to three seconds


def compact_if_wasteful(store: Store) -> None:
    """Write the database file anew when a fifth of it or more holds nothing.

    What has no room for that, or is in use, is left as it is: it holds everything.
    """
    with store.read() as handle:
        if not _LEAST_BYTES <= repair.file_bytes(handle) <= _MOST_BYTES:
            return
        before, now = repair.last_look(handle), repair.present(handle)
        if before and not now.is_roomier_than(before, _ROOMIER):
            return
        is_wasteful = before is not None and repair.wasted_share(handle) >= _MOST_WASTE
    with suppress(DiskFullError, IndexBusyError):
        if is_wasteful:
            fault_point("compaction begun")
            store.compact()
            fault_point("compaction done")
        with store.write(bookkeeping=True) as handle:
            repair.note_look(handle)


# A run during which another branch was checked out is done again, so many times at most.
_MOST_SWITCHES = 2


class Indexing:
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
        #: Why vectors are missing after a run that else came to its end; None when none is.
        self.embedder_away: EmbedderUnavailableError | None = None

    def bring_up_to_date(
        self,
        scope: Scope,
        options: IndexOptions,
        *,
        journal: Journal,
        on_progress: ProgressCallback,
        cancelled: Callable[[], bool],
    ) -> IndexReport:
        """Index; ``Index.index`` says what is raised."""
        started = time.monotonic()
        if not self._store.is_current():
            raise ProjectNotFoundError(
                f"{display_path(self._root)} was forgotten meanwhile", hint="index it again"
            )
        # What an earlier try of this run has added may lack its vectors.
        new: FirstIds | None = FirstIds(0, 0) if journal.has_begun else None
        with ModelSwitch(self._store, self._config, self._open_embedder, cancelled) as switch:
            for _ in range(1 + _MOST_SWITCHES):
                run = self._start(scope, options, switch, journal, on_progress, cancelled)
                indexer = Indexer(self._store, self._pool, run)
                indexer.index()
                new = indexer.new_ids and (new or indexer.new_ids)
                if run.is_checked_out():
                    break
            switch.complete(on_progress, journal.tally, new=new)
        self.embedder_away = switch.away
        compact_if_wasteful(self._store)
        if new is None:
            self._store.checkpoint()
        return report_of(self._store.path.stem, self._root, scope, journal.tally, switch, started)

    def _start(
        self,
        scope: Scope,
        options: IndexOptions,
        switch: ModelSwitch,
        journal: Journal,
        on_progress: ProgressCallback,
        cancelled: Callable[[], bool],
    ) -> Run:
        """Begin a run over what is checked out now."""
        head = read_head(self._root)
        begun = start_run(self._store, self._root, scope, options, head, switch)
        return Run(
            root=self._root,
            branch_id=begun.branch_id,
            is_checked_out=lambda: read_branch(self._root) == head.branch,
            gone_branch_ids=tuple(
                id_
                for id_, name in begun.branch_names.items()
                if not branch_exists(self._root, name)
            ),
            only=begun.only,
            fingerprint_id=begun.fingerprint_id,
            rules=scope.rules,
            meaning=switch.meaning,
            keep_vectors=switch.keep_vectors,
            batch_bytes=self._config.batch_bytes,
            queue_bytes=self._config.queue_bytes,
            journal=journal,
            on_progress=on_progress,
            cancelled=cancelled,
        )


_NEVER = 1 << 30
_lock = threading.Lock()
_thresholds: list[tuple[int, int, int]] = []  # as they were before each of the runs that go on


@contextmanager
def without_full_collections() -> Iterator[None]:
    """Let only young objects be collected, in the whole process; may be nested and overlap.

    Garbage in cycles that survived two collections waits for the end. A process that switched the
    collector off is left alone.
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
