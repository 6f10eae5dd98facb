"""Opens the embedder that the setting ``model`` names, and embeds queries with it."""

import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from copy import copy
from typing import TYPE_CHECKING, TypeVar

from engine.cache import LruCache
from engine.cancellation import CancelToken, run_cancellable
from engine.config import Config, embedding_key
from engine.embedding.model_setting import Backend, parse_model_setting
from engine.errors import EmbedderUnavailableError, UnavailableError

if TYPE_CHECKING:
    from engine.embedding.embedder import Embedder, Passage, Vectors

#: Opens the embedder that the settings name; tests substitute their own.
OpenEmbedder = Callable[[Config], "Embedder | None"]

Answer = TypeVar("Answer")

_CACHE_BYTES = 512 << 10  # 300 vectors of queries with 192 numbers
_VECTOR_BYTES = 256  # of memory per vector, without its numbers
#: How long a backend is not tried after a failure, so that searches by words do not wait for it.
#: For so long, too, a model is taken to be what it was when it was opened.
PAUSE_S = 30.0


def open_embedder(config: Config) -> "Embedder | None":
    """Open the backend that the settings name, or return None for ``none``.

    Nothing is downloaded, and no server is contacted yet. The libraries of a backend are
    imported only if it is chosen: they take from 0.1 s (numpy) to 1 s (onnxruntime).

    Raises:
        InvalidConfigError: The setting cannot be read.
        EmbedderUnavailableError: The model is not on this machine, or cannot be loaded.
    """
    choice = parse_model_setting(config.model)
    if choice.backend is Backend.NONE:
        return None
    if choice.backend is Backend.STATIC:
        from engine.embedding.static import StaticEmbedder

        return StaticEmbedder()
    if choice.backend is Backend.ONNX:
        from engine.embedding.onnx import open_onnx

        return open_onnx(choice, config)
    from engine.embedding.remote import RemoteEmbedder

    return RemoteEmbedder(choice, embedding_key(choice.url), config)


def check_embedder(config: Config, open_embedder: OpenEmbedder, cancelled: CancelToken) -> None:
    """Check that the model is available, by opening and preparing it as a run does.

    The built-in model always is: it is part of this program. A server may take its
    ``embedding_timeout``.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that they name.
        cancelled: Polled several times a second.

    Raises:
        InvalidConfigError: The setting cannot be read.
        EmbedderUnavailableError: The model is not on this machine, or its server does not answer.
        Cancelled: ``cancelled`` returned true.
    """
    if config.model in (Backend.STATIC, Backend.NONE):
        return
    embedder = run_cancellable(lambda: open_embedder(config), cancelled)
    if embedder is not None:
        with closing(embedder):
            embedder.prepare(cancelled)


class QueryEmbedder:
    """Embeds the queries of a process, with an LRU cache; opens the model when needed. Thread-safe.

    Args:
        config: The settings in force, which name the model.
        open_embedder: Opens it; kept as an attribute.
        now: Returns seconds; tests substitute it.
    """

    def __init__(
        self,
        config: Config,
        open_embedder: OpenEmbedder,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self.open_embedder = open_embedder
        self._now = now
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._opened_at_s = 0.0
        self._is_known = False  # whether it tells its identity without a request
        self._cache: LruCache[tuple[str, str], array[float]] = LruCache(_CACHE_BYTES)
        self._failure: tuple[float, EmbedderUnavailableError] | None = None
        self._used_s = 0.0

    def embed(self, text: str, identity: str) -> Sequence[float]:
        """Embed a query, as (dimension,); a known one without waiting for what others embed.

        Args:
            text: The query.
            identity: The identity of the model with whose vectors it will be compared.

        Raises:
            UnavailableError: There is no model, a different one, or it is unavailable.
            InvalidConfigError: The setting cannot be read.
        """
        self._used_s = self._now()
        vector = self._cache.get((identity, text))
        if vector is None:
            with self._guarded():
                vector = self._cache.get((identity, text))  # another thread asked the same
                if vector is None:
                    given = self._answer(identity, lambda model: model.embed_query(text))
                    vector = array("d", given)
                    size_bytes = len(vector) * vector.itemsize + len(text) + _VECTOR_BYTES
                    self._cache.put((identity, text), vector, size_bytes)
        return vector

    def identity(self, cancelled: CancelToken) -> str:
        """Return the identity of the model.

        Args:
            cancelled: Polled several times a second.

        Raises:
            UnavailableError: There is no model, or it is unavailable.
            InvalidConfigError: The setting cannot be read.
            Cancelled: ``cancelled`` returned true.
        """
        with self._guarded():
            embedder = self._opened()
            if not self._is_known:
                embedder.prepare(cancelled)
                self._is_known = True
            return embedder.identity

    def embed_passages(
        self, passages: "Sequence[Passage]", identity: str, cancelled: CancelToken
    ) -> "Vectors":
        """Embed a few texts to compare queries with, as (passages × dimension).

        Args:
            passages: The texts.
            identity: The identity of the model that must be used.
            cancelled: Polled several times a second.

        Raises:
            UnavailableError: There is no model, a different one, or it is unavailable.
            InvalidConfigError: The setting cannot be read.
            Cancelled: ``cancelled`` returned true.
        """
        with self._guarded():
            return self._answer(identity, lambda model: model.embed_passages(passages, cancelled))

    def close(self) -> None:
        """Free the model and the cache; the next query opens it again."""
        with self._lock:
            self._free()
            self._cache.clear()

    def close_unused(self, since_s: float) -> None:
        """Free both if they were not used since a time on the monotonic clock."""
        if self._used_s < since_s:
            self.close()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let one thread at a time use the model, and none for a while after a failure."""
        self._used_s = self._now()
        with self._lock:
            if self._failure and self._now() < self._failure[0] + PAUSE_S:
                raise copy(self._failure[1])
            try:
                yield
            except EmbedderUnavailableError as error:
                self._failure = self._now(), copy(error)  # without what its traceback holds
                self._free()
                raise

    def _free(self) -> None:
        if self._embedder:
            self._embedder.close()
        self._embedder = None
        self._is_known = False

    def _opened(self) -> "Embedder":
        if self._embedder is None:
            self._embedder = self.open_embedder(self._config)
            self._opened_at_s = self._now()
        if self._embedder is None:
            raise UnavailableError(
                "the setting model is none", hint="set model = static, then run cairn index"
            )
        return self._embedder

    def _answer(self, identity: str, ask: "Callable[[Embedder], Answer]") -> Answer:
        """Return the answer of the model, if it is the one with this identity.

        A model that was just opened is asked first and compared afterwards: a server tells by its
        answer what it is, and has no more time and requests than the question. One that was opened
        a while ago may have been exchanged since, and is opened again.
        """
        while True:
            embedder = self._opened()
            if not self._is_known or embedder.identity == identity:
                answer = ask(embedder)
                self._is_known = True
                if embedder.identity == identity:
                    return answer
            if self._now() < self._opened_at_s + PAUSE_S:
                raise UnavailableError(
                    f"the vectors of this index are not of the model {embedder.name}",
                    hint="cairn index makes them anew",
                )
            self._free()
