"""The end of a run that left the file badly filled: it is written anew, without gaps.

SQLite can do that in place and for all who read meanwhile, at the price of a WAL as large as the
file and of a moment in which nobody else writes; so a large file waits to be asked.
"""

from contextlib import suppress

from engine.errors import DiskFullError, IndexBusyError
from engine.faults import fault_point
from engine.store import space
from engine.store.connection import Store

#: This share of the file may hold nothing. A fresh one is at 0.1: it becomes 1.2 times as large.
_MOST_WASTE = 0.2
#: A file that has this share more pages a chunk than at the last look is looked at again.
_ROOMIER = 0.05
_LEAST_BYTES = 512 << 10
_MOST_BYTES = 256 << 20  # two to three seconds


def compact_if_wasteful(store: Store) -> None:
    """Write the database file anew when a fifth of it or more holds nothing.

    What has no room for that, or is in use, is left as it is: it holds everything.
    """
    with store.read() as handle:
        if not _LEAST_BYTES <= space.file_bytes(handle) <= _MOST_BYTES:
            return
        before, now = space.last_look(handle), space.present(handle)
        if before and not now.is_roomier_than(before, _ROOMIER):
            return
        is_wasteful = before is not None and space.wasted_share(handle) >= _MOST_WASTE
    with suppress(DiskFullError, IndexBusyError):
        if is_wasteful:
            fault_point("compaction begun")
            store.compact()
            fault_point("compaction done")
        with store.write(bookkeeping=True) as handle:
            space.note_look(handle)
