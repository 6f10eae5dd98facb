"""Ctrl-C: while a command starts, and while its work can be stopped cleanly."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Self

_STOPPING = "stopping after the current batch (Ctrl-C again to stop at once)"
_AGAIN_S = 0.25  # seconds after which an interrupt that no code handles is raised again


class EarlyInterrupt:
    """The handler of SIGINT until a command installs its own: raises ``KeyboardInterrupt``.

    What is raised in a finalizer or in a callback of the import system is only printed, and C
    code may drop it. So it is raised again, several times a second, while no code handles it.
    """

    def __init__(self) -> None:
        self._was_raised = False
        self._repeats = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Raise, and go on until ``take_over``."""
        self._was_raised = self._repeats = True
        signal.signal(signal.SIGALRM, self._raise_again)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
        raise KeyboardInterrupt

    def install(self) -> None:
        """Handle SIGINT from now on, unless it is ignored or somebody else handles it."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self)

    def take_over(self) -> bool:
        """Raise no more by itself; return whether it ever raised."""
        if self._repeats:
            self._repeats = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        return self._was_raised

    def _raise_again(self, _number: int, _frame: FrameType | None) -> None:
        handled = sys.exception()
        seen = []  # links between exceptions can form a circle
        while handled is not None and handled not in seen:
            if isinstance(handled, KeyboardInterrupt):
                return
            seen.append(handled)
            handled = handled.__context__
        if self._repeats:
            raise KeyboardInterrupt


def uninstall_early_interrupt() -> None:
    """Let Python handle SIGINT again, if an ``EarlyInterrupt`` does: the work is over."""
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, EarlyInterrupt):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        handler.take_over()


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
            if (
                isinstance(previous, EarlyInterrupt)
                and previous.take_over()
                and not self._requested
            ):
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
