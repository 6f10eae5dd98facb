"""One indexer a project and one runner a data directory, over all processes.

One server a data directory, over all processes, and where it is.

``server.lock`` is locked while a server lives, and ``server.json`` beside it has its URL.

One watcher a project, over all processes, and what it shows the others.

The file ``<project id>.watch`` beside the database is locked while a watcher lives, and holds its
process and its status. What stands in it without a lock is of a watcher that is no more.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from engine.errors import ProjectBusyError, ServerRunningError, UnavailableError
from engine.state_records import WatchState, WatchStatus


@contextmanager
def indexing_lock(database: Path) -> Iterator[None]:
    """Hold the right to index a project.

    Raises:
        ProjectBusyError: Another process holds it.
        UnavailableError: The data directory cannot be written.
    """
    with held_lock(database.with_suffix(".lock")) as holder:
        if holder is not None:
            raise ProjectBusyError(
                f"the project is being indexed by process {holder or '?'}",
                hint="wait for it, or stop it",
            )
        yield


def is_being_indexed(database: Path) -> bool:
    """Say whether another process holds the right to index a project."""
    with held_lock(database.with_suffix(".lock")) as holder:
        return holder is not None


@contextmanager
def held_lock(file: Path) -> Iterator[str | None]:
    """Hold a lock while the block runs, if nobody else does; gives who does, else None.

    The kernel frees the lock when its holder dies, however it dies, so a stale lock cannot exist.
    The lock file stays for good: a second one under the same name would be a second lock.

    Raises:
        UnavailableError: The folder cannot be made or written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UnavailableError(
            f"cannot write {file}: {error.strerror}", hint="make the data directory writable"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield None
    finally:
        os.close(descriptor)


def holder_of(file: Path) -> str | None:
    """Give who holds a lock, without writing anything; None when nobody does."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    else:
        return None
    finally:
        os.close(descriptor)


def identity_of(file: Path) -> tuple[int, int] | None:
    """Give what tells a lock file from another one of its name; None when it is not there."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_alive(process: int) -> bool:
    """Say whether a process lives."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


_TRIES: Final = 3  # somebody may just be looking whether it is locked
_LOOK_S: Final = 0.05
_MOST_BYTES: Final = 1 << 16


class ServerBoard:
    """Shows other processes where the server is.

    Args:
        file: Where that is written; replaced as a whole.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def show(self, url: str) -> None:
        """Say where; what cannot be written, as on a full disk, is not said."""
        draft = self._file.with_suffix(".json.new")
        with suppress(OSError):
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as stream:
                json.dump({"url": url, "pid": os.getpid()}, stream)
            os.replace(draft, self._file)

    def wipe(self) -> None:
        """Say nothing any more."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)


@contextmanager
def server_board(data_dir: Path) -> Iterator[ServerBoard]:
    """Hold the right to serve a data directory.

    Raises:
        ServerRunningError: Another process holds it.
        UnavailableError: The data directory cannot be written.
    """
    for attempt in range(_TRIES):
        with held_lock(data_dir / "server.lock") as holder:
            if holder is None:
                board = ServerBoard(data_dir / "server.json")
                try:
                    yield board
                finally:
                    board.wipe()
                return
        if attempt + 1 < _TRIES:
            time.sleep(_LOOK_S)
    url = _url_in(data_dir)
    raise ServerRunningError(
        f"this data directory is served already, at {url or 'an address not known yet'}",
        hint="use that one, or stop it first",
        url=url,
    )


def server_url(data_dir: Path) -> str | None:
    """Say where a data directory is served; None: nowhere, or not known yet."""
    if not (data_dir / "server.lock").exists():
        return None
    with held_lock(data_dir / "server.lock") as holder:
        return None if holder is None else _url_in(data_dir)


def _url_in(data_dir: Path) -> str | None:
    try:
        with open(data_dir / "server.json", encoding="utf-8") as stream:
            url = json.loads(stream.read(_MOST_BYTES))["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None


class Board:
    """Shows other processes a status.

    Args:
        descriptor: Of the locked file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def show(self, status: WatchStatus) -> None:
        """Replace what is shown; a full disk is no reason to stop watching."""
        data = json.dumps(asdict(status)).encode()
        try:
            os.pwrite(self._descriptor, data, 0)
            os.ftruncate(self._descriptor, len(data))
        except OSError:
            return


@contextmanager
def watch_board(database: Path) -> Iterator[Board]:
    """Hold the right to watch a project.

    Raises:
        ProjectBusyError: Another watcher holds it.
        UnavailableError: The data directory cannot be written.
    """
    file = database.with_suffix(".watch")
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UnavailableError(
            f"cannot write {file}: {error.strerror}", hint="make the data directory writable"
        ) from error
    try:
        if not _is_locked_by_us(descriptor):
            other = _status_in(descriptor)
            raise ProjectBusyError(
                f"the project is being watched by process {other.pid if other else '?'}",
                hint="one watcher is enough; stop that one to watch here",
            )
        yield Board(descriptor)
    finally:
        os.close(descriptor)


def _is_locked_by_us(descriptor: int) -> bool:
    for _ in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_S)  # somebody may just be looking whether it is locked
        else:
            return True
    return False


def watch_status_of(database: Path) -> WatchStatus | None:
    """Give the status of a project's watcher, in whatever process; None when it has none."""
    try:
        descriptor = os.open(database.with_suffix(".watch"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _status_in(descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def _status_in(descriptor: int) -> WatchStatus | None:
    for _ in range(_TRIES):
        try:
            values = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
            return WatchStatus(**{**values, "state": WatchState(values["state"])})
        except (ValueError, TypeError, KeyError):
            continue
    return None
