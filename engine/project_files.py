"""What is deleted of a project while nobody indexes it: its contents, or its database file.

Files beside a database that processes made for a while, and died before they deleted them.
"""

import re
import shutil
from contextlib import suppress
from pathlib import Path

from engine.faults import fault_point
from engine.jobs.run import forget_note
from engine.locks import indexing_lock, is_alive
from engine.store import project
from engine.store.connection import Store, delete_database
from engine.store.migrate import delete_copies

# What a file is for, and the number of the process, behind the project's id.
_OF_PROCESS = re.compile(r"\.(?:seed|part|rebuilt)-([0-9]{1,9})(?=[-.]|$)")


def stray_files(file: Path) -> list[Path]:
    """Give the files beside a database that belong to processes which have died."""
    found = []
    for path in sorted(file.parent.glob(f"{file.stem}.*")):
        process = _OF_PROCESS.search(path.name)
        if process and not is_alive(int(process[1])):
            found.append(path)
    return found


def delete_strays(file: Path) -> None:
    """Delete the files beside a database that dead processes left; those that cannot be, stay."""
    for path in stray_files(file):
        with suppress(OSError):
            path.unlink()


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
