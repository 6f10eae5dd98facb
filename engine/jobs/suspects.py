"""Which files may be what kills the process: those it had in hand when it died, and how often."""

import json

from engine.records import display_path

_POISON_TRIES = 3


class Suspects:
    """The suspects of one job.

    Args:
        stored: They as JSON, as the job's row has them.
    """

    def __init__(self, stored: str) -> None:
        self._times: dict[str, int] = json.loads(stored)

    def is_poison(self, path: str) -> bool:
        """Say whether a file was in hand too often when the process died."""
        return self._times.get(display_path(path), 0) >= _POISON_TRIES

    def after_crash(self, path: str) -> str:
        """Give them as JSON after a death with this file in hand; ``""`` is none.

        A file that ends the process does so each time: who was not in hand this time is cleared.
        """
        times = {name: times for name, times in self._times.items() if times >= _POISON_TRIES}
        if path:
            name = display_path(path)
            times[name] = self._times.get(name, 0) + 1
        return json.dumps(times)
