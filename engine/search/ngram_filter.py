"""What a process that answers many patterns keeps of a project, to look into few of its texts.

It is kept in memory alone. In the index it would take an eighth of the source, and most commands
ask for one pattern: for one, looking through all of 100 MB takes a third of a second.

Which texts can hold a literal, told without reading them.

Texts are cut into blocks of 8 kB, and the runs of three and of four bytes in a block are hashed
into a row of 8,192 bits, a third of which get set. The rows are kept sliced: one line of bits a
hash, with a bit for each block, so that a literal of ten bytes is looked up by fifteen lines,
whatever the size of the source. A block that can hold a literal need not; one that cannot is sure
not to.

Over 21 MB in 4,001 files of four repositories, 11 ms a MB: of thirteen literals the median was held
by 126 files and let 259 pass. Runs of three alone let 344 pass, and a name like "openconnection",
whose parts are everywhere, in ten times as many files as with runs of four beside them.

Sources: R. Cox, "Regular Expression Matching with a Trigram Index" (2012), for asking by such runs;
B. Goodwin et al., "BitFunnel: Revisiting Signatures for Search", SIGIR 2017, for sliced rows.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import IndexCorruptError
from engine.search.patterns import Pattern
from engine.store import chunks, project
from engine.store.compression import unpack_text
from engine.store.connection import Handle, Store

#: Bytes of a literal that are looked up; blocks of one text overlap by so many.
LONGEST_LITERAL = 64
#: Bytes of a literal at least: a shorter one is everywhere.
SHORTEST_LITERAL = 3
#: Of text in a block, at most.
BLOCK_BYTES = 8 << 10
_BITS = 13
_LINES = 1 << _BITS
_BLOCKS_A_BATCH = 256
_BYTE = 8
# Letters outside ASCII that fold to letters inside (K, the sign of kelvin, and the long s).
_FOLDED = (("\u212a".encode(), b"k"), ("\u017f".encode(), b"s"))
#: What a block takes.
BLOCK_COST_BYTES = _LINES // _BYTE


def fold(text: bytes) -> bytes:
    """Make letters alike that a search without case takes for the same, if one is in ASCII."""
    for letter, ascii_letter in _FOLDED:
        if letter in text:
            text = text.replace(letter, ascii_letter)
    return text.lower()


class Grams(NamedTuple):
    """The sliced rows of some texts, which are numbered from 0. Never changed."""

    lines: NDArray[np.uint8]  # (8192, blocks / 8): bits, the first block highest
    first: NDArray[np.int64]  # the first text of each block
    last: NDArray[np.int64]  # the last text of each block
    size: int  # texts

    @classmethod
    def none(cls) -> "Grams":
        """Give the rows of no text."""
        nothing = np.empty(0, np.int64)
        return cls(np.empty((_LINES, 0), np.uint8), nothing, nothing, 0)

    @property
    def size_bytes(self) -> int:
        """What the rows take."""
        return self.lines.nbytes

    def with_texts(self, texts: Iterable[bytes], room: int | None = None) -> "Grams":
        """Add texts behind those that are there.

        Args:
            texts: No more are taken when the room is full.
            room: For their rows, in bytes, which the last text may exceed; None is no bound.
        """
        builder = _Builder(self.size)
        for text in texts:
            builder.add(text)
            if room is not None and builder.size_bytes >= room:
                break
        lines, first, last = builder.finish()
        return Grams(
            np.concatenate([self.lines, *lines], axis=1),
            np.append(self.first, np.array(first, np.int64)),
            np.append(self.last, np.array(last, np.int64)),
            builder.size,
        )

    def holding(self, literals: Sequence[bytes]) -> NDArray[np.bool_]:
        """Say of each text whether it can hold one of some literals.

        Args:
            literals: Folded, each of at least three bytes.
        """
        bits = np.zeros(self.lines.shape[1], np.uint8)
        for literal in literals:
            lines = np.concatenate(_hashes(literal[:LONGEST_LITERAL]))
            bits |= np.bitwise_and.reduce(self.lines[np.unique(lines)], axis=0)
        blocks = np.flatnonzero(np.unpackbits(bits))
        begun = np.bincount(self.first[blocks], minlength=self.size + 1)
        ended = np.bincount(self.last[blocks] + 1, minlength=self.size + 1)
        holding: NDArray[np.bool_] = np.cumsum(begun - ended)[:-1] > 0
        return holding


class _Builder:
    """Makes rows of texts as they come."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lines: list[NDArray[np.uint8]] = []
        self._first: list[int] = []
        self._last: list[int] = []
        self._rows = np.zeros((_BLOCKS_A_BATCH, _LINES), np.bool_)
        self._number = 0  # rows that are filled
        self._pieces: list[bytes] = []
        self._piece_bytes = 0
        self._since = size  # the first text of the open block

    @property
    def size_bytes(self) -> int:
        return len(self._first) * BLOCK_COST_BYTES

    def add(self, text: bytes) -> None:
        folded = fold(text)
        if self._piece_bytes + len(folded) > BLOCK_BYTES:
            self._close()
        step = BLOCK_BYTES - LONGEST_LITERAL
        for start in range(0, max(1, len(folded) - LONGEST_LITERAL), step):
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
            for hashes in _hashes(b"\n".join(self._pieces)):
                row[hashes] = True
            self._first.append(self._since)
            self._last.append(last)
            self._number += 1
            if self._number == _BLOCKS_A_BATCH:
                self._pack()
        self._pieces.clear()
        self._piece_bytes = 0
        self._since = self.size

    def _pack(self) -> None:
        """Slice the rows; where they do not fill a byte, rows of no text do."""
        count = -(-self._number // _BYTE)
        self._lines.append(np.packbits(self._rows[: count * _BYTE], axis=0).T)
        padding = count * _BYTE - self._number
        self._first += [0] * padding
        self._last += [-1] * padding
        self._rows[:] = False
        self._number = 0

    def finish(self) -> tuple[list[NDArray[np.uint8]], list[int], list[int]]:
        self._close()
        if self._number:
            self._pack()
        return self._lines, self._first, self._last


def _hashes(text: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Give the lines of a folded text: of its runs of three bytes, and of its runs of four."""
    letters = np.frombuffer(text, np.uint8).astype(np.uint32)
    size = len(letters)
    runs = letters[: max(0, size - 2)].copy()
    runs |= letters[1 : max(1, size - 1)] << np.uint32(8)
    runs |= letters[2:] << np.uint32(16)
    longer = runs[: max(0, size - 3)] | letters[3:] << np.uint32(24)
    return _mixed(runs), _mixed(longer)


def _mixed(runs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Give the upper bits after steps of MurmurHash3 by A. Appleby, which spread every bit."""
    runs ^= runs >> np.uint32(16)
    runs *= np.uint32(0x85EBCA6B)
    runs ^= runs >> np.uint32(13)
    runs *= np.uint32(0xC2B2AE35)
    runs >>= np.uint32(32 - _BITS)
    return runs


#: What may be kept of a project, enough for some 400 MB of source; the rest is looked through.
MOST_BYTES = 64 << 20
#: Texts that are not known yet before it is worth while to get to know them.
_MOST_UNKNOWN = 64
_LEAST_ROOM_BYTES = 1 << 20
#: When more pass, all are looked through: to choose costs time too.
_MOST_SHARE = 0.8
_BATCH = 256  # texts that are read at once
_LONGEST_REST_S = 0.1
_MARK_BYTES = 8  # of a text's hash: another text would have to take its id too


class _Texts(NamedTuple):
    """Texts as an index names them: by id, rising."""

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
    """The grams of some texts, as they were when they were read. Never changed."""

    grams: Grams
    texts: _Texts  # in the order of the grams


class _View(NamedTuple):
    """What is known of the texts of one state of an index."""

    known: _Known
    texts: _Texts  # all of them
    places: NDArray[np.int64]  # of each text among the known ones; -1 is not known

    @property
    def unknown(self) -> int:
        return int(np.count_nonzero(self.places < 0))

    @property
    def is_outlived(self) -> bool:
        """Whether most of what is known is gone from the index."""
        living = len(self.places) - self.unknown
        return self.known.grams.size > 2 * living + _BATCH


class Sieve:
    """Tells which texts of a project patterns may match. For any number of threads."""

    def __init__(self) -> None:
        self._known = _Known(Grams.none(), _Texts.of(()))
        self._view: tuple[int | None, _View] | None = None
        self._learning = threading.Lock()
        self._is_wanted = True  # made for somebody who has asked

    @property
    def size_bytes(self) -> int:
        """What is kept."""
        return self._known.grams.size_bytes

    def passing(self, handle: Handle, patterns: Sequence[Pattern]) -> list[int] | None:
        """Give the texts that each pattern may match, by id, rising; None is all of them.

        Args:
            handle: A read transaction.
            patterns: What has to match; none is a negated one.
        """
        wanted = [choices for pattern in patterns for choices in _literals(pattern)]
        if not wanted:
            return None
        view = self._view_of(handle)
        has_room = MOST_BYTES - view.known.grams.size_bytes > _LEAST_ROOM_BYTES
        self._is_wanted = view.unknown > _MOST_UNKNOWN and (has_room or view.is_outlived)
        passing = np.ones(view.known.grams.size + 1, np.bool_)  # the last is what is not known
        for literals in wanted:
            passing[:-1] &= view.known.grams.holding(literals)
        chosen: list[int] = view.texts.ids[passing[view.places]].tolist()
        return chosen if len(chosen) < _MOST_SHARE * len(view.texts.ids) else None

    def _view_of(self, handle: Handle) -> _View:
        changes = project.count_changes(handle)
        kept, known = self._view, self._known
        if kept and changes is not None and kept[0] == changes and kept[1].known is known:
            return kept[1]
        view = _view(known, _Texts.of(chunks.text_marks(handle, _MARK_BYTES)))
        self._view = changes, view
        return view

    def learn(self, store: Store, is_stopped: Callable[[], bool]) -> None:
        """Get to know the texts that patterns were asked about since; half of the time it rests.

        Args:
            store: The project's database.
            is_stopped: Asked some ten times a second.
        """
        if not self._is_wanted or not self._learning.acquire(blocking=False):
            return
        try:
            self._is_wanted = False
            with store.read() as handle:
                texts = _Texts.of(chunks.text_marks(handle, _MARK_BYTES))
            known, wanted = _of_use(_view(self._known, texts))
            learned: list[tuple[int, bytes]] = []
            texts_wanted = _read(store, wanted, learned, is_stopped)
            room = MOST_BYTES - known.grams.size_bytes
            grams = known.grams.with_texts(texts_wanted, room)
            self._known = _Known(grams, known.texts.with_rows(learned))
        finally:
            self._learning.release()
            store.release_thread()


def _literals(pattern: Pattern) -> Iterator[list[bytes]]:
    """Give what every text holds in which a pattern matches, as far as it can be looked up."""
    for texts in pattern.held:
        literals = [fold(text.encode()) for text in texts]
        if min(map(len, literals)) >= SHORTEST_LITERAL:
            yield literals


def _view(known: _Known, texts: _Texts) -> _View:
    """Look up texts among those that are known; of an id that was used twice, the later."""
    order = np.argsort(known.texts.ids, kind="stable")
    at = np.searchsorted(known.texts.ids[order], texts.ids, side="right") - 1
    places = np.append(order, -1)[at]  # -1 for what comes before all
    is_same = np.append(known.texts.ids, -1)[places] == texts.ids
    is_same &= np.append(known.texts.marks, np.uint64(0))[places] == texts.marks
    return _View(known, texts, np.where(is_same, places, -1))


def _of_use(view: _View) -> tuple[_Known, list[int]]:
    """Give what is worth keeping of what is known, and the ids of the texts to be read."""
    if view.is_outlived:
        return _Known(Grams.none(), _Texts.of(())), view.texts.ids.tolist()
    return view.known, view.texts.ids[view.places < 0].tolist()


def _read(
    store: Store,
    blob_ids: Sequence[int],
    learned: list[tuple[int, bytes]],
    is_stopped: Callable[[], bool],
) -> Iterator[bytes]:
    """Give texts one after the other, and note each when it is taken."""
    for at in range(0, len(blob_ids), _BATCH):
        if is_stopped():
            return
        started = time.perf_counter()
        with store.read() as handle:
            rows = chunks.marked_texts(handle, blob_ids[at : at + _BATCH], _MARK_BYTES)
        for blob_id, mark, packed in rows:
            try:
                text = unpack_text(packed)
            except IndexCorruptError:  # whoever looks into it is told
                continue
            learned.append((blob_id, mark))
            yield text
        time.sleep(min(_LONGEST_REST_S, time.perf_counter() - started))
