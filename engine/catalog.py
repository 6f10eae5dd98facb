"""All projects of a data directory: find, open, create, list, forget, and search across them.

Each project is opened once per process.
"""

import shlex
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cancellation import CancelToken
from engine.config import Config
from engine.embedding.load import OpenEmbedder, open_embedder
from engine.errors import EngineError, InvalidPathError, ProjectNotFoundError
from engine.files import is_there
from engine.open_projects import OpenProjects
from engine.project import Project
from engine.records import display_path
from engine.roots import folder_at, is_project_id, project_id_of, resolve, upwards
from engine.telemetry.metrics import measured_search

# A search opens one project and needs no jobs, doctor, watcher or server: each is imported by the
# method that needs it.
if TYPE_CHECKING:
    from engine.contexts import Contexts
    from engine.doctor.doctor import Doctor
    from engine.folder_check import FolderCheck
    from engine.indexing.fork_server import ForkServer
    from engine.locks import ServerLock
    from engine.memory_records import FoundMemories
    from engine.observing.observer import Observer
    from engine.research_records import ResearchAnswer, ResearchRequest
    from engine.scheduler.poller import ActivityPoller, ProjectViews
    from engine.scheduler.queue import ChangeCallback, Jobs
    from engine.search_records import SearchAnswer, SearchRequest
    from engine.settings import Settings
    from engine.state_records import ProjectContext, ProjectSummary
    from engine.telemetry.agents import AgentActivity
    from engine.telemetry.logs import JobLog
    from engine.watch.watcher import StatusCallback, Watcher


class Catalog:
    """The projects of one data directory. Close it, or use it as a context manager.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
        runs_jobs: Whether this process may become the runner of jobs, when it waits for one.
        fork_server: Forks the parsing processes, if it was started already; closed with this.
    """

    def __init__(
        self,
        config: Config,
        *,
        open_embedder: OpenEmbedder = open_embedder,
        runs_jobs: bool = True,
        fork_server: "ForkServer | None" = None,
    ) -> None:
        self._config = config
        self._open_embedder = open_embedder
        self._runs_jobs = runs_jobs
        self._indexes = OpenProjects(config, open_embedder, fork_server)
        self._watchers: dict[str, Watcher] = {}
        self._jobs: Jobs | None = None
        self._activity: ActivityPoller | None = None
        self._views: ProjectViews | None = None
        self._lock = threading.RLock()  # two threads that ask first get the same object

    @property
    def jobs(self) -> "Jobs":
        """The jobs of all projects."""
        from engine.scheduler.queue import Jobs

        with self._lock:
            if self._jobs is None:
                self._jobs = Jobs(
                    self._config, self, self._open_embedder, runs_here=self._runs_jobs
                )
            return self._jobs

    @property
    def activity(self) -> "ActivityPoller":
        """The activity of all jobs and watchers, for callers that poll."""
        from engine.scheduler.poller import ActivityPoller

        with self._lock:
            if self._activity is None:
                self._activity = ActivityPoller(self._config)
            return self._activity

    @property
    def views(self) -> "ProjectViews":
        """All projects with their contents, for callers that poll."""
        from engine.scheduler.poller import ProjectViews

        with self._lock:
            if self._views is None:
                self._views = ProjectViews(self._config, self.activity, self.open_file)
            return self._views

    @property
    def contexts(self) -> "Contexts":
        """The named sets of projects."""
        from engine.contexts import Contexts

        data_dir = self._config.data_dir
        return Contexts(data_dir, lambda project_id: is_there(data_dir / f"{project_id}.db"))

    @property
    def settings(self) -> "Settings":
        """The settings, as a user sees and changes them."""
        from engine.settings import Settings

        return Settings(self._config)

    @property
    def data_dir(self) -> Path:
        """The folder of the indexes and their logs."""
        return self._config.data_dir

    def __enter__(self) -> "Catalog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop what runs here, close every index and end the workers."""
        for watcher in self._watchers.values():
            watcher.stop()
        if self._jobs:
            self._jobs.close()
        self._indexes.close()

    def open(self, path: str) -> Project:
        """Open the project of a folder, or the one that encloses it.

        Raises:
            ProjectNotFoundError: Neither the folder nor one above it is indexed.
        """
        return self._indexes.of_root(self._root_of(path))

    def check_folder(self, path: str) -> "FolderCheck":
        """Return what speaks against indexing a folder; doubts end when it is a project.

        Raises:
            InvalidPathError: No folder is there, or it cannot be read.
        """
        from engine.folder_check import FolderCheck, check_folder

        root = folder_at(path)
        if self.has_project(root):
            return FolderCheck(refusal=check_folder(root, self.data_dir).refusal)
        return check_folder(root, self.data_dir, self.roots())

    def create(self, path: str, *, is_confirmed: bool = False) -> Project:
        """Open the project of exactly this folder, creating it if there is none.

        Args:
            path: The folder.
            is_confirmed: Whether the user confirms a folder that hardly anybody means to index.

        Raises:
            InvalidPathError: No folder is there, it cannot be read, or it is never indexed.
            UnconfirmedFolderError: It is indexed only when confirmed.
        """
        return self._indexes.made(self.require_permission(path, is_confirmed=is_confirmed))

    def require_permission(self, path: str, *, is_confirmed: bool = False) -> str:
        """Return the resolved path of a folder that may be indexed; nothing is created.

        Args:
            path: The folder.
            is_confirmed: As for ``create``.

        Raises:
            InvalidPathError: As for ``create``.
        """
        from engine.folder_check import require_permission  # only needed to index

        root = folder_at(path)
        is_confirmed = is_confirmed or self.has_project(root)
        require_permission(root, self.data_dir, path=path, is_confirmed=is_confirmed)
        return root

    def watch(
        self,
        path: str,
        *,
        create: bool = True,
        is_confirmed: bool = False,
        on_status: "StatusCallback | None" = None,
        on_job: "ChangeCallback | None" = None,
    ) -> "Watcher":
        """Keep the index of a folder equal to its disk from now on, in threads of this process.

        Args:
            path: The root.
            create: Create the project if there is none: a user asks for it now, and so for the
                rest of what was cancelled.
            is_confirmed: As for ``create``.
            on_status: Called with each new status of the watcher, in its thread.
            on_job: Called with its jobs as they progress and end, in its thread.

        Raises:
            InvalidPathError: As for ``create``.
            ProjectNotFoundError: There is no project, and ``create`` is False.
            ProjectBusyError: Another process watches it.
            UnavailableError: The data directory cannot be written.
        """
        from engine.watch.live import create_watcher  # with watchfiles, which most calls do without

        index = self.create(path, is_confirmed=is_confirmed) if create else self._known(path)
        watcher = create_watcher(
            index, self.jobs, self._config, is_asked=create, on_status=on_status, on_job=on_job
        )
        watcher.start()
        self._watchers[index.root] = watcher
        return watcher

    def open_file(self, file: Path) -> Project:
        """Open the project of a database file.

        Raises:
            EngineError: The file is not a sound index.
        """
        return self._indexes.of_file(file)

    def doctor(self, path: str) -> "Doctor":
        """Return the doctor of the project of a folder, or of the one that encloses it.

        Its index may be impossible to open.

        Raises:
            ProjectNotFoundError: Neither the folder nor one above it is indexed.
        """
        from engine.doctor.doctor import Doctor  # with numpy, which most calls do without

        root = self._root_of(path)
        return Doctor(self._indexes.file_of_root(root), root, self._config, self._open_embedder)

    def doctor_of_id(self, project_id: str, *, path: str | None = None) -> "Doctor":
        """Return the doctor of the project of an id.

        Args:
            project_id: The id.
            path: Its root, which the file of a damaged index may not tell.

        Raises:
            ProjectNotFoundError: There is none.
            InvalidPathError: The path is not that of this project.
        """
        from engine.doctor.doctor import Doctor  # as in ``doctor``
        from engine.doctor.rebuild import root_of

        file = self._indexes.file_of_id(project_id)
        if path is not None and project_id_of(resolve(path)) != project_id:
            raise InvalidPathError(
                f"{path} is not the root of this project", field="path", path=path
            )
        guesses = [] if path is None else [resolve(path)]
        guesses += [index.root for index in self._indexes.opened()]
        root = root_of(file, guesses, self._config.busy_timeout)
        return Doctor(file, root, self._config, self._open_embedder)

    def open_id(self, project_id: str) -> Project:
        """Open the project of an id.

        Raises:
            ProjectNotFoundError: There is none.
        """
        return self.open_file(self._indexes.file_of_id(project_id))

    def projects(self) -> "list[ProjectSummary]":
        """List the projects by path; one that cannot be opened is listed with its error."""
        from engine.jobs.watchlist import database_files
        from engine.scheduler.poller import summary_of

        files = database_files(self._config.data_dir)
        summaries = [summary_of(file, self._config) for file in files]
        return sorted(filter(None, summaries), key=lambda summary: summary.path)

    def roots(self) -> list[str]:
        """Return the roots of all projects that can be opened, as the disk spells them."""
        return [each for each in self.roots_or_ids() if not is_project_id(each)]

    def roots_or_ids(self) -> list[str]:
        """Return all roots, then the ids of projects that cannot be opened.

        Raises:
            UnavailableError: The data directory may not be listed.
        """
        from engine.jobs.watchlist import database_files

        roots, ids = [], []
        for file in database_files(self._config.data_dir):
            try:
                roots.append(self.open_file(file).root)
            except ProjectNotFoundError:  # forgotten just now, or never filled
                continue
            except EngineError:
                ids.append(file.stem)
        return [*sorted(roots), *sorted(ids)]

    def root_of_id(self, project_id: str) -> str | None:
        """Return the root of an index that cannot be opened, as far as its files or logs tell."""
        from engine.doctor.rebuild import root_of  # few projects cannot be opened

        if not self.has_id(project_id):
            return None
        return root_of(self._indexes.file_of_id(project_id), (), self._config.busy_timeout)

    def has_project(self, root: str) -> bool:
        """Return whether a resolved folder is a project, damaged or not; nothing is opened.

        Raises:
            UnavailableError: The data directory cannot be searched.
        """
        return is_there(self._indexes.file_of_root(root))

    def has_id(self, project_id: str) -> bool:
        """Return whether a project has this id; as ``has_project`` otherwise."""
        try:
            self._indexes.file_of_id(project_id)
        except ProjectNotFoundError:
            return False
        return True

    def forget(self, path: str) -> tuple[str, ...]:
        """Delete index and memories of exactly this folder; the folder itself is not touched.

        Returns:
            The names of the contexts that the project has left.

        Raises:
            ProjectNotFoundError: It is not indexed.
            ProjectBusyError: It is being indexed.
        """
        file = self._indexes.file_of_root(resolve(path))
        if not is_there(file):
            raise ProjectNotFoundError(f"{path} is not indexed", path=path)
        return self._forget(file)

    def forget_id(self, project_id: str) -> tuple[str, ...]:
        """Delete the index of an id, also one that is damaged; as ``forget`` otherwise."""
        return self._forget(self._indexes.file_of_id(project_id))

    def _forget(self, file: Path) -> tuple[str, ...]:
        """Delete an index, after this process has stopped using it."""
        index = self._indexes.known(file)
        watcher = self._watchers.pop(index.root, None) if index else None
        if watcher:
            watcher.stop()
        try:
            with self._indexes.alone_with(file):
                Project.delete(file)
                index = self._indexes.known(file)
                if index:
                    self._indexes.drop(index)
        except Exception:
            if index and watcher:
                self._restart_watcher(index.root, watcher)
            raise
        with suppress(EngineError):  # its contexts say that it is not indexed any more
            return self.contexts.drop_project(file.stem)
        return ()

    def _restart_watcher(self, root: str, watcher: "Watcher") -> None:
        """Restart a watcher, unless another process watches by now."""
        with suppress(EngineError):
            watcher.start()
            self._watchers[root] = watcher

    def hold_server_lock(self) -> AbstractContextManager["ServerLock"]:
        """Hold the server's lock of this data directory; it publishes the URL.

        Raises:
            ServerRunningError: Another process serves it; the details have its URL.
        """
        from engine.locks import hold_server_lock

        return hold_server_lock(self._config.data_dir)

    def server_url(self) -> str | None:
        """Return the URL of this data directory's server in any process; None if there is none."""
        from engine.locks import server_url

        return server_url(self._config.data_dir)

    def server_log(self) -> "JobLog":
        """Return the log of a server's requests."""
        from engine.telemetry.logs import server_log

        return server_log(self._config.data_dir)

    def agents_log(self) -> "JobLog":
        """Return the log of agents' calls."""
        from engine.telemetry.logs import agents_log

        return agents_log(self._config.data_dir)

    def agent_activity(self) -> "AgentActivity":
        """Return the agents that servers of this data directory serve, and their last calls."""
        from engine.telemetry.agents import activity_in

        return activity_in(self.agents_log())

    def log_lines(self) -> list[str]:
        """Return the latest lines of the logs of servers and runners, without secrets."""
        from engine.source.secrets import redact
        from engine.telemetry.logs import latest_lines

        text, _ = redact("\n".join(latest_lines(self._config.data_dir)).encode())
        return text.decode("utf-8", "replace").splitlines()

    def observer(self, version: str) -> "Observer":
        """Return the observer of this process and of all projects."""
        from engine.observing.observer import Observer  # with prometheus_client: 0.1 s

        return Observer(self._config, version)

    def traced(self, process: str) -> AbstractContextManager[None]:
        """Export spans within the context, as configured by the environment."""
        from engine.observing.tracing import traced  # with importlib.metadata

        return traced(self._config.data_dir, process=process)

    def cache_room_bytes(self) -> int:
        """Return how much more the caches may take; below 0 if they take too much."""
        return self._indexes.room_bytes()

    def update_ngram_filters(self, cancelled: CancelToken) -> None:
        """Update the n-gram filter of each open index in which patterns were searched or will be.

        An index that cannot be read does not affect the others. Then the caches of all indexes
        are bounded.
        """
        for index in self._indexes.opened():
            with suppress(EngineError):
                index.update_ngram_filter(cancelled)
        self._indexes.evict()

    def search(self, paths: Sequence[str], request: "SearchRequest") -> "SearchAnswer":
        """Search several projects, named by paths or ids, and merge their answers by score.

        A project that fails is reported in ``errors`` and never fails the rest; with a single
        project, its error is raised. ``project:`` and ``context:`` in the query select among the
        paths.

        Raises:
            InvalidQueryError: The query cannot be read.
            NotFoundError: They leave no project.
            EngineError: Every project failed; the first error.
        """
        from engine.cross_project import contexts_in, search_all, with_notes

        try:
            with measured_search(request.mode):
                chosen = self.chosen_projects(paths, request)
                answer = search_all(chosen, request, self._open_for_search)
                notes = [self.contexts.missing_note(name) for name in contexts_in(request)]
                return with_notes(answer, notes, request)
        finally:
            self._indexes.evict()

    def chosen_projects(self, paths: Sequence[str], request: "SearchRequest") -> list[str]:
        """Return those of the paths or ids that a query selects.

        Raises:
            EngineError: As for ``search``.
        """
        from engine.cross_project import chosen_projects

        def context_of(name: str) -> "ProjectContext":
            return self.contexts.get(name)  # few queries load what this needs

        return chosen_projects(
            list(dict.fromkeys(paths)), request, context_of=context_of, root_of=self.root_of_id
        )

    def search_page(
        self, paths: Sequence[str], request: "SearchRequest", offset: int
    ) -> "SearchAnswer":
        """Search, and skip the hits of earlier pages.

        The first hits of each page are ranked anew, so pages fit together as long as no index
        changes. Errors as in ``search``; the limit applies to offset and page together.
        """
        if not offset:
            return self.search(paths, request)
        from engine.cross_project import page_of, whole_request

        return page_of(self.search(paths, whole_request(request, offset)), request, offset)

    def research(self, paths: Sequence[str], request: "ResearchRequest") -> "ResearchAnswer":
        """Return the best passages of several projects for a question, by what each is for it.

        Errors and projects as in ``search``.
        """
        from engine.research import research

        def opened(shown: str) -> Project:
            if "\ufffd" in shown:  # the name may not be UTF-8
                for path in paths:
                    with suppress(EngineError):
                        index = self._open_for_search(path)
                        if display_path(index.root) == shown:
                            return index
            return self.open(shown)

        return research(request, lambda asked: self.search(paths, asked), opened)

    def search_memories(
        self, paths: Sequence[str], query: str, *, tags: Sequence[str] = (), limit: int = 10
    ) -> "FoundMemories":
        """Search the memories of several projects, named by paths or ids, in one ranking.

        Rare words are those that are rare in all of these projects together. A project that fails
        is reported in ``errors`` and never fails the rest; with a single project, its error is
        raised.

        Args:
            paths: The projects.
            query: As for ``Checkpoints.search``.
            tags: As there.
            limit: As there.

        Raises:
            InvalidInputError: The query, a tag or the limit is not valid.
            EngineError: Every project failed; the first error.
        """
        from engine.cross_project import search_all_memories
        from engine.memories.search import MemoryQuery

        asked = MemoryQuery.of(query, tags, limit, only_memories=True)
        try:
            return search_all_memories(paths, asked, self._open_for_search)
        finally:
            self._indexes.evict()

    def _open_for_search(self, project: str) -> Project:
        """Open the project of an id or a folder for a search."""
        return self.open_id(project) if is_project_id(project) else self.open(project)

    def _known(self, path: str) -> Project:
        """Open the existing project of exactly this folder."""
        root = resolve(path)
        if not self.has_project(root):
            raise ProjectNotFoundError(f"{path} is not indexed", path=path)
        self.require_permission(path, is_confirmed=True)
        return self._indexes.of_root(root)

    def _root_of(self, path: str) -> str:
        """Return the folder that is indexed: this one, or the nearest of those above it."""
        for folder in upwards(resolve(path)):
            if is_there(self._indexes.file_of_root(folder)):
                return folder
        typed = shlex.quote(path)
        raise ProjectNotFoundError(
            f"{path} is not indexed",
            hint=f"index it: cairn index {'-- ' if path.startswith('-') else ''}{typed}",
            path=path,
        )
