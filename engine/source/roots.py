"""Whether the root of a tree still is there and can be read, so that no file counts as deleted."""

import errno
import os

from engine.errors import InvalidPathError
from engine.records import display_path

#: Device and inode.
Identity = tuple[int, int]


def check_root(root: str, known: Identity | None = None) -> Identity:
    """Make sure that a folder can be listed and entered.

    Args:
        root: The folder.
        known: What an earlier call gave, if it is to be the same folder still.

    Raises:
        InvalidPathError: It cannot; the message begins with the reason, as ``permission denied``,
            and ``details`` has it as ``reason``: ``permission_denied``, ``gone`` or ``replaced``.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            found = os.stat(".", dir_fd=descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        is_closed = error.errno in (errno.EACCES, errno.EPERM)
        raise _unreadable(
            root,
            f"{(error.strerror or str(error)).lower()}: ",
            "make the folder readable" if is_closed else "is it where it was?",
            "permission_denied" if is_closed else "gone",
        ) from error
    identity = found.st_dev, found.st_ino
    if known not in (None, identity):
        raise _unreadable(root, "another folder took the place of ", "index it again", "replaced")
    return identity


def _unreadable(root: str, what: str, hint: str, reason: str) -> InvalidPathError:
    shown = display_path(root)
    return InvalidPathError(
        f"{what}{shown}",
        hint=f"{hint}; what was indexed so far is kept",
        field="path",
        path=shown,
        reason=reason,
    )
