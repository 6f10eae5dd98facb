"""Small files of the data directory that are changed under a lock and replaced as a whole.

So readers need no lock and never see half a change, and of changes that overlap none is lost.
"""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from engine.errors import DiskFullError, IndexBusyError, UnavailableError
from engine.faults import fault_point
from engine.locks import take_lock
from engine.roots import real_path

_LOCK_S: Final = 10.0  # how long to wait for another process
_RETRY_S: Final = 0.01


@contextmanager
def changing(file: Path) -> Iterator[None]:
    """Keep others from changing a file of the data directory.

    Raises:
        IndexBusyError: Another process has been changing it for ten seconds.
        UnavailableError: The lock cannot be written.
    """
    deadline_s = time.monotonic() + _LOCK_S
    while (lock := take_lock(file.parent / "locks" / f"{file.stem}.lock")) is None:
        if time.monotonic() > deadline_s:
            raise IndexBusyError(
                f"{file.name} is being changed by another process", hint="try again in a moment"
            )
        time.sleep(_RETRY_S)
    with lock:
        yield


def replace_file(file: Path, text: str) -> None:
    """Replace a file, or create it for this user alone; of a link, the file that it leads to.

    Its permissions stay. Only within ``changing``.

    Raises:
        DiskFullError: There is no room; the file is as it was.
        UnavailableError: It cannot be written; the file is as it was.
    """
    target = Path(real_path(file))
    beside = target.with_name(f".{target.name}.new")
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        descriptor = os.open(
            beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        with open(descriptor, "w", encoding="utf-8", newline="") as new:
            new.write(text)
            new.flush()
            os.fsync(descriptor)
        fault_point("file written")
        os.chmod(beside, mode)
        os.replace(beside, target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskFullError(
                f"no room to write {target}; it is as it was",
                hint="free some disk space, then try again",
            ) from error
        raise UnavailableError(
            f"cannot write {target}: {error.strerror}", hint="make the data directory writable"
        ) from error
