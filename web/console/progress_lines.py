"""The lines about a job's progress that a pipe or a log gets."""

import time
from collections.abc import Callable
from typing import TextIO

from engine.job_records import Job, JobState
from web.console.job_wording import is_starting, line_of

_LINE_INTERVAL_S = 10.0
_LINE_FILES = 100
_START_S = 1.0
_SHORTEST_INTERVAL_S = 2.0  # 100 files can be 20 ms of work; a log is read by people


class ProgressLines:
    """A line when the job changes to something else, and after 100 files or 10 seconds.

    At most one in 2 seconds speaks of the same phase. That it has not begun yet is said when it
    lasts for a second.

    Args:
        stream: Where the lines go. When nobody reads it any more the job goes on in silence.
        clock: Seconds that only grow.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._doing: object = None
        self._first_s: float | None = None
        self._said_at_s = 0.0
        self._said_done = 0

    def update(self, job: Job) -> None:
        """Take note of how far the job is; write a line when one is due."""
        now_s = self._clock()
        if self._first_s is None:
            self._first_s = now_s
        if is_starting(job) and now_s - self._first_s < _START_S:
            return
        if not self._is_due(job, now_s):
            return
        self._doing, self._said_at_s, self._said_done = _doing(job), now_s, job.done
        try:
            self._stream.write(line_of(job) + "\n")
            self._stream.flush()
        except OSError:
            self._said_at_s = float("inf")

    def _is_due(self, job: Job, now_s: float) -> bool:
        if self._said_at_s == float("inf"):
            return False
        if _doing(job) != self._doing:
            return True
        waited_s = now_s - self._said_at_s
        if job.done - self._said_done >= _LINE_FILES:
            return waited_s >= _SHORTEST_INTERVAL_S
        return waited_s >= _LINE_INTERVAL_S


def _doing(job: Job) -> tuple[object, ...]:
    """Give what a new line is due for when it changes; a running job counts while it waits."""
    waiting = bool(job.waiting) if job.status is JobState.RUNNING else job.waiting
    return job.status, job.phase, waiting, job.position
