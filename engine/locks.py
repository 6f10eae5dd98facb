"""Lock files for the one indexer and watcher of a project, and the runner and server of all.

They lie in the folder ``locks`` of the data directory. The kernel frees a lock when its holder
dies, however it dies, so a stale lock cannot exist, and a holder that ends normally deletes the
file. The content of a file that is not locked belongs to a process that was killed.

``server.lock`` holds the server's process and URL, ``<project id>.watch`` the watcher's status.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final, Self

from engine.errors import EngineError, ProjectBusyError, ServerRunningError, UnavailableError
from engine.files import entries_of, open_at_once
from engine.state_records import WatchState, WatchStatus

#: Suffixes of what a runner writes about a project while one of its jobs runs.
IN_FLIGHT: Final = ".inflight"
WAITING: Final = ".wait"
#: Suffix of a file whose name says that a job is to be cancelled, while its database cannot.
CANCEL: Final = ".cancel"
NOTES: Final = (IN_FLIGHT, WAITING)

_FOLDER: Final = "locks"
_TRIES: Final = 3
_MOST_TRIES: Final = 2_000  # some seconds, as long as others only look at the lock
_LOOK_S: Final = 0.001
_LOOKS: Final = 50  # that find a lock held, before it counts as held
_MOST_BYTES: Final = 1 << 16

_SUFFIX: Final = ".watch"


def runner_lock_file(data_dir: Path) -> Path:
    """Return the lock file of the process that runs the jobs of a data directory."""
    return data_dir / _FOLDER / "runner.lock"


def server_lock_file(data_dir: Path) -> Path:
    """Return the lock file of the server of a data directory."""
    return data_dir / _FOLDER / "server.lock"


def project_file(database: Path, suffix: str) -> Path:
    """Return the file of a project in the folder of the lock files.

    Args:
        database: The project's database file.
        suffix: What the file is for, with the dot.
    """
    return database.parent / _FOLDER / f"{database.stem}{suffix}"


class NamedFile:
    """An open file that other processes find by name, deleted when its owner ends normally.

    Args:
        file: The name.
        descriptor: Of the open file.
    """

    def __init__(self, file: Path, descriptor: int) -> None:
        self.file = file
        self.descriptor = descriptor

    def is_in_place(self) -> bool:
        """Return whether the name is still that of this file."""
        return _has_name(self.descriptor, self.file)

    def close(self) -> None:
        """Delete and close it; another file that has the name by now is not ours, and stays."""
        with suppress(OSError):
            if self.is_in_place():
                self.file.unlink()
        os.close(self.descriptor)


class Lock(NamedFile):
    """A lock file that this process has locked; a context manager, which releases it.

    It is deleted before it is unlocked: a process that opened it in between notices, and retries.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, text: str) -> None:
        """Replace the content that other processes read; errors, as on a full disk, are ignored."""
        data = text.encode()
        with suppress(OSError):
            os.pwrite(self.descriptor, data, 0)
            os.ftruncate(self.descriptor, len(data))


def take_lock(file: Path) -> Lock | None:
    """Lock a file, which then holds the number of this process; None when another has locked it.

    Raises:
        UnavailableError: The folder cannot be made or written, or its file system has no locks.
    """
    make_folder(file.parent)
    while True:
        descriptor = _opened(file)
        try:
            if not _is_locked_here(descriptor):
                os.close(descriptor)
                return None
            if _has_name(descriptor, file):
                break
        except OSError as error:
            os.close(descriptor)
            raise UnavailableError(
                f"cannot lock {file}: {error.strerror}",
                hint="set CAIRN_HOME to a folder whose file system has file locks",
            ) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last holder has deleted it since: not the lock of this name
    with suppress(OSError):
        os.ftruncate(descriptor, 0)  # what a process wrote that was killed
    lock = Lock(file, descriptor)
    lock.write(str(os.getpid()))
    return lock


def holder_of(file: Path) -> str | None:
    """Return the content written by the holder of a lock; None if it is not held.

    Writes nothing, and never keeps another process from taking the lock.
    """
    try:
        descriptor = open_at_once(file, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, _MOST_BYTES, 0).decode("utf-8", "replace").strip()
    except OSError:  # a file system without locks: nobody can hold one
        return None
    else:
        return None
    finally:
        os.close(descriptor)


@contextmanager
def indexing_lock(database: Path) -> Iterator[None]:
    """Hold the right to index a project.

    Raises:
        ProjectBusyError: Another process serves it.
        UnavailableError: The data directory cannot be written.
    """
    file = project_file(database, ".lock")
    lock = take_lock(file)
    if lock is None:
        raise ProjectBusyError(
            f"the project is being indexed by process {holder_of(file) or '?'}",
            hint="wait for it, or stop it",
        )
    with lock:
        yield


def is_being_indexed(database: Path) -> bool:
    """Return whether another process holds the right to index a project, and keeps it.

    Who deletes the lock file of a dead process holds it for a moment, and is not its owner.
    """
    file = project_file(database, ".lock")
    for _ in range(_LOOKS):
        if holder_of(file) is None:
            return False
        time.sleep(_LOOK_S)
    return True


def make_folder(folder: Path) -> None:
    """Make a folder inside the data directory, and that if need be, for this user alone.

    Raises:
        UnavailableError: It cannot be made.
    """
    data_dir = folder.parent
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UnavailableError(
            f"cannot make the data directory {data_dir}: {error.strerror}",
            hint="set CAIRN_HOME to a folder that you can write",
        ) from error
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise _not_writable(folder, error) from error


def new_file(file: Path) -> NamedFile:
    """Create a file, replacing one of that name that a killed process has left.

    Raises:
        UnavailableError: The folder cannot be made or written.
    """
    make_folder(file.parent)
    with suppress(OSError):
        file.unlink()
    return NamedFile(file, _opened(file))


def delete_notes(database: Path) -> None:
    """Delete the notes that runners have left about a project in the folder of the lock files."""
    for suffix in NOTES:
        with suppress(OSError):
            project_file(database, suffix).unlink(missing_ok=True)


def note_cancel(database: Path, job_id: str, reason: str) -> None:
    """Note that a job is to be cancelled, for a database that cannot be written now.

    An empty file is enough, which a full disk nearly always takes.

    Raises:
        UnavailableError: The folder cannot be written.
    """
    file = cancel_file(database, job_id)
    make_folder(file.parent)
    descriptor = _opened(file)
    with suppress(OSError):
        os.write(descriptor, reason.encode())
    os.close(descriptor)


def cancel_file(database: Path, job_id: str) -> Path:
    """Return the file whose being there says that a job is to be cancelled."""
    return project_file(database, f".{job_id}{CANCEL}")


def read_cancel(database: Path, job_id: str) -> str | None:
    """Return why a job is to be cancelled; None if no file says so."""
    try:
        with open(cancel_file(database, job_id), "rb", opener=open_at_once) as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def delete_stale_locks(data_dir: Path) -> None:
    """Delete the lock files of processes that were killed, and notes about deleted projects.

    Each is locked before it is deleted, so that nobody loses a lock just taken. An empty folder in
    the place of such a file is deleted too.
    """
    for file in entries_of(data_dir / _FOLDER):
        if file.is_dir():
            with suppress(OSError):
                file.rmdir()
        elif file.suffix in NOTES:
            if not (data_dir / f"{file.stem}.db").exists():
                delete_notes(data_dir / f"{file.stem}.db")
        elif file.suffix == CANCEL:
            if not (data_dir / f"{file.name.partition('.')[0]}.db").exists():
                with suppress(OSError):
                    file.unlink()
        elif holder_of(file) is None:
            with suppress(EngineError):
                lock = take_lock(file)
                if lock:
                    lock.close()


def _opened(file: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _not_writable(file, error) from error


def _is_locked_here(descriptor: int) -> bool:
    """Lock an open file; False when another process has locked it and keeps it locked.

    Who only looks shares the lock for some microseconds, so it can be shared with them, and who
    deletes the file of a dead process holds it as briefly: neither is its owner. One that shares it
    for seconds, as a process does that was stopped just then, counts as an owner.
    """
    refusals = 0
    for _ in range(_MOST_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                refusals += 1
                if refusals == _TRIES:
                    break
            else:
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            time.sleep(_LOOK_S)
        else:
            return True
    return False


def _has_name(descriptor: int, file: Path) -> bool:
    found = os.fstat(descriptor)
    try:
        named = file.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (named.st_dev, named.st_ino)


def _not_writable(path: Path, error: OSError) -> UnavailableError:
    if isinstance(error, IsADirectoryError):
        return UnavailableError(
            f"{path} is a folder, where a lock file belongs", hint="delete that folder"
        )
    return UnavailableError(
        f"cannot write {path}: {error.strerror}", hint="make the data directory writable"
    )


class ServerLock:
    """The lock of the server, held by this process, which publishes its URL to others.

    Args:
        lock: The lock file.
    """

    def __init__(self, lock: Lock) -> None:
        self._lock = lock

    def publish(self, url: str) -> None:
        """Publish the URL; write errors, as on a full disk, are ignored."""
        self._lock.write(json.dumps({"url": url, "pid": os.getpid()}))


@contextmanager
def hold_server_lock(data_dir: Path) -> Iterator[ServerLock]:
    """Hold the server's lock of a data directory.

    Raises:
        ServerRunningError: Another process serves it.
        UnavailableError: The data directory cannot be written.
    """
    lock = take_lock(server_lock_file(data_dir))
    if lock is None:
        url = server_url(data_dir)
        raise ServerRunningError(
            f"this data directory is served already, at {url or 'an address not known yet'}",
            hint="use that one, or stop it first",
            url=url,
        )
    with lock:
        yield ServerLock(lock)


def server_url(data_dir: Path) -> str | None:
    """Return the URL of a data directory's server; None if there is none or it is not known yet."""
    url = _published_by_server(data_dir).get("url")
    return url if isinstance(url, str) else None


def server_process(data_dir: Path) -> int | None:
    """Return the number of the process whose URL is that of ``server_url``."""
    process = _published_by_server(data_dir).get("pid")
    return process if isinstance(process, int) else None


def _published_by_server(data_dir: Path) -> dict[str, object]:
    try:
        found = json.loads(holder_of(server_lock_file(data_dir)) or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class WatchLock:
    """The lock of a watcher, held by this process, which publishes its status to others.

    Args:
        lock: The lock file.
    """

    def __init__(self, lock: Lock) -> None:
        self._lock = lock

    def publish(self, status: WatchStatus) -> None:
        """Replace the status; a full disk is no reason to stop watching."""
        self._lock.write(json.dumps(asdict(status)))


@contextmanager
def hold_watch_lock(database: Path) -> Iterator[WatchLock]:
    """Hold the watcher's lock of a project.

    Raises:
        ProjectBusyError: It is being watched already.
        UnavailableError: The data directory cannot be written.
    """
    lock = take_lock(project_file(database, _SUFFIX))
    if lock is None:
        other = watch_status_of(database)
        raise ProjectBusyError(
            f"the project is being watched by process {other.pid if other else '?'}",
            hint="one watcher is enough; stop that one to watch here",
        )
    with lock:
        yield WatchLock(lock)


def watch_status_of(database: Path) -> WatchStatus | None:
    """Return the status of a project's watcher, in any process; None if it has none."""
    for _ in range(_TRIES):
        text = holder_of(project_file(database, _SUFFIX))
        if text is None:
            return None
        try:
            values = json.loads(text)
            return WatchStatus(**{**values, "state": WatchState(values["state"])})
        except (ValueError, TypeError, KeyError):
            continue
    return None
