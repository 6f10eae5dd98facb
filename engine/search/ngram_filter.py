"""Rule out texts that cannot contain a literal, without reading them.

Texts are cut into blocks of 8 kB, and the runs of three and of four bytes in a block are hashed
into a signature of 8,192 bits, a third of which get set. The signatures are bit-sliced: one slice
per hash, with a bit for each block, so that a literal of ten bytes takes fifteen slices, whatever
the size of the source. False positives are possible, false negatives are not.

Over 21 MB in 4,001 files of four repositories, 11 ms per MB: of thirteen literals the median was in
126 files and let 259 pass. Runs of three alone let 344 pass, and a name like "openconnection",
whose parts are everywhere, in ten times as many files as with runs of four beside them.

The filter is kept in the memory of a process that answers many patterns. In the index it would take
an eighth of the source, and most commands run one pattern: for one, searching all of 100 MB takes a
third of a second. A server has it built before the first pattern.

Sources: R. Cox, "Regular Expression Matching with a Trigram Index" (2012), for the n-grams; B.
Goodwin et al., "BitFunnel: Revisiting Signatures for Search", SIGIR 2017, for sliced signatures.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.cancellation import CancelToken
from engine.errors import IndexCorruptError
from engine.search.patterns import Pattern
from engine.store import chunks, project
from engine.store.compression import unpack_text
from engine.store.connection import Handle, Store

#: Bytes of a literal that are looked up; blocks of a text overlap by this many.
MAX_LITERAL_BYTES = 64
#: Shorter literals are not looked up: they are everywhere.
MIN_LITERAL_BYTES = 3
#: Size limit of a block.
BLOCK_BYTES = 8 << 10
_BITS = 13
_SLICES = 1 << _BITS
_FULL = 0.75  # of a block, on average
_BLOCKS_PER_BATCH = 256
_BYTE = 8
# Letters outside ASCII that fold to ASCII letters (the Kelvin sign and the long s).
_FOLDED = (("\u212a".encode(), b"k"), ("\u017f".encode(), b"s"))
#: Memory per block.
BLOCK_COST_BYTES = _SLICES // _BYTE
#: Memory limit per project, enough for some 400 MB of source; the rest is searched in full.
MAX_BYTES = 64 << 20
#: The filter learns when more texts than this are unknown.
_MAX_UNKNOWN = 64
_MIN_FREE_BYTES = 1 << 20
#: If a larger share of the texts passes, all are searched: selecting costs time too.
_MAX_SHARE = 0.8
_BATCH = 256  # texts read at once
_MAX_PAUSE_S = 0.1
_MARK_BYTES = 8  # of a text's hash; only a text with the same id can be confused with it


def size_for(text_bytes: int) -> int:
    """Estimate the memory of the filter for texts of this size, whose blocks are not all full."""
    blocks = int(text_bytes / (_FULL * BLOCK_BYTES)) + _BYTE
    return min(MAX_BYTES, blocks * BLOCK_COST_BYTES)


def fold(text: bytes) -> bytes:
    """Fold case so that letters that match without case are equal, if one of them is ASCII."""
    for letter, ascii_letter in _FOLDED:
        if letter in text:
            text = text.replace(letter, ascii_letter)
    return text.lower()


class Signatures(NamedTuple):
    """The sliced signatures of some texts, which are numbered from 0. Immutable."""

    slices: NDArray[np.uint8]  # (8192, blocks / 8): bits, the first block highest
    first: NDArray[np.int64]  # the first text of each block
    last: NDArray[np.int64]  # the last text of each block
    size: int  # texts

    @classmethod
    def empty(cls) -> "Signatures":
        """Return the signatures of no text."""
        nothing = np.empty(0, np.int64)
        return cls(np.empty((_SLICES, 0), np.uint8), nothing, nothing, 0)

    @property
    def size_bytes(self) -> int:
        """The memory of the slices."""
        return self.slices.nbytes

    def with_texts(self, texts: Iterable[bytes], max_bytes: int | None = None) -> "Signatures":
        """Return these signatures with texts appended.

        Args:
            texts: No more are taken once ``max_bytes`` is reached.
            max_bytes: Of the new signatures, which the last text may exceed; None for no limit.
        """
        builder = _Builder(self.size)
        for text in texts:
            builder.add(text)
            if max_bytes is not None and builder.size_bytes >= max_bytes:
                break
        slices, first, last = builder.finish()
        return Signatures(
            np.concatenate([self.slices, *slices], axis=1),
            np.append(self.first, np.array(first, np.int64)),
            np.append(self.last, np.array(last, np.int64)),
            builder.size,
        )

    def may_contain(self, literals: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return for each text whether it may contain one of the literals.

        Args:
            literals: Folded, each of at least three bytes.
        """
        bits = np.zeros(self.slices.shape[1], np.uint8)
        for literal in literals:
            slices = np.concatenate(_hash_ngrams(literal[:MAX_LITERAL_BYTES]))
            bits |= np.bitwise_and.reduce(self.slices[slices], axis=0)
        blocks = np.flatnonzero(np.unpackbits(bits))
        begun = np.bincount(self.first[blocks], minlength=self.size + 1)
        ended = np.bincount(self.last[blocks] + 1, minlength=self.size + 1)
        may_contain: NDArray[np.bool_] = np.cumsum(begun - ended)[:-1] > 0
        return may_contain


class _Builder:
    """Builds signatures of texts as they come."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._slices: list[NDArray[np.uint8]] = []
        self._first: list[int] = []
        self._last: list[int] = []
        self._rows = np.zeros((_BLOCKS_PER_BATCH, _SLICES), np.bool_)
        self._number = 0  # rows in use
        self._pieces: list[bytes] = []
        self._piece_bytes = 0
        self._first_text = size  # the first text of the open block

    @property
    def size_bytes(self) -> int:
        return len(self._first) * BLOCK_COST_BYTES

    def add(self, text: bytes) -> None:
        folded = fold(text)
        if self._piece_bytes + len(folded) > BLOCK_BYTES:
            self._close()
        step = BLOCK_BYTES - MAX_LITERAL_BYTES
        for start in range(0, max(1, len(folded) - MAX_LITERAL_BYTES), step):
            piece = folded[start : start + BLOCK_BYTES]
            if start:
                self._close(until=self.size)
            self._pieces.append(piece)
            self._piece_bytes += len(piece)
        self.size += 1

    def _close(self, until: int | None = None) -> None:
        """End the open block; it holds texts up to the last one, or up to the one being added."""
        last = self.size - 1 if until is None else until
        if self._pieces:
            row = self._rows[self._number]
            for hashes in _hash_ngrams(b"\n".join(self._pieces)):
                row[hashes] = True
            self._first.append(self._first_text)
            self._last.append(last)
            self._number += 1
            if self._number == _BLOCKS_PER_BATCH:
                self._pack()
        self._pieces.clear()
        self._piece_bytes = 0
        self._first_text = self.size

    def _pack(self) -> None:
        """Slice the signatures, padded to a whole byte with blocks of no text."""
        count = -(-self._number // _BYTE)
        self._slices.append(np.packbits(self._rows[: count * _BYTE], axis=0).T)
        padding = count * _BYTE - self._number
        self._first += [0] * padding
        self._last += [-1] * padding
        self._rows[:] = False
        self._number = 0

    def finish(self) -> tuple[list[NDArray[np.uint8]], list[int], list[int]]:
        self._close()
        if self._number:
            self._pack()
        return self._slices, self._first, self._last


def _hash_ngrams(text: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the hashes of a folded text: of its runs of three bytes, and of its runs of four."""
    letters = np.frombuffer(text, np.uint8).astype(np.uint32)
    size = len(letters)
    runs = letters[: max(0, size - 2)].copy()
    runs |= letters[1 : max(1, size - 1)] << np.uint32(8)
    runs |= letters[2:] << np.uint32(16)
    longer = runs[: max(0, size - 3)] | letters[3:] << np.uint32(24)
    return _mix(runs), _mix(longer)


def _mix(runs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the upper bits after steps of MurmurHash3 by A. Appleby, which spread every bit."""
    runs ^= runs >> np.uint32(16)
    runs *= np.uint32(0x85EBCA6B)
    runs ^= runs >> np.uint32(13)
    runs *= np.uint32(0xC2B2AE35)
    runs >>= np.uint32(32 - _BITS)
    return runs


class _Texts(NamedTuple):
    """Texts as an index names them, by ascending id."""

    ids: NDArray[np.int64]
    marks: NDArray[np.uint64]  # the first bytes of their hashes

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bytes]]) -> "_Texts":
        marks = b"".join(mark for _, mark in rows)
        return cls(
            np.array([blob_id for blob_id, _ in rows], np.int64), np.frombuffer(marks, np.uint64)
        )

    def with_rows(self, rows: Sequence[tuple[int, bytes]]) -> "_Texts":
        added = _Texts.of(rows)
        ids = np.concatenate([self.ids, added.ids])
        return _Texts(ids, np.concatenate([self.marks, added.marks]))


class _Known(NamedTuple):
    """The signatures of some texts, as they were when they were read. Immutable."""

    signatures: Signatures
    texts: _Texts  # in the order of the signatures


class _View(NamedTuple):
    """The known texts among those of one state of an index."""

    known: _Known
    texts: _Texts  # all of them
    places: NDArray[np.int64]  # of each text among the known ones; -1 if unknown

    @property
    def unknown(self) -> int:
        return int(np.count_nonzero(self.places < 0))

    @property
    def is_outdated(self) -> bool:
        """Whether most of the known texts are gone from the index."""
        living = len(self.places) - self.unknown
        return self.known.signatures.size > 2 * living + _BATCH


class NgramFilter:
    """Rules out texts of a project that patterns cannot match. Thread-safe."""

    def __init__(self) -> None:
        self._known = _Known(Signatures.empty(), _Texts.of(()))
        self._view: tuple[int | None, _View] | None = None
        self._update_lock = threading.Lock()
        self._needs_update = True  # no text is known

    @property
    def size_bytes(self) -> int:
        """The memory of the signatures."""
        return self._known.signatures.size_bytes

    def candidate_texts(self, handle: Handle, patterns: Sequence[Pattern]) -> list[int] | None:
        """Return the ascending ids of the texts that may match all patterns, or None for all texts.

        Args:
            handle: A read transaction.
            patterns: The patterns, none of them negated.
        """
        wanted = [choices for pattern in patterns for choices in _literals(pattern)]
        if not wanted:
            return None
        view = self._current_view(handle)
        has_room = MAX_BYTES - view.known.signatures.size_bytes > _MIN_FREE_BYTES
        self._needs_update = view.unknown > _MAX_UNKNOWN and (has_room or view.is_outdated)
        candidate_texts = np.ones(
            view.known.signatures.size + 1, np.bool_
        )  # the last is for unknown texts
        for literals in wanted:
            candidate_texts[:-1] &= view.known.signatures.may_contain(literals)
        chosen: list[int] = view.texts.ids[candidate_texts[view.places]].tolist()
        return chosen if len(chosen) < _MAX_SHARE * len(view.texts.ids) else None

    def _current_view(self, handle: Handle) -> _View:
        changes = project.count_changes(handle)
        cached, known = self._view, self._known
        if cached and changes is not None and cached[0] == changes and cached[1].known is known:
            return cached[1]
        view = _view(known, _Texts.of(chunks.read_hash_prefixes(handle, _MARK_BYTES)))
        self._view = changes, view
        return view

    def update(self, store: Store, cancelled: CancelToken) -> None:
        """Read all texts at first, then those that a search lacked, idle for half of the time.

        Args:
            store: The project's database.
            cancelled: Called some ten times a second.
        """
        if not self._needs_update or not self._update_lock.acquire(blocking=False):
            return
        try:
            self._needs_update = False
            with store.read() as handle:
                texts = _Texts.of(chunks.read_hash_prefixes(handle, _MARK_BYTES))
            known, wanted = _plan_update(_view(self._known, texts))
            learned: list[tuple[int, bytes]] = []
            texts_wanted = _read(store, wanted, learned, cancelled)
            max_bytes = MAX_BYTES - known.signatures.size_bytes
            signatures = known.signatures.with_texts(texts_wanted, max_bytes)
            self._known = _Known(signatures, known.texts.with_rows(learned))
        finally:
            self._update_lock.release()


def _literals(pattern: Pattern) -> Iterator[list[bytes]]:
    """Yield the literals of which each matching text contains one, if they are long enough."""
    for texts in pattern.required:
        literals = [fold(text.encode()) for text in texts]
        if min(map(len, literals)) >= MIN_LITERAL_BYTES:
            yield literals


def _view(known: _Known, texts: _Texts) -> _View:
    """Look up texts among the known ones; of an id that was used twice, the later."""
    order = np.argsort(known.texts.ids, kind="stable")
    at = np.searchsorted(known.texts.ids[order], texts.ids, side="right") - 1
    places = np.append(order, -1)[at]  # -1 for ids below all known ones
    is_same = np.append(known.texts.ids, -1)[places] == texts.ids
    is_same &= np.append(known.texts.marks, np.uint64(0))[places] == texts.marks
    return _View(known, texts, np.where(is_same, places, -1))


def _plan_update(view: _View) -> tuple[_Known, list[int]]:
    """Return what is worth keeping of the known texts, and the ids of the texts to read."""
    if view.is_outdated:
        return _Known(Signatures.empty(), _Texts.of(())), view.texts.ids.tolist()
    return view.known, view.texts.ids[view.places < 0].tolist()


def _read(
    store: Store,
    blob_ids: Sequence[int],
    learned: list[tuple[int, bytes]],
    cancelled: CancelToken,
) -> Iterator[bytes]:
    """Yield texts, and record each when it is taken."""
    for at in range(0, len(blob_ids), _BATCH):
        if cancelled():
            return
        started = time.perf_counter()
        with store.read() as handle:
            rows = chunks.read_prefixed_texts(handle, blob_ids[at : at + _BATCH], _MARK_BYTES)
        for blob_id, mark, packed in rows:
            try:
                text = unpack_text(packed)
            except IndexCorruptError:  # a search that reads it reports it
                continue
            learned.append((blob_id, mark))
            yield text
        time.sleep(min(_MAX_PAUSE_S, time.perf_counter() - started))
