"""Looking into a database file whose project is not known yet."""

import os
from pathlib import Path

from engine.errors import ProjectNotFoundError
from engine.store import project
from engine.store.connection import Store


def read_root(file: Path, busy_timeout_ms: int) -> str:
    """Give the resolved folder that a database file indexes.

    Raises:
        EngineError: The file is not a sound index.
    """
    store = Store(file, busy_timeout_ms=busy_timeout_ms)
    try:
        with store.read() as handle:
            row = project.read_project(handle)
    finally:
        store.close()
    if row is None:
        raise ProjectNotFoundError(f"{file.name} holds no project")
    return os.fsdecode(row.root)
