"""One watcher a project, over all processes, and what it shows the others.

The file ``<project id>.watch`` beside the database is locked while a watcher lives, and holds its
process and its status. What stands in it without a lock is of a watcher that is no more.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from engine.errors import ProjectBusyError, UnavailableError
from engine.watch_records import WatchState, WatchStatus

_TRIES: Final = 3  # to read a status while it is being written
_LOOK_S: Final = 0.05
_MOST_BYTES: Final = 1 << 16


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
