"""Copies of indexes that are being made or sent: a few at once, and none for longer than it goes.

A copy takes as much room as its index, in a file without a name: it goes when it is closed.
"""

import asyncio
from contextlib import suppress
from typing import BinaryIO

from engine.errors import ConflictError

_MOST = 3
_PATIENCE_S = 60.0


class Export:
    """One of them, of the event loop's thread.

    Args:
        exports: All of them.
        patience_s: How long its receiver may take nothing.
    """

    def __init__(self, exports: "Exports", patience_s: float) -> None:
        self._exports = exports
        self._patience_s = patience_s
        self._file: BinaryIO | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_over(self) -> bool:
        """Whether the copy is gone."""
        return self._file is None

    def hold(self, file: BinaryIO) -> None:
        """Take in the copy: it is closed at the end, or when its receiver takes nothing."""
        self._file = file
        self.go_on()

    def go_on(self) -> None:
        """Note that its receiver has taken something."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._patience_s, self.end)

    def end(self) -> None:
        """Close the copy and make room for another one; again is no harm."""
        if self._timer:
            self._timer.cancel()
        if self._file:
            with suppress(OSError):
                self._file.close()
        self._file = None
        self._exports.forget(self)


class Exports:
    """The exports of a server, of the event loop's thread.

    Args:
        patience_s: How long the receiver of one may take nothing.
    """

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._going: set[Export] = set()

    def begin(self) -> Export:
        """Begin an export; whoever does has to end it.

        Raises:
            ConflictError: As many as may go on do so already.
        """
        if len(self._going) >= _MOST:
            raise ConflictError(
                f"{len(self._going)} exports are being made or downloaded already, and each"
                " takes as much room on the disk as its index",
                hint="wait until one of them has ended, or stop its download",
            )
        export = Export(self, self._patience_s)
        self._going.add(export)
        return export

    def forget(self, export: Export) -> None:
        """Count one no more."""
        self._going.discard(export)
