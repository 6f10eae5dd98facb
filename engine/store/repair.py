"""What a repair writes: each function mends one kind of damage, in the running transaction."""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256

from engine.store import checks, files, models
from engine.store.checks import KeywordIndex, VectorTable
from engine.store.connection import Handle
from engine.store.memories import MemoryText

#: What a blob says of its parsing when its contents were found damaged and taken out.
DAMAGED = "damaged"


def empty_blobs(handle: Handle, blob_ids: Sequence[int]) -> None:
    """Take out what blobs hold, and have their files read again by the next run.

    The files stay with their ids. They are not found meanwhile: nobody knows what they said.
    """
    ids = {"ids": json.dumps(blob_ids)}
    models.delete_chunk_vectors(handle, blob_ids)
    handle.execute(
        """DELETE FROM chunk_terms WHERE rowid IN
             (SELECT id FROM chunks WHERE blob_id IN (SELECT value FROM json_each(:ids)))""",
        ids,
    )
    # By their blob, for what chunks say of their symbols may be the damage.
    for table in ("symbols", "chunks"):
        handle.execute(
            f"DELETE FROM {table} WHERE blob_id IN (SELECT value FROM json_each(:ids))",  # noqa: S608
            ids,
        )
    handle.executemany(
        "INSERT OR REPLACE INTO blob_texts (blob_id, packed) VALUES (?, x'')",
        ((blob_id,) for blob_id in blob_ids),
    )
    # Of a hash that no content has, so that no run takes the blob for the file's content.
    handle.executemany(
        """UPDATE blobs SET content_hash = ?, text_hash = ?, size_bytes = 0, line_count = 0,
             token_count = 0, parse_result = ?, is_generated = 0, redactions = 0, licence = NULL,
             generator = NULL WHERE id = ?""",
        (
            (sha256(b"damaged %d" % blob_id).digest(), sha256(b"").digest(), DAMAGED, blob_id)
            for blob_id in blob_ids
        ),
    )
    handle.execute(
        """UPDATE branches SET complete = 0 WHERE id IN
             (SELECT branch_id FROM files WHERE blob_id IN (SELECT value FROM json_each(:ids)))""",
        ids,
    )
    handle.execute(
        """UPDATE files SET mtime_ns = 0
           WHERE blob_id IN (SELECT value FROM json_each(:ids))""",
        ids,
    )


def delete_strays(handle: Handle) -> int:
    """Delete rows that refer to what is not there, or give them what they refer to.

    Returns:
        How many rows did.
    """
    lost = checks.read_lost_symbols(handle)
    number = len(checks.read_strays(handle)) + len(lost)
    handle.execute(
        """UPDATE project SET model_id = NULL
           WHERE model_id IS NOT NULL AND model_id NOT IN (SELECT id FROM models)"""
    )
    # A fingerprint that nobody has: what carries it is read again.
    handle.execute(
        """INSERT INTO fingerprints (id, value, created_at_ms)
           SELECT fingerprint_id, 'lost', 0 FROM blobs UNION
           SELECT fingerprint_id, 'lost', 0 FROM skips UNION
           SELECT fingerprint_id, 'lost', 0 FROM project WHERE fingerprint_id IS NOT NULL
           ON CONFLICT DO NOTHING"""
    )
    strays = checks.read_strays(handle)
    lost_files = [stray.rowid for stray in strays if stray.table == "files"]
    if lost_files:
        files.delete_files(handle, lost_files)
        handle.execute("UPDATE branches SET complete = 0")
    for stray in strays:
        if stray.table != "files":
            assert stray.table in checks.expected_schema()
            handle.execute(f"DELETE FROM {stray.table} WHERE rowid = ?", (stray.rowid,))  # noqa: S608
    handle.executemany("DELETE FROM symbols WHERE id = ?", ((id_,) for id_ in lost))
    return number


def make_schema_objects(handle: Handle, names: Iterable[str]) -> None:
    """Make indexes and triggers that are missing."""
    for name in names:
        handle.execute(checks.expected_schema()[name])


def reindex(handle: Handle) -> None:
    """Make all indexes of SQLite anew."""
    handle.execute("REINDEX")


def clear_words(handle: Handle, index: KeywordIndex) -> None:
    """Empty a keyword index."""
    handle.execute(f"INSERT INTO {index.table} ({index.table}) VALUES ('delete-all')")  # noqa: S608


def delete_lost_words(handle: Handle, index: KeywordIndex, rowids: Sequence[int]) -> int:
    """Delete those of some rows of a keyword index whose owner is gone, and return how many.

    Which those are is asked now: a new owner may have been given the number of one.
    """
    lost = handle.execute(
        f"""SELECT value FROM json_each(:ids)
            WHERE value NOT IN (SELECT id FROM {index.owner})""",  # noqa: S608 - our own name
        {"ids": json.dumps(rowids)},
    ).fetchall()
    handle.executemany(f"DELETE FROM {index.table} WHERE rowid = ?", lost)  # noqa: S608
    return len(lost)


def rewrite_memory(handle: Handle, memory_id: int, text: MemoryText) -> None:
    """Put text that can be read in place of a memory's, and forget its words and its vector."""
    handle.execute(
        """UPDATE memories SET summary = :summary, description = :description,
             context = :context, tags = :tags, token_count = :token_count WHERE id = :id""",
        {"id": memory_id, **text._asdict()},
    )
    handle.execute("DELETE FROM memory_vectors WHERE memory_id = :id", {"id": memory_id})
    handle.execute("DELETE FROM memory_terms WHERE rowid = :id", {"id": memory_id})


def delete_vectors(handle: Handle, table: VectorTable, rowids: Iterable[int]) -> None:
    """Delete vectors of a table that holds together."""
    handle.executemany(
        f"DELETE FROM {table.name} WHERE rowid = ?",  # noqa: S608 - our own name
        ((rowid,) for rowid in rowids),
    )


def make_vector_table_anew(handle: Handle, table: VectorTable) -> int:
    """Make a table of vectors anew with all that can be read of it; gives how many those are."""
    rows = checks.read_sound_rows(handle, table)
    for (name,) in handle.execute(
        "SELECT name FROM sqlite_schema WHERE name = :name AND sql LIKE 'CREATE VIRTUAL TABLE%'",
        {"name": table.name},
    ).fetchall():
        handle.execute(f"DROP TABLE {name}")
    left = handle.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB :like",
        {"like": f"{table.name}_*"},
    ).fetchall()
    for (name,) in left:
        handle.execute(f"DROP TABLE {name}")
    models.create_table(handle, table.model, is_of_chunks=table.is_of_chunks)
    models.insert_rows(handle, table.name, rows)
    return len(rows)


def drop_strange_tables(handle: Handle, names: Iterable[str]) -> None:
    """Drop tables of vectors that belong to no model."""
    known = checks.read_strange_tables(handle)
    for name in names:
        assert name in known
        handle.execute(f'DROP TABLE "{name}"')
