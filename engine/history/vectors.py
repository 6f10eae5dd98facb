"""The vectors of commits, as a process keeps them between questions."""

import numpy as np

from engine.search.branch_vectors import CachedVectors
from engine.store import history
from engine.store.connection import Handle
from engine.store.vector_format import row_bytes_of
from engine.store.vector_rows import QueryVector
from engine.store.vectors import PackedVectors


class CommitVectors:
    """The vectors of all commits that a model embedded.

    Args:
        handle: A read transaction.
        model: The identity of the model.
        dimension: Of its vectors.
    """

    def __init__(self, handle: Handle, model: str, dimension: int) -> None:
        size = row_bytes_of(dimension)
        rows = [row for row in history.read_vectors(handle, model) if len(row[1]) == size]
        ids = np.array([id_ for id_, _ in rows], np.int64)
        packed = np.frombuffer(b"".join([row for _, row in rows]), np.uint8).reshape(-1, size)
        self._ids: list[int] = ids.tolist()
        self._vectors = CachedVectors(ids, [PackedVectors(ids, packed)], dimension)

    @property
    def size_bytes(self) -> int:
        """The approximate memory of it."""
        return self._vectors.size_bytes + 40 * len(self._ids)

    def cosines(self, vector: QueryVector) -> dict[int, float]:
        """Return the cosine of each commit, by its id.

        Args:
            vector: Of a question; the same model made it.
        """
        return dict(zip(self._ids, self._vectors.cosines(vector).tolist(), strict=True))
