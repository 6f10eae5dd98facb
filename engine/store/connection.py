"""The database file of a project: one locked writer connection, and readers that are lent.

Callers get handles of transactions, not connections: ``with store.write() as handle`` and ``with
store.read() as handle``; every function of ``store`` takes the handle first. ``apsw.Error`` never
leaves this package.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import apsw

from engine.errors import EngineError, ProjectNotFoundError, UnavailableError
from engine.faults import fault_point, vfs_name
from engine.store import migrate
from engine.store.deleting import delete_unused
from engine.store.opening import (
    DISTRUSTED,
    Place,
    close_held,
    damaged,
    gone,
    held_together,
    is_unsettled,
    not_writable,
    open_writer,
    translated,
)
from engine.store.readers import Readers

Handle = apsw.Connection

#: SQLite 3.7.0 to 3.51.2 can corrupt a database when two connections checkpoint a WAL at once.
_OLDEST_SQLITE = 3_051_003

_PAGE_BYTES = 4096
_WAL_LIMIT_BYTES = 32 << 20
_WRITER_CACHE_KIB = 64 << 10
_LOOK_S = 0.05  # at whether a lock is free, or the wait for it is over
_DOUBLINGS = 6  # of the first wait for a lock, 1 ms; after these it is longer than that
_CHECKPOINT_S = 0.1  # at most that a checkpoint keeps writers off while it waits for readers
_COPIED_PAGES = 2048  # at once, of a database that replaces another one


class TransactionHook(Protocol):
    """Hooks into a thread's write transactions, to refuse them or to add rows."""

    def is_durable(self) -> bool:
        """Return whether the next transaction must be on the disk before it is acknowledged."""

    def after_begin(self, handle: Handle) -> None:
        """Handle the beginning of a transaction; an exception aborts it."""

    def before_commit(self, handle: Handle) -> None:
        """Add to a transaction that is about to be committed."""

    def after_commit(self) -> None:
        """Handle the end of a committed transaction."""


class Store:
    """One project's database file.

    Args:
        path: The file; created, with its folder, when ``create`` is set.
        busy_timeout_ms: How long to wait for a lock that another process holds.
        vfs: Name of a registered SQLite VFS, else the one of ``faults.use_vfs``; a test's way to
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
        self._place = Place(path, busy_timeout_ms, vfs_name() if vfs is None else vfs)
        self._lock = threading.Lock()  # of the writer
        self._patience_s = busy_timeout_ms / 1000
        self._local = threading.local()
        self._readers = Readers(self._place, self._identify)
        self._writer: apsw.Connection | None = None
        self._written_s = 0.0  # when it was used last, on the monotonic clock
        self._writer_bytes = 0  # of its pages then
        self._wal_pages = 0
        self._is_unsettled = False  # whether the disk failed to take what was written
        self._identity: tuple[int, int] | None = None
        if create:
            self._create()
        else:
            self._open()

    def _create(self) -> None:
        """Create the file; none is left behind on failure."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise UnavailableError(
                f"cannot make the data directory {self.path.parent}: {error.strerror}",
                hint="set CAIRN_HOME to a folder that you can write",
            ) from error
        before = _identity_of(self.path)
        try:
            with translated(self.path), self._lock, self._told_when_gone():
                self._local.patience_s = self._patience_s
                self._connect_writer(create=True)
        except EngineError:
            if before is None:
                delete_unused(self.path)
            raise
        if before not in (None, self._identity):  # it was unused, and deleted meanwhile
            self.close()
            self._create()

    def _open(self) -> None:
        """Check an existing file before the first use."""
        try:
            with self._reading() as handle:
                version = migrate.check(handle)
            if version == 0:
                raise self._empty()
            if version < migrate.newest():
                with self._writing():
                    pass  # to connect migrates, and reading needs the present shape
        except BaseException:
            self.close()
            raise

    def _empty(self) -> EngineError:
        """Return the error for a file without contents; a project's logs tell that it had some."""
        if (self.path.parent / "logs" / self.path.stem).exists():
            return damaged(self.path, "it has lost its contents")
        return ProjectNotFoundError(
            "the index is empty", hint="index the project again", file=str(self.path)
        )

    def is_current(self) -> bool:
        """Return whether the file is still the one that was opened, not deleted or replaced.

        It is, as far as anybody knows, while the disk fails or the folder may not be searched.
        """
        return _identity_of(self.path, unknown=self._identity) == self._identity

    def _identify(self) -> None:
        """Note which file was opened first; refuse to open, or write to, another one."""
        if self._identity is None:
            self._identity = _identity_of(self.path)
        elif not self.is_current():
            raise gone(self.path)

    def reopen(self) -> None:
        """Continue with the file that replaced the one that was opened."""
        with self._lock:
            self._close_writer()
            self._readers.renew()
            self._identity = _identity_of(self.path)

    @contextmanager
    def write(
        self,
        *,
        durable: bool = False,
        bookkeeping: bool = False,
        keeps_caches: bool = False,
        patience_s: float | None = None,
    ) -> Iterator[Handle]:
        """Run one write transaction; it is rolled back when the body raises.

        Each increments ``project.changes``, by which readers validate their caches.

        When the disk fails to sync a durable one (UnavailableError), it may or may not be kept;
        only reading again shows which.

        Args:
            durable: Wait until it is on the disk (``synchronous=FULL``). Without, a power cut can
                take back the last transactions, a killed process never does.
            bookkeeping: Only rows of jobs or memories are written: it does not count, and the
                thread's hook is not called.
            keeps_caches: Only rows of the history are written: it does not count.
            patience_s: How long to wait for other writers, also of this process; None for the busy
                timeout, and for those of this process forever.
        """
        hook: TransactionHook | None = getattr(self._local, "hook", None)
        if bookkeeping:
            hook = None
        with self._writing(patience_s) as handle:
            durable = durable or (hook is not None and hook.is_durable())
            if durable:
                handle.execute("PRAGMA synchronous = FULL")
            try:
                handle.execute("BEGIN IMMEDIATE")
                try:
                    self._identify()
                    if hook:
                        hook.after_begin(handle)
                    yield handle
                    if not (bookkeeping or keeps_caches):
                        handle.execute("UPDATE project SET changes = changes + 1")
                    if hook:
                        hook.before_commit(handle)
                    fault_point("transaction filled")
                    handle.execute("COMMIT")
                except BaseException:
                    _roll_back(handle)
                    raise
            finally:
                if durable:
                    handle.execute("PRAGMA synchronous = NORMAL")
            fault_point("transaction committed")
            self._bound_wal(handle)
        if hook:
            hook.after_commit()

    @contextmanager
    def with_hook(self, hook: TransactionHook) -> Iterator[None]:
        """Call a hook in every write transaction of this thread."""
        self._local.hook = hook
        try:
            yield
        finally:
            self._local.hook = None

    @contextmanager
    def giving_up(self, when: Callable[[], bool]) -> Iterator[None]:
        """Let no write of this thread wait for other writers once a function returns true."""
        self._local.gives_up = when
        try:
            yield
        finally:
            self._local.gives_up = None

    @contextmanager
    def read(self) -> Iterator[Handle]:
        """Run statements on a reading connection, in one snapshot; nested, in the same one."""
        with self._reading() as handle:
            if handle.in_transaction:  # nested: the outer block owns the snapshot
                yield handle
                return
            handle.execute("BEGIN")
            try:
                yield handle
            finally:
                _roll_back(handle)

    def checkpoint(self) -> None:
        """Move the WAL into the database file and empty it, so that one file holds everything.

        Readers of older contents are waited for as long as for a lock; then the WAL stays. Between
        two attempts others can write: such a reader may be about to.
        """
        end_s = time.monotonic() + self._patience_s
        while not self._try_checkpoint() and time.monotonic() < end_s and not self._gives_up():
            time.sleep(_CHECKPOINT_S)

    def _try_checkpoint(self) -> bool:
        """Return whether the WAL is empty."""
        with self._writing() as handle:
            fault_point("checkpoint begun")
            is_busy = self._checkpointed(handle, "TRUNCATE")
            fault_point("checkpoint done")
        return not is_busy

    def _checkpointed(self, handle: apsw.Connection, mode: str) -> bool:
        """Run a checkpoint; return whether readers or writers were in its way."""
        self._local.patience_s = min(self._patience_s, _CHECKPOINT_S)
        is_busy, _, _ = handle.execute(f"PRAGMA wal_checkpoint({mode})").get
        return bool(is_busy)

    def make_room(self) -> None:
        """Move what the WAL holds into the database file, if there is room, without waiting.

        Its place in the WAL is written again then, so that little that is new needs no other.
        """
        with suppress(EngineError), self._writing() as handle:
            handle.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def compact(self) -> None:
        """Return free pages to the disk; needs room for a second copy meanwhile."""
        with self._writing() as handle:
            handle.execute("VACUUM")
        self.checkpoint()

    def copy_to(self, target: Path) -> None:
        """Write a compact copy, as of now, to a new file that only the user can read.

        Raises:
            FileExistsError: The file is there already.
            DiskFullError: No room.
        """
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._reading() as handle:
            handle.execute("PRAGMA query_only = OFF")  # of the target, too
            try:
                handle.execute("VACUUM INTO ?", (str(target),))
            finally:
                handle.execute("PRAGMA query_only = ON")

    def replace_contents(
        self, new: "Store", complete: Callable[[Handle, Handle], None], check: Callable[[], None]
    ) -> None:
        """Replace all contents by those of another database, in one durable transaction.

        The file, and every connection to it, stays. Readers see the old contents until the
        transaction is committed; a process that is killed before has changed nothing. Nobody else
        can write meanwhile.

        Args:
            new: The other one, which nobody else uses.
            complete: Called when nobody else can write any more, with the handles of a reader of
                this one and of a transaction on the other one.
            check: Called often; an exception ends it, and nothing has changed.

        Raises:
            DiskFullError: There is no room for a second copy of the new contents.
            IndexBusyError: Another process held the lock for longer than the busy timeout.
        """
        with new._writing() as source, self._writing() as handle:  # noqa: SLF001 - of this class
            handle.execute("PRAGMA synchronous = FULL")
            backup = handle.backup("main", source, "main")
            try:
                backup.step(1)  # takes the lock of this one
                with self.read() as old:
                    source.execute("BEGIN IMMEDIATE")
                    complete(old, source)
                    source.execute("COMMIT")
                while backup.remaining > _COPIED_PAGES:
                    check()
                    backup.step(_COPIED_PAGES)
                check()
                fault_point("contents copied")
                backup.step(-1)
            finally:
                backup.close(force=True)
                _roll_back(source)
                self._shorten_wal(handle)
            self._readers.renew()
        fault_point("contents replaced")

    def _shorten_wal(self, handle: apsw.Connection) -> None:
        """Free the room that a copy took in the WAL, unless readers need it, and the connection."""
        handle.set_busy_timeout(0)
        with suppress(apsw.Error):
            handle.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._close_writer()

    @property
    def cached_bytes(self) -> int:
        """The approximate memory of the pages that the writer and unused readers keep."""
        return self._readers.size_bytes + self._writer_bytes

    def release_readers(self) -> None:
        """Close the readers that nobody uses now; the next read opens one again."""
        self._readers.close_idle()

    def release_memory(self) -> int:
        """Free the pages that connections keep, unless they are used now; return how much.

        The writer stays: it may be the last connection, and to close that one takes long.
        """
        return self._readers.close_idle() + self._release_writer(_free_pages)

    def release_unused(self, since_s: float) -> int:
        """Close the connections that were not used since a time on the monotonic clock.

        Returns:
            The approximate memory that this freed.
        """
        freed = self._readers.close_idle(since_s)
        if self._written_s < since_s:
            freed += self._release_writer(lambda _writer: self._close_writer())
        return freed

    def _release_writer(self, release: Callable[[apsw.Connection], None]) -> int:
        """Free what the writer keeps, if nobody writes now, and return how much that was."""
        if not (self._writer and self._lock.acquire(blocking=False)):
            return 0
        try:
            freed = self._writer_bytes
            if self._writer:
                release(self._writer)
            self._writer_bytes = 0
            return freed
        finally:
            self._lock.release()

    def size_bytes(self) -> int:
        """Return the size of the database file and its WAL."""
        total = 0
        for suffix in ("", "-wal"):
            with suppress(OSError):  # if it cannot be used, who opens it is told why
                total += Path(f"{self.path}{suffix}").stat().st_size
        return total

    def close(self) -> None:
        """Close every connection.

        One that another thread uses now is closed when its read or its transaction ends. The last
        connection to a file, in whatever process, empties its WAL and deletes it.
        """
        self._local = threading.local()
        is_free = self._lock.acquire(blocking=False)
        try:
            unused = [self._writer] if is_free and self._writer else []
            self._writer = None  # whoever writes now closes it then
            self._writer_bytes = 0
            close_held(self._place, *unused, *self._readers.detach())
        finally:
            if is_free:
                self._lock.release()

    @contextmanager
    def _writing(self, patience_s: float | None = None) -> Iterator[Handle]:
        """Yield the writer, to one thread at a time; it is closed when the disk fails."""
        with translated(self.path), self._turn(patience_s), self._told_when_gone():
            self._local.patience_s = self._patience_s if patience_s is None else patience_s
            writer = None
            try:
                writer = self._writer or self._connect_writer()
                yield writer
            except DISTRUSTED as error:
                self._note_failure(error)
                self._close_writer()
                raise
            finally:
                self._written_s = time.monotonic()
                self._writer_bytes = _page_bytes(self._writer) if self._writer else 0
                if writer and self._writer is not writer:  # the store was closed meanwhile
                    close_held(self._place, writer)

    @contextmanager
    def _turn(self, patience_s: float | None) -> Iterator[None]:
        """Wait until no other thread of this process writes."""
        end_s = math.inf if patience_s is None else time.monotonic() + patience_s
        while not self._lock.acquire(timeout=_LOOK_S):
            if time.monotonic() >= end_s or self._gives_up():
                raise apsw.BusyError("another thread writes")
        try:
            yield
        finally:
            self._lock.release()

    def _gives_up(self) -> bool:
        gives_up: Callable[[], bool] | None = getattr(self._local, "gives_up", None)
        return gives_up is not None and gives_up()

    def _is_worth_waiting(self, times: int) -> bool:
        """Wait a moment for a lock that another process holds; return False to give up."""
        local = self._local
        if times == 0:
            local.waits_since_s = time.monotonic()
        until_s = getattr(local, "waits_since_s", -math.inf) + getattr(local, "patience_s", 0.0)
        if time.monotonic() >= until_s or self._gives_up():  # also once the store was closed
            return False
        time.sleep(min(0.001 * 2 ** min(times, _DOUBLINGS), _LOOK_S))
        return True

    def _connect_writer(self, *, create: bool = False) -> apsw.Connection:
        with ExitStack() as opening:
            # Two at once that make a file WAL would be told that it is locked.
            is_new = create and not self.size_bytes()
            opening.enter_context(held_together(self._place, alone=is_new))
            handle = open_writer(self._place, create=create)
            try:
                self._identify()
                handle.set_busy_handler(self._is_worth_waiting)
                version = migrate.check(handle)  # before anything is changed: it may be another's
                # What follows can take long. Only making it WAL opens another file by its name.
                if version and handle.pragma("journal_mode") == "wal":
                    opening.close()
                self._prepare_writer(handle)
            except BaseException:
                opening.close()
                close_held(self._place, handle)
                raise
        self._writer = handle
        return handle

    def _prepare_writer(self, handle: apsw.Connection) -> None:
        """Set up a new writer, and bring the database to the newest shape."""
        try:
            # Every file of the database takes its mode from the main file.
            self.path.chmod(0o600)
            handle.execute("PRAGMA journal_mode = WAL")
            # What a large transaction left, once no reader needs it any more.
            handle.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
            handle.execute("PRAGMA synchronous = NORMAL")
            # FAST would leave the contents of large texts on pages that are no longer used.
            handle.execute("PRAGMA secure_delete = ON")
            handle.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
            # The hook replaces automatic checkpoints: ours come after a commit is answered.
            handle.set_wal_hook(self._count_wal_pages)
            migrate.migrate(handle, self._place, self._identify)
            fault_point("migrated")
            if self._is_unsettled:
                self._check_whole(handle)
        except FileNotFoundError as error:
            raise gone(self.path) from error
        except OSError as error:
            raise not_writable(self.path) from error

    def _check_whole(self, handle: apsw.Connection) -> None:
        """Check all pages once, because the system may have dropped failed writes."""
        found = handle.execute("PRAGMA quick_check(1)").get
        if found != "ok":
            raise damaged(self.path, found)
        self._is_unsettled = False

    @contextmanager
    def _reading(self) -> Iterator[Handle]:
        """Yield a reader, which is closed when the disk fails."""
        with translated(self.path), self._told_when_gone():
            try:
                with self._readers.lend() as handle:
                    yield handle
            except DISTRUSTED as error:
                self._note_failure(error)
                raise

    @contextmanager
    def _told_when_gone(self) -> Iterator[None]:
        """Say that the file was deleted or replaced, where SQLite says that the disk fails."""
        try:
            yield
        except DISTRUSTED as error:
            if self._identity is not None and not self.is_current():
                raise gone(self.path) from error
            raise

    def _note_failure(self, error: apsw.Error) -> None:
        if is_unsettled(error):
            self._is_unsettled = True
            self._readers.renew()

    def _close_writer(self) -> None:
        if self._writer:
            close_held(self._place, self._writer)
            self._writer = None
            self._writer_bytes = 0

    def _bound_wal(self, handle: apsw.Connection) -> None:
        """Checkpoint from the writer once the WAL is large; readers in the way postpone it.

        So does a disk that fails or is full: what was written is committed already.
        """
        if self._wal_pages * _PAGE_BYTES > _WAL_LIMIT_BYTES:
            try:
                self._checkpointed(handle, "RESTART")
            except apsw.Error as error:
                self._note_failure(error)
                if isinstance(error, DISTRUSTED):
                    self._close_writer()

    def _count_wal_pages(self, _handle: apsw.Connection, _schema: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


def _page_bytes(handle: Handle) -> int:
    try:
        return handle.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0]
    except apsw.Error:  # closed meanwhile
        return 0


def _free_pages(handle: Handle) -> None:
    with suppress(apsw.Error):  # closed meanwhile
        handle.release_memory()


def _roll_back(handle: Handle) -> None:
    if handle.in_transaction:  # a disk that fails may have ended it
        handle.execute("ROLLBACK")


def _identity_of(path: Path, *, unknown: tuple[int, int] | None = None) -> tuple[int, int] | None:
    """Return which file is there, None if there is none, or ``unknown`` if nobody can tell."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return unknown
    return found.st_dev, found.st_ino
