"""All projects of a data directory: find, open, create, list, forget, and search across them."""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import Config
from engine.dispatch import Jobs
from engine.embedding.load import OpenEmbedder, open_embedder
from engine.errors import EngineError, InvalidPathError, NotFoundError, ProjectNotFoundError
from engine.index import Index, read_root
from engine.records import (
    Coverage,
    Hit,
    Mode,
    ProjectError,
    ProjectSummary,
    SearchAnswer,
    SearchRequest,
    is_path,
)
from engine.search.query import Query, parse_query
from engine.search.snippet import cut_to_tokens
from engine.seed import delete_leftovers, seed
from engine.source.git import sibling_folders
from engine.workers import WorkerLimits, WorkerPool

if TYPE_CHECKING:
    from engine.dispatch import ChangeCallback
    from engine.watcher import Watcher
    from engine.watching.teller import StatusCallback

_ID_CHARS = 64
_SHORT_ID_CHARS = 6


class Catalog:
    """The projects of one data directory. Close it, or use it as a context manager.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
    """

    def __init__(self, config: Config, *, open_embedder: OpenEmbedder = open_embedder) -> None:
        self._config = config
        self._open_embedder = open_embedder
        limits = WorkerLimits(deadline_ms=config.parse_timeout, memory_bytes=config.worker_memory)
        self._pool = WorkerPool(config.worker_count, limits)
        self._open: dict[str, Index] = {}
        self._lock = threading.RLock()
        #: The jobs of all projects.
        self.jobs = Jobs(config, self, open_embedder)
        self._watchers: list[Watcher] = []

    def __enter__(self) -> "Catalog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs here, close every index and end the workers."""
        for watcher in self._watchers:
            watcher.stop()
        self.jobs.close()
        for index in self._open.values():
            index.close()
        self._open.clear()
        self._pool.close()

    def open(self, path: str) -> Index:
        """Open the project of a folder, or the one that encloses it.

        Raises:
            ProjectNotFoundError: Neither the folder nor one above it is indexed.
        """
        root = resolve(path)
        for folder in _upwards(root):
            if self._database(folder).exists():
                return self._index(folder, create=False)
        raise ProjectNotFoundError(
            f"{path} is not indexed", hint=f"index it: cairn index {path}", path=path
        )

    def create(self, path: str) -> Index:
        """Open the project of exactly this folder, made when there is none.

        Raises:
            InvalidPathError: No folder is there, or it cannot be read.
        """
        root = resolve(path)
        if not os.path.exists(root):
            raise InvalidPathError(f"path does not exist: {path}", field="path", path=path)
        if not os.path.isdir(root):
            raise InvalidPathError(
                f"path is not a folder: {path}", hint="name a folder", field="path", path=path
            )
        if not os.access(root, os.R_OK | os.X_OK):
            raise InvalidPathError(
                f"permission denied: {path}",
                hint="make the folder readable",
                field="path",
                path=path,
            )
        return self._index(root, create=True)

    def watch(
        self,
        path: str,
        *,
        on_status: "StatusCallback | None" = None,
        on_job: "ChangeCallback | None" = None,
    ) -> "Watcher":
        """Keep the index of a folder equal to its disk from now on, in threads of this process.

        Args:
            path: The root; made a project when it is none.
            on_status: Hears each new status of the watcher, in its thread.
            on_job: Hears of its jobs while they go on and when they have ended, in its thread.

        Raises:
            InvalidPathError: No folder is there, or it cannot be read.
            ProjectBusyError: Another watcher watches it.
            UnavailableError: The data directory cannot be written.
        """
        from engine.live import watcher_of  # with watchfiles, which most calls do without

        index = self.create(path)
        watcher = watcher_of(index, self.jobs, self._config, on_status=on_status, on_job=on_job)
        watcher.start()
        self._watchers.append(watcher)
        return watcher

    def open_file(self, file: Path) -> Index:
        """Open the project of a database file.

        Raises:
            EngineError: The file is not a sound index.
        """
        with self._lock:
            known = [index for index in self._open.values() if index.project_id == file.stem]
        if known and known[0].is_current():
            return known[0]
        return self._index(read_root(file, self._config), create=False)

    def projects(self) -> list[ProjectSummary]:
        """List the projects by path; one that cannot be opened is listed with its error."""
        found = sorted(self._config.data_dir.glob("*.db"))
        summaries = [self._summary(file) for file in found if len(file.stem) == _ID_CHARS]
        return sorted(summaries, key=lambda summary: summary.path)

    def forget(self, path: str) -> None:
        """Delete the index of exactly this folder; the folder itself is not touched.

        Raises:
            ProjectNotFoundError: It is not indexed.
            ProjectBusyError: It is being indexed.
        """
        root = resolve(path)
        file = self._database(root)
        if not file.exists():
            raise ProjectNotFoundError(f"{path} is not indexed", path=path)
        index = self._open.pop(root, None)
        if index:
            index.close()
        Index.delete(file)

    def search(self, paths: Sequence[str], request: SearchRequest) -> SearchAnswer:
        """Search several projects and merge their answers by score.

        A project that fails is reported in ``errors`` and never fails the rest; with a single
        project, its error is raised. ``project:`` in the query chooses among the paths.

        Raises:
            InvalidQueryError: The query cannot be read.
            NotFoundError: ``project:`` leaves no project.
            EngineError: Every project failed; the first error.
        """
        started = time.perf_counter()
        answers: list[SearchAnswer] = []
        failures: list[tuple[str, EngineError]] = []
        asked: set[str] = set()
        for path in _chosen(list(dict.fromkeys(paths)), request):
            try:
                index = self.open(path)
                if index.root not in asked:
                    asked.add(index.root)
                    answers.append(index.search(request))
            except EngineError as error:
                failures.append((path, error))
        if not answers and failures:
            raise failures[0][1]
        if len(answers) == 1 and not failures:
            return answers[0]
        errors = tuple(
            ProjectError(project=path, error=error.code, message=error.message)
            for path, error in failures
        )
        return _merge(request, answers, errors, (time.perf_counter() - started) * 1000)

    def _index(self, root: str, *, create: bool) -> Index:
        with self._lock:
            return self._opened(root, create=create)

    def _opened(self, root: str, *, create: bool) -> Index:
        known = self._open.get(root)
        if known and not known.is_current():  # another process has forgotten it, or begun it anew
            known.close()
            del self._open[root]
        if root not in self._open:
            file = self._database(root)
            if create:
                delete_leftovers(file)
            if create and not file.exists():
                seed(file, root, map(self._database, sibling_folders(root)), self._config)
            self._open[root] = Index(
                file,
                root,
                self._config,
                self._pool,
                create=create,
                open_embedder=self._open_embedder,
            )
        return self._open[root]

    def _database(self, root: str) -> Path:
        return self._config.data_dir / f"{project_id_of(root)}.db"

    def _summary(self, file: Path) -> ProjectSummary:
        try:
            with Index.peek(file, self._config) as index:
                return index.summary()
        except EngineError as error:
            return ProjectSummary(
                project_id=file.stem,
                path="",
                files=0,
                size_bytes=file.stat().st_size,
                last_indexed_at=None,
                error=error.message,
            )


def project_id_of(root: str) -> str:
    """Give the project id of a resolved root: the SHA-256 of its path, hexadecimal."""
    return sha256(os.fsencode(root)).hexdigest()


def resolve(path: str) -> str:
    """Give the absolute path without links.

    Raises:
        InvalidPathError: No path can have these characters, such as NUL.
    """
    if not is_path(path):
        raise InvalidPathError("no path can have these characters", field="path")
    return os.path.realpath(os.path.expanduser(path))


def _upwards(folder: str) -> list[str]:
    folders = [folder]
    while (parent := os.path.dirname(folder)) != folder:
        folders.append(parent)
        folder = parent
    return folders


def names_projects(request: SearchRequest) -> bool:
    """Say whether a question chooses among projects.

    Raises:
        InvalidQueryError: The query cannot be read.
    """
    return bool(_query_of(request).values("project"))


def _query_of(request: SearchRequest) -> Query:
    return parse_query(request.query, as_pattern=request.mode is Mode.REGEX)


def _chosen(paths: list[str], request: SearchRequest) -> list[str]:
    """Give the projects that the ``project:`` filters of a query let through.

    A value matches the end of a project's path, whole folders only, or the start of its id.
    """
    filters = _query_of(request).values("project")
    wanted = [term.value for term in filters if not term.negated]
    refused = [term.value for term in filters if term.negated]
    chosen = [
        path
        for path in paths
        if (not wanted or any(_is_project(path, value) for value in wanted))
        and not any(_is_project(path, value) for value in refused)
    ]
    if filters and not chosen:
        raise NotFoundError(
            f"no project matches {' '.join(term.value for term in filters)}",
            hint="projects: " + ", ".join(paths),
        )
    return chosen


def _is_project(path: str, value: str) -> bool:
    root = resolve(path)
    if f"{root}/".endswith(f"/{value.strip('/')}/"):
        return True
    return len(value) >= _SHORT_ID_CHARS and project_id_of(root).startswith(value.lower())


def _merge(
    request: SearchRequest,
    answers: Sequence[SearchAnswer],
    errors: tuple[ProjectError, ...],
    took_ms: float,
) -> SearchAnswer:
    """Merge answers; scores compare, each being a sum of shares of the best possible."""
    hits: list[Hit] = sorted(
        (hit for answer in answers for hit in answer.hits), key=lambda hit: -hit.score
    )
    files = sum(answer.coverage.files for answer in answers)
    shown, is_cut = _inside_budget(hits[: request.limit], request.max_tokens)
    return SearchAnswer(
        query=request.query,
        mode=request.mode,
        took_ms=took_ms,
        total=sum(answer.total for answer in answers),
        truncated=is_cut
        or len(hits) > request.limit
        or any(answer.truncated for answer in answers),
        coverage=Coverage(
            files=files,
            indexed=_weighted([(a.coverage.indexed, a.coverage.files) for a in answers]),
            embedded=_weighted([(a.coverage.embedded, a.coverage.files) for a in answers]),
            complete=all(answer.coverage.complete for answer in answers),
        ),
        hits=tuple(shown),
        errors=errors,
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
    )


def _inside_budget(hits: list[Hit], max_tokens: int | None) -> tuple[list[Hit], bool]:
    """Cut the snippets of several projects to one budget; True when something was cut."""
    if max_tokens is None:
        return hits, False
    left = max_tokens
    shown = []
    for hit in hits:
        snippet, cost = cut_to_tokens(hit.snippet, left)
        left -= cost
        shown.append(replace(hit, snippet=snippet))
    return shown, [hit.snippet for hit in shown] != [hit.snippet for hit in hits]


def _weighted(shares: Sequence[tuple[float, int]]) -> float:
    """Give the mean share, weighted by files."""
    files = sum(weight for _, weight in shares)
    return sum(share * weight for share, weight in shares) / files if files else 1.0
