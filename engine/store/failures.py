"""What SQLite raises, and what of it the engine tells."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from engine.errors import (
    DiskFullError,
    EngineError,
    IndexBusyError,
    IndexCorruptError,
    UnavailableError,
)

#: After these a connection is not to be trusted: a page that it keeps may be what was never read.
DISTRUSTED = (apsw.IOError, apsw.CorruptError, apsw.NotADBError)

# Writing beyond a quota or the limit on the size of files, and shared memory that cannot grow.
_NO_ROOM = {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_SHMSIZE}
#: How SQLite says that a part of the schema is gone: our statements name none that never was.
_LOST = ("no such table", "no such column", "no such module")
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
        raise UnavailableError(
            f"the index {path} cannot be read or written: {error}", hint="look at the disk"
        ) from error
    except apsw.CantOpenError as error:
        raise UnavailableError(f"cannot open the index {path}: {error}") from error
    except apsw.Error as error:
        if isinstance(error, apsw.SQLError) and str(error).startswith(_LOST):
            raise damaged(path, str(error)) from error
        raise EngineError(f"the index {path} failed: {type(error).__name__}: {error}") from error


def is_no_room(error: apsw.Error) -> bool:
    """Say whether something could not be written because it would have needed more room."""
    return isinstance(error, apsw.FullError) or _code_of(error) in _NO_ROOM


def is_unsettled(error: apsw.Error) -> bool:
    """Say whether the system could not bring to the disk what was written before.

    It may have dropped that, and says so only once.
    """
    return _code_of(error) in _UNSETTLED


def damaged(path: Path, detail: str) -> IndexCorruptError:
    """Say that an index is damaged."""
    return IndexCorruptError(
        f"the index {path} is damaged: {detail}",
        hint="cairn doctor PATH --repair, where PATH is the project's folder",
    )


def not_writable(path: Path) -> UnavailableError:
    """Say that an index cannot be written."""
    return UnavailableError(
        f"the index {path} cannot be written", hint="make the file and its folder writable"
    )


def _code_of(error: apsw.Error) -> int:
    return int(getattr(error, "extendedresult", 0))
