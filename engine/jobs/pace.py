"""How fast a job goes, and how long it still takes: arithmetic on what the job tells.

Parsing is foretold by bytes, for the largest files come first and files a second mislead; embedding
by chunks. What was expected of this machine counts as two seconds of experience, and experience
fades within a minute or so: the first guesses are not wild, a stall makes the end recede, and a
faster part brings it nearer.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.records import Phase, Progress

_RATE_WINDOW_S = 15.0
_RATE_STEP_S = 0.25  # between two remembered counts
_SAYS_NOTHING_S = 1.0  # of a phase, and of the whole job
_TRUST_S = 2.0  # what is expected weighs as much as so much experience
_FADES_S = 60.0  # experience of so long ago weighs 1/e
_SLOWEST = 1000  # a stall lets a speed fall to this part of what is expected


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is expected of a job before anything of it can be seen."""

    seconds: float | None = None  # of the whole job; None: not estimated
    bytes_a_second: float = 4e6  # of changed source, through reading, parsing and storing
    chunks_a_second: float | None = None  # None: vectors are written with their chunks
    bytes_a_chunk: float = 1150.0
    chunks_lacking: int = 0  # vectors of what is stored already
    finish_share: float = 0.0  # of the time for parsing: what deleting old contents takes after it


class Pace:
    """The pace of one try of a job, from any thread.

    Args:
        outlook: What is expected.
        clock: Gives seconds and never goes backwards; what ``note`` is given comes from it too.
    """

    def __init__(
        self, outlook: Outlook | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._outlook = outlook or Outlook()
        self._clock = clock
        self._lock = threading.Lock()
        self._started_s = clock()
        self._bytes = _Speed(self._outlook.bytes_a_second)
        self._chunks = _Speed(self._outlook.chunks_a_second or 0.0)
        self._last: Progress | None = None
        self._last_s = self._started_s
        self._phase_s = self._started_s  # when this phase began
        self._counts: deque[tuple[float, int]] = deque()  # (time, done) of this phase
        self._bytes_total = 0  # of the last scan that found any

    def note(self, progress: Progress, now_s: float) -> None:
        """Hear how far the run is.

        Time counts only between two calls in the same phase: not the time in which a job waited
        or, with counts that begin anew, started again.
        """
        with self._lock:
            if self._goes_on(progress):
                self._learn(progress, now_s - self._last_s)
            else:
                self._counts.clear()
                self._phase_s = now_s
            self._last, self._last_s = progress, now_s
            self._bytes_total = progress.bytes_total or self._bytes_total
            self._remember(now_s, progress.done)

    @property
    def rate(self) -> float | None:
        """Files a second, chunks while embedding, over the last 15 s or so.

        None in the first second of a phase.
        """
        with self._lock:
            if not self._counts or self._last is None:
                return None
            begin_s, begin = self._counts[0]
            passed_s = self._clock() - begin_s
            if passed_s < _SAYS_NOTHING_S:
                return None
            return (self._last.done - begin) / passed_s

    @property
    def remaining_ms(self) -> int | None:
        """The time that is left; None when nothing can be said, as in the first second."""
        with self._lock:
            now_s = self._clock()
            if self._last is None or now_s - self._started_s < _SAYS_NOTHING_S:
                return None
            seconds = self._remaining_s(self._last, now_s)
            return None if seconds is None else max(0, round(seconds * 1000))

    def _goes_on(self, progress: Progress) -> bool:
        last = self._last
        return (
            last is not None
            and last.phase is progress.phase
            and last.done <= progress.done
            and last.bytes_done <= progress.bytes_done
        )

    def _learn(self, progress: Progress, seconds: float) -> None:
        assert self._last
        if progress.phase is Phase.PARSING:
            self._bytes.add(progress.bytes_done - self._last.bytes_done, seconds)
        elif progress.phase is Phase.EMBEDDING:
            self._chunks.add(progress.done - self._last.done, seconds)

    def _remaining_s(self, last: Progress, now_s: float) -> float | None:
        silent_s = max(0.0, now_s - self._last_s)
        if last.phase is Phase.SCANNING:
            left = (self._outlook.seconds or 0.0) - (now_s - self._started_s)
            return left if left > 0 else None
        if last.phase is Phase.EMBEDDING:
            return self._chunks.seconds_for((last.total or 0) - last.done, silent_s)
        if last.phase is Phase.PARSING:
            left_bytes = last.bytes_total - last.bytes_done
            parsing_s = self._bytes.seconds_for(left_bytes, silent_s)
            if parsing_s is None:
                return None
            return parsing_s + self._finishing_s() + self._embedding_s()
        finishing_s = self._finishing_s()
        if last.phase is Phase.FINISHING:
            finishing_s = max(0.0, finishing_s - (now_s - self._phase_s))
        return finishing_s + self._embedding_s()

    def _finishing_s(self) -> float:
        """Give the time for deleting what stale contents left."""
        share = self._outlook.finish_share
        return share * (self._bytes.seconds_for(self._bytes_total, 0.0) or 0.0)

    def _embedding_s(self) -> float:
        """Give the time for vectors that are made when all files are done."""
        if self._outlook.chunks_a_second is None:
            return 0.0
        chunks = self._outlook.chunks_lacking + self._bytes_total / self._outlook.bytes_a_chunk
        return self._chunks.seconds_for(chunks, 0.0) or 0.0

    def _remember(self, now_s: float, done: int) -> None:
        counts = self._counts
        if not counts or now_s - counts[-1][0] >= _RATE_STEP_S:
            counts.append((now_s, done))
        while len(counts) > 1 and now_s - counts[1][0] >= _RATE_WINDOW_S:
            counts.popleft()


class _Speed:
    """Work a second, from experience that fades."""

    def __init__(self, expected: float) -> None:
        self._slowest = expected / _SLOWEST
        self._work = expected * _TRUST_S
        self._seconds = _TRUST_S if expected else 0.0

    def add(self, work: float, seconds: float) -> None:
        kept = math.exp(-seconds / _FADES_S)
        self._work = self._work * kept + work
        self._seconds = self._seconds * kept + seconds

    def seconds_for(self, work: float, silent_s: float) -> float | None:
        """Give the time for so much work, when nothing has come for some time.

        None when no work was ever seen or expected.
        """
        if work <= 0:
            return 0.0
        kept = math.exp(-silent_s / _FADES_S)
        seconds = self._seconds * kept + silent_s
        speed = max(self._work * kept / seconds if seconds else 0.0, self._slowest)
        return work / speed if speed else None
