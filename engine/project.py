"""One open project, and the only entry point to it. It delegates, and has no logic of its own."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cancellation import CancelToken
from engine.clock import iso_or_none, now_ms
from engine.config import Config, changed_config
from engine.embedding.load import QueryEmbedder, open_embedder
from engine.records import display_path
from engine.source.git import read_branch
from engine.source.reader import is_folder_there
from engine.store import files, project
from engine.store.connection import Handle, Store
from engine.store.models import read_current_model
from engine.store.project import BranchRow, read_root

# What an index can do is imported by the method that needs it.
if TYPE_CHECKING:
    from engine.browse_records import PathExplanation
    from engine.browsing.contents import Browser
    from engine.browsing.folders import Checkout
    from engine.evaluation.golden import (
        Evaluation,
        EvaluationCallback,
        EvaluationOptions,
        GoldenQuery,
    )
    from engine.history.reading import HistoryReport
    from engine.history.search import HistorySearch
    from engine.index_records import IndexOptions, IndexReport, ProgressCallback
    from engine.indexing.watched import WatchedProject
    from engine.indexing.workers import WorkerPool
    from engine.jobs.execution import OpenProject
    from engine.jobs.ledger import Ledger
    from engine.memories.checkpoints import Checkpoints
    from engine.project_indexer import ProjectIndexer
    from engine.reference_records import ImpactAnswer, ImpactRequest
    from engine.references.code_map import CodeMap
    from engine.references.finder import References
    from engine.references.kept import Kept
    from engine.references.places import Places
    from engine.search.file_tags import FileTags
    from engine.search.merge import ProjectAnswer
    from engine.search.name_uses import NameUses, UseTerm
    from engine.search.pattern_search import SearchTime
    from engine.search.searcher import Searcher
    from engine.search_records import (
        RelatedRequest,
        SearchAnswer,
        SearchRequest,
        SymbolHit,
        SymbolMatch,
    )
    from engine.state_records import ProjectStatus, ProjectSummary

_SEPARATORS = frozenset(".:#>")  # in qualified names


class Project:
    """One project's index.

    Args:
        file: The database file.
        root: The resolved folder that it indexes.
        config: The settings in force.
        pool: Returns the workers to parse with, shared by all projects.
        create: Create the project if the file is missing.
        query_embedder: Embeds questions, and opens the model for runs; the caller closes it.
    """

    def __init__(
        self,
        file: Path,
        root: str,
        config: Config,
        pool: "Callable[[], WorkerPool]",
        *,
        create: bool,
        query_embedder: QueryEmbedder,
    ) -> None:
        self.root = root
        self.project_id = file.stem
        self._config = config
        self._pool = pool
        self._store = Store(file, busy_timeout_ms=config.busy_timeout, create=create)
        self._questions = query_embedder
        self._lock = threading.Lock()
        self._made_searcher: Searcher | None = None
        if create:
            self.make()

    @property
    def _searcher(self) -> "Searcher":
        from engine.search.searcher import Searcher

        with self._lock:
            if self._made_searcher is None:
                self._made_searcher = Searcher(
                    self._store,
                    display_path(self.root),
                    self.root,
                    self._config,
                    self._questions,
                    self._find_uses,
                )
            return self._made_searcher

    @cached_property
    def browse(self) -> "Browser":
        """The contents of the index: files, their texts, and what was skipped."""
        from engine.browsing.contents import Browser

        return Browser(self._checkout, self._file_tags, self._searcher)

    @cached_property
    def _file_tags(self) -> "FileTags":
        from engine.search.file_tags import FileTags

        return FileTags(self._config.data_dir)

    @cached_property
    def _checkout(self) -> "Checkout":
        from engine.browsing.folders import Checkout

        return Checkout(self._store, self.root, self._branch_here)

    @cached_property
    def _ledger(self) -> "Ledger":
        from engine.jobs.ledger import Ledger

        return Ledger(self._store, self.project_id)

    @cached_property
    def _indexer(self) -> "ProjectIndexer":
        from engine.project_indexer import ProjectIndexer

        return ProjectIndexer(
            self._store, self.root, self._config, self._pool(), self._questions.open_embedder
        )

    @classmethod
    @contextmanager
    def peek(cls, file: Path, config: Config) -> Iterator["Project"]:
        """Open a database file whose root is not known yet, to ask nothing of a model.

        Raises:
            EngineError: The file is not a sound index.
        """
        root = read_root(file, config.busy_timeout)
        index = cls(
            file,
            root,
            config,
            lambda: _no_workers(config),
            create=False,
            query_embedder=QueryEmbedder(config, open_embedder),
        )
        with closing(index):
            yield index

    @staticmethod
    def delete(file: Path) -> None:
        """Delete a database file and its companion files.

        Raises:
            ProjectBusyError: It is being indexed.
        """
        from engine.project_files import delete_project

        delete_project(file)

    def make(self) -> None:
        """Create the project if missing; a process killed while creating it leaves a file."""
        root, most = os.fsencode(self.root), self._config.max_file_size
        project.make_project(self._store, root, most, now_ms=now_ms())

    def is_current(self) -> bool:
        """Return whether the database file is still the one that was opened."""
        return self._store.is_current()

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def index(
        self,
        options: "IndexOptions | None" = None,
        *,
        on_progress: "ProgressCallback | None" = None,
        cancelled: CancelToken | None = None,
    ) -> "IndexReport":
        """Bring the index up to date with the disk, and wait for it.

        Args:
            options: Scope to store and how to run.
            on_progress: Called in this thread, at most ten times a second.
            cancelled: Called often; true stops the run within a second and keeps its work.

        Raises:
            InvalidInputError: A pattern or size is not valid; nothing was read or changed.
            ProjectBusyError: Another process is indexing this project.
            Cancelled: ``cancelled`` returned true.
            UnavailableError: Disk full, or the database stayed locked.
        """
        return self._indexer.run(options, on_progress=on_progress, cancelled=cancelled)

    def for_jobs(self) -> "OpenProject":
        """Return the project for the runner of jobs."""
        from engine.jobs.execution import OpenProject

        works = {"index": self._indexer.perform, "history": self._indexer.perform_history}
        return OpenProject(self.root, self._ledger, works)

    def read_history(
        self,
        *,
        on_progress: "ProgressCallback | None" = None,
        cancelled: CancelToken | None = None,
    ) -> "HistoryReport":
        """Bring the stored history up to date with the repository, and wait for it.

        Args:
            on_progress: Called in this thread, at most ten times a second.
            cancelled: Called often; true stops the run within a second and keeps its work.

        Raises:
            ProjectBusyError: Another process is indexing this project.
            Cancelled: ``cancelled`` returned true.
            UnavailableError: Disk full, the database stayed locked, or the model is unavailable.
        """
        return self._indexer.read_history(on_progress=on_progress, cancelled=cancelled)

    def is_history_due(self) -> bool:
        """Return whether the repository's history has changed since it was read."""
        return self._indexer.is_history_due()

    @cached_property
    def history(self) -> "HistorySearch":
        """Its commits."""
        from engine.history.search import HistorySearch

        return HistorySearch(self._store, self.root, display_path(self.root), self._questions)

    def for_watcher(self) -> "WatchedProject":
        """Return the project for its watcher."""
        from engine.indexing.watched import WatchedProject

        return WatchedProject(self._store, self.root, self._config.allowed_secret_files)

    @cached_property
    def checkpoints(self) -> "Checkpoints":
        """Its memories, and its files shown as memories."""
        from engine.memories.checkpoints import Checkpoints

        return Checkpoints(self._store, self._searcher, self._questions, self.root)

    @cached_property
    def _kept(self) -> "Kept":
        """What questions about its names keep in this process."""
        from engine.references.kept import Kept

        return Kept()

    @cached_property
    def references(self) -> "References":
        """Who uses its names."""
        from engine.references.finder import References

        return References(self._store, self._searcher, self.root, self._kept, self._pool)

    def impact(self, wanted: "ImpactRequest") -> "ImpactAnswer":
        """Return what depends on a definition, a file (absolute or not) or uncommitted changes.

        Raises:
            InvalidInputError: A field of the request is invalid, or what changed is asked for
                outside of git.
            FileNotIndexedError: The file is not in the index.
        """
        if wanted.path is not None:
            wanted = replace(wanted, path=self.browse.stored_path(wanted.path))
        return self.references.impact(wanted)

    @cached_property
    def code_map(self) -> "CodeMap":
        """Its most central definitions."""
        from engine.references.code_map import CodeMap

        return CodeMap(self._store, self._searcher, self.root, self._kept)

    @cached_property
    def places(self) -> "Places":
        """What the names at places of its files mean, and what is around a definition."""
        from engine.references.places import Places

        return Places(self._store, self._searcher, self.root, self._kept)

    def search(self, request: "SearchRequest") -> "SearchAnswer":
        """Answer a search; InvalidInputError if the query, a filter or the limit is not valid."""
        answer = self.search_for_merge(request).answer
        if request.max_tokens is None:
            return answer
        from engine.budget import within_budget

        return within_budget(answer, request.max_tokens)

    def search_for_merge(
        self, request: "SearchRequest", search_time: "SearchTime | None" = None
    ) -> "ProjectAnswer":
        """Answer a search, with what is needed to merge it with those of other projects.

        Args:
            request: The request.
            search_time: Of the patterns of all projects together; None: this one has its own.
        """
        if "type:commit" in request.query:
            from engine.history.hits import find_commits
            from engine.search.query import is_of_commits

            if is_of_commits(request.query):
                with self._checkout.read() as (handle, branch):
                    coverage = self._searcher.coverage(handle, branch)
                return find_commits(self.history, request, coverage)
        found = self._searcher.search_for_merge(request, self._checked_out(), search_time)
        names_branch = request.branch is not None or "branch:" in request.query
        if names_branch or not found.answer.hits:  # the commits are those of what is checked out
            return found
        from engine.history.last_changes import with_last_changes

        changed = with_last_changes(self._store, found.answer, found.detailed)
        return found._replace(answer=changed)

    def warm(self) -> None:
        """Warm the caches for the first searches, in a process that answers many."""
        self._searcher.warm(self._checked_out())

    def warm_pages(self) -> None:
        """Warm what its pages show first, in a process that serves them."""
        self.places.defined_names("", "")  # loads what pages link names with
        self.references.warm()
        self._searcher.keep_facts()
        self.browse.warm()

    def expect_patterns(self, room_bytes: int) -> int:
        """Have the n-gram filter built before the first pattern search, if there is room for it.

        Returns:
            About how much memory it will take; 0 if it is not built yet, as that of a large index.
        """
        return self._searcher.expect_patterns(room_bytes)

    def update_ngram_filter(self, cancelled: CancelToken) -> None:
        """Build or update the n-gram filter if it is of use; for a background thread."""
        if self._made_searcher:
            self._made_searcher.update_ngram_filter(cancelled)

    @property
    def cached_bytes(self) -> int:
        """The approximate size of its caches in this process, with those of SQLite."""
        return self._made_bytes + self._store.cached_bytes

    @property
    def _made_bytes(self) -> int:
        caches = map(self.__dict__.get, ("code_map", "_kept", "history", "browse"))
        # Nothing is made for this.
        return sum(each.size_bytes for each in (self._made_searcher, *caches) if each)

    @property
    def used_s(self) -> float:
        """When its caches were last used, on the monotonic clock; 0 if they never were."""
        askers = (self._made_searcher, *map(self.__dict__.get, ("history", "browse")))
        return max((each.used_s for each in askers if each), default=0.0)

    def evict(self) -> int:
        """Drop its caches until the next search, and return how much memory that freed."""
        return self._evict_made() + self._store.release_memory()

    def evict_unused(self, since_s: float) -> int:
        """Drop what was not used since a time on the monotonic clock; return as ``evict``."""
        freed = self._evict_made() if self.used_s < since_s else 0
        return freed + self._store.release_unused(since_s)

    def _evict_made(self) -> int:
        size_bytes = self._made_bytes
        if self._made_searcher:
            self._made_searcher.evict()
        self.__dict__.pop("code_map", None)
        for cache in map(self.__dict__.get, ("_kept", "history", "browse")):
            if cache:
                cache.evict()
        return max(size_bytes - self._made_bytes, 0)

    def related(self, wanted: "RelatedRequest") -> "SearchAnswer":
        """Return code similar to a place, whose path may be absolute, by stored vectors.

        Raises:
            InvalidInputError: The path, a line or the limit is out of range.
            FileNotIndexedError: The file is not in the index.
            UnavailableError: The index, or this place of it, has no vectors.
        """
        place = replace(wanted, path=self.browse.stored_path(wanted.path))
        return self._searcher.related(place, self._checked_out())

    def symbols(
        self, name: str, *, kind: str | None = None, match: "SymbolMatch" = "exact", limit: int = 20
    ) -> "list[SymbolHit]":
        """Find symbols by name, best first.

        Args:
            name: A name, or a qualified one such as ``Class.method``.
            kind: A kind or a group of kinds.
            match: ``exact`` (the same case first), ``prefix`` or ``fuzzy`` (parts, typing errors).
            limit: 1 to 1,000.

        Raises:
            InvalidInputError: An argument is not one of those.
        """
        from engine.search_records import SymbolRequest

        wanted = SymbolRequest(name=name, kind=kind, match=match, limit=limit)
        found = self._searcher.symbols(wanted, self._checked_out())
        if found or match != "exact" or _SEPARATORS.isdisjoint(name.strip()):
            return found
        return self.references.definitions(name, kind)[:limit]

    def outline(self, path: str) -> "list[SymbolHit]":
        """Return the symbols of a file in text order.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
            FileNotIndexedError: The file is not in the index.
        """
        relative = self.browse.stored_path(path)
        return self._searcher.outline(relative, self._checked_out(), requested=path)

    def stale_notes(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Say, in one sentence, which of some indexed files have changed since, if any.

        Args:
            paths: As in the symbols found, each once or more.
        """
        with self._checkout.read() as (handle, branch):
            return self._searcher.stale_notes(handle, branch, self._checked_out(), paths)

    def status(self) -> "ProjectStatus":
        """Describe the project.

        Raises:
            ProjectNotFoundError: It is not indexed.
        """
        from engine.jobs.view import notable_jobs
        from engine.locks import watch_status_of
        from engine.state_records import ProjectStatus
        from engine.store.history import count_commits, read_extent

        with self._checkout.read() as (handle, branch):
            row = project.known_project(handle, self.root)
            contents = self._searcher.contents(handle, branch)
            model = read_current_model(handle)
            number = files.count_files(handle, branch.id)
            return ProjectStatus(
                project_id=self.project_id,
                path=display_path(self.root),
                branch=branch.name,
                files=number,
                symbols=contents.symbols,
                chunks=contents.chunks,
                embeddings=contents.embeddings,
                skips=files.count_skips(handle, branch.id),
                coverage=self._searcher.coverage(handle, branch),
                model=model.name if model else None,
                fingerprint=row.fingerprint or "",
                size_bytes=self._store.size_bytes(),
                last_indexed_at=iso_or_none(branch.indexed_at_ms),
                jobs=notable_jobs(handle, self.project_id, self.root),
                watch=watch_status_of(self._store.path),
                folder_exists=is_folder_there(self.root, number),
                branches=tuple(
                    each.name for each in project.branches_by_name(handle, branch) if each.name
                ),
                commits=count_commits(handle),
                history=read_extent(handle),
            )

    def has_folder(self) -> bool:
        """Return whether the folder of a project with indexed files exists, and is not empty."""
        return is_folder_there(self.root, 1)

    def summary(self) -> "ProjectSummary":
        """Summarize the project."""
        from engine.state_records import ProjectSummary

        with self._checkout.read() as (handle, branch):
            number = files.count_files(handle, branch.id)
            return ProjectSummary(
                project_id=self.project_id,
                path=display_path(self.root),
                files=number,
                size_bytes=self._store.size_bytes(),
                last_indexed_at=iso_or_none(branch.indexed_at_ms),
                folder_exists=is_folder_there(self.root, number),
            )

    def why(self, path: str) -> "PathExplanation":
        """Explain why a path is found or not, and what the next run would do with it.

        Args:
            path: Absolute, or relative to the root.

        Raises:
            InvalidPathError: The path lies outside the root, or cannot be one.
        """
        from engine.browsing.explain import explain_path
        from engine.index_records import IndexOptions
        from engine.indexing.scope import scope_of

        relative = self.browse.stored_path(path)
        with self._checkout.read() as (handle, branch):
            row = project.known_project(handle, self.root)
            allowed = self._config.allowed_secret_files
            rules = scope_of(IndexOptions(), row, allowed=allowed).rules
            tags = self._file_tags.usable()
            return explain_path(handle, branch.id, self.root, relative, rules, tags)

    def evaluate(
        self,
        queries: "Sequence[GoldenQuery]",
        options: "EvaluationOptions | None" = None,
        *,
        on_progress: "EvaluationCallback | None" = None,
    ) -> "Evaluation":
        """Measure the answers to golden queries; see ``evaluate`` for errors."""
        from engine.evaluation.evaluate import evaluate, reach_of
        from engine.evaluation.golden import EvaluationOptions

        with self._checkout.read() as (handle, branch):
            reach = reach_of(handle, branch.id, queries, self.why)
        chosen = options or EvaluationOptions()
        name = display_path(self.root)
        return evaluate(name, queries, chosen, reach, self._searching, on_progress)

    def clear(self) -> None:
        """Delete the contents; the project and its scope stay.

        Raises:
            ProjectBusyError: It is being indexed.
        """
        from engine.project_files import delete_contents

        delete_contents(self._store)

    def check(self, options: "IndexOptions") -> None:
        """Validate options.

        Raises:
            InvalidInputError: One is not valid; a project that was never indexed is deleted.
            NotFoundError: The repository has no such branch.
            UnavailableError: The branch cannot be read.
        """
        self._indexer.scope(options)

    @contextmanager
    def _searching(
        self, settings: Mapping[str, int | str]
    ) -> "Iterator[Callable[[SearchRequest], SearchAnswer]]":
        """Open the project again, with some settings changed and empty caches."""
        config = changed_config(self._config, settings)
        with (
            closing(QueryEmbedder(config, self._questions.open_embedder)) as questions,
            closing(
                Project(
                    self._store.path,
                    self.root,
                    config,
                    self._pool,
                    create=False,
                    query_embedder=questions,
                )
            ) as index,
        ):
            yield index.search

    def _checked_out(self) -> str:
        return read_branch(self.root)

    def _branch_here(self, handle: Handle) -> BranchRow:
        return self._searcher.branch(handle, None, self._checked_out())

    def _find_uses(
        self, handle: Handle, branch: BranchRow, terms: "Sequence[UseTerm]"
    ) -> "Sequence[NameUses]":
        from engine.references.usage_filter import find_uses

        return find_uses(handle, branch, terms, self._kept)


def _no_workers(config: Config) -> "WorkerPool":
    from engine.indexing.fork_server import WorkerLimits
    from engine.indexing.workers import WorkerPool

    return WorkerPool(0, WorkerLimits(deadline_ms=config.parse_timeout))
