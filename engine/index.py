"""One open project: the only door to it. Delegates, and holds no logic of its own."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from engine.browsing import Browser
from engine.clock import iso_or_none, now_ms
from engine.config import Config, changed_config
from engine.embedding.load import OpenEmbedder, open_embedder
from engine.embedding.questions import QuestionEmbedder
from engine.errors import InvalidInputError, ProjectNotFoundError
from engine.explain import explain_path
from engine.faults import fault_point
from engine.indexing.pauses import without_full_collections
from engine.indexing.scope import Scope, options_of, path_within, scope_of
from engine.indexing.workers import WorkerLimits, WorkerPool
from engine.jobs.context import JobContext
from engine.jobs.ledger import Ledger
from engine.jobs.run import OpenProject
from engine.jobs.view import jobs_that_matter
from engine.jobs.wait_note import forget_note
from engine.journal import NoJournal
from engine.lock import indexing_lock
from engine.records import (
    IndexOptions,
    IndexReport,
    PathExplanation,
    Progress,
    ProgressCallback,
    ProjectSummary,
    RelatedRequest,
    SearchAnswer,
    SearchRequest,
    SymbolHit,
    display_path,
)
from engine.search.places import MOST_THREADS, Effort
from engine.search.searcher import Searcher
from engine.source.git import read_branch
from engine.status_records import ProjectStatus
from engine.store import blobs, files, jobs, project, skips
from engine.store.connection import Handle, Store, delete_database
from engine.store.jobs import JobSearch
from engine.store.migrate import delete_copies
from engine.store.models import count_vectors, read_current_model
from engine.store.peek import read_root
from engine.store.project import BranchRow, ProjectRow
from engine.watch_board import watch_status_of

if TYPE_CHECKING:
    from engine.evaluation.golden import AskedCallback, Evaluation, EvaluationOptions, GoldenQuery
    from engine.indexing.watched import WatchedProject
    from engine.memories.checkpoints import Checkpoints


class Index:
    """One project's index.

    Args:
        file: The database file.
        root: The resolved folder that it indexes.
        config: The settings in force.
        pool: Workers to parse with, shared by all projects.
        create: Make the project when the file is not there.
        open_embedder: Opens the model that the settings name.
    """

    def __init__(
        self,
        file: Path,
        root: str,
        config: Config,
        pool: WorkerPool,
        *,
        create: bool,
        open_embedder: OpenEmbedder = open_embedder,
    ) -> None:
        self.root = root
        self.project_id = file.stem
        self._config = config
        self._pool = pool
        self._open_embedder = open_embedder
        self._store = Store(file, busy_timeout_ms=config.busy_timeout, create=create)
        self._ledger = Ledger(self._store, self.project_id)
        effort = Effort(config.search_timeout / 1000, min(config.worker_count, MOST_THREADS))
        self._questions = QuestionEmbedder(config, open_embedder)
        self._searcher = Searcher(self._store, display_path(root), root, effort, self._questions)
        #: What the index holds, to page through: files, their texts, and what was skipped.
        self.browse = Browser(self._store, root, self._branch_here)
        if create:
            with self._store.write() as handle:
                project.insert_project(
                    handle,
                    project_id=self.project_id,
                    root=os.fsencode(root),
                    max_file_size=config.max_file_size,
                    now_ms=now_ms(),
                )

    @classmethod
    @contextmanager
    def peek(cls, file: Path, config: Config) -> Iterator["Index"]:
        """Open a database file whose root is not known yet, to look at it.

        Raises:
            EngineError: The file is not a sound index.
        """
        root = read_root(file, config.busy_timeout)
        pool = WorkerPool(0, WorkerLimits(deadline_ms=config.parse_timeout))
        with closing(cls(file, root, config, pool, create=False)) as index:
            yield index

    @staticmethod
    def delete(file: Path) -> None:
        """Delete a database file and what belongs to it.

        Raises:
            ProjectBusyError: It is being indexed.
        """
        with indexing_lock(file):
            delete_copies(file)
            delete_database(file)
            file.with_suffix(".hand").unlink(missing_ok=True)
            forget_note(file)
        shutil.rmtree(file.parent / "logs" / file.stem, ignore_errors=True)

    def is_current(self) -> bool:
        """Say whether the database file is still the one that was opened."""
        return self._store.is_current()

    def close(self) -> None:
        """Close the database and the model of questions."""
        self._store.close()
        self._questions.close()

    def index(
        self,
        options: IndexOptions | None = None,
        *,
        on_progress: ProgressCallback | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> IndexReport:
        """Bring the index up to date with the disk, and wait for it.

        Args:
            options: Scope to store and how to run.
            on_progress: Called in this thread, at most ten times a second.
            cancelled: Asked often; when true the run stops within a second and keeps what it did.

        Raises:
            InvalidInputError: A pattern or size is not valid; nothing was read or changed.
            ProjectBusyError: Another process is indexing this project.
            Cancelled: ``cancelled`` said so.
            UnavailableError: Disk full, or the database stayed locked.
        """
        from engine.indexing.run import Indexing  # with numpy, which other calls do without

        options = options or IndexOptions()
        scope = self._scope(options)
        run = Indexing(self._store, self.root, self._config, self._pool, self._open_embedder)
        with indexing_lock(self._store.path), without_full_collections():
            self._make_clean(options)
            return run.bring_up_to_date(
                scope,
                options,
                journal=NoJournal(),
                on_progress=on_progress or _ignore,
                cancelled=cancelled or _never,
            )

    def for_jobs(self) -> OpenProject:
        """Give the project as the runner of jobs needs it."""
        return OpenProject(self.root, self._ledger, {"index": self._perform})

    def for_watcher(self) -> "WatchedProject":
        """Give the project as its watcher needs it."""
        from engine.indexing.watched import WatchedProject  # with numpy, as in ``index``

        return WatchedProject(self._store, self.root)

    @cached_property
    def checkpoints(self) -> "Checkpoints":
        """Its memories, and its files seen as memories are."""
        from engine.memories.checkpoints import Checkpoints  # a search does without

        return Checkpoints(self._store, self._searcher, self._questions, self.root)

    def _perform(self, job: JobContext) -> dict[str, object]:
        """Index as a job; what is raised lets it wait, or ends it."""
        from engine.indexing.run import Indexing  # as in ``index``

        options = options_of(job.parameters)
        if job.has_begun:  # what was to be read anew is marked so since the first try
            options = replace(options, force=False, force_clean=False)
        scope = self._scope(options)
        run = Indexing(self._store, self.root, self._config, self._pool, self._open_embedder)
        with (
            indexing_lock(self._store.path),
            without_full_collections(),
            self._store.accompanied(job),
        ):
            self._make_clean(options)
            report = run.bring_up_to_date(
                scope, options, journal=job, on_progress=job.report, cancelled=job.cancelled
            )
        if run.embedder_away:
            raise run.embedder_away
        return asdict(report)

    def _make_clean(self, options: IndexOptions) -> None:
        if options.force_clean:
            from engine.doctor.rebuilding import wipe  # with numpy, as in ``index``

            wipe(self._store, self.root, self._config)

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Answer a question; InvalidInputError when it, a filter or the limit cannot be read."""
        return self._searcher.search(request, self._checked_out())

    def related(self, wanted: RelatedRequest) -> SearchAnswer:
        """Give code like that of a place, whose path may be absolute, by the vectors stored.

        Raises:
            InvalidInputError: The path, a line or the limit is out of range.
            FileNotIndexedError: The file is not in the index.
            UnavailableError: The index, or this place of it, has no vectors.
        """
        place = replace(wanted, path=path_within(self.root, wanted.path))
        return self._searcher.related(place, self._checked_out())

    def symbols(
        self, name: str, *, kind: str | None = None, match: str = "exact", limit: int = 20
    ) -> list[SymbolHit]:
        """Find symbols by name, best first.

        Args:
            name: A name, or a qualified one such as ``Class.method``.
            kind: A kind or a group of kinds.
            match: ``exact`` (the same case first), ``prefix`` or ``fuzzy`` (parts, typing errors).
            limit: 1 to 1,000.

        Raises:
            InvalidInputError: An argument is not one of those.
        """
        return self._searcher.symbols(
            name, kind=kind, match=match, limit=limit, checked_out=self._checked_out()
        )

    def outline(self, path: str) -> list[SymbolHit]:
        """Give the symbols of a file in text order.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
            FileNotIndexedError: The file is not in the index.
        """
        relative = path_within(self.root, path)
        return self._searcher.outline(relative, self._checked_out(), asked=path)

    def status(self) -> ProjectStatus:
        """Describe the project."""
        with self._store.read() as handle:
            row = self._project(handle)
            branch = self._branch_here(handle)
            symbols, chunks = blobs.count_contents(handle, branch.id)
            model = read_current_model(handle)
            return ProjectStatus(
                project_id=self.project_id,
                path=display_path(self.root),
                branch=branch.name,
                files=files.count_files(handle, branch.id),
                symbols=symbols,
                chunks=chunks,
                embeddings=count_vectors(handle, model, branch.id) if model else 0,
                skips=skips.count_skips(handle, branch.id),
                coverage=self._searcher.coverage(handle, branch),
                model=model.name if model else None,
                fingerprint=row.fingerprint or "",
                size_bytes=self._store.size_bytes(),
                last_indexed_at=iso_or_none(branch.indexed_at_ms),
                jobs=jobs_that_matter(handle, self.project_id, self.root),
                watch=watch_status_of(self._store.path),
            )

    def summary(self) -> ProjectSummary:
        """Describe the project in short."""
        with self._store.read() as handle:
            branch = self._branch_here(handle)
            return ProjectSummary(
                project_id=self.project_id,
                path=display_path(self.root),
                files=files.count_files(handle, branch.id),
                size_bytes=self._store.size_bytes(),
                last_indexed_at=iso_or_none(branch.indexed_at_ms),
            )

    def why(self, path: str) -> PathExplanation:
        """Explain why a path is found or not, and what the next run would make of it.

        Args:
            path: Absolute, or relative to the root.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        relative = path_within(self.root, path)
        with self._store.read() as handle:
            branch = self._branch_here(handle)
            rules = scope_of(IndexOptions(), self._project(handle)).rules
            return explain_path(handle, branch.id, self.root, relative, rules)

    def evaluate(
        self,
        queries: "Sequence[GoldenQuery]",
        options: "EvaluationOptions | None" = None,
        *,
        on_asked: "AskedCallback | None" = None,
    ) -> "Evaluation":
        """Measure how well golden queries are answered; what is raised is in ``evaluate``."""
        from engine.evaluation.evaluate import evaluate  # a search does without these
        from engine.evaluation.golden import EvaluationOptions
        from engine.evaluation.lost_targets import reach_of

        with self._store.read() as handle:
            branch = self._branch_here(handle)
            reach = reach_of(handle, branch.id, queries, self.why)
        chosen = options or EvaluationOptions()
        name = display_path(self.root)
        return evaluate(name, queries, chosen, reach, self._searching, on_asked)

    def clear(self) -> None:
        """Drop the contents; the project and its scope stay.

        Raises:
            ProjectBusyError: It is being indexed.
        """
        with indexing_lock(self._store.path):
            with self._store.write(durable=True) as handle:
                project.delete_contents(handle)
            fault_point("contents deleted")
            self._store.compact()

    def check(self, options: IndexOptions) -> None:
        """Make sure that these options can be used.

        Raises:
            InvalidInputError: One cannot; a project that was never indexed is gone then.
        """
        self._scope(options)

    def _scope(self, options: IndexOptions) -> Scope:
        """Check the scope; a project that was made for it alone goes when it cannot be read."""
        with self._store.read() as handle:
            row = self._project(handle)
            is_new = not (project.read_branches(handle) or jobs.count_jobs(handle, JobSearch()))
        try:
            return scope_of(options, row)
        except InvalidInputError:
            if is_new:
                self._store.close()
                Index.delete(self._store.path)
            raise

    @contextmanager
    def _searching(
        self, settings: Mapping[str, int | str]
    ) -> Iterator[Callable[[SearchRequest], SearchAnswer]]:
        """Open the project once more, with some settings changed and nothing remembered."""
        config = changed_config(self._config, settings)
        with closing(Index(self._store.path, self.root, config, self._pool, create=False)) as index:
            yield index.search

    def _checked_out(self) -> str:
        return read_branch(self.root)

    def _branch_here(self, handle: Handle) -> BranchRow:
        return self._searcher.branch(handle, None, self._checked_out())

    def _project(self, handle: Handle) -> ProjectRow:
        row = project.read_project(handle)
        if row is None:
            raise ProjectNotFoundError(f"{display_path(self.root)} is not indexed")
        return row


def _never() -> bool:
    return False


def _ignore(_progress: Progress) -> None:
    pass
