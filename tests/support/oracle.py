"""Is this index sound, and what does it hold? One oracle for all tests that break something."""

import os
import random
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec

from engine.store.compression import unpack_text
from engine.syntax.terms import words_of
from tests.support.job_rows import check_jobs
from tests.support.memory_rows import check_memories
from tests.support.patience import patience

#: Chunks that are looked for by their words and by their vectors.
_SAMPLE = 50
_PATIENCE_MS = int(patience(10_000))  # a runner may just write that it has ended


def check_sound(file: Path) -> None:
    """Fail unless every cross-check of the database file holds.

    The keyword indexes keep no texts, so FTS5 has nothing to compare them with (``rank = 1``): in
    its place each row is counted, and the words of a sample of chunks are looked for.
    """
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    handle.set_busy_timeout(_PATIENCE_MS)
    try:
        handle.enable_load_extension(True)
        handle.load_extension(sqlite_vec.loadable_path())
        assert handle.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert handle.execute("PRAGMA foreign_key_check").fetchall() == []
        for table in ("chunk_terms", "file_paths"):
            handle.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)")
        ids = "SELECT id FROM {} ORDER BY id"
        assert (
            handle.execute(ids.format("chunks")).fetchall()
            == handle.execute(ids.format("chunk_terms_docsize")).fetchall()
        )
        assert (
            handle.execute(ids.format("files")).fetchall()
            == handle.execute(ids.format("file_paths_docsize")).fetchall()
        )
        _check_blobs(handle)
        _check_symbols(handle)
        _check_vectors(handle)
        _check_sample(handle)
        check_jobs(handle)
        check_memories(handle)
    finally:
        handle.close()


def contents(file: Path) -> dict[str, object]:
    """Give what the index holds, free of ids and times: two equal indexes give equal contents."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    handle.set_busy_timeout(_PATIENCE_MS)
    try:
        files = handle.execute(
            """SELECT r.name, f.path, b.content_hash, b.language, b.encoding, b.parse_result,
                      b.text_hash, b.is_generated, b.redactions, b.licence, b.generator
               FROM files f JOIN branches r ON r.id = f.branch_id JOIN blobs b ON b.id = f.blob_id
               ORDER BY 1, 2"""
        ).fetchall()
        chunks = handle.execute(
            """SELECT b.content_hash, b.language, c.byte_start, c.byte_end, c.line_start,
                      c.line_end, c.hash, s.qualified_name, c.symbol_count
               FROM chunks c JOIN blobs b ON b.id = c.blob_id
               LEFT JOIN symbols s ON s.id = c.symbol_id ORDER BY 1, 2, 3"""
        ).fetchall()
        symbols = handle.execute(
            """SELECT b.content_hash, b.language, s.byte_start, s.byte_end, s.qualified_name,
                      s.kind, s.signature, s.doc, s.is_exported, p.qualified_name
               FROM symbols s JOIN blobs b ON b.id = s.blob_id
               LEFT JOIN symbols p ON p.id = s.parent_id ORDER BY 1, 2, 3, 4, 5, 6"""
        ).fetchall()
        marks = handle.execute(
            """SELECT b.content_hash, b.language, t.marks FROM blobs b
               JOIN blob_texts t ON t.blob_id = b.id ORDER BY 1, 2"""
        ).fetchall()
        names = handle.execute(
            """SELECT b.content_hash, b.language, n.packed FROM blobs b
               JOIN blob_names n ON n.blob_id = b.id ORDER BY 1, 2"""
        ).fetchall()
        skips = handle.execute("SELECT path, reason, is_folder FROM skips ORDER BY path").fetchall()
        return {
            "files": files,
            "chunks": chunks,
            "symbols": symbols,
            "marks": marks,
            "names": names,
            "skips": skips,
            **_vectors(handle),
        }
    finally:
        handle.close()


def version_of(file: Path) -> int:
    """Give the schema version of a database that something broke; 0 when nothing is there."""
    if not file.exists():
        return 0
    handle = apsw.Connection(str(file))
    handle.set_busy_timeout(_PATIENCE_MS)
    try:
        assert handle.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(handle.pragma("user_version"))
    finally:
        handle.close()


def check_embedded(file: Path, identity: str) -> None:
    """Fail unless there is one model, this one, and each chunk and each file has its vector."""
    handle = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    handle.set_busy_timeout(_PATIENCE_MS)
    try:
        rows = handle.execute(
            "SELECT m.id, m.identity, p.model_id FROM models m CROSS JOIN project p"
        ).fetchall()
        assert [(row[1], row[2]) for row in rows] == [(identity, rows[0][0])]
        for owner, kind in (("chunks", "chunk"), ("files", "file")):
            wanted = handle.execute(f"SELECT id FROM {owner} ORDER BY id").fetchall()
            assert wanted == _vector_ids(handle, f"{kind}_vectors_{rows[0][0]}")
    finally:
        handle.close()


def paths_on_disk(root: Path) -> list[str]:
    """List the files below a folder, independently of the walker."""
    return sorted(
        os.path.relpath(os.path.join(folder, name), root)
        for folder, _, names in os.walk(root)
        for name in names
    )


def _check_vectors(handle: apsw.Connection) -> None:
    """No vector outlives its chunk or file, and the blocks of each table say which are there."""
    tables = []
    for (model_id,) in handle.execute("SELECT id FROM models").fetchall():
        for owner, kind in (("chunks", "chunk"), ("files", "file")):
            table = f"{kind}_vectors_{model_id}"
            tables.append(table)
            ids = _vector_ids(handle, table)
            known = handle.execute(f"SELECT id FROM {owner}").fetchall()
            assert set(ids) <= set(known), f"{table} has vectors of what is gone"
            places = set()
            blocks = handle.execute(f"SELECT chunk_id, validity, rowids FROM {table}_chunks")
            for block, validity, rowids in blocks:
                valid = int.from_bytes(validity, "little")
                for at in range(len(rowids) // 8):
                    if valid >> at & 1:
                        rowid = int.from_bytes(rowids[8 * at : 8 * at + 8], "little", signed=True)
                        places.add((rowid, block, at))
            assert places == set(
                handle.execute(f"SELECT rowid, chunk_id, chunk_offset FROM {table}_rowids")
            )
    found = handle.execute(
        "SELECT name FROM sqlite_master WHERE name GLOB '*_vectors_[0-9]*_rowids'"
    )
    assert sorted(name for (name,) in found) == sorted(f"{table}_rowids" for table in tables)


def _vector_ids(handle: apsw.Connection, table: str) -> list[tuple[object, ...]]:
    return handle.execute(f"SELECT rowid FROM {table}_rowids ORDER BY rowid").fetchall()


def _vectors(handle: apsw.Connection) -> dict[str, object]:
    """Give the vectors that answer, byte by byte, with what they belong to."""
    row = handle.execute(
        "SELECT m.id, m.identity FROM project p JOIN models m ON m.id = p.model_id"
    )
    model = row.fetchone()
    if model is None:
        return {"model": None}
    handle.enable_load_extension(True)
    handle.load_extension(sqlite_vec.loadable_path())
    chunks = handle.execute(
        f"""SELECT b.content_hash, b.language, c.byte_start, v.signs, v.exact
            FROM chunk_vectors_{model[0]} v JOIN chunks c ON c.id = v.rowid
            JOIN blobs b ON b.id = c.blob_id ORDER BY 1, 2, 3"""
    ).fetchall()
    files = handle.execute(
        f"""SELECT r.name, f.path, v.exact FROM file_vectors_{model[0]} v
            JOIN files f ON f.id = v.rowid JOIN branches r ON r.id = f.branch_id ORDER BY 1, 2"""
    ).fetchall()
    return {"model": model[1], "chunk_vectors": chunks, "file_vectors": files}


def _check_sample(handle: apsw.Connection) -> None:
    """Some chunks, the same each time, are found by a word of theirs and by their vectors."""
    ids = [chunk_id for (chunk_id,) in handle.execute("SELECT id FROM chunks ORDER BY id")]
    sample = random.Random(1).sample(ids, min(_SAMPLE, len(ids)))
    for chunk_id in sample:
        rows: list[tuple[Any, ...]] = handle.execute(
            """SELECT t.packed, c.byte_start, c.byte_end FROM chunks c
               JOIN blob_texts t ON t.blob_id = c.blob_id WHERE c.id = ?""",
            (chunk_id,),
        ).fetchall()
        [(packed, start, end)] = rows
        words = words_of(unpack_text(packed)[start:end].decode())
        if words:
            match = f'"{max(words, key=len)}"'
            assert handle.execute(
                "SELECT 1 FROM chunk_terms WHERE chunk_terms MATCH ? AND rowid = ?",
                (match, chunk_id),
            ).fetchall(), f"chunk {chunk_id} is not found by {match}"
    for (model_id,) in handle.execute("SELECT id FROM models").fetchall():
        for kind, among in (("chunk", sample), ("file", None)):
            _check_nearest(handle, f"{kind}_vectors_{model_id}", among)


def _check_nearest(handle: apsw.Connection, table: str, among: list[int] | None) -> None:
    """Each vector finds itself, or one that equals it."""
    ids = [row[0] for row in handle.execute(f"SELECT rowid FROM {table}_rowids ORDER BY rowid")]
    if among is None:
        among = ids[:: max(1, len(ids) // 10)]
    for rowid in set(ids) & set(among):
        found = handle.execute(
            f"""SELECT distance FROM {table} WHERE exact MATCH vec_int8(
                  (SELECT exact FROM {table} WHERE rowid = ?)) AND k = 1""",
            (rowid,),
        ).fetchall()
        assert found == [(0.0,)], f"{table} does not find {rowid}: {found}"


def _check_symbols(handle: apsw.Connection) -> None:
    """Each symbol starts in one chunk of its blob, which counts it."""
    counts = handle.execute(
        """SELECT (SELECT count(*) FROM symbols),
                  (SELECT coalesce(sum(symbol_count), 0) FROM chunks),
                  (SELECT count(*) FROM chunks c JOIN symbols s ON s.id BETWEEN c.first_symbol_id
                     AND c.first_symbol_id + c.symbol_count - 1
                   WHERE s.blob_id = c.blob_id AND s.byte_start >= c.byte_start
                     AND s.byte_start < c.byte_end)"""
    ).fetchall()[0]
    assert len(set(counts)) == 1, counts


def _check_blobs(handle: apsw.Connection) -> None:
    """Each blob has its text, whose hash is right, and chunks that tile it."""
    rows = handle.execute(
        "SELECT b.id, b.text_hash, b.size_bytes, t.packed FROM blobs b LEFT JOIN blob_texts t"
        " ON t.blob_id = b.id"
    )
    for blob_id, text_hash, size_bytes, packed in rows:
        assert packed is not None, f"blob {blob_id} has no text"
        text = unpack_text(packed)
        assert len(text) == size_bytes
        assert sha256(text).digest() == text_hash
        at = 0
        chunks = handle.execute(
            "SELECT byte_start, byte_end, hash FROM chunks WHERE blob_id = ? ORDER BY id",
            (blob_id,),
        )
        for byte_start, byte_end, chunk_hash in chunks:
            assert byte_start == at
            assert blake2b(text[byte_start:byte_end], digest_size=16).digest() == chunk_hash
            at = byte_end
        assert at == len(text)
