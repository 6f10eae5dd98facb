"""Which file a process has in hand, noted so that a crash of the process cannot lose it.

One write into the page cache a file, about a microsecond; a process that dies leaves it. A power
cut may lose it, and no file causes those.
"""

import os
from contextlib import suppress
from pathlib import Path

from engine.errors import UnavailableError

_LENGTH_BYTES = 4
_MOST_BYTES = 1 << 16


class Hand:
    """The note of one project, in a small file beside its database.

    Args:
        file: Where; made when it is not there.

    Raises:
        UnavailableError: The data directory cannot be written.
    """

    def __init__(self, file: Path) -> None:
        try:
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UnavailableError(f"cannot write {file}: {error.strerror}") from error
        self._is_empty = False

    def hold(self, path: str) -> None:
        """Note a path, or with ``""`` that no file is in hand; on a full disk nothing is noted."""
        if not path and self._is_empty:
            return
        name = os.fsencode(path)[:_MOST_BYTES]
        with suppress(OSError):
            os.pwrite(self._descriptor, len(name).to_bytes(_LENGTH_BYTES, "little") + name, 0)
        self._is_empty = not path

    def taken(self) -> str:
        """Give the path that was noted, ``""`` when none was, and note that none is."""
        size = int.from_bytes(os.pread(self._descriptor, _LENGTH_BYTES, 0), "little")
        name = os.pread(self._descriptor, min(size, _MOST_BYTES), _LENGTH_BYTES)
        self.hold("")
        return os.fsdecode(name)

    def close(self) -> None:
        """Let the file go; the note stays."""
        os.close(self._descriptor)
