"""What a process that answers many patterns keeps of a project, to look into few of its texts.

It is kept in memory alone. In the index it would take an eighth of the source, and most commands
ask for one pattern: for one, looking through all of 100 MB takes a third of a second.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import IndexCorruptError
from engine.search.ngrams import SHORTEST_LITERAL, Grams, fold
from engine.search.patterns import Pattern
from engine.store import project, scanning
from engine.store.connection import Handle, Store
from engine.syntax.packing import unpack_text

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
        view = _view(known, _Texts.of(scanning.text_marks(handle, _MARK_BYTES)))
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
                texts = _Texts.of(scanning.text_marks(handle, _MARK_BYTES))
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
            rows = scanning.marked_texts(handle, blob_ids[at : at + _BATCH], _MARK_BYTES)
        for blob_id, mark, packed in rows:
            try:
                text = unpack_text(packed)
            except IndexCorruptError:  # whoever looks into it is told
                continue
            learned.append((blob_id, mark))
            yield text
        time.sleep(min(_LONGEST_REST_S, time.perf_counter() - started))
