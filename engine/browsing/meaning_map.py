"""The map of meaning: each file at the mean of its chunks' vectors, projected onto a plane.

The projection is onto the two principal components. They have no sign of their own, and change a
little with every file, so the axes are computed once and stored: each points to where its largest
component is positive, and unchanged files keep their places to the last bit. Axes are replaced only
when they show less than ``_LEAST_WORTH`` of what new ones would: the tree has become another one.
"""

import threading
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.browse_records import MIN_MAPPED_FILES, FilePoint, MeaningMap
from engine.browsing.branch_files import BranchFiles
from engine.errors import EngineError
from engine.search.blob_facts import BlobFacts, Marks, find_same, read_ranges
from engine.store import models, vectors
from engine.store.connection import Handle, Store
from engine.store.models import ModelRow, read_current_model
from engine.store.project import BranchRow
from engine.store.quantization import unpacked
from engine.store.vectors import Ids, PackedVectors

Numbers = NDArray[np.float32]

#: Of the spread that the best two axes would show, so much is shown by those that are kept.
_LEAST_WORTH = 0.8
#: On each side, one file in two hundred may lie outside the frame, and is drawn on its edge.
_OUTSIDE_PERCENT = 0.5
_LEAST_WIDTH = 1e-6
_FEW_BLOBS = 200  # whose chunks are looked up; of more, all are read
_FEW_CHUNKS = 2000  # whose vectors are looked up; of more, all are read
_SKEW = 1e-3  # that rounding can give to directions of length 1 at right angles

#: More dots than these are no picture, and a page of a megabyte.
MOST_POINTS = 2000


class Axes(NamedTuple):
    """The centre and the two axes of the plane, in the space of the vectors."""

    centre: Numbers  # (dimension)
    directions: Numbers  # (2 × dimension), of length 1, at right angles
    low: Numbers  # (2) where the frame begins, from the centre
    high: Numbers  # (2) where it ends

    def as_bytes(self) -> bytes:
        """Return the numbers as bytes, to be stored."""
        parts = (self.centre, self.directions.ravel(), self.low, self.high)
        return np.concatenate(parts).astype("<f4").tobytes()


class NewAxes(NamedTuple):
    """Axes that are not stored yet, of the vectors of a model."""

    model: ModelRow
    axes: Axes


class Spread(NamedTuple):
    """The mean and covariance of vectors."""

    centre: Numbers  # (dimension)
    covariance: Numbers  # (dimension × dimension)


def axes_from(numbers: bytes, dimension: int) -> Axes | None:
    """Read stored axes; None if they have another dimension or are not valid."""
    if len(numbers) != 4 * (3 * dimension + 4):
        return None
    flat = np.frombuffer(numbers, "<f4").astype(np.float32)
    if not np.isfinite(flat).all():
        return None
    centre, directions, frame = np.split(flat, [dimension, 3 * dimension])
    axes = Axes(centre, directions.reshape(2, dimension), frame[:2], frame[2:])
    both = axes.directions.astype(np.float64)  # whose products no number of theirs can overflow
    is_plane = np.allclose(both @ both.T, np.eye(2), atol=_SKEW)
    return axes if is_plane and (axes.low < axes.high).all() else None


def spread_of(vectors: Numbers) -> Spread:
    """Return the mean and covariance of vectors (files × dimension)."""
    centre = vectors.mean(axis=0)
    away = vectors - centre
    return Spread(centre, away.T @ away / np.float32(max(len(vectors), 1)))


def axes_of(vectors: Numbers, spread: Spread) -> Axes:
    """Return the two principal components of at least two vectors with this spread."""
    _, components = np.linalg.eigh(spread.covariance)
    directions = components[:, ::-1][:, :2].T  # the last ones are the longest
    largest = np.abs(directions).argmax(axis=1)
    signs = np.where(directions[np.arange(2), largest] < 0, -1.0, 1.0)
    directions = np.asarray(directions * signs[:, np.newaxis], np.float32)
    found = (vectors - spread.centre) @ directions.T
    low, high = np.percentile(found, [_OUTSIDE_PERCENT, 100 - _OUTSIDE_PERCENT], axis=0)
    ends = (low, np.maximum(high, low + _LEAST_WIDTH))
    return Axes(spread.centre, directions, *(np.asarray(end, np.float32) for end in ends))


def places_of(vectors: Numbers, axes: Axes) -> Numbers:
    """Project vectors into the frame: (files × 2), 0 to 1 from the left and from the top."""
    found = (vectors - axes.centre) @ axes.directions.T
    across = np.clip((found - axes.low) / (axes.high - axes.low), 0.0, 1.0)
    across[:, 1] = 1 - across[:, 1]
    return np.asarray(across, np.float32)


def fidelity_of(spread: Spread, axes: Axes) -> float:
    """Return the share of the variance that axes show, 0 to 1."""
    whole = float(np.trace(spread.covariance))
    shown = float(np.sum((axes.directions @ spread.covariance) * axes.directions))
    return min(max(shown / whole, 0.0), 1.0) if whole > 0 else 1.0


def still_fit(spread: Spread, kept: Axes) -> bool:
    """Return whether stored axes still show enough of the variance."""
    best = float(np.linalg.eigvalsh(spread.covariance)[-2:].sum())
    whole = float(np.trace(spread.covariance))
    return whole <= 0 or fidelity_of(spread, kept) >= _LEAST_WORTH * best / whole


class _FileVectors(NamedTuple):
    """Files with their vectors, row by row."""

    files: list[tuple[str, str]]  # path as it is shown, and language
    vectors: NDArray[np.float32]  # of length 1
    number: int  # of files that could have been chosen


class _Means(NamedTuple):
    """The mean directions of some blobs, by rising id."""

    model: tuple[ModelRow, int]  # and when its tables were made
    blob_ids: Ids
    marks: Marks
    rows: NDArray[np.float32]

    @property
    def size_bytes(self) -> int:
        """The memory that they take."""
        return self.blob_ids.nbytes + self.marks.nbytes + self.rows.nbytes


class KeptMeans:
    """The means of the files that were drawn last; those of unchanged files are kept. Thread-safe.

    A vector follows from its chunk and the model, so the mean of a blob that is still the same is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._means: _Means | None = None

    @property
    def size_bytes(self) -> int:
        """The memory of the means."""
        means = self._means
        return means.size_bytes if means else 0

    def evict(self) -> None:
        """Drop them."""
        self._means = None

    def of(
        self, handle: Handle, model: ModelRow, facts: BlobFacts, blob_ids: Ids
    ) -> NDArray[np.float32]:
        """Return the mean direction of the chunks of each blob; 0 without vectors.

        Args:
            handle: A read transaction.
            model: Whose vectors.
            facts: Of the blobs.
            blob_ids: Rising; all are there.
        """
        with self._lock:
            if models.lacks_vectors(handle, model):
                self._means = None
                return _read_means(handle, model, blob_ids)
            key = (model, models.when_made(handle, model))
            marks = facts.marks[facts.find(blob_ids)[0]]
            known = self._means
            if known is None or known.model != key:
                rows = _read_means(handle, model, blob_ids)
            else:
                at, is_known = find_same(known.blob_ids, known.marks, blob_ids, marks)
                rows = np.empty((len(blob_ids), model.dimension), np.float32)
                rows[is_known] = known.rows[at[is_known]]
                rows[~is_known] = _read_means(handle, model, blob_ids[~is_known])
            self._means = _Means(key, blob_ids, marks, rows)
            return rows


def meaning_map(
    handle: Handle, branch: BranchRow, files: BranchFiles, facts: BlobFacts, kept: KeptMeans
) -> tuple[MeaningMap, NewAxes | None]:
    """Lay out the files of a branch; empty without vectors or with too few files.

    Of too many files a sample is shown that depends on their paths alone, so it stays the same
    after each run.

    Args:
        handle: A read transaction of the project's database.
        branch: The branch.
        files: Its files.
        facts: Of its blobs.
        kept: Means of earlier states.

    Returns:
        The map, and its axes if they are to be stored, once the read has ended.
    """
    model = read_current_model(handle)
    found = _file_vectors(handle, model, files, facts, kept) if model else None
    if model is None or found is None or len(found.files) < MIN_MAPPED_FILES:
        number = found.number if found else 0
        empty = MeaningMap(
            branch=branch.name,
            model=model.name if model else None,
            points=(),
            files=number,
            fidelity=0.0,
        )
        return empty, None
    spread = spread_of(found.vectors)
    axes = _stored_axes(handle, model, spread)
    new = None
    if axes is None:
        axes = axes_of(found.vectors, spread)
        new = NewAxes(model, axes)
    return _drawn(branch, model, found, spread, axes), new


def store_axes(store: Store, new: NewAxes) -> None:
    """Write new axes into the project's file; if it cannot be written, they hold for one map only.

    Not within a read: the writer may wait for its end.
    """
    # A full disk, or one that is read-only, is no reason to show nothing.
    with suppress(EngineError), store.write(bookkeeping=True) as writing:
        models.write_axes(writing, new.model, new.axes.as_bytes())


def map_on_stored_axes(
    handle: Handle, branch: BranchRow, files: BranchFiles, facts: BlobFacts, kept: KeptMeans
) -> MeaningMap | None:
    """Lay out the files as ``meaning_map`` does; None if that would make new axes, or be empty."""
    model = read_current_model(handle)
    if model is None or models.read_axes(handle, model) is None:
        return None
    found = _file_vectors(handle, model, files, facts, kept)
    if len(found.files) < MIN_MAPPED_FILES:
        return None
    spread = spread_of(found.vectors)
    axes = _stored_axes(handle, model, spread)
    return _drawn(branch, model, found, spread, axes) if axes else None


def _drawn(
    branch: BranchRow, model: ModelRow, found: _FileVectors, spread: Spread, axes: Axes
) -> MeaningMap:
    places = np.round(places_of(found.vectors, axes), 4).tolist()
    return MeaningMap(
        branch=branch.name,
        model=model.name,
        points=tuple(
            FilePoint(path=path, language=language, x=x, y=y)
            for (path, language), (x, y) in zip(found.files, places, strict=True)
        ),
        files=found.number,
        fidelity=fidelity_of(spread, axes),
    )


def _stored_axes(handle: Handle, model: ModelRow, spread: Spread) -> Axes | None:
    """Return the stored axes; None if there are none, or they show too little."""
    numbers = models.read_axes(handle, model)
    stored = axes_from(numbers, model.dimension) if numbers else None
    return stored if stored is not None and still_fit(spread, stored) else None


def _file_vectors(
    handle: Handle, model: ModelRow, files: BranchFiles, facts: BlobFacts, kept: KeptMeans
) -> _FileVectors:
    """Return a sample of files by path, each with the mean of its chunks' vectors."""
    of_files = np.array([row[3] for row in files.files], np.int64)
    numbers, has_blob = facts.find(of_files)
    seen = np.flatnonzero(has_blob)[facts.chunk_counts[numbers] > 0]
    chosen = _sampled([row[0] for row in files.files], seen)
    blob_ids, rows = np.unique(of_files[chosen], return_inverse=True)
    own = kept.of(handle, model, facts, blob_ids)[rows]
    has_one = own.any(axis=1)
    languages = facts.language_of[facts.find(of_files[chosen[has_one]])[0]].tolist()
    return _FileVectors(
        [
            (files.files[at][0].decode("utf-8", "replace"), facts.languages[language])
            for at, language in zip(chosen[has_one].tolist(), languages, strict=True)
        ],
        own[has_one],
        len(seen) if has_one.all() else int(len(seen) * has_one.mean()),
    )


def _sampled(paths: Sequence[bytes], seen: Ids) -> Ids:
    """Return the numbers of those of some files that are shown, by path."""
    if len(seen) <= MOST_POINTS:
        return seen
    keys = [zlib.crc32(paths[at]) for at in seen.tolist()]
    return np.sort(seen[np.argsort(keys, kind="stable")[:MOST_POINTS]])


def _read_means(handle: Handle, model: ModelRow, blob_ids: Ids) -> NDArray[np.float32]:
    """Return the mean direction of the chunks of each blob, by rising id; 0 without vectors."""
    wanted = blob_ids if len(blob_ids) <= _FEW_BLOBS else None
    with_chunks, first, counts = read_ranges(handle, wanted)
    is_wanted = np.isin(with_chunks, blob_ids)
    with_chunks, first, counts = with_chunks[is_wanted], first[is_wanted], counts[is_wanted]
    by_chunk = np.argsort(first)
    first, counts = first[by_chunk], counts[by_chunk]
    row_of = np.searchsorted(blob_ids, with_chunks[by_chunk])
    sums = np.zeros((len(blob_ids), model.dimension), np.float32)
    for ids, packed in _vectors_of(handle, model, first, counts):
        rows = np.searchsorted(first, ids, side="right") - 1
        is_in = (rows >= 0) & (ids < (first + counts)[rows])
        if is_in.any():  # in order, the vectors of a blob are one run, which is added up at once
            order = np.argsort(np.where(is_in, rows, len(first)), kind="stable")[: is_in.sum()]
            runs = rows[order]
            starts = np.flatnonzero(np.diff(runs, prepend=-1))
            stored = unpacked(packed[order]).astype(np.float32)
            sums[row_of[runs[starts]]] += np.add.reduceat(_unit(stored), starts)
    return _unit(sums)


def _vectors_of(
    handle: Handle, model: ModelRow, first: Ids, counts: Ids
) -> Iterable[PackedVectors]:
    """Yield at least the vectors of some ranges of chunks: of few these alone, else all."""
    if counts.sum() > _FEW_CHUNKS:
        return vectors.iter_packed_chunks(handle, model)
    ranges = zip(first.tolist(), (first + counts).tolist(), strict=True)
    chunk_ids = [id_ for begin, end in ranges for id_ in range(begin, end)]
    return [vectors.read_packed_chunks(handle, model, chunk_ids)] if chunk_ids else []


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit
