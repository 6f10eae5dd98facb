"""All projects of a data directory: find, open, create, list, forget, and search across them."""

import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import Config
from engine.dispatch.feed import Feed
from engine.dispatch.jobs import Jobs
from engine.embedding.load import OpenEmbedder, open_embedder
from engine.errors import EngineError, InvalidPathError, ProjectNotFoundError
from engine.index import Index
from engine.indexing.seed import delete_leftovers, seed
from engine.indexing.workers import WorkerLimits, WorkerPool
from engine.jobs.watchlist import database_files
from engine.merging import merged, page_of, whole_request
from engine.project_filters import chosen_projects
from engine.records import (
    ProjectError,
    ProjectSummary,
    SearchAnswer,
    SearchRequest,
)
from engine.roots import project_id_of, resolve, upwards
from engine.server_board import ServerBoard, server_board, server_url
from engine.source.git import sibling_folders
from engine.store.peek import read_root
from engine.telemetry.logs import JobLog, server_log
from engine.telemetry.recording import asking

if TYPE_CHECKING:
    from engine.dispatch.jobs import ChangeCallback
    from engine.doctor.doctor import Doctor
    from engine.observing.observer import Observer
    from engine.watching.teller import StatusCallback
    from engine.watching.watcher import Watcher

_ID_CHARS = 64
_ID = re.compile(r"[0-9a-f]{64}")


class Catalog:
    """The projects of one data directory. Close it, or use it as a context manager.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
        runs_jobs: Whether this process may become the runner of jobs, when it waits for one.
    """

    def __init__(
        self,
        config: Config,
        *,
        open_embedder: OpenEmbedder = open_embedder,
        runs_jobs: bool = True,
    ) -> None:
        self._config = config
        self._open_embedder = open_embedder
        limits = WorkerLimits(deadline_ms=config.parse_timeout, memory_bytes=config.worker_memory)
        self._pool = WorkerPool(config.worker_count, limits)
        self._open: dict[str, Index] = {}
        self._lock = threading.RLock()
        #: The jobs of all projects.
        self.jobs = Jobs(config, self, open_embedder, runs_here=runs_jobs)
        #: What happens to the jobs and watchers of all projects, for whoever looks again and again.
        self.feed = Feed(config)
        self._watchers: dict[str, Watcher] = {}

    @property
    def data_dir(self) -> Path:
        """Where the indexes live, with their logs."""
        return self._config.data_dir

    def __enter__(self) -> "Catalog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs here, close every index and end the workers."""
        for watcher in self._watchers.values():
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
        for folder in upwards(root):
            if self._database(folder).exists():
                return self._index(folder, create=False)
        raise _not_indexed(path)

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
        from engine.watching.live import watcher_of  # with watchfiles, which most calls do without

        index = self.create(path)
        watcher = watcher_of(index, self.jobs, self._config, on_status=on_status, on_job=on_job)
        watcher.start()
        self._watchers[index.root] = watcher
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
        return self._index(read_root(file, self._config.busy_timeout), create=False)

    def doctor(self, path: str) -> "Doctor":
        """Give the doctor of the project of a folder, or of the one that encloses it.

        Its index need not be one that can be opened.

        Raises:
            ProjectNotFoundError: Neither the folder nor one above it is indexed.
        """
        from engine.doctor.doctor import Doctor  # with numpy, which most calls do without

        for root in upwards(resolve(path)):
            file = self._database(root)
            if file.exists():
                return Doctor(file, root, self._config, self._open_embedder)
        raise _not_indexed(path)

    def doctor_of_id(self, project_id: str, *, path: str | None = None) -> "Doctor":
        """Give the doctor of the project of an id.

        Args:
            project_id: The id.
            path: Its root, for when nothing else tells it: the file of a damaged index need not.

        Raises:
            ProjectNotFoundError: There is none.
            InvalidPathError: The path is not that of this project.
        """
        from engine.doctor.doctor import Doctor  # as in ``doctor``
        from engine.doctor.whereabouts import root_of

        file = self._file_of(project_id)
        if path is not None and project_id_of(resolve(path)) != project_id:
            raise InvalidPathError(
                f"{path} is not the root of this project", field="path", path=path
            )
        with self._lock:
            guesses = [] if path is None else [resolve(path)]
            guesses += [index.root for index in self._open.values()]
        root = root_of(file, guesses, self._config.busy_timeout)
        return Doctor(file, root, self._config, self._open_embedder)

    def open_id(self, project_id: str) -> Index:
        """Open the project of an id.

        Raises:
            ProjectNotFoundError: There is none.
        """
        return self.open_file(self._file_of(project_id))

    def projects(self) -> list[ProjectSummary]:
        """List the projects by path; one that cannot be opened is listed with its error."""
        summaries = [self._summary(file) for file in database_files(self._config.data_dir)]
        return sorted(summaries, key=lambda summary: summary.path)

    def roots(self) -> list[str]:
        """Give the roots of all projects that can be opened, as the disk spells them."""
        return [each for each in self.everywhere() if not _ID.fullmatch(each)]

    def everywhere(self) -> list[str]:
        """Give all roots, then the ids of projects that cannot be opened: a search names them."""
        roots, ids = [], []
        for file in database_files(self._config.data_dir):
            try:
                roots.append(self.open_file(file).root)
            except EngineError:
                ids.append(file.stem)
        return [*sorted(roots), *sorted(ids)]

    def forget(self, path: str) -> None:
        """Delete the index of exactly this folder; the folder itself is not touched.

        Raises:
            ProjectNotFoundError: It is not indexed.
            ProjectBusyError: It is being indexed.
        """
        file = self._database(resolve(path))
        if not file.exists():
            raise ProjectNotFoundError(f"{path} is not indexed", path=path)
        self._forget(file)

    def forget_id(self, project_id: str) -> None:
        """Delete the index of an id, also one that is damaged; as ``forget`` otherwise."""
        self._forget(self._file_of(project_id))

    def _forget(self, file: Path) -> None:
        """Delete an index, after what this process does with it has ended."""
        with self._lock:
            known = [index for index in self._open.values() if index.project_id == file.stem]
        for index in known:
            watcher = self._watchers.pop(index.root, None)
            if watcher:
                watcher.stop()
        Index.delete(file)
        for index in known:
            with self._lock:
                self._open.pop(index.root, None)
            index.close()

    def serving(self) -> AbstractContextManager[ServerBoard]:
        """Hold the right to serve this data directory; its board tells others where.

        Raises:
            ServerRunningError: Another process serves it; the details have its URL.
        """
        return server_board(self._config.data_dir)

    def server_url(self) -> str | None:
        """Say where this data directory is served, by whatever process; None: nowhere."""
        return server_url(self._config.data_dir)

    def server_log(self) -> JobLog:
        """Give the log of a server's requests."""
        return server_log(self._config.data_dir)

    def observer(self, version: str) -> "Observer":
        """Give who measures this process, and what all processes do with these projects."""
        from engine.observing.observer import Observer  # OpenTelemetry: a third of a second

        return Observer(self._config, version)

    def traced(self, process: str) -> AbstractContextManager[None]:
        """Hand spans to the exporters that the environment names, within the context."""
        from engine.observing.tracing import traced  # with importlib.metadata

        return traced(self._config.data_dir, process=process)

    def search(self, paths: Sequence[str], request: SearchRequest) -> SearchAnswer:
        """Search several projects, named by paths or ids, and merge their answers by score.

        A project that fails is reported in ``errors`` and never fails the rest; with a single
        project, its error is raised. ``project:`` in the query chooses among the paths.

        Raises:
            InvalidQueryError: The query cannot be read.
            NotFoundError: ``project:`` leaves no project.
            EngineError: Every project failed; the first error.
        """
        with asking(request.mode):
            return self._search(paths, request)

    def _search(self, paths: Sequence[str], request: SearchRequest) -> SearchAnswer:
        started = time.perf_counter()
        answers: list[SearchAnswer] = []
        failures: list[tuple[str, EngineError]] = []
        asked: set[str] = set()
        for path in chosen_projects(list(dict.fromkeys(paths)), request):
            try:
                index = self.open_id(path) if _ID.fullmatch(path) else self.open(path)
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
        return merged(request, answers, errors, (time.perf_counter() - started) * 1000)

    def search_page(
        self, paths: Sequence[str], request: SearchRequest, offset: int
    ) -> SearchAnswer:
        """Search, and leave out the first hits: those of earlier pages.

        The first hits of each page are ranked anew, so pages fit together as long as no index
        changes. What is raised is that of ``search``; the limit is on offset and page together.
        """
        if not offset:
            return self.search(paths, request)
        return page_of(self.search(paths, whole_request(request, offset)), request, offset)

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

    def _file_of(self, project_id: str) -> Path:
        file = self._config.data_dir / f"{project_id}.db"
        if not (_ID.fullmatch(project_id) and file.exists()):
            raise ProjectNotFoundError(
                f"no project has the id {project_id[:_ID_CHARS]}", hint="list the projects"
            )
        return file

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


def _not_indexed(path: str) -> ProjectNotFoundError:
    return ProjectNotFoundError(
        f"{path} is not indexed", hint=f"index it: cairn index {path}", path=path
    )
