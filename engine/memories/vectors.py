"""The vectors of memories.

A memory has one vector, of the current model. It is made when the memory is saved, if the model is
available and fast, else by the next search that could use it. The same holds after a change of
model: old vectors are never compared with a query, and are replaced one batch at a time.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.cancellation import CancelToken
from engine.embedding.load import QueryEmbedder
from engine.errors import Cancelled, EngineError, InvalidConfigError, UnavailableError
from engine.memories.cards import terms_of_memory
from engine.store import blobs, memories, models
from engine.store.connection import Handle, Store
from engine.store.memories import MemoryRow
from engine.store.models import ModelRow
from engine.store.vector_rows import QueryVector

if TYPE_CHECKING:
    from engine.embedding.embedder import Passage

#: Memories in a request and in a transaction: one first, as a model may take a second for it, then
#: twice as many each time.
_FIRST_BATCH = 1
_LARGEST_BATCH = 64
#: How long a search or a save may make vectors; the next one makes the rest.
_PATIENCE_S = 2.0
#: Why there are no vectors for now: words alone answer.
_LACKING = (UnavailableError, InvalidConfigError, Cancelled)


class MemoryVectors:
    """Embeds memories and the queries they are compared with; thread-safe.

    Args:
        store: The project's database.
        query_embedder: The model that the settings name.
    """

    def __init__(self, store: Store, query_embedder: QueryEmbedder) -> None:
        self._store = store
        self._query_embedder = query_embedder

    def embed_query(self, text: str, expired: CancelToken) -> QueryVector | None:
        """Embed a query, and the memories that lack a vector to compare it with.

        The model is the index's, or the one in the settings when nothing is indexed.
        Returns None when the model is missing, unavailable, another one or a setting that cannot
        be read: words alone answer.

        Args:
            text: The query.
            expired: Returns whether the time for vectors of memories is up.
        """
        try:
            model = self._model()
            if model is None:
                return None
            vector = self._query_embedder.embed(text, model.identity)
        except _LACKING:
            return None
        self._complete(model.identity, expired)
        return QueryVector.of(model._replace(dimension=len(vector)), vector)

    def complete(self) -> None:
        """Embed the memories that lack a vector, as far as the model is available and fast.

        Raises nothing: it follows a save, which has succeeded whatever happens here.
        """
        with suppress(EngineError, Cancelled):
            model = self._model()
            if model:
                self._complete(model.identity, deadline())

    def _model(self) -> ModelRow | None:
        """Return the model of the index, or the one in the settings, without tables, if none is.

        Raises:
            UnavailableError: The model is unavailable.
            InvalidConfigError: The setting cannot be read.
            Cancelled: It takes longer than memories wait for it.
        """
        with self._store.read() as handle:
            model = models.read_current_model(handle)
            is_empty = not blobs.has_any(handle)
        if model is None and is_empty:
            return ModelRow(0, self._query_embedder.identity(deadline()), "", 0)
        return model

    def _complete(self, identity: str, expired: CancelToken) -> None:
        """Make vectors until none lack, time is up, or the model or the disk fails.

        Each batch is stored before the next, so that no search makes the same ones in vain.
        """
        size = _FIRST_BATCH
        while not expired():
            with self._store.read() as handle:
                rows = memories.read_unembedded(handle, identity, size)
            if not rows:
                return
            try:
                made = self._query_embedder.embed_passages(_passages(rows), identity, expired)
                packed = _stored(made)
                # Nothing that a process keeps of the files depends on this.
                with self._store.write(bookkeeping=True) as handle:
                    memories.write_vectors(handle, identity, zip(rows, packed, strict=True))
            except _LACKING:
                return
            if len(rows) < size:
                return
            size = min(2 * size, _LARGEST_BATCH)


def cosines_of_memories(handle: Handle, query_vector: QueryVector) -> dict[int, float]:
    """Return the cosine of each memory embedded by the query's model."""
    import numpy as np

    from engine.search.branch_vectors import CachedVectors
    from engine.store.vector_format import row_bytes_of
    from engine.store.vectors import PackedVectors

    size = row_bytes_of(query_vector.model.dimension)
    rows = [
        row
        for row in memories.read_vectors(handle, query_vector.model.identity)
        if len(row.vector) == size
    ]
    ids = np.array([row.memory_id for row in rows], np.int64)
    flat = np.frombuffer(b"".join([row.vector for row in rows]), np.uint8).reshape(-1, size)
    kept = CachedVectors(ids, [PackedVectors(ids, flat)], query_vector.model.dimension)
    return dict(zip(ids.tolist(), kept.cosines(query_vector).tolist(), strict=True))


def _stored(made: object) -> list[bytes]:
    import numpy as np

    from engine.store.quantization import quantized, rows_of

    assert isinstance(made, np.ndarray)
    return rows_of(quantized(made))


def _passages(rows: Sequence[MemoryRow]) -> "list[Passage]":
    from engine.embedding.embedder import Passage  # numpy

    found = []
    for row in rows:
        summary, tags, description = terms_of_memory(row)
        found.append(Passage(f"{row.summary}\n\n{row.description}", summary, tags, description))
    return found


def deadline() -> CancelToken:
    """Return the token that expires when enough time was spent on vectors of memories."""
    end_s = time.monotonic() + _PATIENCE_S
    return lambda: time.monotonic() > end_s
