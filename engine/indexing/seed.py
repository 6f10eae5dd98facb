"""Begins the index of a new worktree with the blobs of a sibling's.

Worktrees of one repository hold nearly the same files. The new index starts as a copy of a
sibling's without its files: the first run finds the blobs by their hashes and parses only what
differs. Blobs that the worktree does not use are deleted when that run ends.
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
from engine.store.connection import Store
from engine.store.deleting import delete_database


def seed(file: Path, root: str, siblings: Iterable[Path], config: Config) -> bool:
    """Begin the database of a project with the blobs of the first usable sibling.

    This only saves work: a sibling that is damaged, made by another version, or too large for the
    disk is ignored, and a database that exists stays.

    Args:
        file: The database to begin.
        root: The project's resolved root.
        siblings: Databases of other worktrees; those that do not exist are ignored.
        config: The settings in force.

    Returns:
        Whether the database was filled.
    """
    for sibling in siblings:
        if sibling == file or not sibling.exists():
            continue
        copy = file.with_suffix(f".seed-{os.getpid()}")
        try:
            if _copy_if_current(sibling, copy, config):
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


def _copy_if_current(sibling: Path, copy: Path, config: Config) -> bool:
    """Copy a database if its contents have the fingerprint of this program."""
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
