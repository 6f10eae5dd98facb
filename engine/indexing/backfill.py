"""Makes the vectors that chunks and files lack, after they were stored.

So come the vectors of all backends but the built-in one, which workers make with the chunks, and
those of a new model beside the old ones. What is written is the checkpoint: a run that is killed or
cancelled loses one request, and the next one goes on.
"""

import os
from collections.abc import Callable, Sequence

from engine.embedding.embedder import Embedder, Passage
from engine.errors import Cancelled
from engine.faults import fault_point
from engine.indexing.batch import FirstIds
from engine.indexing.progress import Tally
from engine.store import blobs, models, vectors
from engine.store.compression import unpack_text
from engine.store.connection import Handle, Store
from engine.store.models import ModelRow
from engine.syntax.analysis import words_of_chunk

_CHUNKS_AT_ONCE = 64  # in a request and in a transaction
_FILES_AT_ONCE = 256
_COPIES_AT_ONCE = 1000

#: Hears how many chunks are done, of how many, and in which file.
Tell = Callable[[int, int, str], None]


class Backfill:
    """Gives each chunk and each file of a project its vector of one model.

    Args:
        store: The project's database; this process must be its only indexer.
        model: Whose tables are filled.
        embedder: The model.
        tally: Counts the chunks that are embedded.
        reads_text: Whether equal texts have equal vectors; else the model reads the words, which
            depend on what is around a chunk too.
    """

    def __init__(
        self,
        store: Store,
        model: ModelRow,
        embedder: Embedder,
        tally: Tally,
        *,
        reads_text: bool,
    ) -> None:
        self._store = store
        self._model = model
        self._embedder = embedder
        self._tally = tally
        self._reads_text = reads_text

    def fill(self, *, tell: Tell, stop: Callable[[], bool], new: FirstIds | None = None) -> None:
        """Make what is missing.

        Args:
            tell: Hears how far it is.
            stop: True stops it.
            new: Of chunks and files with these ids and later ones; None: of all.

        Raises:
            EmbedderUnavailableError: The backend went away; what is written stays.
            Cancelled: ``stop`` said so; what is written stays.
        """
        first = new or FirstIds(0, 0)
        with self._store.read() as handle:
            if new is None and not models.lacks_vectors(handle, self._model):
                return
        self._fill_files(stop, first.file)
        ids = self._lacking_chunks(first.chunk)
        if self._reads_text and ids:
            copy_equal(self._store, self._model, stop)
            ids = self._lacking_chunks(first.chunk)
        path = ""
        for start in range(0, len(ids), _CHUNKS_AT_ONCE):
            some = ids[start : start + _CHUNKS_AT_ONCE]
            with self._store.read() as handle:
                path = blobs.a_path_of(handle, some[0])
            tell(start, len(ids), path)
            self._fill_chunks(some, stop)
        if ids:
            tell(len(ids), len(ids), path)
        if self._reads_text and ids:
            copy_equal(self._store, self._model, stop)

    def _fill_chunks(self, ids: Sequence[int], stop: Callable[[], bool]) -> None:
        with self._store.read() as handle:
            pieces = blobs.read_pieces(handle, ids)
            asked = passages_of(handle, pieces)
        found = vectors.quantized(self._embedder.embed_passages(asked, stop))
        fault_point("vectors made")
        with self._store.write() as handle:
            vectors.insert_chunk_vectors(
                handle, self._model, [piece.chunk_id for piece in pieces], found
            )
            self._tally.embeddings += len(pieces)

    def _lacking_chunks(self, first: int) -> list[int]:
        with self._store.read() as handle:
            return models.lacking_chunks(
                handle, self._model, of_each_text=self._reads_text, first=first
            )

    def _fill_files(self, stop: Callable[[], bool], first: int) -> None:
        while True:
            _stop_if(stop)
            with self._store.read() as handle:
                rows = models.lacking_files(handle, self._model, _FILES_AT_ONCE, first=first)
            if not rows:
                return
            paths = [os.fsdecode(path) for _, path in rows]
            found = vectors.quantized(self._embedder.embed_paths(paths, stop))
            with self._store.write() as handle:
                vectors.insert_file_vectors(handle, self._model, [row[0] for row in rows], found)


def copy_equal(store: Store, model: ModelRow, stop: Callable[[], bool]) -> None:
    """Give chunks without a vector that of another chunk of the same text.

    Raises:
        Cancelled: ``stop`` said so; what is written stays.
    """
    with store.read() as handle:
        pairs = models.copied_vectors(handle, model)
    for start in range(0, len(pairs), _COPIES_AT_ONCE):
        _stop_if(stop)
        with store.write() as handle:
            models.copy_vectors(handle, model, pairs[start : start + _COPIES_AT_ONCE])
            fault_point("vectors copied")


def passages_of(handle: Handle, pieces: Sequence[blobs.Piece]) -> list[Passage]:
    """Give chunks as a model reads them, made again from the stored texts and symbols."""
    found = []
    blob_id, text = 0, b""
    for piece in pieces:
        if piece.blob_id != blob_id:
            blob_id = piece.blob_id
            packed = blobs.read_text(handle, blob_id)
            text = unpack_text(packed) if packed else b""
        part = text[piece.byte_start : piece.byte_end]
        words = words_of_chunk(part, piece.symbols, piece.owner)
        found.append(Passage(part.decode(), *words))
    return found


def _stop_if(stop: Callable[[], bool]) -> None:
    if stop():
        raise Cancelled("all files are indexed; the vectors made so far are kept")
