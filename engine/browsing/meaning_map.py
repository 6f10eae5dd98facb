"""The map of meaning: each file at the mean of its chunks' vectors, projected onto a plane.

The projection is onto the two principal components. They have no sign of their own, and change a
little with every file, so the axes are computed once and stored: each points to where its largest
component is positive, and unchanged files keep their places to the last bit. Axes are replaced only
when they show less than ``_LEAST_WORTH`` of what new ones would: the tree has become another one.
"""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.browse_records import FilePoint, MeaningMap
from engine.errors import EngineError
from engine.records import display_path
from engine.store import files, models, vectors
from engine.store.connection import Handle, Store
from engine.store.files import SeenFile
from engine.store.models import ModelRow, read_current_model
from engine.store.project import BranchRow

Numbers = NDArray[np.float32]

#: Of the spread that the best two axes would show, so much is shown by those that are kept.
_LEAST_WORTH = 0.8
#: On each side, one file in two hundred may lie outside the frame, and is drawn on its edge.
_OUTSIDE_PERCENT = 0.5
_LEAST_WIDTH = 1e-6
_SKEW = 1e-3  # that rounding can give to directions of length 1 at right angles

#: More dots than these are no picture, and a page of a megabyte.
MOST_POINTS = 2000
#: Fewer files have no shape.
LEAST_FILES = 3


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

    files: list[SeenFile]
    vectors: NDArray[np.float32]  # of length 1
    number: int  # of files that could have been chosen


def meaning_map(store: Store, handle: Handle, branch: BranchRow) -> MeaningMap:
    """Lay out the files of a branch; empty without vectors or with too few files.

    Of too many files a sample is shown that depends on their paths alone, so it stays the same
    after each run. New axes are written into the project's file; when it cannot be written they
    hold for this picture only.

    Args:
        store: The project's database.
        handle: A read transaction of it.
        branch: The branch.
    """
    model = read_current_model(handle)
    found = _file_vectors(handle, model, branch) if model else None
    if model is None or found is None or len(found.files) < LEAST_FILES:
        number = found.number if found else 0
        return MeaningMap(
            branch=branch.name,
            model=model.name if model else None,
            points=(),
            files=number,
            fidelity=0.0,
        )
    spread = spread_of(found.vectors)
    axes = _stored_axes(handle, model, spread)
    if axes is None:
        axes = axes_of(found.vectors, spread)
        _store_axes(store, model, axes)
    return _drawn(branch, model, found, spread, axes)


def map_on_stored_axes(handle: Handle, branch: BranchRow) -> MeaningMap | None:
    """Lay out the files as ``meaning_map`` does; None if that would make new axes, or be empty."""
    model = read_current_model(handle)
    if model is None or models.read_axes(handle, model) is None:
        return None
    found = _file_vectors(handle, model, branch)
    if len(found.files) < LEAST_FILES:
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
            FilePoint(path=display_path(file.path), language=file.language, x=x, y=y)
            for file, (x, y) in zip(found.files, places, strict=True)
        ),
        files=found.number,
        fidelity=fidelity_of(spread, axes),
    )


def _stored_axes(handle: Handle, model: ModelRow, spread: Spread) -> Axes | None:
    """Return the stored axes; None if there are none, or they show too little."""
    numbers = models.read_axes(handle, model)
    stored = axes_from(numbers, model.dimension) if numbers else None
    return stored if stored is not None and still_fit(spread, stored) else None


def _store_axes(store: Store, model: ModelRow, axes: Axes) -> None:
    # A full disk, or one that is read-only, is no reason to show nothing.
    with suppress(EngineError), store.write(bookkeeping=True) as writing:
        models.write_axes(writing, model, axes.as_bytes())


def _file_vectors(handle: Handle, model: ModelRow, branch: BranchRow) -> _FileVectors:
    """Return a sample of files by path, each with the mean of its chunks' vectors."""
    seen = files.read_seen_files(handle, branch.id)
    chosen = _sampled(seen)
    blobs = sorted({file.first_chunk: file for file in chosen}.values(), key=_first_chunk)
    means = _means(handle, model, blobs)
    row_of = {file.blob_id: row for row, file in enumerate(blobs)}
    rows = np.array([row_of[file.blob_id] for file in chosen], np.int64)
    own = means[rows]
    has_one = np.linalg.norm(own, axis=1) > 0
    return _FileVectors(
        [file for file, has in zip(chosen, has_one.tolist(), strict=True) if has],
        own[has_one],
        len(seen) if has_one.all() else int(len(seen) * has_one.mean()),
    )


def _sampled(seen: Sequence[SeenFile]) -> list[SeenFile]:
    if len(seen) > MOST_POINTS:
        seen = sorted(seen, key=lambda file: _sampling_key(file.path))[:MOST_POINTS]
    return sorted(seen, key=lambda file: file.path)


def _sampling_key(path: str) -> int:
    return zlib.crc32(path.encode("utf-8", "surrogateescape"))


def _first_chunk(file: SeenFile) -> int:
    return file.first_chunk


def _means(handle: Handle, model: ModelRow, blobs: Sequence[SeenFile]) -> NDArray[np.float32]:
    """Return the mean direction of the chunks of each blob; 0 without vectors.

    Args:
        handle: A read transaction.
        model: Whose vectors.
        blobs: By rising chunks.
    """
    sums = np.zeros((len(blobs), model.dimension), np.float32)
    first = np.array([file.first_chunk for file in blobs], np.int64)
    stop = first + np.array([file.chunk_count for file in blobs], np.int64)
    for ids, stored in vectors.iter_chunk_vectors(handle, model):
        rows = np.searchsorted(first, ids, side="right") - 1
        is_in = (rows >= 0) & (ids < stop[rows])
        if is_in.any():  # in order, the vectors of a blob are one run, which is added up at once
            order = np.argsort(np.where(is_in, rows, len(blobs)), kind="stable")[: is_in.sum()]
            runs = rows[order]
            starts = np.flatnonzero(np.diff(runs, prepend=-1))
            sums[runs[starts]] += np.add.reduceat(_unit(stored[order].astype(np.float32)), starts)
    return _unit(sums)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit
