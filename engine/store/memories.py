"""Memories with their words and vectors."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.store.connection import Handle
from engine.store.fulltext import CHUNK_WEIGHTS, Scored

_COLUMNS = (
    "id, uuid, summary, description, context, tags, token_count, created_at_ms, updated_at_ms"
)
# Both are none for an empty list, before a row's tags are read.
_PASSES = """NOT EXISTS (SELECT 1 FROM json_each(:wanted) w
                         WHERE w.value NOT IN (SELECT value FROM json_each(m.tags)))
         AND NOT EXISTS (SELECT 1 FROM json_each(:refused) w
                         WHERE w.value IN (SELECT value FROM json_each(m.tags)))"""


class MemoryText(NamedTuple):
    """The parts of a memory that can be changed."""

    summary: str
    description: str
    context: str  # JSON
    tags: str  # JSON
    token_count: int


class MemoryRow(NamedTuple):
    """One memory; ``uuid`` is its id for others."""

    id: int
    uuid: bytes
    summary: str
    description: str
    context: str  # JSON
    tags: str  # JSON
    token_count: int
    created_at_ms: int
    updated_at_ms: int

    @property
    def text(self) -> MemoryText:
        """The parts that can be changed."""
        return MemoryText(self.summary, self.description, self.context, self.tags, self.token_count)


class MemoryTerms(NamedTuple):
    """The words of a memory."""

    summary: str
    tags: str
    description: str


class TagRule(NamedTuple):
    """The tags that a memory must have, all of them, and those that it must not have."""

    wanted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class Moment(NamedTuple):
    """A place in the list of all checkpoints, which begins with the newest."""

    at_ms: int
    uuid: bytes


class MemoryVector(NamedTuple):
    """The vector of a memory."""

    memory_id: int
    vector: bytes


#: Sorts before every possible position.
FROM_THE_NEWEST = Moment((1 << 63) - 1, b"\xff" * 17)


def insert_memory(
    handle: Handle, uuid: bytes, text: MemoryText, terms: MemoryTerms, *, now_ms: int
) -> MemoryRow:
    """Insert a memory with its words."""
    memory_id = handle.execute(
        f"""INSERT INTO memories ({_COLUMNS.removeprefix("id, ")})
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id""",  # noqa: S608 - a constant
        (uuid, *text, now_ms, now_ms),
    ).get
    insert_words(handle, memory_id, terms)
    return MemoryRow(memory_id, uuid, *text, now_ms, now_ms)


def update_memory(
    handle: Handle, uuid: bytes, text: MemoryText, terms: MemoryTerms, *, now_ms: int
) -> MemoryRow | None:
    """Replace the text of a memory and drop its vector; return None when there is none."""
    rows: list[tuple[Any, ...]] = handle.execute(
        f"""UPDATE memories SET summary = ?, description = ?, context = ?, tags = ?,
              token_count = ?, updated_at_ms = max(?, updated_at_ms + 1)
            WHERE uuid = ? RETURNING {_COLUMNS}""",  # noqa: S608 - a constant
        (*text, now_ms, uuid),
    ).fetchall()
    if not rows:
        return None
    row = MemoryRow(*rows[0])
    handle.execute("DELETE FROM memory_vectors WHERE memory_id = :id", {"id": row.id})
    handle.execute("DELETE FROM memory_terms WHERE rowid = :id", {"id": row.id})
    insert_words(handle, row.id, terms)
    return row


def delete_memory(handle: Handle, uuid: bytes) -> bool:
    """Delete a memory with its words and its vector; False when it is not there."""
    memory_id = handle.execute(
        "DELETE FROM memories WHERE uuid = :uuid RETURNING id", {"uuid": uuid}
    ).get
    handle.execute("DELETE FROM memory_terms WHERE rowid = :id", {"id": memory_id})
    return memory_id is not None


def delete_all(handle: Handle) -> None:
    """Delete all memories."""
    handle.execute("DELETE FROM memories")
    handle.execute("INSERT INTO memory_terms (memory_terms) VALUES ('delete-all')")


def read_memory(handle: Handle, uuid: bytes) -> MemoryRow | None:
    """Return one memory."""
    row = handle.execute(
        f"SELECT {_COLUMNS} FROM memories WHERE uuid = :uuid",  # noqa: S608 - a constant
        {"uuid": uuid},
    ).fetchone()
    return MemoryRow(*row) if row else None


def read_memories(handle: Handle, ids: Sequence[int]) -> dict[int, MemoryRow]:
    """Return memories by id; deleted ones are left out."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM memories
            WHERE id IN (SELECT value FROM json_each(:ids))""",  # noqa: S608 - a constant
        {"ids": json.dumps(ids)},
    )
    return {row[0]: MemoryRow(*row) for row in rows}


def read_places(
    handle: Handle, rule: TagRule, after: Moment, limit: int
) -> list[tuple[Moment, int]]:
    """Return the positions of the next passing memories in the list, with their ids."""
    rows = handle.execute(
        f"""SELECT created_at_ms, uuid, id FROM memories m
            WHERE (created_at_ms, uuid) < (:at_ms, :uuid) AND {_PASSES}
            ORDER BY created_at_ms DESC, uuid DESC LIMIT :limit""",  # noqa: S608 - constants
        {**_values(rule), **after._asdict(), "limit": limit},
    )
    return [(Moment(at_ms, uuid), memory_id) for at_ms, uuid, memory_id in rows]


def count_memories(handle: Handle, rule: TagRule) -> int:
    """Return the number of memories that pass."""
    return int(
        handle.execute(
            f"SELECT count(*) FROM memories m WHERE {_PASSES}",  # noqa: S608 - a constant
            _values(rule),
        ).get
    )


def count_tags(handle: Handle, rule: TagRule, limit: int) -> list[tuple[str, int]]:
    """Return the tags of passing memories with their counts, the most frequent first."""
    return list(
        handle.execute(
            f"""SELECT t.value, count(*) FROM memories m CROSS JOIN json_each(m.tags) t
                WHERE {_PASSES} GROUP BY t.value
                ORDER BY count(*) DESC, t.value LIMIT :limit""",  # noqa: S608 - a constant
            {**_values(rule), "limit": limit},
        )
    )


def read_passing(handle: Handle, rule: TagRule) -> list[int]:
    """Return the ids of the memories that pass, rising."""
    rows = handle.execute(
        f"SELECT id FROM memories m WHERE {_PASSES} ORDER BY id",  # noqa: S608 - a constant
        _values(rule),
    )
    return [memory_id for (memory_id,) in rows]


def read_word_scores(handle: Handle, word: str) -> list[Scored]:
    """Return the BM25 score of a quoted word or phrase in each memory that contains it."""
    rows = handle.execute(
        f"""SELECT rowid, -rank FROM memory_terms
            WHERE memory_terms MATCH :word AND rank MATCH 'bm25{CHUNK_WEIGHTS}'""",  # noqa: S608
        {"word": word},
    )
    return [Scored(id_, score) for id_, score in rows]


def count_words(handle: Handle) -> int:
    """Return the number of words of all memories, as BM25 counts them."""
    packed = handle.execute("SELECT block FROM memory_terms_data WHERE id = 1").get
    return sum(_unpacked(packed)[1:]) if packed else 0  # the first is the number of rows


def read_lengths(handle: Handle, ids: Iterable[int]) -> dict[int, int]:
    """Return the number of words of memories."""
    rows = handle.execute(
        """SELECT id, sz FROM memory_terms_docsize
           WHERE id IN (SELECT value FROM json_each(:ids))""",
        {"ids": json.dumps(list(ids))},
    )
    return {memory_id: sum(_unpacked(packed)) for memory_id, packed in rows}


def read_summaries(handle: Handle, ids: Iterable[int]) -> dict[int, str]:
    """Return the summaries of memories."""
    rows = handle.execute(
        "SELECT id, summary FROM memories WHERE id IN (SELECT value FROM json_each(:ids))",
        {"ids": json.dumps(list(ids))},
    )
    return dict(rows)


def read_unembedded(handle: Handle, model: str, limit: int) -> list[MemoryRow]:
    """Return some memories that have no vector of a model, the newest first."""
    rows = handle.execute(
        f"""SELECT {_COLUMNS} FROM memories m
            WHERE NOT EXISTS (SELECT 1 FROM memory_vectors v
                              WHERE v.memory_id = m.id AND v.model = :model)
            ORDER BY id DESC LIMIT :limit""",  # noqa: S608 - a constant
        {"model": model, "limit": limit},
    )
    return [MemoryRow(*row) for row in rows]


def write_vectors(handle: Handle, model: str, rows: Iterable[tuple[MemoryRow, bytes]]) -> None:
    """Store the vectors of memories, replacing those of another model.

    A memory that was changed or deleted since it was read is left alone.
    """
    handle.executemany(
        """INSERT INTO memory_vectors (memory_id, model, vector)
           SELECT id, :model, :vector FROM memories
           WHERE uuid = :uuid AND updated_at_ms = :updated_at_ms
           ON CONFLICT (memory_id) DO UPDATE
             SET model = excluded.model, vector = excluded.vector""",
        (
            {
                "model": model,
                "vector": vector,
                "uuid": row.uuid,
                "updated_at_ms": row.updated_at_ms,
            }
            for row, vector in rows
        ),
    )


def read_vectors(handle: Handle, model: str) -> list[MemoryVector]:
    """Return the vectors that a model made, by rising id."""
    rows = handle.execute(
        "SELECT memory_id, vector FROM memory_vectors WHERE model = :model ORDER BY memory_id",
        {"model": model},
    )
    return [MemoryVector(*row) for row in rows]


def insert_words(handle: Handle, memory_id: int, terms: MemoryTerms) -> None:
    """Insert the words of a memory that has none."""
    handle.execute(
        "INSERT INTO memory_terms (rowid, summary, tags, description) VALUES (?, ?, ?, ?)",
        (memory_id, *terms),
    )


def insert_missing_words(handle: Handle, row: MemoryRow, terms: MemoryTerms) -> None:
    """Insert the words of a memory, unless it was changed since it was read, or has words."""
    handle.execute(
        """INSERT INTO memory_terms (rowid, summary, tags, description)
           SELECT id, :summary, :tags, :description FROM memories
           WHERE id = :id AND uuid = :uuid AND updated_at_ms = :updated_at_ms
             AND id NOT IN (SELECT id FROM memory_terms_docsize)""",
        {
            "id": row.id,
            "uuid": row.uuid,
            "updated_at_ms": row.updated_at_ms,
            **terms._asdict(),
        },
    )


def _unpacked(packed: bytes) -> list[int]:
    """Unpack numbers that FTS5 has packed: 7 bits in a byte, the highest bit if more follow."""
    numbers = []
    number = 0
    for byte in packed:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers


def _values(rule: TagRule) -> dict[str, object]:
    return {"wanted": json.dumps(rule.wanted), "refused": json.dumps(rule.refused)}
