"""How fast a job goes and how long it still takes."""

from engine.records import Progress


class Pace:
    """Rate and remaining time."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self.remaining_ms: int | None = None

    def note(self, progress: Progress, now_s: float) -> None:
        """Hear how far the run is."""
