"""How far an indexing run is, told at most ten times a second."""

import time

from engine.journal import Tally
from engine.records import Phase, Progress, ProgressCallback

_TELL_EVERY_S = 0.1


class Meter:
    """Keeps what a run's progress is made of.

    Args:
        on_progress: Who hears it.
        tally: Whose ``done`` counts the files.
    """

    def __init__(self, on_progress: ProgressCallback, tally: Tally) -> None:
        self._on_progress = on_progress
        self._tally = tally
        self._started = time.monotonic()
        self._told = 0.0
        #: The last path that anything was done with.
        self.path = ""
        #: Files to look at; None while that is not known.
        self.total: int | None = None
        #: Bytes of source that have an outcome, and all that are to have one.
        self.bytes_done = self.bytes_total = 0

    def tell(self, phase: Phase, *, found: int | None = None, force: bool = False) -> None:
        """Report progress, unless the last report was just now.

        Args:
            phase: What goes on.
            found: What a scan has found so far, in place of the files that are done.
            force: Report it in any case.
        """
        now = time.monotonic()
        if not force and now - self._told < _TELL_EVERY_S:
            return
        self._told = now
        self._on_progress(
            Progress(
                phase=phase,
                done=self._tally.done if found is None else found,
                total=self.total,
                current_path=self.path,
                bytes_done=self.bytes_done,
                bytes_total=self.bytes_total,
                elapsed_ms=int((now - self._started) * 1000),
            )
        )
