"""How far an indexing run is, in words, and the lines of it that a pipe or a log gets."""

import time
from collections.abc import Callable
from typing import TextIO

from engine.records import Phase, Progress
from web.terminal import printable
from web.wording import count, duration, percent

_LINE_INTERVAL_S = 10.0
_LINE_FILES = 100
_EARLIEST_MS = 1000  # starting the workers takes part of the first second: no rate means much
_SHORTEST_INTERVAL_S = 2.0  # 100 files can be 20 ms of work; a log is read by people

_PHASES = {
    Phase.SCANNING: "looking for files",
    Phase.PARSING: "indexing",
    Phase.FINISHING: "finishing",
    Phase.EMBEDDING: "embedding",
}


class ProgressLines:
    """A line when the phase changes, and after 100 files or 10 seconds, at most one in 2 seconds.

    Args:
        stream: Where the lines go. When nobody reads it any more the run goes on in silence.
        clock: Seconds that only grow.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._phase: Phase | None = None
        self._said_at_s = 0.0
        self._said_done = 0

    def update(self, progress: Progress) -> None:
        """Take note of how far the run is; write a line when one is due."""
        now_s = self._clock()
        if not self._is_due(progress, now_s):
            return
        self._phase, self._said_at_s, self._said_done = progress.phase, now_s, progress.done
        try:
            self._stream.write(line_of(progress) + "\n")
            self._stream.flush()
        except OSError:
            self._said_at_s = float("inf")

    def _is_due(self, progress: Progress, now_s: float) -> bool:
        if self._said_at_s == float("inf"):
            return False
        if progress.phase != self._phase:
            return True
        waited_s = now_s - self._said_at_s
        if progress.done - self._said_done >= _LINE_FILES:
            return waited_s >= _SHORTEST_INTERVAL_S
        return waited_s >= _LINE_INTERVAL_S


def line_of(progress: Progress) -> str:
    """Say how far a run is in one line: phase, files, share, rate, time left, current file."""
    parts = [phase_name(progress.phase)]
    unit = unit_of(progress)
    if progress.total is None:
        parts.append(count(progress.done, unit))
    else:
        share = progress.done / progress.total if progress.total else 1.0
        parts.append(f"{progress.done:,}/{count(progress.total, unit)} ({percent(share)})")
    rate = rate_of(progress)
    if rate:
        parts.append(f"{rate:,.0f} {unit}s/s")
    remaining_ms = remaining_ms_of(progress)
    if remaining_ms is not None:
        parts.append(f"{duration(remaining_ms)} left")
    line = ", ".join(parts)
    return f"{line}: {printable(progress.current_path)}" if progress.current_path else line


def phase_name(phase: Phase) -> str:
    """Give a phase in words."""
    return _PHASES[phase]


def unit_of(progress: Progress) -> str:
    """Say what is counted."""
    return "chunk" if progress.phase is Phase.EMBEDDING else "file"


def rate_of(progress: Progress) -> float:
    """Give the mean files, or chunks, per second so far; 0 when nothing can be said yet."""
    if progress.elapsed_ms < _EARLIEST_MS:
        return 0.0
    return progress.done * 1000 / progress.elapsed_ms


def remaining_ms_of(progress: Progress) -> float | None:
    """Estimate the time left from the mean rate; ``None`` while the end is not known."""
    rate = rate_of(progress)
    if progress.total is None or not rate or progress.done >= progress.total:
        return None
    return (progress.total - progress.done) * 1000 / rate
