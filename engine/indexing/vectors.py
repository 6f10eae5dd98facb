"""Makes the vectors that chunks and files lack, and switches from one model to another.

Workers make the vectors of the built-in model together with the chunks. The backfill makes all
others: those of other backends, and those of a new model beside the old ones. What is written is
the checkpoint: a run that is killed or cancelled loses one request.

The settings name the wanted model; ``project.model_id`` is the current one, whose vectors answer
searches. When they differ, the wanted model gets tables of its own, and becomes the current one in
one transaction once every chunk and file has its vector. Until then searches use the old vectors.
Content that changes meanwhile gets old vectors too if the old model is the built-in one, which
costs next to nothing; otherwise it gets none and is found by its words alone. In a project without
any vectors the first model is the current one from the start.

Without a wanted model (the setting ``none``, or a backend that is unavailable) stored vectors stay
and are deleted with their chunks; none are made.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from engine.cancellation import CancelToken, run_cancellable
from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.embedding.model_setting import Backend
from engine.errors import Cancelled, EmbedderUnavailableError
from engine.faults import fault_point
from engine.index_records import Phase, Progress, ProgressCallback
from engine.indexing.batch import FirstIds, InlineModel, reads_text
from engine.indexing.progress import Tally
from engine.store import blobs, models
from engine.store.compression import unpack_text
from engine.store.connection import Handle, Store
from engine.store.models import ModelRow

if TYPE_CHECKING:
    from engine.embedding.embedder import Embedder, Passage

_CHUNKS_AT_ONCE = 64  # in a request and in a transaction
_FILES_AT_ONCE = 256
_COPIES_AT_ONCE = 1000

#: Called with the number of chunks done, their total, and the current file.
VectorProgress = Callable[[int, int, str], None]

_BITS = 8  # sign bits are stored in whole bytes, so a dimension must be a multiple of 8
_REPORT_INTERVAL_S = 0.1
#: A run over some paths empties at most so many blocks of vectors, so as not to delay the next.
_EMPTIED_AT_ONCE = 30


class Backfill:
    """Makes the missing vectors of one model, for chunks and files.

    Args:
        store: The project's database; this process must be its only indexer.
        model: Whose tables are filled.
        embedder: The model.
        tally: Counts the chunks that are embedded.
        reads_text: Whether the model reads texts, so that equal texts have equal vectors; the other
            kind reads words, which also depend on what surrounds a chunk.
    """

    def __init__(
        self,
        store: Store,
        model: ModelRow,
        embedder: "Embedder",
        tally: Tally,
        *,
        reads_text: bool,
    ) -> None:
        self._store = store
        self._model = model
        self._embedder = embedder
        self._tally = tally
        self._reads_text = reads_text

    def fill(
        self, *, on_progress: VectorProgress, cancelled: CancelToken, new: FirstIds | None = None
    ) -> None:
        """Make the missing vectors.

        Args:
            on_progress: Reports progress.
            cancelled: Polled; true ends the call.
            new: Only chunks and files from these ids on; None: all.

        Raises:
            EmbedderUnavailableError: The backend became unavailable; what is written stays.
            Cancelled: ``cancelled`` returned true; what is written stays.
        """
        first = new or FirstIds(0, 0)
        with self._store.read() as handle:
            if new is None and not models.lacks_vectors(handle, self._model):
                return
        self._fill_files(cancelled, first.file)
        ids = self._lacking_chunks(first.chunk)
        if self._reads_text and ids:
            copy_to_equal_texts(self._store, self._model, cancelled)
            ids = self._lacking_chunks(first.chunk)
        path = ""
        for start in range(0, len(ids), _CHUNKS_AT_ONCE):
            some = ids[start : start + _CHUNKS_AT_ONCE]
            with self._store.read() as handle:
                path = blobs.path_of_chunk(handle, some[0])
            on_progress(start, len(ids), path)
            self._fill_chunks(some, cancelled)
        if ids:
            on_progress(len(ids), len(ids), path)
        if self._reads_text and ids:
            copy_to_equal_texts(self._store, self._model, cancelled)

    def _fill_chunks(self, ids: Sequence[int], cancelled: CancelToken) -> None:
        with self._store.read() as handle:
            pieces = blobs.read_pieces(handle, ids)
            asked = passages_of(handle, pieces)
        from engine.store.quantization import quantized  # numpy
        from engine.store.vectors import insert_chunk_vectors

        found = quantized(self._embedder.embed_passages(asked, cancelled))
        fault_point("vectors made")
        with self._store.write() as handle:
            insert_chunk_vectors(handle, self._model, [piece.chunk_id for piece in pieces], found)
            self._tally.embeddings += len(pieces)

    def _lacking_chunks(self, first: int) -> list[int]:
        with self._store.read() as handle:
            return models.lacking_chunks(
                handle, self._model, of_each_text=self._reads_text, first=first
            )

    def _fill_files(self, cancelled: CancelToken, first: int) -> None:
        from engine.store.quantization import quantized  # numpy
        from engine.store.vectors import insert_file_vectors

        while True:
            _stop_if(cancelled)
            with self._store.read() as handle:
                rows = models.lacking_files(handle, self._model, _FILES_AT_ONCE, first=first)
            if not rows:
                return
            paths = [os.fsdecode(path) for _, path in rows]
            found = quantized(self._embedder.embed_paths(paths, cancelled))
            with self._store.write() as handle:
                insert_file_vectors(handle, self._model, [row[0] for row in rows], found)
            first = rows[-1][0] + 1


def copy_to_equal_texts(store: Store, model: ModelRow, cancelled: CancelToken) -> None:
    """Copy the vectors of chunks to chunks of the same text that have none.

    Raises:
        Cancelled: ``cancelled`` returned true; what is written stays.
    """
    with store.read() as handle:
        pairs = models.copied_vectors(handle, model)
    for start in range(0, len(pairs), _COPIES_AT_ONCE):
        _stop_if(cancelled)
        with store.write() as handle:
            models.copy_vectors(handle, model, pairs[start : start + _COPIES_AT_ONCE])
            fault_point("vectors copied")


def passages_of(handle: Handle, pieces: Sequence[blobs.Piece]) -> "list[Passage]":
    """Return chunks as a model reads them, rebuilt from the stored texts and symbols."""
    from engine.embedding.embedder import Passage  # numpy
    from engine.syntax.analysis import words_of_chunk  # the parsers

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


def _stop_if(cancelled: CancelToken) -> None:
    if cancelled():
        raise Cancelled("all files are indexed; the vectors made so far are kept")


class _OpenModel(NamedTuple):
    embedder: "Embedder"
    name: str
    identity: str
    dimension: int


class ModelSwitch:
    """The models of one run; a context manager, which closes them at the end.

    Args:
        store: The project's database; this process must be its only indexer.
        config: The settings in force, which name the wanted model.
        open_embedder: Opens it.
        cancelled: Asked several times a second, also while a model loads or a server is silent.

    Raises:
        InvalidConfigError: The setting cannot be read.
        Cancelled: ``cancelled`` returned true.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        open_embedder: OpenEmbedder,
        cancelled: CancelToken,
    ) -> None:
        self._store = store
        self._cancelled = cancelled
        self._opened: list[Embedder] = []
        with store.read() as handle:
            self._current = models.read_current_model(handle)
        self._target: ModelRow | None = None
        self._builtin: Embedder | None = None
        #: Notes on the run for the user, in sentences.
        self.notes: list[str] = []
        #: The model whose vectors are written with their chunks, set by ``begin``.
        self.inline_model: InlineModel | None = None
        #: Why wanted vectors are missing, or None.
        self.embedder_error: EmbedderUnavailableError | None = None
        self._open_model: _OpenModel | None = None
        try:
            self._open(open_embedder, config)
        except BaseException:
            self._close()
            raise

    def _open(self, open_embedder: OpenEmbedder, config: Config) -> None:
        try:
            self._open_model = self._ready(
                run_cancellable(lambda: open_embedder(config), self._cancelled)
            )
        except EmbedderUnavailableError as error:
            self._note(error)
        if self._open_model and self._open_model.name == Backend.STATIC:
            self._builtin = self._open_model.embedder
        elif self._current and not reads_text(self._current) and config.model != Backend.NONE:
            self._builtin = open_embedder(replace(config, model=Backend.STATIC.value))

    def __enter__(self) -> "ModelSwitch":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        for embedder in self._opened:
            embedder.close()

    def begin(self, handle: Handle, *, now_ms: int) -> None:
        """Create the tables of the wanted model, in the transaction that starts a run."""
        if self._open_model:
            self._target = models.add_model(
                handle,
                identity=self._open_model.identity,
                name=self._open_model.name,
                dimension=self._open_model.dimension,
                now_ms=now_ms,
            )
            if self._current is None:
                models.switch_model(handle, self._target)
                self._current = self._target
        self._choose_inline_model()

    def resume(self, handle: Handle) -> bool:
        """Use the tables of an earlier run; return False if ``begin`` has to create some."""
        if self._open_model:
            stored = {model.identity: model for model in models.read_models(handle)}
            self._target = stored.get(self._open_model.identity)
            if self._target is None or self._current is None:
                return False
        self._choose_inline_model()
        return True

    def _choose_inline_model(self) -> None:
        for model in (self._target, self._current):
            if model and self._builtin and model.identity == self._builtin.identity:
                self.inline_model = InlineModel(model, self._builtin)

    def keep_vectors(self) -> None:
        """Copy vectors from chunks that are about to be deleted to chunks of the same text."""
        for model in {self._target, self._current}:
            if model and reads_text(model):
                copy_to_equal_texts(self._store, model, self._cancelled)

    def complete(
        self, on_progress: ProgressCallback, tally: Tally, *, new: FirstIds | None = None
    ) -> None:
        """Make the missing vectors, switch models if none is missing any more, and clean up.

        Args:
            on_progress: Called with the number of chunks that are done.
            tally: Counts them.
            new: The first ids of what a run over some paths added: only those get vectors, and
                switching and cleaning up wait for a run over the whole project.

        Raises:
            Cancelled: ``cancelled`` returned true; what is written stays.
        """
        if self._open_model and self._target:
            backfill = Backfill(
                self._store,
                self._target,
                self._open_model.embedder,
                tally,
                reads_text=reads_text(self._target),
            )
            reporter = _EmbeddingProgress(on_progress)
            try:
                backfill.fill(on_progress=reporter.update, cancelled=self._cancelled, new=new)
            except EmbedderUnavailableError as error:
                self._note(error)
            finally:
                reporter.catch_up()
            if new is None:
                self._switch(self._target)
                self._drop_others()
        self._fill_holes(most=_EMPTIED_AT_ONCE if new else None)

    def _switch(self, target: ModelRow) -> None:
        if target == self._current:
            return
        with self._store.read() as handle:
            if models.lacks_vectors(handle, target):
                return
        with self._store.write(durable=True) as handle:
            models.switch_model(handle, target)
            fault_point("model switched")
        self._current = target

    def _drop_others(self) -> None:
        """Delete models that are neither current nor wanted, in small transactions."""
        with self._store.read() as handle:
            found = models.read_models(handle)
        for model in found:
            more = model not in (self._target, self._current)
            while more:
                self._stop_if_cancelled()
                with self._store.write() as handle:
                    more = models.shrink_model(handle, model)
                    fault_point("model shrunk")

    def _fill_holes(self, most: int | None) -> None:
        """Empty blocks with many deleted vectors, at most ``most`` of each table."""
        with self._store.read() as handle:
            found = [
                (table, block)
                for model in models.read_models(handle)
                for table in (model.chunk_table, model.file_table)
                for block in models.sparse_blocks(handle, table)[:most]
            ]
        for table, block in found:
            self._stop_if_cancelled()
            with self._store.write() as handle:
                models.empty_block(handle, table, block)
                fault_point("block emptied")

    def _ready(self, embedder: "Embedder | None") -> _OpenModel | None:
        """Read name, identity and dimension of a model; this can mean asking a server."""
        if embedder is None:
            return None
        self._opened.append(embedder)
        embedder.prepare(self._cancelled)
        ready = _OpenModel(embedder, embedder.name, embedder.identity, embedder.dimension)
        if ready.dimension % _BITS:
            raise EmbedderUnavailableError(
                f"the model {ready.name} has vectors of {ready.dimension} numbers,"
                f" wanted a multiple of {_BITS}"
            )
        return ready

    def _stop_if_cancelled(self) -> None:
        if self._cancelled():
            raise Cancelled("all files are indexed; old vectors are still to be deleted")

    def _note(self, error: EmbedderUnavailableError) -> None:
        self.embedder_error = error
        hint = f": {error.hint}" if error.hint else ""
        self.notes.append(
            f"{error.message}{hint}; all words are searched, and the next run makes the vectors"
            " that are missing"
        )


class _EmbeddingProgress:
    """Reports how many chunks are embedded, at most ten times a second."""

    def __init__(self, on_progress: ProgressCallback) -> None:
        self._on_progress = on_progress
        self._started = time.monotonic()
        self._last_report_s = 0.0
        self._untold: Progress | None = None

    def update(self, done: int, total: int, path: str) -> None:
        now = time.monotonic()
        self._untold = Progress(
            phase=Phase.EMBEDDING,
            done=done,
            total=total,
            current_path=path,
            bytes_done=0,
            elapsed_ms=int((now - self._started) * 1000),
        )
        if not done or now - self._last_report_s >= _REPORT_INTERVAL_S:
            self._last_report_s = now
            self.catch_up()

    def catch_up(self) -> None:
        """Report what was held back."""
        if self._untold:
            self._on_progress(self._untold)
            self._untold = None
