"""How fast a running job goes, how long it still takes, and why it does not move.

Parsing is foretold by bytes, for the largest files come first and files a second mislead; embedding
by chunks. Speeds are exponential moving averages that begin with what is expected of this machine:
the first answers are not wild, a stall makes the end recede, and a faster part brings it nearer.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from engine.records import Phase, Progress

_FADES_S = 60.0  # what was seen so long ago weighs 1/e in the remaining time
_RATE_FADES_S = 10.0  # the same in the rate that is shown
_TRUST_S = 2.0  # what is expected weighs as much as so many seconds of experience
_SAYS_NOTHING_S = 1.0  # of a phase, and of the whole job
_SLOWEST = 1000  # a stall lets a speed fall to this part of what is expected
_SLOW_S = 5.0  # without a step: then a reason is given


class Expected(NamedTuple):
    """What is expected of a job before anything of it can be seen."""

    seconds: float | None = None  # of the whole job; None: not estimated
    bytes_a_second: float = 4e6  # of source, through reading, parsing and storing
    chunks_a_second: float | None = None  # None: no vectors are made after the files
    bytes_a_chunk: float = 1150.0
    finish_share: float = 0.0  # of the time for parsing: what deleting old contents takes after it


class Measured(NamedTuple):
    """What one try of a job measured of itself."""

    parse_s: float
    parse_bytes: int
    parse_files: int
    reused_files: int  # of them: their contents were stored already
    embedded: int  # chunks whose vectors were made after the files
    embed_s: float


class ProgressTracker:
    """Follows one try of a job by what it tells of its progress; called from any thread.

    Args:
        expected: What is expected of it.
        clock: Gives seconds and never goes backwards.
    """

    def __init__(
        self, expected: Expected | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._expected = expected or Expected()
        self._clock = clock
        self._lock = threading.Lock()
        self._started_s = self._last_s = self._moved_s = self._phase_s = clock()
        self._last: Progress | None = None
        self._waits = True  # nothing was told since it began or waited
        self._bytes = _Speed(self._expected.bytes_a_second, _FADES_S)
        self._chunks = _Speed(self._expected.chunks_a_second or 0.0, _FADES_S)
        self._shown = _Speed(0.0, _RATE_FADES_S)
        self._bytes_total = 0  # of the last scan that found any
        self._embedded = 0
        self._spent_s = dict.fromkeys(Phase, 0.0)

    def note(self, progress: Progress) -> None:
        """Take in how far the run is.

        Time counts only between two calls in the same phase: not the time in which a job waited
        or, with counts that begin anew, started again.
        """
        with self._lock:
            now_s, last = self._clock(), self._last
            if last is None or self._waits or not _goes_on(last, progress):
                self._shown = _Speed(0.0, _RATE_FADES_S)
                self._phase_s = self._moved_s = now_s
            else:
                self._add(last, progress, now_s - self._last_s)
                if (last.done, last.bytes_done) != (progress.done, progress.bytes_done):
                    self._moved_s = now_s
            self._last, self._last_s, self._waits = progress, now_s, False
            self._bytes_total = progress.bytes_total or self._bytes_total

    def restart(self) -> None:
        """Leave out the time since the last call: the job waited for something outside."""
        with self._lock:
            self._waits = True

    @property
    def phase(self) -> Phase | None:
        """What the run does now; None before it has told."""
        return self._last.phase if self._last else None

    @property
    def path(self) -> str:
        """The file that it is at; empty before it has told."""
        return self._last.current_path if self._last else ""

    @property
    def rate(self) -> float | None:
        """Files a second, chunks while embedding, of late; None in the first second of a phase."""
        with self._lock:
            now_s = self._clock()
            if self._waits or now_s - self._phase_s < _SAYS_NOTHING_S:
                return None
            return self._shown.a_second(now_s - self._last_s)

    @property
    def remaining_ms(self) -> int | None:
        """The time that is left; None when nothing can be said, as in the first second."""
        with self._lock:
            now_s = self._clock()
            if self._last is None or self._waits or now_s - self._started_s < _SAYS_NOTHING_S:
                return None
            seconds = self._remaining_s(self._last, now_s)
            return None if seconds is None else max(0, round(seconds * 1000))

    @property
    def reason_to_wait(self) -> str | None:
        """What it is that takes so long; None while the run goes on."""
        idle_s = self._clock() - self._moved_s
        if idle_s < _SLOW_S:
            return None
        if self.phase is Phase.EMBEDDING:
            return f"waiting for the embedding model, for {idle_s:.0f} s"
        if self.phase is Phase.PARSING:
            return f"processing a file that takes long, for {idle_s:.0f} s"
        return None

    def measured(self, parse_files: int, reused_files: int) -> Measured:
        """Return what was measured while so many files were done."""
        with self._lock:
            return Measured(
                parse_s=self._spent_s[Phase.PARSING],
                parse_bytes=self._bytes_total,
                parse_files=parse_files,
                reused_files=reused_files,
                embedded=self._embedded,
                embed_s=self._spent_s[Phase.EMBEDDING],
            )

    def _add(self, last: Progress, progress: Progress, seconds: float) -> None:
        self._spent_s[progress.phase] += seconds
        self._shown.add(progress.done - last.done, seconds)
        if progress.phase is Phase.PARSING:
            self._bytes.add(progress.bytes_done - last.bytes_done, seconds)
        elif progress.phase is Phase.EMBEDDING:
            self._chunks.add(progress.done - last.done, seconds)
            self._embedded += progress.done - last.done

    def _remaining_s(self, last: Progress, now_s: float) -> float | None:
        silent_s = max(0.0, now_s - self._last_s)
        if last.phase is Phase.SCANNING:
            left_s = (self._expected.seconds or 0.0) - (now_s - self._started_s)
            return left_s if left_s > 0 else None
        if last.phase is Phase.EMBEDDING:
            return self._chunks.seconds_for((last.total or 0) - last.done, silent_s)
        parsing_s: float | None = 0.0
        if last.phase is Phase.PARSING:
            parsing_s = self._bytes.seconds_for(last.bytes_total - last.bytes_done, silent_s)
        finishing_s = self._bytes.seconds_for(self._bytes_total) or 0.0
        finishing_s *= self._expected.finish_share
        if last.phase is Phase.FINISHING:
            finishing_s = max(0.0, finishing_s - (now_s - self._phase_s))
        chunks = self._bytes_total / self._expected.bytes_a_chunk
        later = self._expected.chunks_a_second is not None
        embedding_s = self._chunks.seconds_for(chunks) or 0.0 if later else 0.0
        return None if parsing_s is None else parsing_s + finishing_s + embedding_s


class _Speed:
    """Work a second: an exponential moving average."""

    def __init__(self, expected: float, fades_s: float) -> None:
        self._slowest = expected / _SLOWEST
        self._fades_s = fades_s
        self._work = expected * _TRUST_S
        self._seconds = _TRUST_S if expected else 0.0

    def add(self, work: float, seconds: float) -> None:
        kept = math.exp(-seconds / self._fades_s)
        self._work = self._work * kept + work
        self._seconds = self._seconds * kept + seconds

    def a_second(self, silent_s: float = 0.0) -> float:
        """Return the speed, when nothing has come for some time; 0 when none is known."""
        kept = math.exp(-silent_s / self._fades_s)
        seconds = self._seconds * kept + silent_s
        return max(self._work * kept / seconds if seconds else 0.0, self._slowest)

    def seconds_for(self, work: float, silent_s: float = 0.0) -> float | None:
        """Return the time for so much work; None when the speed is not known."""
        if work <= 0:
            return 0.0
        speed = self.a_second(silent_s)
        return work / speed if speed else None


def _goes_on(last: Progress, progress: Progress) -> bool:
    return (
        last.phase is progress.phase
        and last.done <= progress.done
        and last.bytes_done <= progress.bytes_done
    )
