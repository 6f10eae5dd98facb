"""What a process knows of the blobs of a project: what stays in the index is not read again.

The chunks and symbols of a blob follow from its content, its language, the fingerprint and the
parse result. A blob is therefore the same in another state of the index if these and its id are,
also in an index that was emptied or made anew, which gives the same ids again. A parse that ran out
of time is the exception: next time it may keep other definitions, so what is known of such a blob
holds for one state. (A repair that empties a blob gives it another hash.)

It imports numpy, and is therefore imported only by a process that asks more than once.
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
#: Parse results with which definitions may be left out because the time was up.
_PARTIAL = frozenset({"timeout", "too_deep"})
_NO_MARK = np.uint64(0)  # of a blob that is taken for the same in no other state
_NONE = np.zeros(0, np.int64)

Numbers = NDArray[np.int64]
Marks = NDArray[np.uint64]
Flags = NDArray[np.bool_]


class BlobFacts(NamedTuple):
    """All blobs in one state of the index, by rising id."""

    ids: Numbers
    marks: Marks  # from the hashes of all that their chunks and symbols follow from
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
        numbers, _ = self.find(numbers_in(files.read_blob_ids(handle, branch_id)))
        has_file[numbers] = True
        return np.flatnonzero(has_file)

    def find(self, blob_ids: Numbers) -> tuple[Numbers, Flags]:
        """Return the numbers of those of some blobs that are there, and of each whether it is.

        In a damaged index the blobs of some files are not.
        """
        at, is_there = _places(self.ids, blob_ids)
        return at[is_there], is_there

    def sum_languages(
        self, blob_ids: Sequence[int], sizes: Sequence[int]
    ) -> list[tuple[str, int, int]]:
        """Return as ``listing.sum_languages`` of files with these blobs and sizes."""
        numbers, is_there = self.find(np.array(blob_ids, np.int64))
        codes = self.language_of[numbers]
        counts = np.bincount(codes, minlength=len(self.languages)).tolist()
        sums = np.zeros(len(self.languages), np.int64)
        np.add.at(sums, codes, np.array(sizes, np.int64)[is_there])
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
        self._digest = b""  # of what they are read from

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
        read = _Read.of(handle)
        digest = read.digest
        if self._facts and digest == self._digest and _NO_MARK not in self._facts.marks:
            self._changes = changes  # of something else
            return self._facts
        facts = _read_facts(handle, read, self._facts or _NOTHING, most_new=most_new)
        if facts:
            self._facts, self._changes, self._digest = facts, changes, digest
        return facts


def read_facts(handle: Handle, known: BlobFacts = _NOTHING) -> BlobFacts:
    """Read the facts of all blobs.

    Args:
        handle: A read transaction.
        known: Those in another state of the index.
    """
    facts = _read_facts(handle, _Read.of(handle), known, most_new=None)
    assert facts
    return facts


class _Read(NamedTuple):
    """What tells the blobs of two states apart."""

    identities: tuple[str, str, str, str]
    fingerprints: list[tuple[int, str]]
    unsettled: list[tuple[int, str]]

    @classmethod
    def of(cls, handle: Handle) -> "_Read":
        return cls(
            blobs.read_identities(handle),
            project.read_fingerprints(handle),
            blobs.read_unsettled(handle),
        )

    @property
    def digest(self) -> bytes:
        """What another state has only if its blobs are the same."""
        return sha256(repr(self).encode()).digest()


def _read_facts(
    handle: Handle, read: _Read, known: BlobFacts, *, most_new: int | None
) -> BlobFacts | None:
    """Read the facts of all blobs; None if more than so many are new."""
    joined_ids, joined_languages, joined_marks, joined_fingerprints = read.identities
    ids = numbers_in(joined_ids)
    order = np.argsort(ids)
    named = joined_languages.split()
    code_of = {each: code for code, each in enumerate(dict.fromkeys((*known.languages, *named)))}
    codes = np.fromiter(map(code_of.__getitem__, named), np.int64, len(named))
    ids, language_of = ids[order], codes[order]
    marks = np.frombuffer(bytes.fromhex(joined_marks), np.uint64)
    marks = (marks ^ _fingerprint_salts(read.fingerprints, joined_fingerprints))[order]
    marks ^= np.array([_salt(each) for each in code_of], np.uint64)[language_of]
    _mark_parse_results(read.unsettled, ids, marks)
    at, is_known = find_same(known.ids, known.marks, ids, marks)
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
    numbers, is_there = _places(ids, with_chunks)
    facts.chunk_counts[numbers[is_there]] = counts[is_there]
    numbers, is_there = _places(ids, of_symbols)
    np.add.at(facts.symbols, (numbers[is_there], kind_codes[is_there]), 1)
    return facts


def _fingerprint_salts(fingerprints: Sequence[tuple[int, str]], joined_fingerprints: str) -> Any:
    """Return of each blob the salt of its fingerprint, or one for all."""
    salt_of = {id_: _salt(value) for id_, value in fingerprints}
    if len(salt_of) == 1:
        return np.uint64(next(iter(salt_of.values())))
    of_blobs = (salt_of.get(id_, 0) for id_ in numbers_in(joined_fingerprints).tolist())
    return np.fromiter(of_blobs, np.uint64)


def _salt(text: str) -> int:
    """Return a number that stands for a text."""
    return int.from_bytes(sha256(text.encode()).digest()[:_SALT_BYTES], "little")


def _mark_parse_results(results: Sequence[tuple[int, str]], ids: Numbers, marks: Marks) -> None:
    """Let the marks of blobs tell their parse results, where these may be others next time."""
    at, is_there = _places(ids, np.array([blob_id for blob_id, _ in results], np.int64))
    salt_of = {result: _salt(result) for _, result in results}
    salts = np.array([salt_of[result] for _, result in results], np.uint64)
    is_partial = np.array([result in _PARTIAL for _, result in results], np.bool_)
    marks[at[is_there]] ^= salts[is_there]
    marks[at[is_there & is_partial]] = _NO_MARK


def find_same(
    known_ids: Numbers, known_marks: Marks, ids: Numbers, marks: Marks
) -> tuple[Numbers, Flags]:
    """Return of each blob its place among the known ones, which rise, and whether it is that one.

    Args:
        known_ids: Of blobs in another state.
        known_marks: Of these; see ``BlobFacts``.
        ids: Of some blobs in this state.
        marks: Of these.
    """
    at, is_same = _places(known_ids, ids)
    is_same &= (np.append(known_marks, _NO_MARK)[at] == marks) & (marks != _NO_MARK)
    return at, is_same


def _places(rising: Numbers, ids: Numbers) -> tuple[Numbers, Flags]:
    """Return the place of each id among rising ones, and whether it is there."""
    at = np.searchsorted(rising, ids)
    return at, np.append(rising, -1)[at] == ids


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
