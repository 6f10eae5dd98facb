"""The speed of a running job, its remaining time, and why it stalls.

The time for parsing is predicted from bytes, because the largest files come first and files a
second would mislead; that for embedding from chunks. Speeds are exponential moving averages: a
stall raises the remaining time, and a faster part lowers it. That of bytes starts at the speed
expected of this machine, so that early predictions are not wild. What is expected of a model, or
its server, can be wrong by far, and counts only until it has embedded the first chunks.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from engine.index_records import Phase, Progress

_FADES_S = 60.0  # a measurement this old weighs 1/e in the remaining time
_RATE_FADES_S = 10.0  # the same in the rate that is shown
_TRUST_S = 2.0  # the expectation weighs as much as so many seconds of measurement
_SAYS_NOTHING_S = 3.0  # of a phase, and of the whole job: until then it is no measurement
_SLOWEST = 1000  # a stall lets a speed fall to this part of what is expected
_SLOW_S = 5.0  # without a step, after which a reason is given


class Expected(NamedTuple):
    """The expectation for a job before its first measurement."""

    seconds: float | None = None  # of the whole job; None: not estimated
    bytes_a_second: float = 4e6  # of source, through reading, parsing and storing
    chunks_a_second: float | None = None  # None: no vectors are made after the files
    bytes_a_chunk: float = 1150.0
    finish_share: float = 0.0  # of the time for parsing: what deleting old contents takes after it


class Measured(NamedTuple):
    """The measurements of one attempt at a job."""

    parse_s: float
    parse_bytes: int
    parse_files: int
    reused_files: int  # of them: their contents were stored already
    embedded: int  # chunks whose vectors were made after the files
    embed_s: float


class ProgressTracker:
    """Tracks the progress of one attempt at a job; for any thread.

    Args:
        expected: The expected duration and speed.
        clock: Returns seconds and never goes backwards.
    """

    def __init__(
        self, expected: Expected | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._expected = expected or Expected()
        self._clock = clock
        self._lock = threading.Lock()
        self._started_s = self._last_s = self._moved_s = self._phase_s = clock()
        self._last: Progress | None = None
        self._waits = True  # no report since it began or waited
        self._bytes = _Speed(self._expected.bytes_a_second, _FADES_S)
        self._expected_embedding = _Speed(self._expected.chunks_a_second or 0.0, _FADES_S)
        self._embedding = _Speed(0.0, _FADES_S)
        self._shown = _Speed(0.0, _RATE_FADES_S)
        self._bytes_total = 0  # of the last scan that found any
        self._embedded = 0
        self._has_vectors = False  # the index that takes the place of another is whole
        self._spent_s = dict.fromkeys(Phase, 0.0)

    def note(self, progress: Progress) -> None:
        """Record the progress of the run.

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
            if progress.phase is not Phase.STORING:  # which may follow either
                self._has_vectors = progress.phase is Phase.EMBEDDING
            self._last, self._last_s, self._waits = progress, now_s, False
            self._bytes_total = progress.bytes_total or self._bytes_total

    def restart(self) -> None:
        """Exclude the time since the last call, in which the job was blocked."""
        with self._lock:
            self._waits = True

    @property
    def phase(self) -> Phase | None:
        """The current phase; None before the first report."""
        return self._last.phase if self._last else None

    @property
    def path(self) -> str:
        """The current file; empty before the first report."""
        return self._last.current_path if self._last else ""

    @property
    def rate(self) -> float | None:
        """Files a second, chunks while embedding, of late; None in the first seconds of a phase."""
        with self._lock:
            now_s = self._clock()
            if self._waits or now_s - self._phase_s < _SAYS_NOTHING_S:
                return None
            return self._shown.a_second(now_s - self._last_s)

    @property
    def remaining_ms(self) -> int | None:
        """The remaining time; None if unknown, as in the first seconds."""
        with self._lock:
            now_s = self._clock()
            if self._last is None or self._waits or now_s - self._started_s < _SAYS_NOTHING_S:
                return None
            seconds = self._remaining_s(self._last, now_s)
            return None if seconds is None else max(0, round(seconds * 1000))

    @property
    def reason_to_wait(self) -> str | None:
        """The reason why a run is stalled; None while it makes progress."""
        idle_s = self._clock() - self._moved_s
        if idle_s < _SLOW_S:
            return None
        if self.phase is Phase.EMBEDDING:
            return f"waiting for the embedding model, for {idle_s:.0f} s"
        if self.phase is Phase.PARSING:
            return f"processing a file that takes long, for {idle_s:.0f} s"
        return None

    def measured(self, parse_files: int, reused_files: int) -> Measured:
        """Return the measurements, with the given numbers of files."""
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
            self._embedding.add(progress.done - last.done, seconds)
            self._embedded += progress.done - last.done

    def _remaining_s(self, last: Progress, now_s: float) -> float | None:
        silent_s = max(0.0, now_s - self._last_s)
        if last.phase is Phase.SCANNING:
            left_s = (self._expected.seconds or 0.0) - (now_s - self._started_s)
            return left_s if left_s > 0 else None
        if last.phase is Phase.EMBEDDING:
            if not self._embedded or now_s - self._phase_s < _SAYS_NOTHING_S:
                return None
            return self._embedding.seconds_for((last.total or 0) - last.done, silent_s)
        parsing_s: float | None = 0.0
        if last.phase is Phase.PARSING:
            parsing_s = self._bytes.seconds_for(last.bytes_total - last.bytes_done, silent_s)
        finishing_s = self._bytes.seconds_for(self._bytes_total) or 0.0
        finishing_s *= self._expected.finish_share
        if last.phase is Phase.FINISHING:
            finishing_s = max(0.0, finishing_s - (now_s - self._phase_s))
        chunks = self._bytes_total / self._expected.bytes_a_chunk
        later = self._expected.chunks_a_second is not None and not self._has_vectors
        embedding = self._embedding if self._embedded else self._expected_embedding
        embedding_s = embedding.seconds_for(chunks) or 0.0 if later else 0.0
        return None if parsing_s is None else parsing_s + finishing_s + embedding_s


class _Speed:
    """An exponential moving average of work a second."""

    def __init__(self, expected: float, fades_s: float) -> None:
        self._slowest = expected / _SLOWEST
        self._fades_s = fades_s
        self._work = expected * _TRUST_S
        self._seconds = _TRUST_S if expected else 0.0

    def add(self, work: float, seconds: float) -> None:
        kept = math.exp(-seconds / self._fades_s)
        if not self._slowest and seconds:
            self._slowest = work / seconds / _SLOWEST
        self._work = self._work * kept + work
        self._seconds = self._seconds * kept + seconds

    def a_second(self, silent_s: float = 0.0) -> float:
        """Return the speed after some silence; 0 if unknown."""
        kept = math.exp(-silent_s / self._fades_s)
        seconds = self._seconds * kept + silent_s
        return max(self._work * kept / seconds if seconds else 0.0, self._slowest)

    def seconds_for(self, work: float, silent_s: float = 0.0) -> float | None:
        """Return the time for some work; None if the speed is unknown."""
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
