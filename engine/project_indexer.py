"""Indexing of one project and reading of its history: in the calling thread, or as a job."""

from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from engine.cancellation import CancelToken, never
from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import Cancelled, EngineError, InvalidInputError, NotFoundError, UnavailableError
from engine.index_records import IndexOptions, IndexReport, Progress, ProgressCallback
from engine.indexing.progress import NoJournal
from engine.indexing.run import IndexingRun, without_full_gc
from engine.indexing.scope import Scope, options_of, scope_of
from engine.indexing.workers import WorkerPool
from engine.jobs.context import JobContext
from engine.locks import indexing_lock
from engine.project_files import delete_project
from engine.source.git import find_repository, read_branch
from engine.store import jobs, memories, project
from engine.store.connection import Store
from engine.store.jobs import JobSearch

# What reads a history is imported by the method that needs it.
if TYPE_CHECKING:
    from engine.history.reading import HistoryReport, HistoryRun


class ProjectIndexer:
    """Indexes one project, one run at a time over all processes.

    Args:
        store: The project's database.
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

    def run(
        self,
        options: IndexOptions | None,
        *,
        on_progress: ProgressCallback | None,
        cancelled: CancelToken | None,
    ) -> IndexReport:
        """Index, and wait for it; errors as in ``Project.index``."""
        options, stop = options or IndexOptions(), cancelled or never
        scope, progress = self.scope(options), on_progress or _ignore
        with indexing_lock(self._store.path), without_full_gc():
            if not options.force_clean:
                run = self._run_of(self._store)
                return run.bring_up_to_date(
                    scope, options, journal=NoJournal(), on_progress=progress, cancelled=stop
                )
            from engine.project_rebuild import Rebuilding  # rarely needed

            had_history = self._has_history()
            with Rebuilding(self._store, self._root, self._config, None, stop) as rebuilding:
                run = self._run_of(rebuilding.store)
                report = run.bring_up_to_date(
                    scope, options, journal=NoJournal(), on_progress=progress, cancelled=stop
                )
                report = rebuilding.finish(report)
            if had_history:  # the words of commits cannot be copied: FTS5 keeps no content of them
                # If that fails, the index stands, and the history stays due.
                with suppress(EngineError, Cancelled):
                    self._history_run().bring_up_to_date(
                        journal=NoJournal(), on_progress=progress, cancelled=stop
                    )
            return report

    def _has_history(self) -> bool:
        from engine.store.history import read_state

        with suppress(EngineError), self._store.read() as handle:
            return read_state(handle) is not None
        return False  # it is damaged

    def perform(self, job: JobContext) -> dict[str, object]:
        """Index as a job; errors block or end it."""
        if (result := job.read_result()) is not None:  # only its end was not written
            return result
        options = options_of(job.parameters)
        if job.has_begun:  # the first attempt has marked what is to be read again
            options = replace(options, force=False)
        scope = self.scope(options)
        with indexing_lock(self._store.path), without_full_gc():
            act = self._rebuild if options.force_clean else self._update
            return asdict(act(job, scope, options))

    def _update(self, job: JobContext, scope: Scope, options: IndexOptions) -> IndexReport:
        run = self._run_of(self._store)
        with self._store.with_hook(job):
            report = run.bring_up_to_date(
                scope, options, journal=job, on_progress=job.report, cancelled=job.cancelled
            )
        if run.embedder_error:
            raise run.embedder_error
        return report

    def _rebuild(self, job: JobContext, scope: Scope, options: IndexOptions) -> IndexReport:
        """Index beside what is there; until all is done, vectors included, that stays."""
        from engine.project_rebuild import RebuildHook, Rebuilding  # rarely needed

        with Rebuilding(self._store, self._root, self._config, job, job.cancelled) as rebuilding:
            run = self._run_of(rebuilding.store)
            with rebuilding.store.with_hook(RebuildHook(self._store, job)):
                report = run.bring_up_to_date(
                    scope, options, journal=job, on_progress=job.report, cancelled=job.cancelled
                )
            if run.embedder_error:
                raise run.embedder_error
            return rebuilding.finish(report)

    def _run_of(self, store: Store) -> IndexingRun:
        return IndexingRun(store, self._root, self._config, self._pool, self._open_embedder)

    def read_history(
        self, *, on_progress: ProgressCallback | None, cancelled: CancelToken | None
    ) -> "HistoryReport":
        """Read the history, and wait for it; errors as in ``Project.read_history``."""
        run = self._history_run()
        with indexing_lock(self._store.path):
            return run.bring_up_to_date(
                journal=NoJournal(),
                on_progress=on_progress or _ignore,
                cancelled=cancelled or never,
            )

    def perform_history(self, job: JobContext) -> dict[str, object]:
        """Read the history as a job; errors block or end it."""
        run = self._history_run()
        with indexing_lock(self._store.path), self._store.with_hook(job):
            report = run.bring_up_to_date(
                journal=job, on_progress=job.report, cancelled=job.cancelled
            )
        return asdict(report)

    def is_history_due(self) -> bool:
        """Return whether the history has changed since it was read."""
        if find_repository(self._root) is None:
            from engine.store.history import read_state

            with self._store.read() as handle:
                if read_state(handle) is None:
                    return False
        from engine.history.reading import is_due

        return is_due(self._store, self._root, self._config)

    def _history_run(self) -> "HistoryRun":
        from engine.history.reading import HistoryRun

        return HistoryRun(self._store, self._root, self._config, self._open_embedder)

    def scope(self, options: IndexOptions) -> Scope:
        """Return the scope of a run with these options.

        Raises:
            InvalidInputError: They are not valid. A project created only for them is deleted.
            NotFoundError: The repository has no such branch; likewise.
            UnavailableError: The branch cannot be read; likewise.
        """
        with self._store.read() as handle:
            row = project.known_project(handle, self._root)
            is_new = not (
                project.read_branches(handle)
                or jobs.count_jobs(handle, JobSearch())
                or memories.count_memories(handle, memories.TagRule())
            )
        try:
            scope = scope_of(options, row, allowed=self._config.allowed_secret_files)
            if options.branch is not None and options.branch != read_branch(self._root):
                from engine.source.commit_tree import check_branch  # most runs read the disk

                check_branch(self._root, options.branch)
            return scope
        except (InvalidInputError, NotFoundError, UnavailableError):
            if is_new:
                self._store.close()
                delete_project(self._store.path, keeps_damaged=True)
            raise


def _ignore(_progress: Progress) -> None:
    pass
