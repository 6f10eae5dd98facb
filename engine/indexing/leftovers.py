"""Deletes what nothing needs any more, a piece at a time, so that neither searches nor a stop wait.

What is left when a run ends early, is for the next one: each asks the database what there is.
"""

from collections.abc import Callable, Iterable

from engine.faults import fault_point
from engine.store import blobs, fulltext, project
from engine.store.connection import Store

_ORPHANS_AT_ONCE = 100
_ORPHAN_BYTES = 512 << 10  # of text, deleted in one transaction of some 200 ms

#: Called between pieces; raises ``Cancelled`` when the run is to end.
Check = Callable[[], None]


def delete_branches(store: Store, branch_ids: Iterable[int], check: Check) -> None:
    """Delete branches with their files and skips; their blobs stay."""
    for branch_id in branch_ids:
        more = True
        while more:
            check()
            with store.write() as handle:
                more = project.shrink_branch(handle, branch_id)


def delete_orphans(store: Store, check: Check) -> None:
    """Delete the blobs that no file points to."""
    with store.read() as handle:
        groups = blobs.orphans(handle, _ORPHAN_BYTES)
    for group in groups:
        check()
        with store.write() as handle:
            blobs.delete_blobs(handle, group)
            fault_point("orphans deleted")


def delete_left(
    store: Store, blob_ids: Iterable[int], keep_vectors: Callable[[], None], check: Check
) -> None:
    """Delete those of some blobs that no file points to, without looking at the others."""
    with store.read() as handle:
        ids = blobs.orphans_among(handle, blob_ids)
    if ids:
        keep_vectors()
    for start in range(0, len(ids), _ORPHANS_AT_ONCE):
        check()
        with store.write() as handle:
            blobs.delete_blobs(handle, ids[start : start + _ORPHANS_AT_ONCE])


def purge_words(store: Store, check: Check) -> None:
    """Rewrite the index of words without those of deleted texts."""
    is_first = more = True
    while more:
        check()
        with store.write() as handle:
            more = fulltext.merge_words(handle, is_first=is_first)
        is_first = False
