"""The open projects of a data directory: each opened once, with one model and bounded caches."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.config import Config
from engine.embedding.load import OpenEmbedder, QueryEmbedder
from engine.embedding.model_setting import Backend
from engine.errors import ProjectNotFoundError
from engine.files import is_there
from engine.processes import return_memory
from engine.project import Project
from engine.roots import database_of, is_project_id
from engine.store.project import read_root

if TYPE_CHECKING:
    from engine.indexing.fork_server import ForkServer
    from engine.indexing.workers import WorkerPool

#: What the memory of caches grows by for each byte that they count: what lies between the blocks
#: that are in use cannot be returned (1.18 to 1.23 measured with fourteen projects).
_OVERHEAD = 1.2
_IDLE_S = 600.0  # after which the caches of a project, and the model of questions, are dropped
_DELETIONS = 3  # of a project while it is created
_ID_CHARS = 64  # of an unknown id that are quoted


class OpenProjects:
    """The open projects of a data directory, each opened once. For any number of threads.

    One model embeds the questions to all: loaded once, and left alone by all once it has failed.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
        fork_server: Forks the parsing processes, if it was started already; closed with this.
    """

    def __init__(
        self, config: Config, open_embedder: OpenEmbedder, fork_server: "ForkServer | None"
    ) -> None:
        self._config = config
        self._questions = QueryEmbedder(config, open_embedder)
        self._fork_server = fork_server
        self.max_cached_bytes = config.cache_memory
        self._indexes: dict[str, Project] = {}  # by root
        self._pool: WorkerPool | None = None
        self._lock = threading.Lock()
        self._busy: set[Path] = set()  # database files that one thread opens, makes or deletes
        self._is_free = threading.Condition(self._lock)

    def pool(self) -> "WorkerPool":
        """Return the parsing processes, shared by all projects and started when first needed."""
        from engine.indexing.fork_server import ForkServer, WorkerLimits
        from engine.indexing.workers import WorkerPool

        with self._lock:
            if self._pool is None:
                config = self._config
                limits = WorkerLimits(
                    deadline_ms=config.parse_timeout, memory_bytes=config.worker_memory
                )
                has_model = config.model == Backend.STATIC
                server = self._fork_server or ForkServer(loads_model=has_model)
                self._pool = WorkerPool(config.worker_count, limits, server)
            return self._pool

    def opened(self) -> list[Project]:
        """Return the open indexes."""
        with self._lock:
            return list(self._indexes.values())

    def known(self, file: Path) -> Project | None:
        """Return the index of a database file, or None if it is not open."""
        return next((each for each in self.opened() if each.project_id == file.stem), None)

    def of_root(self, root: str, *, create: bool = False) -> Project:
        """Return the index of a resolved folder, creating it if wanted and missing."""
        known = self._known(root)
        if known and not create and known.is_current():
            return known
        with self.alone_with(self.file_of_root(root)):  # for long, if it is made or upgraded
            known = self._known(root)
            if known and not known.is_current():  # another process has deleted or rebuilt it
                self.drop(known)
                known = None
            if known is None:
                known = self._opened(root, create=create)
                with self._lock:
                    self._indexes[root] = known
            elif create:
                known.make()
            return known

    def _known(self, root: str) -> Project | None:
        with self._lock:
            return self._indexes.get(root)

    @contextmanager
    def alone_with(self, file: Path) -> Iterator[None]:
        """Keep other threads from opening, making or deleting the index of a database file."""
        with self._lock:
            self._is_free.wait_for(lambda: file not in self._busy)
            self._busy.add(file)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(file)
                self._is_free.notify_all()

    def made(self, root: str) -> Project:
        """Return the index of a resolved folder, created if it is missing.

        Another process may delete it at this moment: then it is created after that.
        """
        for _ in range(_DELETIONS):
            with suppress(ProjectNotFoundError):
                return self.of_root(root, create=True)
        return self.of_root(root, create=True)

    def of_file(self, file: Path) -> Project:
        """Return the index of a database file.

        Raises:
            EngineError: The file is not a sound index.
        """
        known = self.known(file)
        if known and known.is_current():
            return known
        return self.of_root(read_root(file, self._config.busy_timeout))

    def evict(self) -> None:
        """Drop the caches of idle indexes, and of others until the rest fits; free an idle model.

        The least recently used go first. The one used last stays, unless the limit is 0: without
        its caches each question would read them again. A search across more projects than fit finds
        the first of them with empty caches: slower, but as correct.
        """
        by_use = sorted(self.opened(), key=lambda index: index.used_s)
        sizes = {index: index.cached_bytes for index in by_use}
        held, idle_s = sum(sizes.values()), time.monotonic() - _IDLE_S
        most = self.max_cached_bytes / _OVERHEAD
        freed = 0
        self._questions.close_unused(idle_s)
        for index in by_use:
            is_last = index is by_use[-1] and self.max_cached_bytes
            if sizes[index] and held - freed > most and not is_last:
                freed += index.evict()
            else:
                freed += index.evict_unused(idle_s)
        if freed:
            return_memory()

    def room_bytes(self) -> int:
        """Return how much more the caches may take; below 0 if they take too much."""
        held = sum(index.cached_bytes for index in self.opened())
        return int(self.max_cached_bytes / _OVERHEAD) - held

    def drop(self, index: Project) -> None:
        """Close an index; one opened in its place stays."""
        with self._lock:
            if self._indexes.get(index.root) is index:
                del self._indexes[index.root]
        index.close()

    def close(self) -> None:
        """Close every index, also those that are being made, free the model, end the workers."""
        with self._lock:
            self._is_free.wait_for(lambda: not self._busy)
        for index in self.opened():
            self.drop(index)
        self._questions.close()
        if self._pool:
            self._pool.close()
        elif self._fork_server:
            self._fork_server.close()

    def file_of_root(self, root: str) -> Path:
        """Return the database file of a resolved folder; need not exist."""
        return database_of(self._config.data_dir, root)

    def file_of_id(self, project_id: str) -> Path:
        """Return the database file of a project.

        Raises:
            ProjectNotFoundError: It is not there.
        """
        file = self._config.data_dir / f"{project_id}.db"
        if not (is_project_id(project_id) and is_there(file)):
            raise ProjectNotFoundError(
                f"no project has the id {project_id[:_ID_CHARS]}", hint="list the projects"
            )
        return file

    def _opened(self, root: str, *, create: bool) -> Project:
        file = self.file_of_root(root)
        if create:
            from engine.indexing.seed import seed
            from engine.project_files import delete_temp_files
            from engine.source.git import sibling_folders

            delete_temp_files(file)
            if not is_there(file):
                seed(file, root, map(self.file_of_root, sibling_folders(root)), self._config)
        return Project(
            file,
            root,
            self._config,
            self.pool,
            create=create,
            query_embedder=self._questions,
        )
