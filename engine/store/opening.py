"""Opening and closing of SQLite connections, and translation of SQLite's errors."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from engine.errors import (
    DiskFullError,
    EngineError,
    IndexBusyError,
    IndexCorruptError,
    ProjectNotFoundError,
    UnavailableError,
)

#: After these a connection must be closed: its page cache may hold pages that were never read.
DISTRUSTED = (apsw.IOError, apsw.CorruptError, apsw.NotADBError)

# Codes for exceeding a quota or the file size limit, and for shared memory that cannot grow.
_NO_ROOM = {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_SHMSIZE}
#: SQLite's messages for a missing part of the schema, which our statements rely on.
_LOST = ("no such table", "no such column", "no such module", "has no column named")
_UNSETTLED = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into the engine's.

    Raises:
        IndexBusyError: Another process held the lock for longer than the busy timeout.
        DiskFullError: No room to write.
        IndexCorruptError: Not a database, or a damaged one.
        UnavailableError: It may not be written, or the disk fails.
        EngineError: Any other failure of SQLite.
    """
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise IndexBusyError(
            f"the index {path} is locked by another process", hint="try again in a moment"
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path, str(error)) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError) as error:
        raise not_writable(path) from error
    except (apsw.FullError, apsw.IOError) as error:
        if is_no_room(error):
            raise DiskFullError(
                f"no room to write the index {path}",
                hint="free some disk space, or raise the quota or the limit on the size of files,"
                " then run again",
            ) from error
        raise _unusable(path, f"cannot be read or written: {error}", "check the disk") from error
    except apsw.CantOpenError as error:
        raise _unusable(
            path, f"cannot be opened: {error}", "check who may read and write it and its folder"
        ) from error
    except apsw.Error as error:
        if isinstance(error, apsw.SQLError) and any(text in str(error) for text in _LOST):
            raise damaged(path, str(error)) from error
        raise EngineError(f"the index {path} failed: {type(error).__name__}: {error}") from error


def is_no_room(error: apsw.Error) -> bool:
    """Return whether a write failed for lack of space."""
    return isinstance(error, apsw.FullError) or _code_of(error) in _NO_ROOM


def is_unsettled(error: apsw.Error) -> bool:
    """Return whether the system failed to sync earlier writes to the disk.

    It may have dropped that, and says so only once.
    """
    return _code_of(error) in _UNSETTLED


def damaged(path: Path, detail: str) -> IndexCorruptError:
    """Return the error for a damaged index."""
    return IndexCorruptError(
        f"the index {path} is damaged: {detail}",
        hint="cairn doctor PATH --repair, where PATH is the project's folder",
        project_id=path.stem,
    )


def _unusable(path: Path, what: str, hint: str) -> UnavailableError:
    """Return the error for an index that SQLite cannot use; often something stands in its place."""
    for suffix in ("", "-wal", "-shm"):
        file = f"{path}{suffix}"
        if os.path.lexists(file) and not os.path.isfile(file):
            what, hint = f"cannot be used: {file} is not a file", "move that away, then try again"
    return UnavailableError(f"the index {path} {what}", hint=hint)


def not_writable(path: Path) -> UnavailableError:
    """Return the error for an index that cannot be written."""
    return UnavailableError(
        f"the index {path} cannot be written", hint="make the file and its folder writable"
    )


def _code_of(error: apsw.Error) -> int:
    return int(getattr(error, "extendedresult", 0))


class Place(NamedTuple):
    """A database file and how to open it."""

    path: Path
    busy_timeout_ms: int  # how long to wait for a lock that another process holds
    vfs: str  # name of a registered SQLite VFS; "" for SQLite's own


class Stamp(NamedTuple):
    """The state of a file that is read without locks, to detect that it is written after all."""

    inode: int
    size_bytes: int
    mtime_ns: int
    wal_bytes: int  # 0 without a WAL


class Reader(NamedTuple):
    """A read-only connection."""

    handle: apsw.Connection
    #: The file's stamp when it was opened without locks; None when it is shared as usual.
    stamp: Stamp | None


def open_writer(place: Place, *, create: bool) -> apsw.Connection:
    """Open a database file for writing, creating it if wanted and missing."""
    flags = apsw.SQLITE_OPEN_READWRITE
    return _opened(place, flags | apsw.SQLITE_OPEN_CREATE if create else flags)


def open_reader(place: Place) -> Reader:
    """Open a database file for reading.

    The file itself is opened for writing where it may be, and statements that write are refused:
    only so can the last connection that is closed empty the WAL and delete it.

    In a folder that cannot be written, and on a disk without any room, SQLite cannot make the file
    that the readers of a WAL share. When the WAL is empty, as every indexing leaves it, the file is
    then read as it is, without locks: compare ``stamp_of`` before each use.

    Raises:
        ProjectNotFoundError: The file is gone.
        UnavailableError: This is the case, but the WAL is not empty.
    """
    handle = _opened(place, apsw.SQLITE_OPEN_READWRITE)
    try:
        handle.execute("PRAGMA query_only = ON")
        handle.execute("PRAGMA schema_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.FullError) as error:
        close(handle)
        stamp = stamp_of(place.path)
        is_closed = not os.access(place.path.parent, os.W_OK)
        if stamp is None or not (is_closed or is_no_room(error)):
            raise
        if stamp.wal_bytes:
            if not is_closed:
                raise
            raise UnavailableError(
                f"the last changes of the index {place.path} cannot be read: they are in a file"
                " of their own, and its folder cannot be written",
                hint="make the folder writable, or run cairn index as the user who owns it",
            ) from error
        return Reader(_opened(place, apsw.SQLITE_OPEN_READONLY, is_unshared=True), stamp)
    except BaseException:
        close(handle)
        raise
    return Reader(handle, None)


def stamp_of(path: Path) -> Stamp | None:
    """Return what identifies a state of a database file, or None when stat fails."""
    try:
        found = path.stat()
    except OSError:
        return None
    wal_bytes = 0
    with suppress(OSError):
        wal_bytes = Path(f"{path}-wal").stat().st_size
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns, wal_bytes)


def close(handle: apsw.Connection) -> None:
    """Close a connection, whatever the disk does; what was committed stays in the WAL."""
    with suppress(apsw.Error):
        handle.close(force=True)


def _opened(place: Place, flags: int, *, is_unshared: bool = False) -> apsw.Connection:
    name = str(place.path)
    if is_unshared:
        name = f"file:{quote(name)}?immutable=1"
        flags |= apsw.SQLITE_OPEN_URI
    try:
        handle = apsw.Connection(name, flags=flags, vfs=place.vfs or None)
    except apsw.CantOpenError:
        if flags & apsw.SQLITE_OPEN_CREATE or os.path.lexists(place.path):
            raise
        raise ProjectNotFoundError(
            f"the index {place.path} is gone: the project was removed"
        ) from None
    try:
        handle.set_busy_timeout(place.busy_timeout_ms)
        handle.enable_load_extension(True)
        handle.load_extension(_vector_extension())
        handle.enable_load_extension(False)
        handle.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        handle.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        handle.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        handle.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        handle.execute("PRAGMA foreign_keys = ON")
        handle.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        close(handle)
        raise
    return handle


@functools.cache
def _vector_extension() -> str:
    """Return the path of sqlite-vec. Its package is not imported: it imports numpy, 0.1 s."""
    spec = find_spec("sqlite_vec")
    assert spec
    assert spec.origin
    return str(Path(spec.origin).with_name("vec0"))
