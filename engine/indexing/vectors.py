"""Makes the vectors that chunks and files lack, after they were stored.

So come the vectors of all backends but the built-in one, which workers make with the chunks, and
those of a new model beside the old ones. What is written is the checkpoint: a run that is killed or
cancelled loses one request, and the next one goes on.

Which models a run makes vectors of, and the change from one to the next.

The settings name the wanted model; ``project.model_id`` the current one, whose vectors answer. When
they differ the wanted one gets tables of its own beside the others, and becomes the current one in
one transaction, when no chunk and no file lacks its vector any more. Until then searches go on with
the old vectors; what changes meanwhile gets old ones too where the old model is the built-in one,
which costs nothing to speak of, and else none, so that words alone find it. A project without any
vectors has nothing to mix: its first model is the current one from the start.

Without a wanted model (the setting ``none``, or a backend that is away) what is stored stays and
goes with its chunks; nothing is made.
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from engine.cancellation import result_of
from engine.config import Config
from engine.embedding.embedder import Backend, Embedder, Passage
from engine.embedding.load import OpenEmbedder
from engine.errors import Cancelled, EmbedderUnavailableError
from engine.faults import fault_point
from engine.indexing.batch import FirstIds, Meaning
from engine.indexing.progress import Tally
from engine.records import Phase, Progress, ProgressCallback
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


_BITS = 8  # a dimension that is no multiple has signs that fill no bytes
_TELL_EVERY_S = 0.1
#: Blocks of vectors that a run over some paths empties at most, so that the next one can begin.
_EMPTIED_AT_ONCE = 30


class _Opened(NamedTuple):
    embedder: Embedder
    name: str
    identity: str
    dimension: int


class ModelSwitch:
    """The models of one run. Use it as a context manager, which frees them.

    Args:
        store: The project's database; this process must be its only indexer.
        config: The settings in force, which name the wanted model.
        open_embedder: Opens it.
        cancelled: Asked several times a second, also while a model loads or a server is silent.

    Raises:
        InvalidConfigError: The setting cannot be read.
        Cancelled: ``cancelled`` said so.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        open_embedder: OpenEmbedder,
        cancelled: Callable[[], bool],
    ) -> None:
        self._store = store
        self._cancelled = cancelled
        self._opened: list[Embedder] = []
        with store.read() as handle:
            self._current = models.read_current_model(handle)
        self._wanted: ModelRow | None = None
        self._builtin: Embedder | None = None
        #: What to know about the run, in sentences.
        self.notes: list[str] = []
        #: The model whose vectors are written with their chunks, set by ``begin``.
        self.meaning: Meaning | None = None
        #: Why vectors are missing that the setting asks for; None when nothing was away.
        self.away: EmbedderUnavailableError | None = None
        self._asked: _Opened | None = None
        try:
            self._open(open_embedder, config)
        except BaseException:
            self._close()
            raise

    def _open(self, open_embedder: OpenEmbedder, config: Config) -> None:
        try:
            self._asked = self._ready(result_of(lambda: open_embedder(config), self._cancelled))
        except EmbedderUnavailableError as error:
            self._note(error)
        if self._asked and self._asked.name == Backend.STATIC:
            self._builtin = self._asked.embedder
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
        """Make the tables of the wanted model, in the transaction that starts a run."""
        if self._asked:
            self._wanted = models.add_model(
                handle,
                identity=self._asked.identity,
                name=self._asked.name,
                dimension=self._asked.dimension,
                now_ms=now_ms,
            )
            if self._current is None:
                models.switch_model(handle, self._wanted)
                self._current = self._wanted
        self._choose_meaning()

    def resume(self, handle: Handle) -> bool:
        """Take up the tables that an earlier run made; False when ``begin`` has to make some."""
        if self._asked:
            stored = {model.identity: model for model in models.read_models(handle)}
            self._wanted = stored.get(self._asked.identity)
            if self._wanted is None or self._current is None:
                return False
        self._choose_meaning()
        return True

    def _choose_meaning(self) -> None:
        for model in (self._wanted, self._current):
            if model and self._builtin and model.identity == self._builtin.identity:
                self.meaning = Meaning(model, self._builtin)

    def keep_vectors(self) -> None:
        """Take over vectors of equal texts from chunks that are about to go."""
        for model in {self._wanted, self._current}:
            if model and reads_text(model):
                copy_equal(self._store, model, self._cancelled)

    def complete(
        self, on_progress: ProgressCallback, tally: Tally, *, new: FirstIds | None = None
    ) -> None:
        """Make the vectors that are missing, switch when none is, and clean up.

        Args:
            on_progress: Hears how many chunks are done.
            tally: Counts them.
            new: Of the chunks and files that a run over some paths added, which alone get their
                vectors then; switching and cleaning wait for a whole run.

        Raises:
            Cancelled: ``cancelled`` said so; what is written stays.
        """
        if self._asked and self._wanted:
            backfill = Backfill(
                self._store,
                self._wanted,
                self._asked.embedder,
                tally,
                reads_text=reads_text(self._wanted),
            )
            teller = _Teller(on_progress)
            try:
                backfill.fill(tell=teller.update, stop=self._cancelled, new=new)
            except EmbedderUnavailableError as error:
                self._note(error)
            finally:
                teller.catch_up()
            if new is None:
                self._switch(self._wanted)
                self._drop_others()
        self._fill_holes(most=_EMPTIED_AT_ONCE if new else None)

    def _switch(self, wanted: ModelRow) -> None:
        if wanted == self._current:
            return
        with self._store.read() as handle:
            if models.lacks_vectors(handle, wanted):
                return
        with self._store.write(durable=True) as handle:
            models.switch_model(handle, wanted)
            fault_point("model switched")
        self._current = wanted

    def _drop_others(self) -> None:
        """Delete models that neither answer nor are wanted, a piece at a time."""
        with self._store.read() as handle:
            found = models.read_models(handle)
        for model in found:
            more = model not in (self._wanted, self._current)
            while more:
                self._stop_if_cancelled()
                with self._store.write() as handle:
                    more = models.shrink_model(handle, model)
                    fault_point("model shrunk")

    def _fill_holes(self, most: int | None) -> None:
        """Close the gaps that deleted vectors leave, when they are many; ``most`` of each table."""
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

    def _ready(self, embedder: Embedder | None) -> _Opened | None:
        """Ask a model what it is, which can mean asking a server."""
        if embedder is None:
            return None
        self._opened.append(embedder)
        embedder.prepare(self._cancelled)
        ready = _Opened(embedder, embedder.name, embedder.identity, embedder.dimension)
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
        self.away = error
        hint = f": {error.hint}" if error.hint else ""
        self.notes.append(
            f"{error.message}{hint}; all words are searched, and the next run makes the vectors"
            " that are missing"
        )


def reads_text(model: ModelRow) -> bool:
    """Say whether a model reads texts; the built-in one reads words."""
    return model.name != Backend.STATIC


class _Teller:
    """Reports how many chunks are embedded, at most ten times a second."""

    def __init__(self, on_progress: ProgressCallback) -> None:
        self._on_progress = on_progress
        self._started = time.monotonic()
        self._told = 0.0
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
        if not done or now - self._told >= _TELL_EVERY_S:
            self._told = now
            self.catch_up()

    def catch_up(self) -> None:
        """Report what was held back."""
        if self._untold:
            self._on_progress(self._untold)
            self._untold = None
