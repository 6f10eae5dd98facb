"""Ctrl-C: while a command starts, and while its work can be stopped cleanly."""

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Self

_STOPPING = "stopping after the current batch (Ctrl-C again to stop at once)"


class EarlyInterrupt:
    """The handler of SIGINT until a command installs its own: raises ``KeyboardInterrupt``.

    It remembers that: what is raised in a callback of the import system is only printed.
    """

    def __init__(self) -> None:
        self.was_raised = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Raise."""
        self.was_raised = True
        raise KeyboardInterrupt

    def install(self) -> None:
        """Handle SIGINT from now on, unless it is ignored or somebody else handles it."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self)


class Interrupt:
    """Turns SIGINT and SIGTERM into a cancellation request while the block runs.

    The first signal asks running work to stop cleanly, the second raises ``KeyboardInterrupt``.
    Only the main thread can enter it. A signal that was ignored before stays ignored, as for a
    command that a shell started in the background.

    Args:
        notice: The message to print at the first signal; empty for none.
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
            if isinstance(previous, EarlyInterrupt) and previous.was_raised and not self._requested:
                self._received(number, None)
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # type: ignore[arg-type]

    def cancelled(self) -> bool:
        """Return whether a signal has been received."""
        return self._requested

    def _received(self, _number: int, _frame: FrameType | None) -> None:
        if self._requested:
            raise KeyboardInterrupt
        self._requested = True
        with suppress(OSError):  # the signal may have ended the reader too, as that of a pipe
            os.write(2, self._notice)  # not print: the signal may have interrupted one
