"""One server a data directory, over all processes, and where it is.

``server.lock`` is locked while a server lives, and ``server.json`` beside it has its URL.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from engine.errors import ServerRunningError
from engine.lock import held_lock

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
