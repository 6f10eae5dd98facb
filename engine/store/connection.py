"""The database file: how connections are opened, written through, read through and closed.

One writer connection under one lock, and one read-only connection a thread. Handles travel, not
connections: ``with store.write() as handle`` and ``with store.read() as handle``; every function of
``store`` takes the handle first. ``apsw.Error`` never leaves this package.
"""

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import apsw

from engine.errors import (
    DiskFullError,
    EngineError,
    IndexBusyError,
    IndexCorruptError,
    ProjectNotFoundError,
    UnavailableError,
)
from engine.faults import fault_point, vfs_name
from engine.store import migrate

Handle = apsw.Connection

#: SQLite 3.7.0 to 3.51.2 can corrupt a database when two connections checkpoint a WAL at once.
_OLDEST_SQLITE = 3_051_003

_PAGE_BYTES = 4096
_WAL_LIMIT_BYTES = 32 << 20
_WRITER_CACHE_KIB = 64 << 10
_READER_CACHE_KIB = 16 << 10


class Companion(Protocol):
    """Takes part in a thread's write transactions: it refuses them, or adds rows of its own."""

    def is_durable(self) -> bool:
        """Say whether the next transaction must be on the disk before it is answered."""

    def began(self, handle: Handle) -> None:
        """Hear that a transaction began; what is raised ends it."""

    def committing(self, handle: Handle) -> None:
        """Hear that a transaction is about to be committed, and add to it."""

    def committed(self) -> None:
        """Hear that it was."""


class Store:
    """One project's database file.

    Args:
        path: The file; created, with its folder, when ``create`` is set.
        busy_timeout_ms: How long to wait for a lock that another process holds.
        vfs: Name of a registered SQLite VFS, else that of ``faults.use_vfs``; a test's way to
            inject faults.
    """

    def __init__(
        self, path: Path, *, busy_timeout_ms: int, create: bool = False, vfs: str | None = None
    ) -> None:
        if apsw.SQLITE_VERSION_NUMBER < _OLDEST_SQLITE:
            raise UnavailableError(
                f"SQLite {apsw.sqlite_lib_version()} has a bug that corrupts databases",
                hint="install apsw 3.51.3 or newer",
            )
        self.path = path
        self._busy_timeout_ms = busy_timeout_ms
        self._vfs = vfs_name() if vfs is None else vfs
        self._lock = threading.Lock()
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._opened_lock = threading.Lock()
        self._writer: apsw.Connection | None = None
        self._wal_pages = 0
        if create:
            self._create()
        else:
            self._open()
        self._identity = _identity_of(path)

    def _create(self) -> None:
        """Make the file; none is left behind when that fails."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UnavailableError(
                f"cannot make the data directory {self.path.parent}: {error.strerror}",
                hint="set CAIRN_HOME to a folder that you can write",
            ) from error
        try:
            self._connect_writer()
        except EngineError:
            if self.path.exists() and self.path.stat().st_size == 0:
                delete_database(self.path)
            raise

    def _open(self) -> None:
        """Look at an existing file before anything is asked of it."""
        with translated(self.path):
            try:
                version = migrate.check(self._reader())
                if version == 0:
                    raise ProjectNotFoundError(
                        f"the index {self.path} is empty", hint="index the project again"
                    )
                if version < migrate.newest():
                    self._connect_writer()  # which migrates: reading needs the present shape
            except BaseException:
                self.close()
                raise

    def is_current(self) -> bool:
        """Say whether the file is still the one that was opened, not deleted or replaced."""
        return _identity_of(self.path) == self._identity

    @contextmanager
    def write(self, *, durable: bool = False, bookkeeping: bool = False) -> Iterator[Handle]:
        """Run one write transaction; it is rolled back when the body raises.

        Each counts in ``project.changes``, which tells readers whether what they keep still holds.

        Args:
            durable: Wait until the disk has it (``synchronous=FULL``). Without, a power cut can
                take back the last transactions, a killed process never does.
            bookkeeping: Only rows of jobs are written: it does not count, and the thread's
                companion stays out of it.
        """
        companion: Companion | None = getattr(self._local, "companion", None)
        if bookkeeping:
            companion = None
        with self._lock, translated(self.path):
            handle = self._writer or self._connect_writer()
            durable = durable or (companion is not None and companion.is_durable())
            if durable:
                handle.execute("PRAGMA synchronous = FULL")
            try:
                handle.execute("BEGIN IMMEDIATE")
                try:
                    if companion:
                        companion.began(handle)
                    yield handle
                    if not bookkeeping:
                        handle.execute("UPDATE project SET changes = changes + 1")
                    if companion:
                        companion.committing(handle)
                    handle.execute("COMMIT")
                except BaseException:
                    if handle.in_transaction:
                        handle.execute("ROLLBACK")
                    raise
            finally:
                if durable:
                    handle.execute("PRAGMA synchronous = NORMAL")
            self._bound_wal(handle)
        if companion:
            companion.committed()

    @contextmanager
    def accompanied(self, companion: Companion) -> Iterator[None]:
        """Let a companion take part in every write transaction of this thread."""
        self._local.companion = companion
        try:
            yield
        finally:
            self._local.companion = None

    @contextmanager
    def read(self) -> Iterator[Handle]:
        """Run statements on this thread's read-only connection, in one snapshot."""
        with translated(self.path):
            handle = self._reader()
            if handle.in_transaction:  # nested: the outer block owns the snapshot
                yield handle
                return
            handle.execute("BEGIN")
            try:
                yield handle
            finally:
                handle.execute("ROLLBACK")

    def checkpoint(self) -> None:
        """Move the WAL into the database file and empty it, so that one file holds everything."""
        with self._lock, translated(self.path):
            handle = self._writer or self._connect_writer()
            handle.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def compact(self) -> None:
        """Give free pages back to the disk; needs room for a second copy meanwhile."""
        with self._lock, translated(self.path):
            handle = self._writer or self._connect_writer()
            handle.execute("VACUUM")
            handle.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, target: Path) -> None:
        """Write a compact copy, as of now, to a new file that only the user can read.

        Raises:
            FileExistsError: The file is there already.
            DiskFullError: No room.
        """
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with translated(target):
            self._reader().execute("VACUUM INTO ?", (str(target),))

    def release_thread(self) -> None:
        """Close what this thread reads through; the next read opens it again."""
        handle: apsw.Connection | None = getattr(self._local, "handle", None)
        if handle is None:
            return
        self._local.handle = None
        with self._opened_lock:
            if handle in self._opened:
                self._opened.remove(handle)
        handle.close(force=True)

    def size_bytes(self) -> int:
        """Give the size of the database file and its WAL."""
        total = 0
        for suffix in ("", "-wal"):
            file = Path(f"{self.path}{suffix}")
            total += file.stat().st_size if file.exists() else 0
        return total

    def close(self) -> None:
        """Close every connection, of other threads too.

        The writer goes last: unlike a reader it can empty the WAL and take it away.
        """
        with self._opened_lock:
            for connection in sorted(self._opened, key=lambda each: each is self._writer):
                connection.close(force=True)
            self._opened.clear()
        self._writer = None
        self._local = threading.local()

    def _connect_writer(self) -> apsw.Connection:
        with translated(self.path):
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            handle = self._connect(flags)
            try:
                migrate.check(handle)  # before anything is changed: it may be another's
                # Every file of the database takes its mode from the main file.
                self.path.chmod(0o600)
                handle.execute("PRAGMA journal_mode = WAL")
                handle.execute("PRAGMA synchronous = NORMAL")
                # FAST would leave what large texts said on pages that nobody uses any more.
                handle.execute("PRAGMA secure_delete = ON")
                handle.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
                # The hook replaces automatic checkpoints: ours come after a commit is answered.
                handle.set_wal_hook(self._count_wal_pages)
                migrate.migrate(handle, self.path)
            except BaseException:
                handle.close(force=True)
                raise
        self._remember(handle)
        self._writer = handle
        return handle

    def _reader(self) -> apsw.Connection:
        handle: apsw.Connection | None = getattr(self._local, "handle", None)
        if handle is None:
            handle = self._connect(apsw.SQLITE_OPEN_READONLY)
            handle.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB}")
            self._remember(handle)
            self._local.handle = handle
        return handle

    def _connect(self, flags: int) -> apsw.Connection:
        vfs = self._vfs or None
        handle = apsw.Connection(str(self.path), flags=flags, vfs=vfs)
        handle.set_busy_timeout(self._busy_timeout_ms)
        handle.enable_load_extension(True)
        handle.load_extension(_vector_extension())
        handle.enable_load_extension(False)
        handle.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        handle.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        handle.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        handle.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
        handle.execute("PRAGMA foreign_keys = ON")
        handle.execute("PRAGMA temp_store = MEMORY")
        return handle

    def _remember(self, handle: apsw.Connection) -> None:
        with self._opened_lock:
            self._opened.append(handle)

    def _bound_wal(self, handle: apsw.Connection) -> None:
        """Checkpoint from the writer once the WAL is large; readers in the way postpone it."""
        if self._wal_pages * _PAGE_BYTES > _WAL_LIMIT_BYTES:
            handle.execute("PRAGMA wal_checkpoint(RESTART)")

    def _count_wal_pages(self, _handle: apsw.Connection, _schema: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


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
    except apsw.FullError as error:
        raise DiskFullError(
            f"no room to write the index {path}", hint="free some disk space, then run again"
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexCorruptError(
            f"the index {path} is damaged: {error}",
            hint="cairn forget PATH, then cairn index PATH builds it anew",
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise UnavailableError(
            f"the index {path} cannot be written", hint="make the file and its folder writable"
        ) from error
    except apsw.IOError as error:  # a quota or a limit that is reached, or a disk that fails
        raise UnavailableError(
            f"the index {path} cannot be read or written: {error}",
            hint="look at the disk, its quota and the limit on the size of files",
        ) from error
    except apsw.CantOpenError as error:
        raise UnavailableError(f"cannot open the index {path}: {error}") from error
    except apsw.Error as error:
        raise EngineError(f"the index {path} failed: {type(error).__name__}: {error}") from error


@functools.cache
def _vector_extension() -> str:
    """Give the path of sqlite-vec. Its package is not imported: it imports numpy, 0.1 s."""
    spec = find_spec("sqlite_vec")
    assert spec
    assert spec.origin
    return str(Path(spec.origin).with_name("vec0"))


def delete_database(path: Path) -> None:
    """Delete a database file; its WAL first, so that none is left for a new file of that name.

    Raises:
        UnavailableError: The folder cannot be written.
    """
    try:
        for suffix in ("-wal", "-shm", ""):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(
            f"cannot delete {path}: {error.strerror}", hint="make the data directory writable"
        ) from error


def _identity_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
