"""How much a client may ask, by the address of its socket alone: headers can say anything."""

import time
from collections.abc import Callable

from web.errors import Refusal

MOST_A_SECOND = 50
_MOST_CLIENTS = 4096


class Rates:
    """A bucket of requests for each client, filled anew all the time; of the event loop's thread.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # client: what is left, and when

    def take(self, client: str) -> None:
        """Count a request.

        Raises:
            Refusal: The client has asked for too much.
        """
        now_s = self._clock()
        left, at_s = self._buckets.pop(client, (float(MOST_A_SECOND), now_s))
        left = min(float(MOST_A_SECOND), left + (now_s - at_s) * MOST_A_SECOND)
        is_full = left < 1
        self._buckets[client] = (left if is_full else left - 1, now_s)  # the newest stand last
        if len(self._buckets) > _MOST_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        if is_full:
            raise Refusal(
                "too_many_requests",
                f"more than {MOST_A_SECOND} requests a second",
                hint="wait a second",
            )
