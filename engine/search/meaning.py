"""Similarity of places to the meaning of a query, from the database.

``branch_vectors`` has the same for a branch that a process has cached, and looks at all places.
"""

import math
import sys
from collections.abc import Sequence
from heapq import nlargest
from operator import add

from engine.search.features import Cosines
from engine.search.weights import (
    FILE_SHARE,
    MAX_BY_MEANING,
    MAX_CHUNKS_PER_SIMILAR_PATH,
    MAX_SIMILAR_PATHS,
)
from engine.store import chunks
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle
from engine.store.filters import Filters
from engine.store.models import ModelRow
from engine.store.vector_rows import (
    FewVectors,
    QueryVector,
    VectorReader,
    has_few_vectors,
    numbers_of,
    read_rows,
)


def reader_of(handle: Handle, query_vector: QueryVector) -> VectorReader:
    """Return the faster reader: numpy's when there are many vectors, or it is loaded anyway."""
    if "numpy" not in sys.modules and has_few_vectors(handle, query_vector.model):
        return FewVectors(handle, query_vector)
    from engine.store.vectors import ManyVectors  # numpy

    return ManyVectors(handle, query_vector)


def near_chunks(
    handle: Handle, reader: VectorReader, filters: Filters, least: float
) -> list[ChunkFacts]:
    """Return the most similar chunks that pass filters.

    At most ``MAX_BY_MEANING`` of them, with at least the similarity ``least``, unordered; of equal
    ones the first by path.

    Candidates are the chunks with the most similar texts and those with the most similar paths, so
    of more than ``MAX_BY_MEANING`` one can be missed whose text and path are both only fairly
    similar, which ``branch_vectors`` finds.

    Args:
        handle: A read transaction.
        reader: Of the query.
        filters: Of the query.
        least: Of the similarity.
    """
    ids = set(reader.nearest_chunks(MAX_BY_MEANING, filters))
    near_files = reader.nearest_files(MAX_SIMILAR_PATHS, filters)
    for first, last in chunks.chunks_of_files(handle, near_files).values():
        ids.update(_nearest_in_file(reader, range(first, last + 1)))
    found = list(chunks.read_chunks(handle, sorted(ids), filters).values())
    found.sort(key=_by_path)
    cosines = cosines_of(reader, [(chunk.id, chunk.file_id) for chunk in found])
    similarities = [place + FILE_SHARE * file for place, file in zip(*cosines, strict=True)]
    near = [at for at, similarity in enumerate(similarities) if similarity >= least]
    return [found[at] for at in nlargest(MAX_BY_MEANING, near, key=similarities.__getitem__)]


def cosines_of(reader: VectorReader, pairs: Sequence[tuple[int, int]]) -> Cosines:
    """Return the cosines of chunks and of the files that show them; 0 without a vector.

    Args:
        reader: Of the query.
        pairs: Ids of a chunk and of a file.
    """
    of_chunks = reader.chunk_cosines([chunk_id for chunk_id, _ in pairs])
    of_files = reader.file_cosines(sorted({file_id for _, file_id in pairs}))
    return Cosines(
        [of_chunks.get(chunk_id, 0.0) for chunk_id, _ in pairs],
        [of_files.get(file_id, 0.0) for _, file_id in pairs],
    )


def query_vector_of_chunks(
    handle: Handle, model: ModelRow, chunk_ids: Sequence[int]
) -> QueryVector | None:
    """Return the sum of the unit vectors of chunks as a query; None when they have no vectors."""
    total = [0.0] * model.dimension
    for _, row in read_rows(handle, model.chunk_table, chunk_ids):
        numbers = numbers_of(row)
        length = math.hypot(*numbers)
        if length:
            total = list(map(add, total, [number / length for number in numbers]))
    query_vector = QueryVector.of(model, total)
    return query_vector if query_vector.length else None


def _nearest_in_file(reader: VectorReader, chunk_ids: Sequence[int]) -> Sequence[int]:
    """Return the most similar chunks of one file; all of them unless it is large."""
    if len(chunk_ids) <= MAX_CHUNKS_PER_SIMILAR_PATH:
        return chunk_ids
    cosines = reader.chunk_cosines(chunk_ids)
    return nlargest(MAX_CHUNKS_PER_SIMILAR_PATH, cosines, key=cosines.__getitem__)


def _by_path(chunk: ChunkFacts) -> tuple[str, int]:
    return chunk.path, chunk.id
