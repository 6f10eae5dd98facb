"""Rows of files and memories → checkpoints."""

import json
import uuid
from collections.abc import Iterable
from typing import NamedTuple

from engine.clock import iso_time
from engine.memories.limits import context_json
from engine.memories.tags import tags_of_file
from engine.memory_records import MAX_ANSWER_BYTES, Checkpoint, MemoryChange, NewMemory
from engine.records import display_path
from engine.store import blobs, file_cards, memories
from engine.store.connection import Handle
from engine.store.file_cards import FileCard
from engine.store.memories import MemoryRow, MemoryTerms, MemoryText
from engine.syntax.analysis import tokens_of
from engine.syntax.packing import unpack_text
from engine.syntax.terms import terms_of


class Owner(NamedTuple):
    """A row that a checkpoint is made of."""

    is_file: bool
    id: int


def memory_checkpoint(row: MemoryRow, root: str) -> Checkpoint:
    """Show a memory."""
    return Checkpoint(
        id=str(uuid.UUID(bytes=row.uuid)),
        summary=row.summary,
        description=row.description,
        project_path=display_path(root),
        context=json.loads(row.context),
        tags=tuple(json.loads(row.tags)),
        token_count=row.token_count,
        created_at=iso_time(row.created_at_ms),
        updated_at=iso_time(row.updated_at_ms),
    )


def file_checkpoint(handle: Handle, card: FileCard, root: str) -> Checkpoint:
    """Show an indexed file with its whole text."""
    packed = blobs.read_text(handle, card.blob_id)
    path = display_path(card.path)
    return Checkpoint(
        id=str(uuid.UUID(bytes=card.uuid)),
        summary=f"Indexed file: {path}",
        description=unpack_text(packed).decode() if packed else "",
        project_path=display_path(root),
        context={"indexed_file": path},
        tags=tags_of_file(card.path, card.language),
        token_count=card.token_count,
        created_at=iso_time(card.created_at_ms),
        updated_at=iso_time(card.updated_at_ms),
    )


def checkpoints_of(handle: Handle, owners: Iterable[Owner], root: str) -> list[Checkpoint]:
    """Show rows in their order, until their texts are ``MAX_ANSWER_BYTES`` together."""
    wanted = list(owners)
    cards = file_cards.read_cards(handle, [owner.id for owner in wanted if owner.is_file])
    rows = memories.read_memories(handle, [owner.id for owner in wanted if not owner.is_file])
    shown: list[Checkpoint] = []
    size = 0
    for owner in wanted:
        if size > MAX_ANSWER_BYTES:
            break
        if owner.is_file:
            shown.append(file_checkpoint(handle, cards[owner.id], root))
            size += cards[owner.id].size_bytes
        else:
            shown.append(memory_checkpoint(rows[owner.id], root))
            size += 3 * rows[owner.id].token_count
    return shown


def text_of(new: NewMemory) -> MemoryText:
    """Give what is stored of a memory that was checked and has no secrets any more."""
    return MemoryText(
        new.summary,
        new.description,
        context_json(new.context),
        json.dumps(new.tags, ensure_ascii=False),
        tokens_of(len(new.description.encode())),
    )


def changed(row: MemoryRow, change: MemoryChange) -> NewMemory:
    """Give a memory as it is with a change."""
    return NewMemory(
        summary=row.summary if change.summary is None else change.summary,
        description=row.description if change.description is None else change.description,
        context=json.loads(row.context) if change.context is None else change.context,
        tags=tuple(json.loads(row.tags)) if change.tags is None else change.tags,
    )


def terms_of_memory(text: MemoryText | MemoryRow) -> MemoryTerms:
    """Give the words by which a memory is found; those of the context count as its text's."""
    return MemoryTerms(
        terms_of(text.summary),
        terms_of(" ".join(json.loads(text.tags))),
        terms_of(f"{text.description}\n{text.context}"),
    )
