"""Catalogs whose parsing processes are forked from one server, which a test process starts once.

A server that has loaded the parsers and the model takes a quarter of a second of computing, more
than most tests that index something.
"""

import atexit
import os
from collections.abc import Collection

from engine.catalog import Catalog
from engine.config import Config
from engine.embedding.load import OpenEmbedder, open_embedder
from engine.indexing.fork_server import ForkServer, Worker, WorkerLimits


class SharedForks(ForkServer):
    """The fork server of a catalog: its workers come from the one that all catalogs share.

    With a fault, which a process reads when it starts, they come from a process of its own, so that
    no other catalog gets workers with it. Make it where no thread ends soon: Linux takes the end of
    the thread that started a process for the end of its parent.
    """

    _shared: ForkServer | None = None

    def __init__(self) -> None:
        super().__init__(loads_model=True)
        self._was_faulty = _has_fault()
        if self._was_faulty:
            return
        shared = SharedForks._shared
        if shared is None or (shared._process and shared._process.poll() is not None):
            shared = SharedForks._shared = ForkServer(loads_model=True)
            atexit.register(shared.close)
        shared.start()

    def fork(
        self, connection: int, stderr: int, limits: WorkerLimits, languages: Collection[str] = ()
    ) -> Worker:
        """Start a worker."""
        if self._was_faulty or _has_fault():
            return super().fork(connection, stderr, limits, languages)
        assert SharedForks._shared
        return SharedForks._shared.fork(connection, stderr, limits, languages)


def _has_fault() -> bool:
    return "CAIRN_FAULT" in os.environ


def open_catalog(
    config: Config,
    *,
    open_embedder: OpenEmbedder = open_embedder,
    runs_jobs: bool = True,
    forks: ForkServer | None = None,
) -> Catalog:
    """Open a data directory; without a fork server of its own it shares one."""
    return Catalog(
        config,
        open_embedder=open_embedder,
        runs_jobs=runs_jobs,
        fork_server=forks or SharedForks(),
    )
