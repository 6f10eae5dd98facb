"""What is deleted of a project while nobody indexes it: its contents, or its database file."""

import shutil
from pathlib import Path

from engine.faults import fault_point
from engine.jobs.wait_note import forget_note
from engine.lock import indexing_lock
from engine.store import project
from engine.store.connection import Store, delete_database
from engine.store.migrate import delete_copies
from engine.strays import delete_strays


def delete_contents(store: Store) -> None:
    """Drop what is indexed; the project and its scope stay.

    Raises:
        ProjectBusyError: It is being indexed.
    """
    with indexing_lock(store.path):
        with store.write(durable=True) as handle:
            project.delete_contents(handle)
        fault_point("contents deleted")
        store.compact()


def delete_project(file: Path, *, keeps_damaged: bool = False) -> None:
    """Delete a database file and what belongs to it, such as the copies that were kept of it.

    Args:
        file: The database file.
        keeps_damaged: Whether the damaged files stay that a repair has put aside.

    Raises:
        ProjectBusyError: It is being indexed.
    """
    with indexing_lock(file):
        delete_copies(file, keeps_damaged=keeps_damaged)
        delete_strays(file)
        delete_database(file)
        file.with_suffix(".hand").unlink(missing_ok=True)
        forget_note(file)
    shutil.rmtree(file.parent / "logs" / file.stem, ignore_errors=True)
