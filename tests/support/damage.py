"""Breaks an index as a bad disk, a crash or another program would."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import sqlite_vec

from engine.config import Config
from engine.doctor_records import Repair, Verification
from tests.support.catalogs import open_catalog
from tests.support.embedders import Fakes
from tests.support.patience import patience

Damage = Callable[[Path], None]
ALL_BITS = range(8)
HIGH_BITS = (7,)  # of ASCII: it is no text then

_PATIENCE_MS = int(patience(5_000))


@contextmanager
def writer(file: Path) -> Iterator[apsw.Connection]:
    """Open a database as no part of the program does: every table can be written.

    A job that still tidies up is waited for.
    """
    handle = apsw.Connection(str(file))
    handle.set_busy_timeout(_PATIENCE_MS)
    try:
        handle.enable_load_extension(True)
        handle.load_extension(sqlite_vec.loadable_path())
        yield handle
    finally:
        is_busy, *_ = handle.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        assert not is_busy, "somebody reads it all the time"
        handle.close()


def run(file: Path, statement: str) -> None:
    """Change rows behind the program's back, without foreign keys."""
    with writer(file) as handle:
        handle.execute(statement)


def table_of_vectors(file: Path, kind: str = "chunk") -> str:
    """Give the table of the vectors that answer."""
    with writer(file) as handle:
        return f"{kind}_vectors_{handle.execute('SELECT model_id FROM project').get}"


def pieces_of_texts(file: Path) -> list[bytes]:
    """Give the stored texts as they lie in the file."""
    with writer(file) as handle:
        return [
            bytes(packed)
            for (packed,) in handle.execute("SELECT packed FROM blob_texts ORDER BY blob_id")
        ]


def pieces_of_vectors(file: Path) -> list[bytes]:
    """Give the stored vectors, of chunks and files, as they lie in the file."""
    pieces = []
    for kind in ("chunk", "file"):
        table = table_of_vectors(file, kind)
        with writer(file) as handle:
            pieces += [bytes(row) for (row,) in handle.execute(f"SELECT exact FROM {table}")]
            if kind == "chunk":
                pieces += [bytes(row) for (row,) in handle.execute(f"SELECT signs FROM {table}")]
    return pieces


def pieces_of_names(file: Path) -> list[bytes]:
    """Give the names and comments of symbols as they lie in the file."""
    with writer(file) as handle:
        rows = handle.execute("SELECT name, doc, signature FROM symbols")
        return [text.encode() for row in rows for text in row if len(text) > 1]


def flip_bit(
    file: Path, piece: bytes, random_: random.Random, bits: Sequence[int] = ALL_BITS
) -> bool:
    """Flip one bit of what lies in the file's pages; False when it lies there in no one piece.

    Only the start of a long text lies on one page with its row.
    """
    data = bytearray(file.read_bytes())
    part = piece[:64]
    at = data.find(part)
    if at < 0 or len(part) < 2:
        return False
    data[at + random_.randrange(len(part))] ^= 1 << random_.choice(bits)
    file.write_bytes(data)
    return True


def checkpointed(file: Path) -> None:
    """Let one file hold everything."""
    with writer(file):
        pass


def verified(config: Config, root: Path) -> Verification:
    """Verify an index with a catalog of its own."""
    with open_catalog(config, open_embedder=Fakes()) as catalog:
        return catalog.doctor(str(root)).verify()


def repaired(config: Config, root: Path) -> Repair:
    """Repair an index with a catalog of its own."""
    with open_catalog(config, open_embedder=Fakes()) as catalog:
        return catalog.doctor(str(root)).repair()


def indexed(config: Config, root: Path) -> None:
    """Bring an index up to date with a catalog of its own."""
    with open_catalog(config, open_embedder=Fakes()) as catalog:
        catalog.create(str(root)).index()


def zero_pages(file: Path, table: str) -> None:
    """Lose the pages on which the tree of a table begins."""
    with writer(file) as handle:
        root = handle.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
        handle.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(file.read_bytes())
    data[4096 * (int(root) - 1) : 4096 * int(root)] = bytes(4096)
    file.write_bytes(data)


def break_file(file: Path) -> None:
    """Leave nothing that SQLite could open."""
    file.write_bytes(b"something else entirely " * 999)
