"""One indexer a project and one runner a data directory, over all processes."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import ProjectBusyError, UnavailableError


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
