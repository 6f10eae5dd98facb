"""One indexing of a project from beginning to end: scope, branch and models, then the pipeline."""

import time
from collections.abc import Callable

from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import EmbedderUnavailableError, ProjectNotFoundError
from engine.indexing.batch import FirstIds
from engine.indexing.compaction import compact_if_wasteful
from engine.indexing.indexer import Indexer, Run
from engine.indexing.model_switch import ModelSwitch
from engine.indexing.report import report_of
from engine.indexing.scope import Scope
from engine.indexing.start import start_run
from engine.indexing.workers import WorkerPool
from engine.journal import Journal
from engine.records import IndexOptions, IndexReport, ProgressCallback, display_path
from engine.source.git import branch_exists, read_branch, read_head
from engine.store.connection import Store

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
