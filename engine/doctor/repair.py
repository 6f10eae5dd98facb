"""Mends what an examination found, and nothing else.

Each kind of trouble has its way. What is done is told by the database alone, so a repair that was
killed is simply run again.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from engine.config import Config
from engine.doctor.examination import Examination
from engine.doctor.findings import Trouble
from engine.doctor.memory_checks import make_readable, words_of_memories
from engine.doctor.text_checks import words_of
from engine.embedding.load import OpenEmbedder
from engine.errors import Cancelled, EmbedderUnavailableError
from engine.faults import fault_point
from engine.indexing.backfill import Backfill
from engine.indexing.batch import path_terms_of
from engine.indexing.model_switch import reads_text
from engine.indexing.progress import Tally
from engine.project_files import delete_strays
from engine.state_records import CheckCallback, CheckProgress, FindingCode
from engine.store import checks, fulltext, memories, models, repair
from engine.store.connection import Store

_AT_ONCE = 200  # rows in one transaction
_Item = TypeVar("_Item")

#: In this order: what others need to be whole comes first.
_ORDER = (
    FindingCode.SCHEMA,
    FindingCode.INDEXES,
    FindingCode.VECTOR_TABLES,
    FindingCode.WORDS,
    FindingCode.PATHS,
    FindingCode.TEXTS,
    FindingCode.SYMBOLS,
    FindingCode.STRAY_ROWS,
    FindingCode.WORDS_LOST,
    FindingCode.WORDS_MISSING,
    FindingCode.PATHS_LOST,
    FindingCode.PATHS_MISSING,
    FindingCode.MEMORIES,
    FindingCode.MEMORY_WORDS,
    FindingCode.MEMORY_WORDS_LOST,
    FindingCode.MEMORY_WORDS_MISSING,
    FindingCode.VECTORS,
    FindingCode.VECTORS_LOST,
    FindingCode.VECTORS_MISSING,
    FindingCode.LEFTOVERS,
)

#: Kinds whose way mends all that is of the kind.
_AT_ONCE_FOR_ALL = frozenset(
    {
        FindingCode.WORDS,
        FindingCode.PATHS,
        FindingCode.MEMORY_WORDS,
        FindingCode.STRAY_ROWS,
    }
)


class Mender:
    """Mends one index. The caller holds the right to index.

    Args:
        store: Its database.
        config: The settings in force.
        open_embedder: Opens the model that the settings name.
        on_progress: Hears what is mended.
        cancelled: Asked between transactions.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        open_embedder: OpenEmbedder,
        on_progress: CheckCallback,
        cancelled: Callable[[], bool],
    ) -> None:
        self._store = store
        self._config = config
        self._open_embedder = open_embedder
        self._on_progress = on_progress
        self._cancelled = cancelled
        #: What was done, in sentences.
        self.done: list[str] = []
        self._lacks_vectors = False

    def mend(self, found: Examination) -> None:
        """Mend all that was found.

        Raises:
            Cancelled: ``cancelled`` said so; what is mended stays so.
            EngineError: The database cannot be mended row by row.
        """
        ways: dict[FindingCode, Callable[[Trouble], None]] = {
            FindingCode.SCHEMA: self._make_schema_objects,
            FindingCode.INDEXES: self._reindex,
            FindingCode.VECTOR_TABLES: self._mend_vector_tables,
            FindingCode.WORDS: self._rewrite_words,
            FindingCode.PATHS: self._rewrite_paths,
            FindingCode.TEXTS: self._empty_blobs,
            FindingCode.SYMBOLS: self._empty_blobs,
            FindingCode.STRAY_ROWS: self._delete_strays,
            FindingCode.WORDS_LOST: self._delete_words,
            FindingCode.PATHS_LOST: self._delete_paths,
            FindingCode.MEMORIES: self._rewrite_memories,
            FindingCode.MEMORY_WORDS: self._rewrite_memory_words,
            FindingCode.MEMORY_WORDS_LOST: self._delete_memory_words,
            FindingCode.VECTORS: self._delete_vectors,
            FindingCode.VECTORS_LOST: self._delete_vectors,
            FindingCode.LEFTOVERS: self._delete_leftovers,
        }
        troubles = [trouble for trouble in found.troubles if not trouble.is_note]
        for code in _ORDER:
            alike = [trouble for trouble in troubles if trouble.code is code]
            for trouble in alike[:1] if code in _AT_ONCE_FOR_ALL else alike:
                self._tell(code)
                if code in ways:
                    ways[code](trouble)
                fault_point("trouble mended", code.value)
        codes = {trouble.code for trouble in troubles}
        if codes - {FindingCode.LEFTOVERS}:
            self._write_missing()
        if self._lacks_vectors or FindingCode.VECTORS_MISSING in codes:
            self._embed()

    def _make_schema_objects(self, trouble: Trouble) -> None:
        with self._store.write(durable=True) as handle:
            repair.make_schema_objects(handle, trouble.names)
        self.done.append(f"Made {', '.join(trouble.names)} again")

    def _reindex(self, _trouble: Trouble) -> None:
        with self._store.write(durable=True) as handle:
            repair.reindex(handle)
        self.done.append("Made the indexes of the tables again")

    def _mend_vector_tables(self, trouble: Trouble) -> None:
        with self._store.write(durable=True) as handle:
            if trouble.table is None:
                repair.drop_strange_tables(handle, trouble.names)
                self.done.append("Deleted tables of vectors that belong to no model")
                return
            number = repair.make_vector_table_anew(handle, trouble.table)
        self._lacks_vectors = True
        self.done.append(f"Made the table {trouble.table.name} again, with {number:,} vectors")

    def _rewrite_words(self, _trouble: Trouble) -> None:
        """Empty the index of words; ``_write_missing`` fills it, a piece at a time."""
        with self._store.write(durable=True) as handle:
            repair.clear_words(handle)
        self.done.append("Emptied the index of words, to be written again")

    def _rewrite_paths(self, _trouble: Trouble) -> None:
        with self._store.write(durable=True) as handle:
            repair.clear_paths(handle)
        self.done.append("Emptied the index of paths, to be written again")

    def _rewrite_memories(self, trouble: Trouble) -> None:
        for ids in self._pieces(trouble.ids):
            with self._store.write(durable=True, bookkeeping=True) as handle:
                make_readable(handle, ids)
        self.done.append(f"Kept what can be read of {trouble.number:,} memories")

    def _rewrite_memory_words(self, _trouble: Trouble) -> None:
        with self._store.write(durable=True, bookkeeping=True) as handle:
            repair.clear_memory_words(handle)
        self.done.append("Emptied the index of memories' words, to be written again")

    def _delete_memory_words(self, _trouble: Trouble) -> None:
        with self._store.write(durable=True, bookkeeping=True) as handle:
            number = repair.delete_lost_memory_words(handle)
        if number:
            self.done.append(f"Deleted the words of {number:,} memories that are gone")

    def _empty_blobs(self, trouble: Trouble) -> None:
        for ids in self._pieces(trouble.ids):
            with self._store.write(durable=True) as handle:
                repair.empty_blobs(handle, ids)
        self.done.append(
            f"Took out {trouble.number:,} damaged texts; the next indexing run reads their files"
        )

    def _delete_strays(self, _trouble: Trouble) -> None:
        with self._store.write(durable=True) as handle:
            number = repair.delete_strays(handle)
        if number:
            self.done.append(f"Put {number:,} rows right that referred to what is not there")

    def _delete_words(self, trouble: Trouble) -> None:
        for ids in self._pieces(trouble.ids):
            with self._store.write() as handle:
                repair.delete_words(handle, ids)
        self.done.append(f"Deleted the words of {trouble.number:,} chunks that are gone")

    def _delete_paths(self, trouble: Trouble) -> None:
        for ids in self._pieces(trouble.ids):
            with self._store.write() as handle:
                fulltext.delete_path_terms(handle, ids)
        self.done.append(f"Deleted the paths of {trouble.number:,} files that are gone")

    def _delete_vectors(self, trouble: Trouble) -> None:
        assert trouble.table
        for ids in self._pieces(trouble.ids):
            with self._store.write() as handle:
                repair.delete_vectors(handle, trouble.table, ids)
        self._lacks_vectors = True
        self.done.append(f"Deleted {trouble.number:,} vectors of {trouble.table.owner}")

    def _delete_leftovers(self, trouble: Trouble) -> None:
        delete_strays(self._store.path)
        self.done.append(f"Deleted {trouble.number:,} files that dead processes left")

    def _write_missing(self) -> None:
        """Give the words that they lack to chunks, files and memories."""
        with self._store.read() as handle:
            chunk_ids, file_ids = checks.read_wordless(handle), checks.read_pathless(handle)
        for ids in self._pieces(chunk_ids):
            with self._store.read() as handle:
                rows = [(chunk_id, *words) for chunk_id, words in words_of(handle, ids)]
            with self._store.write() as handle:
                fulltext.insert_chunk_terms(handle, rows)
                fault_point("words mended")
        for ids in self._pieces(file_ids):
            with self._store.read() as handle:
                paths = checks.read_paths(handle, ids)
            terms = [(file_id, *path_terms_of(path)) for file_id, path in paths.items()]
            with self._store.write() as handle:
                fulltext.insert_path_terms(handle, terms)
        if chunk_ids:
            self.done.append(f"Wrote the words of {len(chunk_ids):,} chunks")
        if file_ids:
            self.done.append(f"Wrote the words of {len(file_ids):,} paths")
        self._write_missing_of_memories()

    def _write_missing_of_memories(self) -> None:
        with self._store.read() as handle:
            memory_ids = checks.read_wordless_memories(handle)
        for ids in self._pieces(memory_ids):
            with self._store.read() as handle:
                words = list(words_of_memories(handle, ids))
            with self._store.write(durable=True, bookkeeping=True) as handle:
                for row, terms in words:
                    memories.insert_missing_words(handle, row, terms)
        if memory_ids:
            self.done.append(f"Wrote the words of {len(memory_ids):,} memories")

    def _embed(self) -> None:
        """Make vectors that are missing, when their model is the one that the settings name."""
        try:
            embedder = self._open_embedder(self._config)
            if embedder is None:
                return
            try:
                embedder.prepare(self._cancelled)
                with self._store.read() as handle:
                    stored = [
                        model
                        for model in models.read_models(handle)
                        if model.identity == embedder.identity
                    ]
                for model in stored:
                    tally = Tally()
                    Backfill(
                        self._store, model, embedder, tally, reads_text=reads_text(model)
                    ).fill(tell=self._tell_embedding, stop=self._cancelled)
                    self.done.append(f"Embedded {tally.embeddings:,} chunks")
            finally:
                embedder.close()
        except EmbedderUnavailableError as error:
            self.done.append(
                f"Left vectors out, which the next indexing run makes: {error.message}"
            )

    def _pieces(self, items: Sequence[_Item]) -> Iterator[list[_Item]]:
        rest = iter(items)
        while piece := list(islice(rest, _AT_ONCE)):
            if self._cancelled():
                raise Cancelled("what is mended stays; run the repair again for the rest")
            yield piece

    def _tell(self, code: FindingCode) -> None:
        self._on_progress(CheckProgress(step=f"mending {code.value}", done=0, total=None))

    def _tell_embedding(self, done: int, total: int, _path: str) -> None:
        self._on_progress(CheckProgress(step="embedding", done=done, total=total))
