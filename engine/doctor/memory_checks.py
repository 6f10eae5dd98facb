"""Can memories be read, and do the words by which they are found agree with them?

No memory has a hash, so what still is text cannot be told from what was written. Which memories
have words is compared for all. Whether one finds itself by its words is asked of a sample, evenly
spread, and of long texts by their beginning.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from engine.doctor.findings import MOST_PLACES, Trouble
from engine.errors import Cancelled
from engine.memories.cards import terms_of_memory, text_of
from engine.records import NewMemory
from engine.state_records import FindingCode
from engine.store import checks, memories, repair
from engine.store.connection import Handle, Store
from engine.store.memories import MemoryRow, MemoryTerms, MemoryText

_SAMPLE = 200
_AT_ONCE = 20  # texts of up to 1 MiB
_MOST_CHARS = 1024  # of a text whose words are looked for


def memory_troubles(store: Store, cancelled: Callable[[], bool]) -> Iterator[Trouble]:
    """Give what is wrong with memories and their words."""
    unreadable = _unreadable(store, cancelled)
    with store.read() as handle, checks.stoppable(handle, cancelled):
        lost = checks.read_lost_memory_words(handle)
        missing = checks.read_wordless_memories(handle)
        sample = checks.read_sample(handle, "memories", _SAMPLE)
    wrong = _with_other_words(store, sorted({*sample} - {*missing, *unreadable}), cancelled)
    for code, ids, message in (
        (FindingCode.MEMORIES, unreadable, "Found {} memories that are not what was saved"),
        (FindingCode.MEMORY_WORDS_LOST, lost, "Found words of {} memories that are gone"),
        (
            FindingCode.MEMORY_WORDS_MISSING,
            missing,
            "Found {} memories that cannot be found by their words",
        ),
        (
            FindingCode.MEMORY_WORDS,
            wrong,
            "Found {} memories that are not found by all of their words",
        ),
    ):
        if ids:
            has_summaries = ids is not lost and ids is not unreadable
            places = _summaries(store, ids[:MOST_PLACES]) if has_summaries else ()
            yield Trouble(code, message.format(f"{len(ids):,}"), len(ids), tuple(ids), (), places)


def make_readable(handle: Handle, ids: Sequence[int]) -> None:
    """Keep what can be read of memories, for the caller's transaction; sound ones stay as is."""
    for memory_id, parts in checks.read_memory_bytes(handle, ids):
        if not _is_readable(parts):
            repair.rewrite_memory(handle, memory_id, _readable_text(parts))


def _readable_text(parts: Sequence[bytes]) -> MemoryText:
    """Give what can be read of a memory; what is no context any more stays in it as text.

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


def words_of_memories(
    handle: Handle, ids: Sequence[int]
) -> Iterator[tuple[MemoryRow, MemoryTerms]]:
    """Give the words of memories as they should be stored; memories that are gone are left out."""
    for row in memories.read_memories(handle, ids).values():
        yield row, terms_of_memory(row)


def _unreadable(store: Store, cancelled: Callable[[], bool]) -> list[int]:
    found: list[int] = []
    with store.read() as handle:
        ids = checks.read_sample(handle, "memories", sys.maxsize)
    for start in range(0, len(ids), _AT_ONCE):
        if cancelled():
            raise Cancelled("nothing was changed")
        with store.read() as handle, checks.stoppable(handle, cancelled):
            rows = checks.read_memory_bytes(handle, ids[start : start + _AT_ONCE])
        found += [memory_id for memory_id, parts in rows if not _is_readable(parts)]
    return found


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


def _with_other_words(store: Store, ids: Sequence[int], cancelled: Callable[[], bool]) -> list[int]:
    wrong: list[int] = []
    for start in range(0, len(ids), _AT_ONCE):
        if cancelled():
            raise Cancelled("nothing was changed")
        with store.read() as handle, checks.stoppable(handle, cancelled):
            rows = memories.read_memories(handle, ids[start : start + _AT_ONCE]).values()
            wrong += [
                row.id
                for row in rows
                if not checks.has_memory_words(handle, row.id, terms_of_memory(_beginning_of(row)))
            ]
    return wrong


def _beginning_of(row: MemoryRow) -> MemoryText:
    """Give a memory without what follows the beginning of a long description."""
    beginning = row.description[:_MOST_CHARS]
    if beginning == row.description:
        return row.text
    whole_words = beginning[: max(map(beginning.rfind, " \n")) + 1]
    return row.text._replace(description=whole_words, context="")


def _summaries(store: Store, ids: Sequence[int]) -> tuple[str, ...]:
    with store.read() as handle:
        return tuple(memories.read_summaries(handle, ids).values())
