"""What a process keeps of a branch between questions: texts with marks, who says names, answers.

All is dropped as soon as the index changes, so no answer depends on what was asked before.
"""

import re
import sys
import threading
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING
from zlib import crc32

from engine.cache import LruCache
from engine.references.sources import Contents
from engine.store import references
from engine.store.compression import unpack_hashes
from engine.store.connection import Handle
from engine.store.project import count_changes
from engine.syntax.references import NAMES_WITH_MARKS, has_references

if TYPE_CHECKING:
    from engine.reference_records import Reference, SymbolRelations

_MOST_BYTES = 48 << 20  # of texts with what is read of them
_MOST_PLACES_BYTES = 4 << 20  # of lists of files that have a name
_PLACE_BYTES = 150  # of a file in such a list
_MOST_ANSWER_BYTES = 4 << 20  # of answers of a kind
_MOST_WORDS = 40_000  # of which it is kept whether they are names
_WORD_BYTES = 150
_MOST_UNREAD = 200  # texts without marks that are looked through for any name
_HASH_BYTES = 4
_HASH = "<u4"
_Key = tuple[object, ...]
_IDENTIFIER = re.compile(rb"[\w$\x80-\xff]+")


class NameTable:
    """Which texts of a branch refer to which names: call, import or extend it, or it is a type.

    Args:
        names: Of each text its id, and the packed hashes of the names.
        unread: The texts whose references were not read although their language has some.
        has_marked: Whether names can end with ``?`` or ``!``, as in Ruby.
    """

    def __init__(
        self, names: Sequence[tuple[int, bytes]], unread: Sequence[int], *, has_marked: bool
    ) -> None:
        flat = [unpack_hashes(packed) for _, packed in names]
        self._ids = [blob_id for blob_id, _ in names]
        self._ends = list(accumulate(map(len, flat)))
        self._flat = b"".join(flat)
        self._unread = unread
        self._ends_of_names = (b"", b"?", b"!") if has_marked else (b"",)

    @property
    def size_bytes(self) -> int:
        """The memory that it takes."""
        return len(self._flat) + 80 * len(self._ids)

    def texts_with(self, name: str) -> set[int] | None:
        """Return the ids of the texts that may refer to a name; None if that is not known."""
        said = _IDENTIFIER.match(name.encode())
        if said is None or not self._ids or len(self._unread) > _MOST_UNREAD:
            return None
        found = set(self._unread)
        for end in self._ends_of_names:
            found.update(self._with_hash(crc32(said[0] + end).to_bytes(_HASH_BYTES, "little")))
        return found

    def _with_hash(self, wanted: bytes) -> list[int]:
        return [self._ids[bisect_right(self._ends, at)] for at in self._places_of(wanted)]

    def _places_of(self, wanted: bytes) -> list[int]:
        if "numpy" in sys.modules:  # a tenth of the time, but a short command takes less to search
            import numpy as np

            hashes = np.frombuffer(self._flat, _HASH)
            found = np.flatnonzero(hashes == np.frombuffer(wanted, _HASH))
            return [_HASH_BYTES * at for at in found.tolist()]
        places: list[int] = []
        at = self._flat.find(wanted)
        while at >= 0:
            if at % _HASH_BYTES == 0:
                places.append(at)
            at = self._flat.find(wanted, at + 1)
        return places


class ToldUses:
    """The uses of a name as far as they were asked for, by their order."""

    def __init__(self) -> None:
        self.references: dict[int, Reference] = {}
        self.is_whole = False  # there are no more


class KeptBranch:
    """What is kept of one branch in one state of the index.

    Args:
        branch_id: The branch.
        texts: By blob; of all branches.
    """

    def __init__(self, branch_id: int, texts: LruCache[int, Contents]) -> None:
        self._branch_id = branch_id
        self.texts = texts
        self._places: LruCache[str, Sequence[tuple[str, int]]] = LruCache(_MOST_PLACES_BYTES)
        self._names: NameTable | None = None
        self._languages: frozenset[str] | None = None
        self._defined: dict[frozenset[str], dict[str, bool]] = {}
        #: What is around definitions, by these and what was wanted.
        self.relations: LruCache[_Key, SymbolRelations] = LruCache(_MOST_ANSWER_BYTES)
        #: By name: its first uses, in code and in tests.
        self.told: LruCache[str, tuple[ToldUses, ToldUses]] = LruCache(_MOST_ANSWER_BYTES)

    @property
    def size_bytes(self) -> int:
        """The memory of what is of this branch alone."""
        names = self._names
        answers = self.relations.size_bytes + self.told.size_bytes
        words = _WORD_BYTES * sum(map(len, list(self._defined.values())))
        return self._places.size_bytes + answers + words + (names.size_bytes if names else 0)

    def places_with(self, name: str) -> Sequence[tuple[str, int]] | None:
        """Return path and text of all files that have a name; None if that is not known."""
        return self._places.get(name)

    def keep_places(self, name: str, places: Sequence[tuple[str, int]]) -> None:
        """Keep which files have a name."""
        self._places.put(name, places, _PLACE_BYTES * (1 + len(places)))

    def defined(self, family: frozenset[str]) -> dict[str, bool]:
        """Return of words whether they are names of definitions in these languages, to add to."""
        if sum(map(len, list(self._defined.values()))) > _MOST_WORDS:
            self._defined = {}
        return self._defined.setdefault(family, {})

    def languages(self, handle: Handle) -> frozenset[str]:
        """Return the languages of all texts."""
        if self._languages is None:
            self._languages = frozenset(references.read_languages(handle))
        return self._languages

    def names(self, handle: Handle) -> NameTable:
        """Return which texts refer to which names."""
        if self._names is None:
            languages = self.languages(handle)
            unread = references.read_unmarked(
                handle, self._branch_id, [each for each in languages if has_references(each)]
            )
            names = references.read_names(handle, self._branch_id)
            has_marked = not NAMES_WITH_MARKS.isdisjoint(languages)
            self._names = NameTable(names, unread, has_marked=has_marked)
        return self._names


class Kept:
    """What is kept of one project. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changes: int | None = None
        self._texts: LruCache[int, Contents] = LruCache(_MOST_BYTES)
        self._branches: dict[int, KeptBranch] = {}

    @property
    def size_bytes(self) -> int:
        """The approximate memory."""
        return self._texts.size_bytes + sum(
            each.size_bytes for each in list(self._branches.values())
        )

    def evict(self) -> None:
        """Drop all."""
        with self._lock:
            self._changes = None
            self._texts = LruCache(_MOST_BYTES)
            self._branches = {}

    def branch(self, handle: Handle, branch_id: int) -> KeptBranch:
        """Return what is kept of a branch in the state that a transaction sees."""
        changes = count_changes(handle)
        with self._lock:
            if changes is None or changes != self._changes:
                # What an older transaction still has is its own from now on.
                self._changes = changes
                self._texts = LruCache(_MOST_BYTES)
                self._branches = {}
            if branch_id not in self._branches:
                self._branches[branch_id] = KeptBranch(branch_id, self._texts)
            return self._branches[branch_id]
