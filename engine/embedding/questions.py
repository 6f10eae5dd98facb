"""Questions → vectors, by the model that the settings name."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.config import Config
from engine.embedding.load import OpenEmbedder
from engine.errors import EmbedderUnavailableError, UnavailableError

if TYPE_CHECKING:
    from engine.embedding.embedder import Embedder, Vectors  # which imports numpy

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
        with self._lock:
            if self._failure and self._now() < self._failure[0] + PAUSE_S:
                raise self._failure[1]
            try:
                return self._embed(text, identity)
            except EmbedderUnavailableError as error:
                self._failure = self._now(), error
                raise

    def close(self) -> None:
        """Free what the model holds; it is opened again when a question comes."""
        with self._lock:
            if self._embedder:
                self._embedder.close()
            self._embedder = None
            self._kept.clear()

    def _embed(self, text: str, identity: str) -> "Vectors":
        embedder = self._embedder = self._embedder or self._open_embedder(self._config)
        if embedder is None:
            raise UnavailableError(
                "the setting model is none", hint="set model = static, then run cairn index"
            )
        if embedder.identity != identity:
            raise UnavailableError(
                f"the vectors of this index are not of the model {embedder.name}",
                hint="cairn index makes them anew",
            )
        vector = self._kept.get(text)
        if vector is None:
            vector = self._kept[text] = embedder.embed_query(text)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(text)
        return vector
