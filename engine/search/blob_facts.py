"""What a process knows of the blobs of a project: what stays in the index is not read again.

The chunks and symbols of a blob follow from its content, its language and the fingerprint, so it is
the same in another state of the index if these and its id are. (A repair that empties a blob gives
it another hash.) It imports numpy, and is therefore imported only by a process that asks more than
once.
"""

import threading
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.search.postings import numbers_in
from engine.store import blobs, chunks, files, project, symbols
from engine.store.connection import Handle

_MOST_LOOKED_UP = 1000  # of more new blobs, all are read
_SALT_BYTES = 8
_NONE = np.zeros(0, np.int64)

Numbers = NDArray[np.int64]


class BlobFacts(NamedTuple):
    """All blobs in one state of the index, by rising id."""

    ids: Numbers
    marks: NDArray[np.uint64]  # from the hashes of their contents and of their fingerprints
    languages: tuple[str, ...]
    language_of: Numbers  # of each the number of its language
    chunk_counts: Numbers  # 0: it has no chunks; their ids are those of one state
    kinds: tuple[str, ...]
    symbols: NDArray[np.int32]  # of each blob and kind how many

    @property
    def size_bytes(self) -> int:
        """The memory that they take."""
        return sum(each.nbytes for each in self if isinstance(each, np.ndarray))

    def of_branch(self, handle: Handle, branch_id: int) -> Numbers:
        """Return the numbers of the blobs that files of a branch have, each once."""
        has_file = np.zeros(len(self.ids), np.bool_)
        has_file[self.numbers_of(numbers_in(files.read_blob_ids(handle, branch_id)))] = True
        return np.flatnonzero(has_file)

    def numbers_of(self, blob_ids: Numbers) -> Numbers:
        """Return the numbers of blobs."""
        return np.searchsorted(self.ids, blob_ids)

    def are_same(self, known: "BlobFacts", blob_ids: Numbers) -> NDArray[np.bool_]:
        """Return of each of some blobs whether it is what the facts of another state told."""
        if known.languages != self.languages[: len(known.languages)]:  # other codes
            return np.zeros(len(blob_ids), np.bool_)
        at = self.numbers_of(blob_ids)
        _, is_same = _same(known, blob_ids, self.marks[at], self.language_of[at])
        return is_same

    def sum_languages(
        self, blob_ids: Sequence[int], sizes: Sequence[int]
    ) -> list[tuple[str, int, int]]:
        """Return as ``listing.sum_languages`` of files with these blobs and sizes."""
        codes = self.language_of[self.numbers_of(np.array(blob_ids, np.int64))]
        counts = np.bincount(codes, minlength=len(self.languages)).tolist()
        sums = np.zeros(len(self.languages), np.int64)
        np.add.at(sums, codes, np.array(sizes, np.int64))
        rows = zip(self.languages, counts, sums.tolist(), strict=True)
        return sorted((row for row in rows if row[1]), key=lambda row: (-row[2], row[0]))

    def count_symbols(self, numbers: Numbers) -> list[tuple[str, str, int]]:
        """Return kind, language and count of each combination that some blobs have."""
        languages = self.language_of[numbers]
        order = np.argsort(languages, kind="stable")
        begins = np.flatnonzero(np.diff(languages[order], prepend=-1))
        sums = np.add.reduceat(self.symbols[numbers[order]], begins, dtype=np.int64)
        return [
            (self.kinds[kind], self.languages[languages[order[begins[run]]]], int(sums[run, kind]))
            for run, kind in np.argwhere(sums).tolist()
        ]


_NOTHING = BlobFacts(
    _NONE, _NONE.astype(np.uint64), (), _NONE, _NONE, (), np.zeros((0, 0), np.int32)
)


class KeptFacts:
    """The facts in the latest state that was asked for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changes: int | None = None
        self._facts: BlobFacts | None = None

    @property
    def size_bytes(self) -> int:
        """The memory of the facts."""
        facts = self._facts
        return facts.size_bytes if facts else 0

    def get(self, handle: Handle) -> BlobFacts:
        """Return the facts in the state that a read transaction sees."""
        with self._lock:
            facts = self._facts_in(handle, most_new=None)
            assert facts
            return facts

    def get_soon(self, handle: Handle) -> BlobFacts | None:
        """Return the same; None if they are not known of any state, or too much is new."""
        with self._lock:
            return self._facts_in(handle, most_new=_MOST_LOOKED_UP) if self._facts else None

    def _facts_in(self, handle: Handle, *, most_new: int | None) -> BlobFacts | None:
        changes = project.count_changes(handle)
        if self._facts and changes is not None and changes == self._changes:
            return self._facts
        facts = _read_facts(handle, self._facts or _NOTHING, most_new=most_new)
        if facts:
            self._facts, self._changes = facts, changes
        return facts


def read_facts(handle: Handle, known: BlobFacts = _NOTHING) -> BlobFacts:
    """Read the facts of all blobs.

    Args:
        handle: A read transaction.
        known: Those in another state of the index.
    """
    facts = _read_facts(handle, known, most_new=None)
    assert facts
    return facts


def _read_facts(handle: Handle, known: BlobFacts, *, most_new: int | None) -> BlobFacts | None:
    """Read the facts of all blobs; None if more than so many are new."""
    joined_ids, joined_languages, joined_marks, joined_fingerprints = blobs.read_identities(handle)
    ids = numbers_in(joined_ids)
    order = np.argsort(ids)
    named = joined_languages.split()
    code_of = {each: code for code, each in enumerate(dict.fromkeys((*known.languages, *named)))}
    codes = np.fromiter(map(code_of.__getitem__, named), np.int64, len(named))
    ids, language_of = ids[order], codes[order]
    marks = np.frombuffer(bytes.fromhex(joined_marks), np.uint64)
    marks = (marks ^ _salts(handle, joined_fingerprints))[order]
    at, is_known = _same(known, ids, marks, language_of)
    new = ids[~is_known]
    if most_new is not None and len(new) > most_new:
        return None
    wanted = new if len(new) <= _MOST_LOOKED_UP else None
    kinds, (kind_codes, of_symbols) = _read_kinds(handle, wanted, known.kinds)
    with_chunks, _, counts = read_ranges(handle, wanted)
    facts = BlobFacts(
        ids,
        marks,
        tuple(code_of),
        language_of,
        np.zeros(len(ids), np.int64),
        kinds,
        np.zeros((len(ids), len(kinds)), np.int32),
    )
    if wanted is not None:
        kept = at[is_known]
        facts.chunk_counts[is_known] = known.chunk_counts[kept]
        facts.symbols[is_known, : len(known.kinds)] = known.symbols[kept]
    # A damaged index may have chunks and symbols of blobs that are not there.
    numbers = np.searchsorted(ids, with_chunks)
    is_there = np.append(ids, -1)[numbers] == with_chunks
    facts.chunk_counts[numbers[is_there]] = counts[is_there]
    numbers = np.searchsorted(ids, of_symbols)
    is_there = np.append(ids, -1)[numbers] == of_symbols
    np.add.at(facts.symbols, (numbers[is_there], kind_codes[is_there]), 1)
    return facts


def _salts(handle: Handle, joined_fingerprints: str) -> Any:
    """Return of each blob a number that stands for its fingerprint, or one for all."""
    salt_of = {
        id_: int.from_bytes(sha256(value.encode()).digest()[:_SALT_BYTES], "little")
        for id_, value in project.read_fingerprints(handle)
    }
    if len(salt_of) == 1:
        return np.uint64(next(iter(salt_of.values())))
    of_blobs = (salt_of.get(id_, 0) for id_ in numbers_in(joined_fingerprints).tolist())
    return np.fromiter(of_blobs, np.uint64)


def _same(
    known: BlobFacts, ids: Numbers, marks: NDArray[np.uint64], language_of: Numbers
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return of each blob its number among the known ones, and whether it is that one."""
    at = np.searchsorted(known.ids, ids)
    is_same = np.append(known.ids, -1)[at] == ids
    is_same &= np.append(known.marks, np.uint64(0))[at] == marks
    is_same &= np.append(known.language_of, -1)[at] == language_of
    return at, is_same


def read_ranges(handle: Handle, wanted: Numbers | None = None) -> tuple[Numbers, Numbers, Numbers]:
    """Return rising blobs, the first chunk of each, and how many it has; of some, or of all."""
    if wanted is None:
        with_chunks, first, counts = map(numbers_in, chunks.read_ranges(handle))
        return with_chunks, first, counts
    rows = np.array(chunks.read_ranges_of(handle, wanted.tolist()), np.int64).reshape(-1, 3)
    return rows[:, 0], rows[:, 1], rows[:, 2]


def _read_kinds(
    handle: Handle, wanted: Numbers | None, known: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Any, Numbers]]:
    """Return all kinds, and the kind and the blob of each symbol of some blobs, or of all."""
    labels, codes, of_symbols = symbols.read_kinds(
        handle, None if wanted is None else wanted.tolist()
    )
    code_of = {kind: code for code, kind in enumerate(known)}
    places = np.array([code_of.setdefault(kind, len(code_of)) for kind in labels], np.int64)
    return tuple(code_of), (places[codes], of_symbols)
