"""What memories mean: a vector each, of the model whose vectors answer for the files.

A vector is made when its memory is saved, if the model is there and quick, else by the next search
that could use it. So it is after another model was chosen: those of the old one are never compared
with a question, and made anew a batch at a time.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.embedding.questions import QuestionEmbedder
from engine.errors import Cancelled, UnavailableError
from engine.memories.cards import terms_of_memory
from engine.store import blobs, memories, models
from engine.store.connection import Handle, Store
from engine.store.memories import MemoryRow
from engine.store.models import ModelRow

if TYPE_CHECKING:
    from engine.embedding.embedder import Passage  # these import numpy
    from engine.search.meaning import Asked

_AT_ONCE = 64  # memories in a request and in a transaction
#: How long a search or a save goes on to make vectors; those left are for the next one.
_PATIENCE_S = 2.0


class Meanings:
    """Embeds memories and the questions that they are compared with. For any number of threads.

    Args:
        store: The project's database.
        questions: The model that the settings name.
    """

    def __init__(self, store: Store, questions: QuestionEmbedder) -> None:
        self._store = store
        self._questions = questions

    def asked(self, text: str) -> "Asked | None":
        """Embed a question, and the memories that lack a vector to compare it with.

        The model is that of the index, and with nothing indexed the one that the settings name.
        None when there is none, another one, or it is away: then words alone answer.
        """
        from engine.search.meaning import Asked  # numpy

        try:
            model = self._model()
            if model is None:
                return None
            vector = self._questions.embed(text, model.identity)
        except UnavailableError:
            return None
        self._complete(model.identity)
        return Asked.of(model._replace(dimension=len(vector)), vector)

    def complete(self) -> None:
        """Embed the memories that lack a vector, as far as the model is there and quick."""
        try:
            model = self._model()
        except UnavailableError:
            return
        if model:
            self._complete(model.identity)

    def _model(self) -> ModelRow | None:
        """Give the model of the index; with nothing indexed that of the settings, without tables.

        Raises:
            UnavailableError: It is away.
        """
        with self._store.read() as handle:
            model = models.read_current_model(handle)
            is_empty = not blobs.has_any(handle)
        if model is None and is_empty:
            return ModelRow(0, self._questions.identity(_deadline()), "", 0)
        return model

    def _complete(self, identity: str) -> None:
        """Make vectors until none lack, time is up, or the model or the disk says no."""
        stop = _deadline()
        while not stop():
            with self._store.read() as handle:
                rows = memories.read_unembedded(handle, identity, _AT_ONCE)
            if not rows:
                return
            try:
                made = self._questions.embed_passages(_passages(rows), identity, stop)
                packed = _stored(made)
                # Nothing that a process keeps of the files depends on this.
                with self._store.write(bookkeeping=True) as handle:
                    memories.write_vectors(handle, identity, zip(rows, packed, strict=True))
            except (UnavailableError, Cancelled):
                return
            if len(rows) < _AT_ONCE:
                return


def cosines_of_memories(handle: Handle, asked: "Asked") -> dict[int, float]:
    """Give the cosine of each memory that the question's model has embedded."""
    import numpy as np

    from engine.search.meaning import KeptVectors
    from engine.store.quantize import unpacked
    from engine.store.vector_rows import row_bytes_of
    from engine.store.vectors import StoredVectors

    size = row_bytes_of(asked.model.dimension)
    rows = [
        row
        for row in memories.read_vectors(handle, asked.model.identity)
        if len(row.vector) == size
    ]
    ids = np.array([row.memory_id for row in rows], np.int64)
    flat = np.frombuffer(b"".join([row.vector for row in rows]), np.uint8).reshape(-1, size)
    kept = KeptVectors(ids, StoredVectors(ids, unpacked(flat)))
    return dict(zip(ids.tolist(), kept.cosines(asked).tolist(), strict=True))


def _stored(made: object) -> list[bytes]:
    import numpy as np

    from engine.store.quantize import quantized, rows_of

    assert isinstance(made, np.ndarray)
    return rows_of(quantized(made))


def _passages(rows: Sequence[MemoryRow]) -> "list[Passage]":
    from engine.embedding.embedder import Passage  # numpy

    found = []
    for row in rows:
        summary, tags, description = terms_of_memory(row)
        found.append(Passage(f"{row.summary}\n\n{row.description}", summary, tags, description))
    return found


def _deadline() -> Callable[[], bool]:
    end_s = time.monotonic() + _PATIENCE_S
    return lambda: time.monotonic() > end_s
