"""The work of the parsing processes done in this one, so that a run makes the same calls each time.

What is done is the same: ``workers.process`` and the built-in model.
"""

from engine.workers import Task, WorkerLimits, WorkerPool, _bytes_of, _Meaning, process

_DEADLINE_MS = 10_000
_MEANING = _Meaning()


class InlinePool(WorkerPool):
    """A pool without processes; a batch is done when it is handed in."""

    def __init__(self) -> None:
        super().__init__(0, WorkerLimits(deadline_ms=_DEADLINE_MS))

    def submit(self, batch: list[Task]) -> None:
        """Do a batch."""
        self.pending_bytes += _bytes_of(batch)
        self.pending_batches += 1
        outcomes = [process(task, _DEADLINE_MS) for task in batch]
        outcomes = _MEANING.add_vectors(batch, outcomes)
        self._done.put((self._epoch, _bytes_of(batch), outcomes))
