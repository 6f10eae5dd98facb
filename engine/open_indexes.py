"""The indexes that this process has open, one a project, and the files that they are."""

import threading
from pathlib import Path

from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import ProjectNotFoundError
from engine.index import Index
from engine.indexing.seed import seed
from engine.indexing.workers import WorkerLimits, WorkerPool
from engine.roots import is_project_id, project_id_of
from engine.source.git import sibling_folders
from engine.store.peek import read_root
from engine.strays import delete_strays

# What a process keeps of all projects together to answer sooner: three trees of 100 MB of source,
# of which all words were asked.
_MOST_KEPT_BYTES = 1 << 30
_ID_CHARS = 64  # of an id that is not there, as it is quoted


class OpenIndexes:
    """Opens the projects of a data directory, each once. For any number of threads.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
    """

    def __init__(self, config: Config, open_embedder: OpenEmbedder) -> None:
        self._config = config
        self._open_embedder = open_embedder
        limits = WorkerLimits(deadline_ms=config.parse_timeout, memory_bytes=config.worker_memory)
        self._pool = WorkerPool(config.worker_count, limits)
        self.most_kept_bytes = _MOST_KEPT_BYTES
        self._indexes: dict[str, Index] = {}  # by root, the one asked longest ago first
        self._lock = threading.RLock()

    def opened(self) -> list[Index]:
        """Give the indexes that are open by now."""
        with self._lock:
            return list(self._indexes.values())

    def known(self, file: Path) -> Index | None:
        """Give the index of a database file if it is open."""
        return next((each for each in self.opened() if each.project_id == file.stem), None)

    def of_root(self, root: str, *, create: bool = False) -> Index:
        """Give the index of a resolved folder, made when it is not there and to be made."""
        with self._lock:
            known = self._indexes.get(root)
            if known and not known.is_current():  # another process has forgotten or begun it anew
                self.drop(known)
                known = None
            if known is None:
                self._indexes[root] = known = self._opened(root, create=create)
            elif create:
                known.make()
            return known

    def of_file(self, file: Path) -> Index:
        """Give the index of a database file.

        Raises:
            EngineError: The file is not a sound index.
        """
        known = self.known(file)
        if known and known.is_current():
            return known
        return self.of_root(read_root(file, self._config.busy_timeout))

    def was_asked(self, index: Index) -> None:
        """Note that a question is put to an index; what it keeps is the last to be let go."""
        with self._lock:
            if self._indexes.get(index.root) is index:
                self._indexes[index.root] = self._indexes.pop(index.root)

    def let_go(self) -> None:
        """Have those asked longest ago keep nothing, until all together keep what they may.

        Whoever asks all projects, and these are too many, finds the first of them as in a process
        that has just begun: slower, and as right.
        """
        opened = [(index, index.kept_bytes) for index in self.opened()]
        held = sum(size for _, size in opened)
        for index, size in opened:
            if held <= self.most_kept_bytes:
                return
            index.let_go()
            held -= size

    def drop(self, index: Index) -> None:
        """Close an index; one that was opened in its place stays."""
        with self._lock:
            if self._indexes.get(index.root) is index:
                del self._indexes[index.root]
        index.close()

    def close(self) -> None:
        """Close every index and end the workers."""
        for index in self.opened():
            self.drop(index)
        self._pool.close()

    def file_of_root(self, root: str) -> Path:
        """Give the database file of a resolved folder, which need not be there."""
        return self._config.data_dir / f"{project_id_of(root)}.db"

    def file_of_id(self, project_id: str) -> Path:
        """Give the database file of a project.

        Raises:
            ProjectNotFoundError: It is not there.
        """
        file = self._config.data_dir / f"{project_id}.db"
        if not (is_project_id(project_id) and file.exists()):
            raise ProjectNotFoundError(
                f"no project has the id {project_id[:_ID_CHARS]}", hint="list the projects"
            )
        return file

    def _opened(self, root: str, *, create: bool) -> Index:
        file = self.file_of_root(root)
        if create:
            delete_strays(file)
            if not file.exists():
                seed(file, root, map(self.file_of_root, sibling_folders(root)), self._config)
        return Index(
            file,
            root,
            self._config,
            self._pool,
            create=create,
            open_embedder=self._open_embedder,
        )
