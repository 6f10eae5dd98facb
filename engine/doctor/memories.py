"""The check of memories: whether their text can be read.

Memories have no hash, so damage that leaves valid text cannot be detected.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from engine.doctor.check import Check, Context, Problem
from engine.doctor_records import FindingCode
from engine.humanize import count
from engine.memories.cards import terms_of_memory, text_of
from engine.memory_records import NewMemory
from engine.store import checks, memories, repair
from engine.store.connection import Handle
from engine.store.memories import MemoryRow, MemoryTerms, MemoryText

_AT_ONCE = 20  # texts of up to 1 MiB
_MOST_CHARS = 1024  # of a text, for the words to search for


def _find_memories(context: Context) -> Iterator[Problem]:
    """Find memories whose text, context or tags cannot be read."""
    found: list[int] = []
    with context.reading() as handle:
        ids = checks.read_memory_ids(handle)
    for start in range(0, len(ids), _AT_ONCE):
        with context.reading() as handle:
            found += _unreadable(handle, ids[start : start + _AT_ONCE])
    if found:
        message = f"Found {len(found):,} memories that differ from what was saved"
        yield Problem(FindingCode.MEMORIES, message, len(found), found)


def _unreadable(handle: Handle, ids: Sequence[int]) -> list[int]:
    rows = checks.read_memory_bytes(handle, ids)
    return [memory_id for memory_id, parts in rows if not _is_readable(parts)]


def _repair_memories(context: Context, problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems:
        for ids in context.batches(problem.ids):
            with context.store.write(durable=True, bookkeeping=True) as handle:
                make_readable(handle, ids)
        yield f"Kept the readable parts of {count(problem.number, 'memory')}"


def make_readable(handle: Handle, ids: Sequence[int]) -> list[int]:
    """Keep what can be read of memories, for the caller's transaction; sound ones stay as is.

    Returns:
        The others, which have no words now.
    """
    broken = [row for row in checks.read_memory_bytes(handle, ids) if not _is_readable(row[1])]
    for memory_id, parts in broken:
        repair.rewrite_memory(handle, memory_id, _readable_text(parts))
    return [memory_id for memory_id, _ in broken]


def _readable_text(parts: Sequence[bytes]) -> MemoryText:
    """Return the readable parts of a memory; an unreadable context is kept as text.

    Args:
        parts: Its summary, description, context and tags.
    """
    summary, description, context, tags = (part.decode("utf-8", "replace") for part in parts)
    fields = _object_of(context)
    return text_of(
        NewMemory(
            summary=summary or "\ufffd",
            description=description,
            context={"damaged": context} if fields is None else fields,
            tags=_tags_of(tags) or (),
        )
    )


def _is_readable(parts: Sequence[bytes]) -> bool:
    try:
        *_, context, tags = (part.decode() for part in parts)
    except UnicodeDecodeError:
        return False
    return _object_of(context) is not None and _tags_of(tags) is not None


def _object_of(context: str) -> dict[str, Any] | None:
    try:
        value = json.loads(context)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _tags_of(tags: str) -> tuple[str, ...] | None:
    try:
        value = json.loads(tags)
    except (ValueError, RecursionError):
        return None
    is_right = isinstance(value, list) and all(isinstance(tag, str) for tag in value)
    return tuple(value) if is_right else None


def words_of_memories(
    handle: Handle, ids: Sequence[int]
) -> Iterator[tuple[MemoryRow, MemoryTerms]]:
    """Yield the words of memories as they should be stored; memories that are gone are left out."""
    for row in memories.read_memories(handle, ids).values():
        yield row, terms_of_memory(row)


def beginnings_of_memories(handle: Handle, ids: Sequence[int]) -> Iterator[tuple[int, MemoryTerms]]:
    """Yield the first words of memories; those that cannot be read are left out."""
    readable = sorted({*ids} - {*_unreadable(handle, ids)})
    for row in memories.read_memories(handle, readable).values():
        yield row.id, terms_of_memory(_beginning_of(row))


def _beginning_of(row: MemoryRow) -> MemoryText:
    """Return a memory without what follows the beginning of a long description."""
    beginning = row.description[:_MOST_CHARS]
    if beginning == row.description:
        return row.text
    whole_words = beginning[: max(map(beginning.rfind, " \n")) + 1]
    return row.text._replace(description=whole_words, context="")


MEMORIES = Check(
    name="memories",
    find=_find_memories,
    fixes={FindingCode.MEMORIES: _repair_memories},
    unreadable=FindingCode.MEMORY_WORDS,
)
