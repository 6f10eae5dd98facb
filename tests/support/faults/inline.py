"""The work of the parsing processes done in this one, so that a run makes the same calls each time.

What is done is the same: ``parsing.process`` and the built-in model.
"""

from engine.indexing.fork_server import WorkerLimits
from engine.indexing.parse_records import Task
from engine.indexing.parsing import _BuiltInVectors, process
from engine.indexing.workers import Channel, FairQueue, WorkerPool, WorkItem

_DEADLINE_MS = 10_000
_VECTORS = _BuiltInVectors()


class InlineChannel(Channel):
    """A channel without processes; a batch is done when it is handed in."""

    def submit(self, batch: list[Task]) -> None:
        """Do a batch."""
        item = WorkItem(batch, self._answers)
        self.pending_bytes += item.size_bytes
        self.pending_files += len(item.tasks)
        self.pending_batches += 1
        outcomes = process(batch, _DEADLINE_MS)
        self._answers.put((item, _VECTORS.add_vectors(batch, outcomes)))


class InlinePool(WorkerPool):
    """A pool without processes."""

    def __init__(self) -> None:
        super().__init__(0, WorkerLimits(deadline_ms=_DEADLINE_MS))

    def channel(self) -> Channel:
        """Open a channel."""
        return InlineChannel(FairQueue(), lambda _pending: None, 0)
