"""The map of meaning: each file where the mean of its chunks' vectors puts it."""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.browse_records import FilePoint, MeaningMap
from engine.errors import EngineError
from engine.overview.projection import (
    Axes,
    Spread,
    axes_from,
    axes_of,
    fidelity_of,
    places_of,
    spread_of,
    still_fit,
)
from engine.records import display_path
from engine.store import files, map_axes, vectors
from engine.store.connection import Handle, Store
from engine.store.files import SeenFile
from engine.store.models import ModelRow, read_current_model
from engine.store.project import BranchRow

#: More dots than these are no picture, and a page of a megabyte.
MOST_POINTS = 2000
#: Fewer files have no shape.
LEAST_FILES = 3


class _Laid(NamedTuple):
    """Files with their vectors, row by row."""

    files: list[SeenFile]
    vectors: NDArray[np.float32]  # of length 1
    number: int  # of files that could have been chosen


def meaning_map(store: Store, handle: Handle, branch: BranchRow) -> MeaningMap:
    """Lay out the files of a branch; without vectors, or with too few files, there is no point.

    Which files are shown of too many depends on their paths alone, so that it is the same ones
    after each run. New axes are written into the project's file; when it cannot be written they
    hold for this picture only.

    Args:
        store: The project's database.
        handle: A read transaction of it.
        branch: The branch.
    """
    model = read_current_model(handle)
    laid = _laid(handle, model, branch) if model else None
    if model is None or laid is None or len(laid.files) < LEAST_FILES:
        number = laid.number if laid else 0
        return MeaningMap(
            branch=branch.name,
            model=model.name if model else None,
            points=(),
            files=number,
            fidelity=0.0,
        )
    spread = spread_of(laid.vectors)
    axes = _axes(store, handle, model, laid.vectors, spread)
    places = np.round(places_of(laid.vectors, axes), 4).tolist()
    return MeaningMap(
        branch=branch.name,
        model=model.name,
        points=tuple(
            FilePoint(path=display_path(file.path), language=file.language, x=x, y=y)
            for file, (x, y) in zip(laid.files, places, strict=True)
        ),
        files=laid.number,
        fidelity=fidelity_of(spread, axes),
    )


def _axes(
    store: Store, handle: Handle, model: ModelRow, laid: NDArray[np.float32], spread: Spread
) -> Axes:
    """Give the axes that are kept; new ones when there are none, or they show too little."""
    numbers = map_axes.read_axes(handle, model)
    kept = axes_from(numbers, model.dimension) if numbers else None
    if kept is not None and still_fit(spread, kept):
        return kept
    fresh = axes_of(laid, spread)
    try:
        with store.write(bookkeeping=True) as writing:
            map_axes.write_axes(writing, model, fresh.as_bytes())
    except EngineError:
        pass  # a full disk, or one that is read-only, is no reason to show nothing
    return fresh


def _laid(handle: Handle, model: ModelRow, branch: BranchRow) -> _Laid:
    """Give some files of a branch, by path, each with the mean of its chunks' vectors."""
    seen = files.read_seen_files(handle, branch.id)
    chosen = _chosen(seen)
    blobs = sorted({file.first_chunk: file for file in chosen}.values(), key=_first_chunk)
    means = _means(handle, model, blobs)
    row_of = {file.blob_id: row for row, file in enumerate(blobs)}
    rows = np.array([row_of[file.blob_id] for file in chosen], np.int64)
    own = means[rows]
    has_one = np.linalg.norm(own, axis=1) > 0
    return _Laid(
        [file for file, has in zip(chosen, has_one.tolist(), strict=True) if has],
        own[has_one],
        len(seen) if has_one.all() else int(len(seen) * has_one.mean()),
    )


def _chosen(seen: Sequence[SeenFile]) -> list[SeenFile]:
    if len(seen) > MOST_POINTS:
        seen = sorted(seen, key=lambda file: _lot(file.path))[:MOST_POINTS]
    return sorted(seen, key=lambda file: file.path)


def _lot(path: str) -> int:
    return zlib.crc32(path.encode("utf-8", "surrogateescape"))


def _first_chunk(file: SeenFile) -> int:
    return file.first_chunk


def _means(handle: Handle, model: ModelRow, blobs: Sequence[SeenFile]) -> NDArray[np.float32]:
    """Give the mean direction of the chunks of each blob; 0 for one that has no vector.

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
            runs, starts = np.unique(rows[order], return_index=True)
            sums[runs] += np.add.reduceat(_unit(stored[order].astype(np.float32)), starts)
    return _unit(sums)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit
