"""How long a job waits for something already, and when it looks for it the next time.

A job that went on and came no further waits for the same thing still: such rounds get longer, so
that something that seems to be there and is not costs little and fills no history.
"""

import time
from collections.abc import Callable

_FIRST_PROBE_S = 0.5
_LONGEST_PROBE_S = 8.0
_LONGEST_REST_S = 15.0


class Outage:
    """The waits of one job.

    Args:
        clock: Gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began_s = clock()
        self._done: object = None
        self._rounds = 0  # since something was done
        self._interval_s = _FIRST_PROBE_S
        self._next_s = self._began_s

    def begin(self, done: object) -> None:
        """Begin to wait.

        Args:
            done: What is done by now; the same as the last time means that nothing was.
        """
        now_s = self._clock()
        if self._rounds == 0 or done != self._done:
            self._began_s, self._done, self._rounds = now_s, done, 0
        rest_s = min(_FIRST_PROBE_S * 2**self._rounds, _LONGEST_REST_S)
        self._rounds += 1
        self._interval_s = _FIRST_PROBE_S
        self._next_s = now_s + rest_s

    @property
    def lasts_s(self) -> float:
        """Give for how long nothing was done."""
        return self._clock() - self._began_s

    def until_probe_s(self) -> float:
        """Give how long to wait before the next look, which then counts as begun.

        Looks begin at most 8 s apart, or as soon as a longer one has ended.
        """
        now_s = self._clock()
        wait_s = max(0.0, self._next_s - now_s)
        self._interval_s = min(2 * self._interval_s, _LONGEST_PROBE_S)
        self._next_s = now_s + wait_s + self._interval_s
        return wait_s
