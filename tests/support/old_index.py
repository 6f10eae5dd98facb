"""Makes indexes as earlier versions left them."""

import os
import zlib
from pathlib import Path

import apsw

from engine.store.migrate import APPLICATION_ID, steps


def make_first_version(file: Path, tree: Path) -> None:
    """Write what the first version of the schema held of a project with one file."""
    file.parent.mkdir(parents=True)
    handle = apsw.Connection(str(file))
    handle.execute(steps()[0])
    handle.execute(
        """PRAGMA user_version = 1; INSERT INTO fingerprints VALUES (1, 'old', 0);
           INSERT INTO branches VALUES (1, '', NULL, 1, 1, 5);
           INSERT INTO chunk_terms (rowid, body) VALUES (1, 'open session')"""
    )
    handle.pragma("application_id", APPLICATION_ID)
    handle.execute(
        "INSERT INTO project VALUES (1, ?, ?, 1, '[]', '[\"nothing/**\"]', 1000000, 0, 5)",
        (file.stem, os.fsencode(tree)),
    )
    hash_ = bytes(32)
    handle.execute(
        "INSERT INTO blobs VALUES (1, ?, 'text', 1, ?, 3, 1, 1, 'utf-8', 'ok', 0, 0)",
        (hash_, hash_),
    )
    handle.execute("INSERT INTO blob_texts VALUES (1, ?)", (zlib.compress(b"old"),))
    handle.execute("INSERT INTO chunks VALUES (1, 1, 0, 3, 1, 1, NULL, 1, 0, ?)", (bytes(16),))
    handle.execute(
        "INSERT INTO files VALUES (1, ?, 1, ?, 1, 3, 1, 1, 1, 1, 1)", (bytes(16), b"old.txt")
    )
    handle.close()
