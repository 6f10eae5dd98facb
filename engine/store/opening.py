"""Opening and closing of SQLite connections, and translation of SQLite's errors.

A connection opens a database file first and its WAL when it first reads. Nobody may delete or
replace them in between: a lock on their folder, shared by those who open, keeps them together.
"""

import fcntl
import functools
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
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
_LOOK_S = 0.002  # at whether the lock of the folder is free
_UNSETTLED = {apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC}


class Place(NamedTuple):
    """A database file and how to open it."""

    path: Path
    busy_timeout_ms: int  # how long to wait for a lock that another process holds
    vfs: str  # name of a registered SQLite VFS; "" for SQLite's own


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
            "the index is locked by another process", hint="try again in a moment", file=str(path)
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path, str(error)) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError) as error:
        raise not_writable(path) from error
    except (apsw.FullError, apsw.IOError) as error:
        if is_no_room(error):
            raise DiskFullError(
                "no room to write the index; what it holds is kept",
                hint="free some disk space, or raise the quota or the limit on the size of files,"
                " then run again",
                file=str(path),
            ) from error
        raise _unusable(path, f"cannot be read or written: {error}", "check the disk") from error
    except UnicodeDecodeError as error:  # of a column of text, which may hold any bytes
        raise damaged(path, f"a text in it cannot be read: {error.reason}") from error
    except apsw.CantOpenError as error:
        raise _unusable(
            path, f"cannot be opened: {error}", "check who may read and write it and its folder"
        ) from error
    except apsw.Error as error:
        if isinstance(error, apsw.SQLError) and any(text in str(error) for text in _LOST):
            raise damaged(path, str(error)) from error
        message = f"the index failed: {type(error).__name__}: {error}"
        raise EngineError(message, file=str(path)) from error


@contextmanager
def held_together(place: Place, *, alone: bool = False) -> Iterator[None]:
    """Keep the files of the databases in a folder from being deleted or replaced meanwhile.

    Args:
        place: One of the databases, and how long to wait.
        alone: Whether they are deleted or replaced here, so that nobody may open one.

    Raises:
        IndexBusyError: Another process has held the lock for longer than the busy timeout.
    """
    try:
        descriptor = os.open(place.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # a folder that is gone or closed: what follows says so
        yield
        return
    try:
        _lock(descriptor, place, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, place: Place, operation: int) -> None:
    end_s = time.monotonic() + place.busy_timeout_ms / 1000
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end_s:
                raise IndexBusyError(
                    "the index files are in use by another process",
                    hint="try again in a moment",
                    file=str(place.path),
                ) from None
            time.sleep(_LOOK_S)
        except OSError:  # a file system without locks
            return
        else:
            return


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
        f"the index is damaged: {detail}",
        hint="cairn doctor PATH --repair, where PATH is the project's folder",
        file=str(path),
        project_id=path.stem,
    )


def gone(path: Path) -> ProjectNotFoundError:
    """Return the error for an index whose file was deleted, or replaced by another one."""
    return ProjectNotFoundError(
        "the index is gone: it was removed or replaced",
        hint="try again; if it is not found then, index the folder again",
        file=str(path),
    )


def _unusable(path: Path, what: str, hint: str) -> UnavailableError:
    """Return the error for an index that SQLite cannot use; often something stands in its place."""
    about = str(path)
    for suffix, name in (("", "database"), ("-wal", "WAL"), ("-shm", "shared memory")):
        file = f"{path}{suffix}"
        if os.path.lexists(file) and not os.path.isfile(file):
            what = f"cannot be used: something else is in the place of its {name} file"
            hint, about = "move that away, then try again", file
    return UnavailableError(f"the index {what}", hint=hint, file=about)


def not_writable(path: Path) -> UnavailableError:
    """Return the error for an index that cannot be written."""
    return _unusable(path, "cannot be written", "make the file and its folder writable")


def _is_missing(path: Path) -> bool:
    """Return whether nothing is there; not so where nobody can tell."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _code_of(error: apsw.Error) -> int:
    return int(getattr(error, "extendedresult", 0))


class Stamp(NamedTuple):
    """The state of a file that is read without locks, to detect that it is written after all."""

    inode: int
    size_bytes: int
    mtime_ns: int
    wal_bytes: int  # 0 without a WAL


def _folded(*texts: object) -> str:
    return str(texts[0]).lower()


class Connection(apsw.Connection):
    """A connection that can forget the functions that its statements may call.

    It keeps ``folded(text)``, the text in lower case as names are stored: that of SQLite leaves all
    letters but those of ASCII.
    """

    def __init__(self, name: str, flags: int, vfs: str | None) -> None:
        super().__init__(name, flags=flags, vfs=vfs)
        super().create_scalar_function("folded", _folded, 1, deterministic=True)
        self._functions: set[tuple[str, int]] = set()

    def create_scalar_function(
        self,
        name: str,
        callable: "apsw.ScalarProtocol | None",  # noqa: A002 - its name there
        numargs: int = -1,
        *,
        deterministic: bool = False,
        flags: int = 0,
    ) -> None:
        """Make a function callable from statements, as in the base class."""
        super().create_scalar_function(
            name, callable, numargs, deterministic=deterministic, flags=flags
        )
        self._functions.add((name, numargs))

    def forget_functions(self) -> None:
        """Drop them, and what they keep.

        Raises:
            apsw.BusyError: A statement has not ended.
        """
        while self._functions:
            name, numargs = self._functions.pop()
            super().create_scalar_function(name, None, numargs)


class Reader(NamedTuple):
    """A read-only connection."""

    handle: Connection
    #: The file's stamp when it was opened without locks; None when it is shared as usual.
    stamp: Stamp | None


def open_writer(place: Place, *, create: bool) -> apsw.Connection:
    """Open a database file for writing, creating it if wanted and missing.

    The caller holds its files together until it has read.
    """
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
    with held_together(place):
        return _open_reader(place)


def _open_reader(place: Place) -> Reader:
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
                "the last changes of the index cannot be read: they are in a file of their own, and"
                " its folder cannot be written",
                hint="make the folder writable, or run cairn index as the user who owns it",
                file=str(place.path),
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
    """Close a connection, whatever the disk does; what was committed stays in the WAL.

    The caller holds its files together: the last connection of a file deletes its WAL by its name,
    which would be that of another file once this one was replaced.
    """
    with suppress(apsw.Error):
        handle.close(force=True)


def close_held(place: Place, *handles: apsw.Connection) -> None:
    """Close connections as ``close`` does, for a caller that holds nothing."""
    with ExitStack() as held:
        if handles:
            with suppress(IndexBusyError):
                held.enter_context(held_together(place))
        for handle in handles:
            close(handle)


def _connected(name: str, flags: int, place: Place) -> Connection:
    """Connect; a file that is missing may be made by another process between two looks at it."""
    for is_last in (False, False, True):
        try:
            return Connection(name, flags, place.vfs or None)
        except apsw.CantOpenError:
            if flags & apsw.SQLITE_OPEN_CREATE:
                raise
            if _is_missing(place.path):
                raise gone(place.path) from None
            if is_last:
                raise
    raise AssertionError("the last attempt returns or raises")


def _opened(place: Place, flags: int, *, is_unshared: bool = False) -> Connection:
    name = str(place.path)
    if is_unshared:
        name = f"file:{quote(name)}?immutable=1"
        flags |= apsw.SQLITE_OPEN_URI
    handle = _connected(name, flags, place)
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
