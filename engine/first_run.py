"""Prepare the first indexing of a folder, before the rest of the program is loaded.

Imports little: ``cairn index`` calls it before it imports the catalog.
"""

import os
from contextlib import suppress

from engine.config import Config
from engine.embedding.model_setting import Backend
from engine.errors import UnavailableError
from engine.indexing.fork_server import ForkServer
from engine.roots import database_of, resolve, upwards


def start_fork_server(config: Config, path: str) -> ForkServer | None:
    """Start the fork server if a folder is about to be indexed for the first time.

    It loads what workers need while this process loads the rest and walks the folder. Where the
    folder or one above it is indexed, perhaps nothing has changed and no worker is needed.
    """
    if config.model != Backend.STATIC or not os.path.isdir(path):
        return None
    if any(database_of(config.data_dir, each).exists() for each in upwards(resolve(path))):
        return None
    server = ForkServer(loads_model=True)
    with suppress(UnavailableError):  # the first file says so
        server.start()
    return server
