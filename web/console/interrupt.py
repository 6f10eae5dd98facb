"""Ctrl-C as a request: the first asks running work to stop cleanly, the second insists."""

import os
import signal
from types import FrameType
from typing import Self

_STOPPING = "stopping after the current batch (Ctrl-C again to stop at once)"


class Interrupt:
    """Turns SIGINT and SIGTERM into a flag while the block runs.

    Only the main thread can enter it. A signal that was ignored before stays ignored, as for a
    command that a shell started in the background.

    Args:
        notice: What to say at the first signal; nothing when it is empty.
    """

    def __init__(self, notice: str = _STOPPING) -> None:
        self._notice = f"\n{notice}\n".encode() if notice else b""
        self._requested = False
        self._previous: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            previous = signal.getsignal(number)
            if previous != signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # type: ignore[arg-type]

    def cancelled(self) -> bool:
        """Tell whether a signal has come."""
        return self._requested

    def _received(self, _number: int, _frame: FrameType | None) -> None:
        if self._requested:
            raise KeyboardInterrupt
        self._requested = True
        os.write(2, self._notice)  # not print: that could be in the middle of a write already
