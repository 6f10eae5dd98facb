"""Embed queries with the model of a project's vectors, or say why there is no vector."""

from typing import TYPE_CHECKING, NamedTuple

from engine.embedding.load import QueryEmbedder
from engine.errors import UnavailableError
from engine.search.cache import StateCache
from engine.search.prepared_query import MODES_WITH_VECTORS, text_of
from engine.search.query import Query
from engine.search_records import Mode
from engine.store.connection import Store
from engine.store.vector_rows import QueryVector

if TYPE_CHECKING:
    from engine.store.models import ModelRow

_PATTERN_NOTE = "with a pattern, hits are ranked by words, not by meaning"


class QueryEmbedding(NamedTuple):
    """The vector of a query, or the reason why there is none."""

    query_vector: QueryVector | None = None  # None: words alone answer
    notes: tuple[str, ...] = ()  # why there is no vector, if meaning was wanted


class QueryEmbeddings:
    """Embeds queries with the model of a project's vectors.

    Args:
        store: The project's database.
        cache: Of its states.
        query_embedder: The embedder.
    """

    def __init__(self, store: Store, cache: StateCache, query_embedder: QueryEmbedder) -> None:
        self._store = store
        self._cache = cache
        self._query_embedder = query_embedder

    def of(self, query: Query, mode: Mode) -> QueryEmbedding:
        """Embed a query, before the snapshot of the answer: a server may take its time.

        Raises:
            UnavailableError: It cannot be embedded, and the mode needs it.
        """
        text = text_of(query)
        if mode not in MODES_WITH_VECTORS or not text:
            return QueryEmbedding()
        if query.patterns:
            return QueryEmbedding(notes=(_PATTERN_NOTE,) if mode is Mode.MEANING else ())
        with self._store.read() as handle:
            state = self._cache.state(handle)
            if not state.branches:
                return QueryEmbedding()
            model = state.model(handle)
        try:
            if model is None:
                raise no_vectors_error()
            vector = self._query_embedder.embed(text, model.identity)
        except UnavailableError as error:
            if mode is Mode.MEANING:
                raise
            return QueryEmbedding(notes=(_note_of(error),))
        return QueryEmbedding(QueryVector.of(model, vector))


def for_model(embedding: QueryEmbedding, model: "ModelRow | None", mode: Mode) -> QueryEmbedding:
    """Return the embedding, without its vector when the current vectors are of another model.

    Args:
        embedding: Made before the snapshot.
        model: The model of the current vectors.
        mode: Of the query.

    Raises:
        UnavailableError: The model has changed, and the mode needs the vector.
    """
    if embedding.query_vector is None or model == embedding.query_vector.model:
        return embedding
    error = UnavailableError("the model was just changed", hint="search again")
    if mode is Mode.MEANING:
        raise error
    return QueryEmbedding(notes=(_note_of(error),))


def embedding_notes(embedding: QueryEmbedding, embedded: float) -> tuple[str, ...]:
    """Return notes on the limits of an answer by meaning.

    Args:
        embedding: Of the query.
        embedded: The share of chunks that have vectors.
    """
    if embedding.query_vector and embedded < 1:
        return (
            f"{1 - embedded:.1%} of the code has no vectors yet and is found only by its words",
        )
    return embedding.notes


def no_vectors_error() -> UnavailableError:
    """Return the error of an index without vectors."""
    return UnavailableError("this index has no vectors", hint="run cairn index to create them")


def _note_of(error: UnavailableError) -> str:
    return f"searched by words only: {error.message}" + (f" ({error.hint})" if error.hint else "")
