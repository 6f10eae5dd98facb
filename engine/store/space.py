"""How well the pages of the database file are filled.

Rows that go leave pages behind that are free, or half empty between others; new rows use the first
kind only. A fresh index wastes a tenth of its file in this way, one whose files were all replaced
several times more than a third. To know exactly means to read the whole file, so that is done when
the pages have become many for their chunks.
"""

from typing import NamedTuple

from engine.store.connection import Handle


class Look(NamedTuple):
    """A size of the file."""

    pages: int
    chunks: int

    def is_roomier_than(self, other: "Look", share: float) -> bool:
        """Say whether there are more pages for each chunk, by a share or more."""
        return self.pages * max(other.chunks, 1) > (1 + share) * other.pages * max(self.chunks, 1)


def file_bytes(handle: Handle) -> int:
    """Give the size of the file without its WAL."""
    return int(handle.execute("PRAGMA page_count").get * handle.execute("PRAGMA page_size").get)


def present(handle: Handle) -> Look:
    """Give the size of the file now."""
    chunks = handle.execute("SELECT count(*) FROM chunks").get
    return Look(int(handle.execute("PRAGMA page_count").get), int(chunks))


def last_look(handle: Handle) -> Look | None:
    """Give the size that the file had at the last look."""
    row = handle.execute("SELECT looked_pages, looked_chunks FROM project").fetchone()
    return Look(*row) if row and row[0] is not None else None


def note_look(handle: Handle) -> None:
    """Remember the size of the file: it was looked at, or is known to be fresh."""
    look = present(handle)
    handle.execute("UPDATE project SET looked_pages = ?, looked_chunks = ?", look)


def wasted_share(handle: Handle) -> float:
    """Give the share of the file that holds nothing; reads all of it, 16 MB in some 40 ms."""
    free = handle.execute("PRAGMA freelist_count").get * handle.execute("PRAGMA page_size").get
    unused = handle.execute("SELECT sum(unused) FROM dbstat('main', 1)").get or 0
    return float((free + unused) / file_bytes(handle))
