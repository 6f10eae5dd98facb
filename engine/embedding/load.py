"""The setting ``model`` → an embedder that is ready, made on first use.

Is the model that the settings name there? Asked before work begins, and while it waits.

Questions → vectors, by the model that the settings name.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from engine.cancellation import result_of
from engine.config import Config, embedding_key
from engine.embedding.embedder import Backend, choice_of
from engine.errors import EmbedderUnavailableError, UnavailableError

if TYPE_CHECKING:
    from engine.embedding.embedder import Embedder, Passage, Vectors

#: How the embedder is opened that the settings name; tests have one of their own.
OpenEmbedder = Callable[[Config], "Embedder | None"]


def open_embedder(config: Config) -> "Embedder | None":
    """Open the backend that the settings name; None for ``none``.

    Nothing is ever downloaded here, and no server is asked yet. Each backend's libraries are
    imported only when it is chosen: they take from 0.1 s (numpy) to 1 s (onnxruntime).

    Raises:
        InvalidConfigError: The setting cannot be read.
        EmbedderUnavailableError: The model is not on this machine, or cannot be loaded.
    """
    choice = choice_of(config.model)
    if choice.backend is Backend.NONE:
        return None
    if choice.backend is Backend.STATIC:
        from engine.embedding.static import BuiltIn

        return BuiltIn()
    if choice.backend is Backend.ONNX:
        from engine.embedding.onnx import open_onnx

        return open_onnx(choice, config)
    from engine.embedding.remote import Remote

    return Remote(choice, embedding_key(choice.url), config)


def check_embedder(config: Config, open_embedder: OpenEmbedder, stop: Callable[[], bool]) -> None:
    """Make sure that there are vectors to be had, by asking for one as a run does.

    The built-in model is taken for there: it is part of this program. A server may take its
    ``embedding_timeout``.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that they name.
        stop: Asked several times a second; when true, ``Cancelled`` is raised.

    Raises:
        InvalidConfigError: The setting cannot be read.
        EmbedderUnavailableError: The model is not on this machine, or its server does not answer.
        Cancelled: ``stop`` said so.
    """
    if config.model in (Backend.STATIC, Backend.NONE):
        return
    embedder = result_of(lambda: open_embedder(config), stop)
    if embedder is not None:
        with closing(embedder):
            embedder.prepare(stop)


_MOST_KEPT = 256  # vectors of questions, 1 kB each
#: A backend that was away is left alone for so long, so that searches by words do not wait for it.
PAUSE_S = 30.0


class QuestionEmbedder:
    """Embeds the questions of a process. Opens the model on first use. For any number of threads.

    Args:
        config: The settings in force, which name the model.
        open_embedder: Opens it.
        now: Gives seconds; a test's way to let time pass.
    """

    def __init__(
        self,
        config: Config,
        open_embedder: OpenEmbedder,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._open_embedder = open_embedder
        self._now = now
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._failure: tuple[float, EmbedderUnavailableError] | None = None

    def embed(self, text: str, identity: str) -> "Vectors":
        """Embed a question, as (dimension,).

        Args:
            text: The question.
            identity: Of the model whose vectors it will be compared with.

        Raises:
            UnavailableError: There is no model, another one, or it is away.
        """
        with self._guarded():
            return self._embed(text, identity)

    def identity(self, stop: Callable[[], bool]) -> str:
        """Give the identity of the model.

        Args:
            stop: Asked several times a second; when true, the model counts as away.

        Raises:
            UnavailableError: There is no model, or it is away.
        """
        with self._guarded():
            return self._opened(stop).identity

    def embed_passages(
        self, passages: "Sequence[Passage]", identity: str, stop: Callable[[], bool]
    ) -> "Vectors":
        """Embed a few texts that questions will be compared with, as (passages × dimension).

        Args:
            passages: The texts.
            identity: Of the model that has to do it.
            stop: Asked several times a second.

        Raises:
            UnavailableError: There is no model, another one, or it is away.
            Cancelled: ``stop`` said so.
        """
        with self._guarded():
            return self._embedder_of(identity).embed_passages(passages, stop)

    def close(self) -> None:
        """Free what the model holds; it is opened again when a question comes."""
        with self._lock:
            if self._embedder:
                self._embedder.close()
            self._embedder = None
            self._kept.clear()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Let one thread at a time use the model, and none while it is left alone."""
        with self._lock:
            if self._failure and self._now() < self._failure[0] + PAUSE_S:
                raise self._failure[1]
            try:
                yield
            except EmbedderUnavailableError as error:
                self._failure = self._now(), error
                raise

    def _opened(self, stop: Callable[[], bool] | None = None) -> "Embedder":
        is_new = self._embedder is None
        embedder = self._embedder = self._embedder or self._open_embedder(self._config)
        if embedder is None:
            raise UnavailableError(
                "the setting model is none", hint="set model = static, then run cairn index"
            )
        if is_new and stop:
            embedder.prepare(stop)
        return embedder

    def _embedder_of(self, identity: str) -> "Embedder":
        embedder = self._opened()
        if embedder.identity != identity:
            raise UnavailableError(
                f"the vectors of this index are not of the model {embedder.name}",
                hint="cairn index makes them anew",
            )
        return embedder

    def _embed(self, text: str, identity: str) -> "Vectors":
        embedder = self._embedder_of(identity)
        vector = self._kept.get(text)
        if vector is None:
            vector = self._kept[text] = embedder.embed_query(text)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(text)
        return vector
