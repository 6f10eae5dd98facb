"""Where a run is, and why when it has not moved for a while."""

from engine.records import Phase, Progress

_SLOW_S = 5.0  # without a step: then a reason is given


class Movement:
    """Follows one run by what it tells of its progress.

    Args:
        now_s: A clock that never goes back, as in the other calls.
    """

    def __init__(self, now_s: float) -> None:
        self.phase: Phase | None = None
        self.path = ""  # the file that it is at
        self._place: tuple[Phase, int, int] | None = None
        self._moved_s = now_s

    def note(self, progress: Progress, now_s: float) -> None:
        """Hear how far the run is."""
        self.phase, self.path = progress.phase, progress.current_path
        place = (progress.phase, progress.done, progress.bytes_done)
        if place != self._place:
            self._place, self._moved_s = place, now_s

    def reason_to_wait(self, now_s: float) -> str | None:
        """Say what it is that takes so long; None while it goes on."""
        idle_s = now_s - self._moved_s
        if idle_s < _SLOW_S:
            return None
        if self.phase is Phase.EMBEDDING:
            return f"waiting for the embedding model, for {idle_s:.0f} s"
        if self.phase is Phase.PARSING:
            return f"processing a file that takes long, for {idle_s:.0f} s"
        return None
