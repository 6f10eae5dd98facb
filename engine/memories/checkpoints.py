"""The checkpoints of a project: save, find, change and delete memories, and list files with them.

Secrets are redacted before anything is stored, by the rules for files. Redaction keeps byte
lengths, so redacted text exceeds no limit that the given text did not exceed.

The list is sorted newest first by creation, which never changes, then by id. A cursor names the
last checkpoint of a page, so concurrent changes neither repeat nor skip a remaining checkpoint; new
ones come before the first page.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from engine import cursors
from engine.cancellation import CancelToken
from engine.clock import now_ms
from engine.embedding.load import QueryEmbedder
from engine.errors import CheckpointNotFoundError, InvalidInputError, UnavailableError
from engine.memories.cards import (
    Choice,
    Owner,
    changed,
    checkpoints_of,
    file_checkpoint,
    memory_checkpoint,
    terms_of_memory,
    text_of,
)
from engine.memories.limits import check_limit, check_memory, clean_tags
from engine.memories.search import (
    GatheredMemories,
    MemoryQuery,
    gather_memories,
    ranked_owners,
)
from engine.memories.vectors import MemoryVectors, deadline
from engine.memory_records import (
    MAX_LISTED,
    Checkpoint,
    CheckpointPage,
    MemoryChange,
    NewMemory,
)
from engine.search.file_tags import TagRules
from engine.search.searcher import Searcher
from engine.source.git import read_branch
from engine.source.secrets import redact
from engine.store import blobs, files, fulltext, memories, models
from engine.store.connection import Handle, Store
from engine.store.memories import FROM_THE_NEWEST, MemoryRow, MemoryText, Moment


def redacted(new: NewMemory) -> NewMemory:
    """Return a checked memory with its secrets redacted everywhere."""
    return NewMemory(
        summary=_text(new.summary),
        description=_text(new.description),
        context={_text(key): _value(key, value) for key, value in new.context.items()},
        tags=tuple(_text(tag) for tag in new.tags),
    )


def _text(text: str) -> str:
    return redact(text.encode())[0].decode("utf-8", "replace")


def _value(key: str, value: Any) -> Any:
    """Redact a value of a context; its key can mark it as a secret."""
    if isinstance(value, Mapping):
        return {_text(inner): _value(inner, inside) for inner, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_value(key, inside) for inside in value]
    if isinstance(value, str):
        return _leaf(key, _text(value))
    return value


def _leaf(key: str, text: str) -> str:
    """Redact a text that is a secret because of its key."""
    line = json.dumps({key: text}, ensure_ascii=False)
    found = redact(line.encode())[0].decode("utf-8", "replace")
    if found == line:
        return text
    try:
        [kept] = json.loads(found).values()
    except ValueError:  # part of an escape was redacted
        kept = None
    return kept if isinstance(kept, str) else "*" * len(text.encode())


def next_owners(
    handle: Handle, choice: Choice, branch_id: int, after: Moment, limit: int
) -> list[tuple[Moment, Owner]]:
    """Return the next checkpoints of the list, with their positions."""
    found: list[tuple[Moment, Owner]] = []
    if choice.may_be_memories:
        found += [
            (place, Owner(False, memory_id))
            for place, memory_id in memories.read_places(handle, choice.rule, after, limit)
        ]
    if choice.may_be_files:
        filters = choice.filters(handle, branch_id)
        found += [
            (place, Owner(True, file_id))
            for place, file_id in files.read_places(handle, filters, after, limit)
        ]
    return sorted(found, reverse=True)[:limit]


def count_all(handle: Handle, choice: Choice, branch_id: int) -> int:
    """Return the number of checkpoints that pass."""
    number = memories.count_memories(handle, choice.rule) if choice.may_be_memories else 0
    if choice.may_be_files:
        number += files.count_passing(handle, choice.filters(handle, branch_id))
    return number


def cursor_of(place: Moment) -> str:
    """Write the place of the last checkpoint of a page."""
    return cursors.cursor_of(f"{place.at_ms}/{uuid.UUID(bytes=place.uuid)}".encode())


def place_of(cursor: str | None) -> Moment:
    """Read a cursor; without one, the list begins.

    Raises:
        InvalidInputError: It is not one that ``cursor_of`` wrote.
    """
    return cursors.place_of(cursor, _moment_of) or FROM_THE_NEWEST


def _moment_of(place: bytes) -> Moment:
    at_ms, _, name = place.decode().partition("/")
    moment = Moment(int(at_ms), uuid.UUID(name).bytes)
    moment.at_ms.to_bytes(8, signed=True)  # what SQLite can compare
    return moment


class Checkpoints:
    """The memories of a project, and its indexed files seen as memories are.

    Memories belong to the project and to no branch; nothing that is done to the index touches
    them, and they go when the project is forgotten. Files are those of the branch that is checked
    out; a path has the same id on every branch. What is saved, changed or deleted is on the disk
    when the call returns.

    Args:
        store: The project's database.
        searcher: Knows which branch answers.
        query_embedder: The model that the settings name.
        root: The resolved root.
    """

    def __init__(
        self, store: Store, searcher: Searcher, query_embedder: QueryEmbedder, root: str
    ) -> None:
        self._store = store
        self._searcher = searcher
        self._vectors = MemoryVectors(store, query_embedder)
        self._root = root

    def save(self, new: NewMemory) -> Checkpoint:
        """Save a memory with its secrets redacted.

        Raises:
            InvalidInputError: A part of it is invalid; ``details.field`` names it.
            UnavailableError: The disk is full, or the database stayed locked.
        """
        text = _checked(new)
        with self._store.write(durable=True, bookkeeping=True) as handle:
            row = memories.insert_memory(
                handle, uuid.uuid4().bytes, text, terms_of_memory(text), now_ms=now_ms()
            )
        self._vectors.complete()
        return memory_checkpoint(row, self._root)

    def update(self, id: str, new: NewMemory) -> Checkpoint:  # noqa: A002 - the field's name
        """Replace the text of a memory; its id and time of creation stay.

        Raises:
            InvalidInputError: As for ``save``, or the id belongs to a file.
            CheckpointNotFoundError: Nothing has this id.
            UnavailableError: The disk is full, or the database stayed locked.
        """
        text = _checked(new)
        key = _key_of(id)
        with self._store.write(durable=True, bookkeeping=True) as handle:
            row = memories.update_memory(handle, key, text, terms_of_memory(text), now_ms=now_ms())
            if row is None:
                self._refuse_file(handle, key)
                raise _not_found(id)
        return self._updated(row)

    def delete(self, id: str) -> None:  # noqa: A002 - the field's name
        """Delete a memory; its text and its words leave the database file at once.

        Raises:
            InvalidInputError: The id belongs to a file.
            CheckpointNotFoundError: Nothing has this id.
            UnavailableError: The disk is full, or the database stayed locked.
        """
        key = _key_of(id)
        with self._store.write(durable=True, bookkeeping=True) as handle:
            if not memories.delete_memory(handle, key):
                self._refuse_file(handle, key)
                raise _not_found(id)
        self._purge_words()

    def change(self, id: str, change: MemoryChange) -> Checkpoint:  # noqa: A002 - the field's name
        """Change parts of a memory and keep the others, including concurrent changes.

        Raises:
            InvalidInputError: As for ``update``.
            CheckpointNotFoundError: Nothing has this id.
            UnavailableError: The disk is full, or the database stayed locked.
        """
        key = _key_of(id)
        while True:
            with self._store.read() as handle:
                seen = memories.read_memory(handle, key)
                if seen is None:
                    self._refuse_file(handle, key)
                    raise _not_found(id)
            text = _checked(changed(seen, change))
            if text == seen.text:
                return memory_checkpoint(seen, self._root)
            with self._store.write(durable=True, bookkeeping=True) as handle:
                if memories.read_memory(handle, key) != seen:
                    continue  # changed concurrently
                row = memories.update_memory(
                    handle, key, text, terms_of_memory(text), now_ms=now_ms()
                )
            assert row
            return self._updated(row)

    def get(self, id: str, *, only_memories: bool = False) -> Checkpoint:  # noqa: A002 - as above
        """Return one checkpoint.

        Raises:
            CheckpointNotFoundError: No memory, and no file of the branch, has this id.
        """
        key = _key_of(id)
        with self._store.read() as handle:
            row = memories.read_memory(handle, key)
            if row:
                return memory_checkpoint(row, self._root)
            card = None
            if not only_memories:
                card = files.find_card(handle, self._branch_id(handle), key)
            if card is None:
                raise _not_found(id)
            return file_checkpoint(handle, card, self._root, self._file_tags(()))

    def search(
        self,
        query: str,
        *,
        tags: Sequence[str] = (),
        limit: int = 10,
        only_memories: bool = False,
    ) -> tuple[Checkpoint, ...]:
        """Find files and memories by their words and their meaning, best first.

        Both are scored by one ranking, so their scores compare (``memories.search`` says how); by
        words alone while there are no vectors or the model is away.

        Args:
            query: Plain words, of which the first 64 count; nothing in them is an operator.
            tags: All must be there; ``!tag`` must not. They hold before the best are taken.
            limit: 1 to 100; fewer are given when their texts are more than 32 MiB together.
            only_memories: No files.

        Raises:
            InvalidInputError: The query, a tag or the limit is not valid.
        """
        rules = self._file_tags(tags)
        asked = MemoryQuery.of(query, tags, limit, only_memories=only_memories, file_tags=rules)
        query_vector = self._vectors.embed_query(asked.text, deadline())
        with self._store.read() as handle:
            if query_vector and blobs.has_any(
                handle
            ):  # another model may have been chosen just now
                model = models.read_current_model(handle)
                is_same = model is not None and model.identity == query_vector.model.identity
                query_vector = query_vector._replace(model=model) if model and is_same else None
            branch_id = self._branch_id(handle)
            count_words = self._searcher.count_words
            ranked = ranked_owners(handle, asked, query_vector, branch_id, count_words)[:limit]
            owners = [owner for owner, _ in ranked]
            found = checkpoints_of(handle, owners, self._root, rules)
        return tuple(
            replace(checkpoint, score=score)
            for checkpoint, (_, score) in zip(found, ranked, strict=False)
        )

    def search_for_merge(self, asked: MemoryQuery, expired: CancelToken) -> GatheredMemories:
        """Return the memories that may answer, to rank them with those of other projects.

        Args:
            asked: The query.
            expired: Returns whether the time for vectors of memories is up.
        """
        with self._store.read() as handle:
            has_any = bool(memories.read_passing(handle, asked.choice.rule))
        query_vector = self._vectors.embed_query(asked.text, expired) if has_any else None
        with self._store.read() as handle:
            return gather_memories(handle, asked, query_vector, self._searcher.count_words)

    def memory(self, memory_id: int) -> Checkpoint | None:
        """Return a memory that ``search_for_merge`` returned; None if it was deleted since."""
        with self._store.read() as handle:
            row = memories.read_memories(handle, [memory_id]).get(memory_id)
        return memory_checkpoint(row, self._root) if row else None

    def list(
        self,
        *,
        tags: Sequence[str] = (),
        limit: int = 50,
        cursor: str | None = None,
        only_memories: bool = False,
    ) -> CheckpointPage:
        """List files and memories, the newest first.

        Args:
            tags: As for ``search``.
            limit: 1 to 1,000; a page ends early when its texts are 32 MiB together.
            cursor: From the page before; without one, the list begins.
            only_memories: No files.

        Raises:
            InvalidInputError: A tag, the limit or the cursor is not valid.
        """
        check_limit(limit, MAX_LISTED)
        rules = self._file_tags(tags)
        choice, after = Choice.of(tags, rules, only_memories=only_memories), place_of(cursor)
        with self._store.read() as handle:
            branch_id = self._branch_id(handle)
            found = next_owners(handle, choice, branch_id, after, limit + 1)
            owners = [owner for _, owner in found[:limit]]
            shown = checkpoints_of(handle, owners, self._root, rules)
            total = count_all(handle, choice, branch_id)
        cursors = tuple(
            cursor_of(place) if number < len(found) else None
            for number, (place, _) in enumerate(found[: len(shown)], 1)
        )
        return CheckpointPage(checkpoints=tuple(shown), total=total, cursors=cursors)

    def tags(self, *, tags: Sequence[str] = (), limit: int = 50) -> Mapping[str, int]:
        """Return the tags of memories with their counts, the most frequent first.

        Args:
            tags: Only memories that pass these, as for ``search``.
            limit: How many tags, 1 to 1,000.

        Raises:
            InvalidInputError: A tag or the limit is not valid.
        """
        check_limit(limit, MAX_LISTED)
        choice = Choice.of(tags, only_memories=True)
        with self._store.read() as handle:
            return dict(memories.count_tags(handle, choice.rule, limit))

    def _file_tags(self, tags: Sequence[str]) -> TagRules:
        """Return the rules that tag files; where tags are asked for, they must be readable."""
        return self._searcher.file_tags.current() if tags else self._searcher.file_tags.usable()

    def _updated(self, row: MemoryRow) -> Checkpoint:
        self._purge_words()
        self._vectors.complete()
        return memory_checkpoint(row, self._root)

    def _branch_id(self, handle: Handle) -> int:
        return self._searcher.branch(handle, None, read_branch(self._root)).id

    def _purge_words(self) -> None:
        """Remove deleted text from the disk: its words from the keyword index, all from the WAL.

        What cannot be removed now, because somebody reads or the disk is full, is the next time.
        """
        is_first = is_more = True
        with suppress(UnavailableError):
            while is_more:
                with self._store.write(bookkeeping=True) as handle:
                    is_more = fulltext.merge_words(handle, is_first=is_first, table="memory_terms")
                is_first = False
            self._store.checkpoint()

    def _refuse_file(self, handle: Handle, key: bytes) -> None:
        card = files.find_card(handle, self._branch_id(handle), key)
        if card:
            raise InvalidInputError(
                "this is an indexed file, which follows the disk; only memories can be changed",
                hint="exclude the file from the index, or change it on the disk",
                field="id",
            )


def _checked(new: NewMemory) -> MemoryText:
    """Return the stored form of a memory.

    Raises:
        InvalidInputError: A part of it is not valid.
    """
    check_memory(new)
    return text_of(redacted(replace(new, tags=clean_tags(new.tags))))


def _key_of(id_: str) -> bytes:
    try:
        return uuid.UUID(id_).bytes
    except (ValueError, AttributeError, TypeError):
        raise _not_found(id_) from None


def _not_found(id_: object) -> CheckpointNotFoundError:
    return CheckpointNotFoundError(
        "no checkpoint has this id", hint="list them, or search", id=str(id_)[:64]
    )
