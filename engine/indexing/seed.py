"""A new worktree of a repository that is indexed already starts with what its sibling knows.

A worktree holds nearly the files of its siblings. Its index begins as a copy of a sibling's
without its files: the first run finds the blobs by their hashes, and parses only what differs.
Blobs that the worktree does not have go when that run ends.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from engine.clock import now_ms
from engine.config import Config
from engine.errors import EngineError
from engine.faults import fault_point
from engine.indexing.scope import fingerprint
from engine.store import project
from engine.store.connection import Store, delete_database


def seed(file: Path, root: str, siblings: Iterable[Path], config: Config) -> bool:
    """Begin the database of a project with the blobs of a sibling's, the first that can serve.

    It saves work and decides nothing: a sibling that is damaged, made by another version, or too
    large for the disk is passed over, and a database that is there stays.

    Args:
        file: The database to begin.
        root: The project's resolved root.
        siblings: Databases of other worktrees; those that do not exist are passed over.
        config: The settings in force.

    Returns:
        Whether the database was begun.
    """
    for sibling in siblings:
        if sibling == file or not sibling.exists():
            continue
        copy = file.with_suffix(f".seed-{os.getpid()}")
        try:
            if _copied(sibling, copy, config):
                fault_point("seed copied")
                _adopt(copy, file.stem, root, config)
                fault_point("seed adopted")
                os.link(copy, file)  # unlike a rename it never replaces what another process made
                fault_point("seed linked")
                return True
        except (EngineError, OSError):
            continue
        finally:
            with suppress(EngineError):
                delete_database(copy)
    return False


def _copied(sibling: Path, copy: Path, config: Config) -> bool:
    """Copy a database, if what it holds was made as this program would make it."""
    source = Store(sibling, busy_timeout_ms=config.busy_timeout)
    try:
        with source.read() as handle:
            row = project.read_project(handle)
        if row is None or row.fingerprint != fingerprint():
            return False
        source.copy_to(copy)
    finally:
        source.close()
    return True


def _adopt(copy: Path, project_id: str, root: str, config: Config) -> None:
    target = Store(copy, busy_timeout_ms=config.busy_timeout)
    try:
        with target.write(durable=True) as handle:
            project.adopt(
                handle,
                project_id=project_id,
                root=os.fsencode(root),
                max_file_size=config.max_file_size,
                now_ms=now_ms(),
            )
        target.checkpoint()
    finally:
        target.close()
