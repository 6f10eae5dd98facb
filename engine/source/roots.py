"""Whether the root of a tree still can be read, asked when something beneath it cannot."""

import os

from engine.errors import InvalidPathError
from engine.records import display_path


def check_root(root: str) -> None:
    """Make sure that a folder can be listed and entered.

    Raises:
        InvalidPathError: It cannot; the message begins with the reason, as ``permission denied``.
    """
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.stat(".", dir_fd=descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidPathError(
            f"{reason}: {display_path(root)}",
            hint="make the folder readable; what was indexed so far is kept",
            field="path",
            path=display_path(root),
        ) from error
