"""Ranking of memories among the files that answer a query, and the vectors of memories.

There is one ranking for all searches (``search.rank``). A memory takes part as a file with a single
chunk: its summary is the file name, its summary, tags and text are the words of the chunk, and its
one vector stands for both. Each component of a score is therefore a share of the best that any file
or memory has, and their scores are comparable.

BM25 must be on one scale for that. FTS5 weighs a word by its rarity in its own table, and in a
table of a few notes nothing is rare: that weight is divided out and replaced by the weight of the
word among all chunks and memories together.

A memory has one vector, of the current model. It is made when the memory is saved, if the model is
available and fast, else by the next search that could use it. The same holds after a change of
model: old vectors are never compared with a query, and are replaced one batch at a time.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

from engine.cancellation import CancelToken
from engine.embedding.load import QueryEmbedder
from engine.errors import Cancelled, UnavailableError
from engine.memories.cards import Choice, Owner, terms_of_memory
from engine.search.candidates import gather
from engine.search.prepared_query import PreparedQuery
from engine.search.query import MAX_TERM_CHARS, MAX_TERMS, Query, Term, storable
from engine.search.rank import Candidate, rank
from engine.search.weights import (
    FILE_SHARE,
    MAX_BY_MEANING,
    MAX_BY_WORDS,
    MIN_MEMORY_SIMILARITY,
)
from engine.store import blobs, chunks, fulltext, memories, models
from engine.store.chunks import ChunkFacts
from engine.store.connection import Handle, Store
from engine.store.memories import MemoryRow, TagRule
from engine.store.models import ModelRow
from engine.store.vector_rows import QueryVector
from engine.syntax.terms import terms_of

if TYPE_CHECKING:
    from engine.embedding.embedder import Passage

_AT_ONCE = 64  # memories in a request and in a transaction
#: How long a search or a save may make vectors; the next one makes the rest.
_PATIENCE_S = 2.0


class MemoryVectors:
    """Embeds memories and the queries they are compared with; thread-safe.

    Args:
        store: The project's database.
        query_embedder: The model that the settings name.
    """

    def __init__(self, store: Store, query_embedder: QueryEmbedder) -> None:
        self._store = store
        self._query_embedder = query_embedder

    def embed_query(self, text: str) -> QueryVector | None:
        """Embed a query, and the memories that lack a vector to compare it with.

        The model is the index's, or the one in the settings when nothing is indexed.
        Returns None when the model is missing, unavailable or another one: words alone answer.
        """
        try:
            model = self._model()
            if model is None:
                return None
            vector = self._query_embedder.embed(text, model.identity)
        except UnavailableError:
            return None
        self._complete(model.identity)
        return QueryVector.of(model._replace(dimension=len(vector)), vector)

    def complete(self) -> None:
        """Embed the memories that lack a vector, as far as the model is available and fast."""
        try:
            model = self._model()
        except UnavailableError:
            return
        if model:
            self._complete(model.identity)

    def _model(self) -> ModelRow | None:
        """Return the model of the index, or the one in the settings, without tables, if none is.

        Raises:
            UnavailableError: The model is unavailable.
        """
        with self._store.read() as handle:
            model = models.read_current_model(handle)
            is_empty = not blobs.has_any(handle)
        if model is None and is_empty:
            return ModelRow(0, self._query_embedder.identity(_deadline()), "", 0)
        return model

    def _complete(self, identity: str) -> None:
        """Make vectors until none lack, time is up, or the model or the disk fails."""
        cancelled = _deadline()
        while not cancelled():
            with self._store.read() as handle:
                rows = memories.read_unembedded(handle, identity, _AT_ONCE)
            if not rows:
                return
            try:
                made = self._query_embedder.embed_passages(_passages(rows), identity, cancelled)
                packed = _stored(made)
                # Nothing that a process keeps of the files depends on this.
                with self._store.write(bookkeeping=True) as handle:
                    memories.write_vectors(handle, identity, zip(rows, packed, strict=True))
            except (UnavailableError, Cancelled):
                return
            if len(rows) < _AT_ONCE:
                return


def cosines_of_memories(handle: Handle, query_vector: QueryVector) -> dict[int, float]:
    """Return the cosine of each memory embedded by the query's model."""
    import numpy as np

    from engine.search.branch_vectors import CachedVectors
    from engine.store.models import row_bytes_of
    from engine.store.vectors import StoredVectors, unpacked

    size = row_bytes_of(query_vector.model.dimension)
    rows = [
        row
        for row in memories.read_vectors(handle, query_vector.model.identity)
        if len(row.vector) == size
    ]
    ids = np.array([row.memory_id for row in rows], np.int64)
    flat = np.frombuffer(b"".join([row.vector for row in rows]), np.uint8).reshape(-1, size)
    kept = CachedVectors(ids, StoredVectors(ids, unpacked(flat)))
    return dict(zip(ids.tolist(), kept.cosines(query_vector).tolist(), strict=True))


def _stored(made: object) -> list[bytes]:
    import numpy as np

    from engine.store.vectors import quantized, rows_of

    assert isinstance(made, np.ndarray)
    return rows_of(quantized(made))


def _passages(rows: Sequence[MemoryRow]) -> "list[Passage]":
    from engine.embedding.embedder import Passage  # numpy

    found = []
    for row in rows:
        summary, tags, description = terms_of_memory(row)
        found.append(Passage(f"{row.summary}\n\n{row.description}", summary, tags, description))
    return found


def _deadline() -> CancelToken:
    end_s = time.monotonic() + _PATIENCE_S
    return lambda: time.monotonic() > end_s


def plain_query(text: str) -> Query:
    """Read a query as plain words: nothing in it is a filter or an operator.

    A search for a note often quotes error messages and fragments of sentences, in which a colon or
    a quote has no special meaning.
    """
    words = storable(text).split()[:MAX_TERMS]
    return Query(text=text, words=tuple(Term(word[:MAX_TERM_CHARS], 0, False) for word in words))


def ranked_owners(
    handle: Handle, prepared: PreparedQuery, choice: Choice, branch_id: int
) -> list[tuple[Owner, float]]:
    """Return the files of a branch and the memories that answer a query, best first.

    A file counts by its best place; of files with equal contents that pass, one is given. Tags hold
    before anything is cut.
    """
    if not prepared.lexical.chunk_match:  # no word in it
        return []
    candidates: list[Candidate] = []
    if choice.may_be_files and blobs.has_any(handle):
        candidates, _ = gather(handle, prepared, choice.filters(branch_id))
    if choice.may_be_memories:
        candidates += _memory_candidates(handle, prepared, choice)
    rank(candidates, prepared.lexical, prepared.weights, shown=0)
    best: dict[Owner, float] = {}
    for candidate in candidates:
        file_id = candidate.chunk.file_id
        best.setdefault(Owner(file_id > 0, abs(file_id)), round(candidate.score, 4))
    return list(best.items())


def _memory_candidates(handle: Handle, prepared: PreparedQuery, choice: Choice) -> list[Candidate]:
    """Return the memories that pass and share a word with the query, or are close to it."""
    passing = frozenset(memories.read_passing(handle, choice.rule))
    if not passing:
        return []
    by_word = {
        word: {id_: score for id_, score in scores.items() if id_ in passing}
        for word, scores in _scores_by_word(handle, prepared.lexical.alternatives).items()
    }
    totals: dict[int, float] = {}
    for scores in by_word.values():
        for memory_id, score in scores.items():
            totals[memory_id] = totals.get(memory_id, 0.0) + score
    cosines: Mapping[int, float] = {}
    if prepared.query_vector:
        cosines = cosines_of_memories(handle, prepared.query_vector)
    # Beside files, they have to be as near as places have to be.
    among_files = prepared.min_similarity / (1 + FILE_SHARE)
    least = among_files if choice.may_be_files else MIN_MEMORY_SIMILARITY
    near = [id_ for id_ in cosines.keys() & passing if cosines[id_] >= least]
    chosen = {
        *nlargest(MAX_BY_WORDS, totals, key=totals.__getitem__),
        *nlargest(MAX_BY_MEANING, near, key=cosines.__getitem__),
    }
    summaries = memories.read_summaries(handle, chosen)
    columns = prepared.lexical.path_words if prepared.weights.file_words else ()
    return [
        Candidate(
            chunk=_chunk_of(memory_id, summary),
            lexical=totals.get(memory_id, 0.0),
            word_scores=[by_word.get(word, {}).get(memory_id, 0.0) for word in columns],
            cosine=cosines.get(memory_id, 0.0) if prepared.query_vector else None,
            file_cosine=cosines.get(memory_id, 0.0) if prepared.query_vector else None,
        )
        for memory_id, summary in sorted(summaries.items())
    ]


def _scores_by_word(handle: Handle, words: Iterable[str]) -> dict[str, dict[int, float]]:
    """Return the BM25 scores of memories for each word, on the scale of chunks and memories."""
    memory_count = memories.count_memories(handle, TagRule())
    total = memory_count + chunks.count_chunks(handle)
    found: dict[str, dict[int, float]] = {}
    for word in words:
        scores = memories.read_word_scores(handle, word)
        if not scores:
            continue
        with_it = len(scores) + fulltext.count_chunks_with(handle, word)
        scale = fulltext.rarity(total, with_it) / fulltext.rarity(memory_count, len(scores))
        found[word] = {id_: score * scale for id_, score in scores}
    return found


def _chunk_of(memory_id: int, summary: str) -> ChunkFacts:
    """Return a memory as a chunk of a file.

    The path is unique, because no file's path has a NUL. What follows the last dot is not part of
    the name, and a name of separate words is not taken for a test or an example.
    """
    name = terms_of(summary)
    return ChunkFacts(
        id=-memory_id,
        blob_id=0,
        file_id=-memory_id,
        path=f"\0 {name}.{memory_id}",
        language="",
        is_generated=False,
        byte_start=0,
        byte_end=0,
        line_start=1,
        line_end=1,
        symbol_id=None,
    )
