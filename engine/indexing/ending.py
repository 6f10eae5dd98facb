"""The end of a run: the branch says how far it is."""

import time
from collections.abc import Callable

from engine.faults import fault_point
from engine.records import FAILURES
from engine.store import files, project, skips
from engine.store.connection import Store
from engine.store.project import BranchRow


def end_branch(
    store: Store, before: BranchRow, *, is_whole: bool, is_checked_out: Callable[[], bool]
) -> None:
    """Say how far a branch is; a run over some paths leaves it no more complete than it was.

    What reading refused was no candidate after all; what failed still is one.
    """
    is_complete = is_whole or before.complete
    now_ms = time.time_ns() // 1_000_000 if is_complete else None
    with store.write(durable=is_whole) as handle:
        failures = skips.count_reasons(handle, before.id, FAILURES)
        project.update_branch(
            handle,
            before.id,
            found_files=files.count_files(handle, before.id) + failures,
            complete=is_complete and is_checked_out(),
            now_ms=now_ms,
        )
        if now_ms is not None:
            project.finish_project(handle, now_ms=now_ms)
        if is_whole:
            project.delete_stale_fingerprints(handle)
        fault_point("branch finished")
