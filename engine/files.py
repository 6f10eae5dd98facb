"""The files of the data directory, whatever was put in their place."""

import errno
import os
import stat
from pathlib import Path
from typing import IO, Final

from engine.errors import UnavailableError

_LOG_LIMIT_BYTES: Final = 1 << 20


def is_there(file: Path) -> bool:
    """Return whether a file of the data directory is there, whatever it is.

    Raises:
        UnavailableError: Nobody can tell, because its folder may not be searched.
    """
    try:
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise UnavailableError(
            f"the data directory {file.parent} cannot be searched: {error.strerror}",
            hint="check its permissions and its disk",
        ) from error
    return True


def backups_in(data_dir: Path) -> Path:
    """Return the folder of the backups that have no other place."""
    return data_dir / "backups"


def names_in(data_dir: Path) -> list[str]:
    """Return the names of what is in the data directory; none if it is not there.

    Raises:
        UnavailableError: Nobody can tell, because it may not be listed.
    """
    try:
        return os.listdir(data_dir)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UnavailableError(
            f"the data directory {data_dir} cannot be listed: {error.strerror}",
            hint="check its permissions and its disk",
        ) from error


def open_at_once(file: str | Path, flags: int) -> int:
    """Open a file (an ``opener`` of ``open``) without waiting, as one would for a pipe's writer.

    Raises:
        OSError: Among others, something else than a file stands in its place.
    """
    descriptor = os.open(file, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file", str(file))
    return descriptor


def read_small(file: str | Path, most_bytes: int) -> bytes:
    """Read a file whole.

    Raises:
        OSError: Among others, it is larger than that, or something else than a file.
    """
    with open(file, "rb", opener=open_at_once) as stream:
        content = stream.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes:,} bytes", str(file))
    return content


def size_of(file: Path) -> int:
    """Return the size of a file; 0 if it is not there."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def entries_of(folder: Path) -> list[Path]:
    """Return what is in a folder; nothing if it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def rotate_if_large(log: Path) -> None:
    """Rename a log of tracebacks that holds more than 1 MiB to ``<its name>.1``.

    Raises:
        OSError: Its folder cannot be written.
    """
    if log.exists() and log.stat().st_size > _LOG_LIMIT_BYTES:
        os.replace(log, f"{log}.1")


def unnamed_file() -> IO[bytes]:
    """Return a new file without a name, for what a process says; in memory where that is possible.

    Raises:
        OSError: There cannot be another one.
    """
    if hasattr(os, "memfd_create"):  # on Linux
        return os.fdopen(os.memfd_create("cairn"), "w+b")
    import tempfile  # 4 ms, with what it imports

    return tempfile.TemporaryFile()


def free_bytes_at(folder: Path) -> int:
    """Return the free space of the disk with a folder; as ``shutil``, which takes 3 ms to import.

    Raises:
        OSError: It cannot be told.
    """
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize
