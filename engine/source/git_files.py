"""Reading git's own small files: never hangs, never raises, never more than a limit.

A repository is untrusted: any of its files may be a pipe, a link, or endless.
"""

import os
import stat
from typing import NamedTuple

_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def read_regular(
    path: str, limit_bytes: int, *, folder: int | None = None, follow: bool = False
) -> bytes | None:
    """Read a regular file.

    Args:
        path: The file; relative to ``folder`` when that is given.
        limit_bytes: A larger file is not read.
        folder: Descriptor of the folder that ``path`` starts from.
        follow: Whether the file may be a link.

    Returns:
        What is in it; None when it is missing, unreadable, too large or not a regular file.
    """
    flags = _OPEN_FLAGS if follow else _OPEN_FLAGS | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, dir_fd=folder)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > limit_bytes:
            return None  # a limit below zero stops every file
        pieces = []
        wanted = limit_bytes + 1
        while wanted > 0:
            piece = os.read(descriptor, min(wanted, 1 << 20))
            if not piece:
                break
            pieces.append(piece)
            wanted -= len(piece)
        return b"".join(pieces) if wanted > 0 else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


class Start(NamedTuple):
    """How a file begins."""

    data: bytes
    size_bytes: int  # of the whole file


def read_start(path: str, limit_bytes: int) -> Start | None:
    """Read at most so many bytes of a regular file; None when that cannot be done."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS | os.O_NOFOLLOW)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return None
        return Start(os.read(descriptor, limit_bytes), facts.st_size)
    except OSError:
        return None
    finally:
        os.close(descriptor)
