"""A job in hand without an indexer: what one does to it, and what is written of it."""

import json

from engine.index_records import Phase, Progress
from engine.jobs.context import JobContext
from engine.jobs.ledger import Ledger
from engine.store.jobs import CheckpointRow, JobRow
from tests.support.ledger import events_of


class Work:
    """A job in hand, and what an indexer does to it: files that get an outcome, and commits.

    Args:
        ledger: Of its project.
        context: What the indexer would have.
    """

    def __init__(self, ledger: Ledger, context: JobContext) -> None:
        self.ledger = ledger
        self.context = context

    def do(self, files: int = 0, chunks: int = 0) -> None:
        """Commit a transaction in which so many files or chunks are done."""
        self.context.tally.done += files
        self.context.tally.files_indexed += files
        self.context.tally.embeddings += chunks
        with self.ledger.store.with_hook(self.context), self.ledger.store.write():
            pass

    def tell(self, phase: Phase, path: str = "", *, done: int = 0, total: int = 0) -> None:
        """Report how far it is, and at which file."""
        self.context.report(
            Progress(
                phase=phase, done=done, total=total, current_path=path, bytes_done=0, elapsed_ms=0
            )
        )

    @property
    def row(self) -> JobRow:
        """The job's row as it is now."""
        return self.ledger.find(self.context.row.uuid)

    def events(self, kind: str) -> list[dict[str, object]]:
        """Give what its events of a type say, in order."""
        found = events_of(self.ledger, self.context.row)
        return [json.loads(event.context) for event in found if event.type == kind]

    def checkpoints(self) -> list[CheckpointRow]:
        """Give its checkpoints."""
        with self.ledger.store.read() as handle:
            rows = handle.execute("SELECT kind, at_ms, state, packed FROM job_checkpoints")
            return [CheckpointRow(*row) for row in rows]
