"""Deletion of database files, beside other processes that may open or fill them."""

from contextlib import suppress
from pathlib import Path

import apsw

from engine.errors import EngineError, UnavailableError
from engine.faults import fault_point, vfs_name
from engine.store import migrate
from engine.store.opening import Place, close, held_together, open_writer, stamp_of, translated

_DELETE_MS = 5000  # for others to open a database


def delete_database(path: Path) -> None:
    """Delete a database file; its WAL first, so that none is left for a new file of that name.

    Raises:
        UnavailableError: The folder cannot be written.
        IndexBusyError: Others have been opening databases all the time.
    """
    with held_together(Place(path, _DELETE_MS, ""), alone=True):
        _delete(path)


def _delete(path: Path) -> None:
    try:
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        fault_point("wal deleted")
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(
            f"cannot delete {path}: {error.strerror}", hint="make the data directory writable"
        ) from error


def delete_unused(path: Path) -> None:
    """Delete a database file that holds no project, unless another process has it open."""
    with suppress(EngineError), translated(path):
        if _delete_empty(path):
            return
        with held_together(Place(path, _DELETE_MS, ""), alone=True):
            handle = open_writer(Place(path, 0, vfs_name()), create=False)
            try:
                # Only succeeds if nobody else has it open.
                if (
                    not _holds_project(handle)
                    and handle.execute("PRAGMA journal_mode = DELETE").get == "delete"
                ):
                    handle.execute("BEGIN EXCLUSIVE")
                    if not _holds_project(handle):
                        _delete(path)
            finally:
                close(handle)


def _delete_empty(path: Path) -> bool:
    """Delete a file without any contents, for which SQLite would need room; return whether it was.

    Who fills one holds the files of the folder alone until it has contents.
    """
    with held_together(Place(path, _DELETE_MS, ""), alone=True):
        stamp = stamp_of(path)
        if stamp is None or stamp.size_bytes or stamp.wal_bytes:
            return False
        path.unlink(missing_ok=True)
        return True


def _holds_project(handle: apsw.Connection) -> bool:
    return migrate.check(handle) > 0 and handle.execute("SELECT 1 FROM project").get is not None
