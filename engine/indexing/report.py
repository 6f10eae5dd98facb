"""What an indexing run did, as the record that its caller gets."""

import time
from collections.abc import Sequence

from engine.clock import iso_time, now_ms
from engine.indexing.model_switch import ModelSwitch
from engine.indexing.scope import Scope
from engine.journal import Tally
from engine.records import FileError, IndexReport, display_path


def report_of(
    project_id: str, root: str, scope: Scope, tally: Tally, switch: ModelSwitch, started_s: float
) -> IndexReport:
    """Put a report together.

    Args:
        project_id: The project's id.
        root: Its resolved root.
        scope: Which files belonged to it.
        tally: What became of them.
        switch: The models of the run.
        started_s: When it began, by the monotonic clock.
    """
    return IndexReport(
        project_id=project_id,
        path=display_path(root),
        include_patterns=scope.include_patterns,
        exclude_patterns=scope.exclude_patterns,
        max_file_size=scope.max_file_size,
        files_indexed=tally.files_indexed,
        files_unchanged=tally.files_unchanged,
        files_skipped=tally.files_skipped,
        files_failed=len(tally.errors),
        symbols_extracted=tally.symbols,
        chunks=tally.chunks,
        embeddings_generated=tally.embeddings,
        cache_hit_rate=tally.reused / tally.files_indexed if tally.files_indexed else 0.0,
        duration_ms=int((time.monotonic() - started_s) * 1000),
        indexed_at=iso_time(now_ms()),
        errors=_sorted(tally.errors),
        notes=tuple(switch.notes),
    )


def _sorted(errors: Sequence[FileError]) -> tuple[FileError, ...]:
    return tuple(sorted(errors, key=lambda error: error.file))
