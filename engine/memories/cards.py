"""Conversion of file and memory rows into checkpoints, and filtering of both by tags."""

import json
import uuid
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from engine.clock import iso_time
from engine.memories.limits import context_json, read_tags
from engine.memory_records import (
    MAX_ANSWER_BYTES,
    RESERVED_TAGS,
    Checkpoint,
    MemoryChange,
    NewMemory,
)
from engine.records import bytes_within, display_path, tokens_of
from engine.search.file_tags import NO_RULES, TagRules
from engine.store import blobs, files, memories
from engine.store.compression import unpack_text
from engine.store.connection import Handle
from engine.store.files import FileCard
from engine.store.filters import (
    BranchSet,
    Filters,
    PathRule,
    build_filters,
    register_path_filter,
)
from engine.store.memories import MemoryRow, MemoryTerms, MemoryText, TagRule
from engine.syntax.languages import LANGUAGES
from engine.syntax.terms import terms_of

_TAGGED = "has_tags"  # the SQL function of a choice by rules


def tags_of_file(path: str, language: str, rules: TagRules = NO_RULES) -> tuple[str, ...]:
    """Return the tags of an indexed file: ``indexed``, ``repository``, extension and language.

    Those of the rules follow. The extension is what the name has from its last dot on; a name
    without one has none.
    """
    name = display_path(path.rpartition("/")[2])
    extension = name[name.rfind(".") :] if "." in name else ""
    own = filter(None, ("indexed", "repository", extension, language))
    return (*own, *rules.of(path, language))


class Choice(NamedTuple):
    """A filter by tags: all of the wanted ones, and none of the refused ones."""

    rule: TagRule
    file_tags: TagRules = NO_RULES

    @classmethod
    def of(
        cls, tags: Sequence[str], file_tags: TagRules = NO_RULES, *, only_memories: bool = False
    ) -> Self:
        """Parse the tags of a request.

        Args:
            tags: As given; ``!`` refuses one.
            file_tags: The rules that tag files.
            only_memories: No files.

        Raises:
            InvalidInputError: One cannot be a tag, or there are too many.
        """
        wanted, refused = read_tags(tags)
        refused = (*refused, *RESERVED_TAGS) if only_memories else refused
        return cls(TagRule(wanted, refused), file_tags)

    @property
    def may_be_files(self) -> bool:
        """Whether any file can pass, known without reading one."""
        own = [tag for tag in self.rule.wanted if tag not in RESERVED_TAGS]
        return (
            RESERVED_TAGS.isdisjoint(self.rule.refused)
            and all(tag in LANGUAGES or _is_extension(tag) or tag in self.file_tags for tag in own)
            and len(_languages(own)) <= 1
        )

    @property
    def may_be_memories(self) -> bool:
        """Whether a memory can pass."""
        return RESERVED_TAGS.isdisjoint(self.rule.wanted)

    def filters(self, handle: Handle, branch_id: int) -> Filters:
        """Return the conditions on the files of a branch, if files can pass at all."""
        wanted, refused = self.rule
        rules = self.file_tags
        must = [rules.predicate(tag) for tag in wanted if tag in rules]
        must_not = [rules.predicate(tag) for tag in refused if tag in rules]
        function = None
        if must or must_not:
            function = _TAGGED
            register_path_filter(
                handle,
                function,
                lambda path, language: (
                    all(passes(path, language) for passes in must)
                    and not any(passes(path, language) for passes in must_not)
                ),
            )
        return build_filters(
            branches=BranchSet((branch_id,)),
            languages=(_languages(wanted), _languages(refused)),
            paths=PathRule(function, endings=(_extensions(wanted), _extensions(refused))),
        )


def _languages(tags: Iterable[str]) -> frozenset[str]:
    return frozenset(tag for tag in tags if tag in LANGUAGES)


def _extensions(tags: Iterable[str]) -> frozenset[str]:
    return frozenset(tag for tag in tags if _is_extension(tag))


def _is_extension(tag: str) -> bool:
    """Return whether a path ending is a file extension: no dot after the first."""
    return tag.startswith(".") and "." not in tag[1:] and "/" not in tag


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


def file_checkpoint(
    handle: Handle, card: FileCard, root: str, file_tags: TagRules = NO_RULES
) -> Checkpoint:
    """Show an indexed file with its whole text."""
    packed = blobs.read_text(handle, card.blob_id)
    path = display_path(card.path)
    return Checkpoint(
        id=str(uuid.UUID(bytes=card.uuid)),
        summary=f"Indexed file: {path}",
        description=unpack_text(packed).decode() if packed else "",
        project_path=display_path(root),
        context={"indexed_file": path},
        tags=tags_of_file(card.path, card.language, file_tags),
        token_count=card.token_count,
        created_at=iso_time(card.created_at_ms),
        updated_at=iso_time(card.updated_at_ms),
    )


def checkpoints_of(
    handle: Handle, owners: Iterable[Owner], root: str, file_tags: TagRules = NO_RULES
) -> list[Checkpoint]:
    """Show rows in their order, until their texts are ``MAX_ANSWER_BYTES`` together."""
    wanted = list(owners)
    cards = files.read_cards(handle, [owner.id for owner in wanted if owner.is_file])
    rows = memories.read_memories(handle, [owner.id for owner in wanted if not owner.is_file])
    shown: list[Checkpoint] = []
    size = 0
    for owner in wanted:
        if size > MAX_ANSWER_BYTES:
            break
        if owner.is_file:
            shown.append(file_checkpoint(handle, cards[owner.id], root, file_tags))
            size += cards[owner.id].size_bytes
        else:
            shown.append(memory_checkpoint(rows[owner.id], root))
            size += bytes_within(rows[owner.id].token_count)
    return shown


def text_of(new: NewMemory) -> MemoryText:
    """Return the stored form of a memory that was checked and redacted."""
    return MemoryText(
        new.summary,
        new.description,
        context_json(new.context),
        json.dumps(new.tags, ensure_ascii=False),
        tokens_of(len(new.description.encode())),
    )


def changed(row: MemoryRow, change: MemoryChange) -> NewMemory:
    """Return a memory with a change applied."""
    return NewMemory(
        summary=row.summary if change.summary is None else change.summary,
        description=row.description if change.description is None else change.description,
        context=json.loads(row.context) if change.context is None else change.context,
        tags=tuple(json.loads(row.tags)) if change.tags is None else change.tags,
    )


def terms_of_memory(text: MemoryText | MemoryRow) -> MemoryTerms:
    """Return the words by which a memory is found; words of the context count as its text's."""
    return MemoryTerms(
        terms_of(text.summary),
        terms_of(" ".join(json.loads(text.tags))),
        terms_of(f"{text.description}\n{text.context}"),
    )
