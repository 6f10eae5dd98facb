"""How far the doctor is: one line that changes on a terminal, lines now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from engine.doctor_records import CheckCallback, CheckProgress
from web.terminal import columns_of, printable, shortened

_LINE_INTERVAL_S = 5.0
_REDRAW_INTERVAL_S = 0.1


@contextmanager
def checks_on(
    stream: TextIO, *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[CheckCallback]:
    """Show progress while the block runs.

    Args:
        stream: Where to show it.
        quiet: Show nothing.
        clock: Seconds that only grow.
    """
    lines = CheckLines(stream, clock)
    try:
        yield _ignore if quiet else lines.update
    finally:
        lines.end()


class CheckLines:
    """Shows what is looked at; what is quickly done says nothing in a pipe."""

    def __init__(self, stream: TextIO, clock: Callable[[], float]) -> None:
        self._stream = stream
        self._clock = clock
        self._is_terminal = stream.isatty()
        self._said_at_s = 0.0 if self._is_terminal else clock()
        self._is_open = False

    def update(self, progress: CheckProgress) -> None:
        """Take note of how far it is."""
        interval_s = _REDRAW_INTERVAL_S if self._is_terminal else _LINE_INTERVAL_S
        now_s = self._clock()
        if now_s - self._said_at_s < interval_s:
            return
        self._said_at_s = now_s
        line = line_of(progress)
        if self._is_terminal:
            line = shortened(line, max(1, (columns_of(self._stream) or 80) - 1))
            self._write(f"\r\x1b[K{line}")
            self._is_open = True
        else:
            self._write(f"{line}\n")

    def end(self) -> None:
        """Wipe the line that changes."""
        if self._is_open:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:  # nobody reads it any more
            self._said_at_s = float("inf")


def line_of(progress: CheckProgress) -> str:
    """Say how far the doctor is in one line."""
    step = printable(progress.step.replace("_", " "))
    if progress.total:
        return f"{step}, {progress.done:,}/{progress.total:,}"
    return step


def _ignore(_progress: CheckProgress) -> None:
    pass
