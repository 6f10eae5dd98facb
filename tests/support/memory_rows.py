"""Are the rows of memories whole? A part of the oracle."""

import json

import apsw

from engine.syntax.terms import words_of


def check_memories(handle: apsw.Connection) -> None:
    """Fail unless each memory has its words, and only memories have vectors; older files have none.

    As the index keeps no texts, each row is counted, and each memory is looked for by a word.
    """
    if not handle.execute("SELECT 1 FROM sqlite_schema WHERE name = 'memories'").fetchall():
        return
    handle.execute("INSERT INTO memory_terms (memory_terms, rank) VALUES ('integrity-check', 0)")
    rows = handle.execute("SELECT id, summary, context, tags FROM memories ORDER BY id").fetchall()
    ids = [memory_id for memory_id, *_ in rows]
    words = handle.execute("SELECT id FROM memory_terms_docsize ORDER BY id").fetchall()
    assert [memory_id for (memory_id,) in words] == ids
    for memory_id, summary, context, tags in rows:
        found = words_of(str(summary))
        if found:
            assert handle.execute(
                "SELECT 1 FROM memory_terms WHERE memory_terms MATCH ? AND rowid = ?",
                (f'summary : "{" ".join(found)}"', memory_id),
            ).fetchall(), f"memory {memory_id} is not found by its summary"
        assert isinstance(json.loads(str(context)), dict)
        assert isinstance(json.loads(str(tags)), list)
    vectors = handle.execute("SELECT memory_id FROM memory_vectors").fetchall()
    assert {memory_id for (memory_id,) in vectors} <= set(ids)
