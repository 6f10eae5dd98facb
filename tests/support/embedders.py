"""Embedders for tests: deterministic, fast, and able to fail or to take their time.

``Fakes()`` opens those that a setting names, as ``embedding.load.open_embedder`` does; ``Index``
and ``Catalog`` take it as ``open_embedder``. The setting ``fake:NAME/DIMENSION`` gives a model of
its own for each name: the vectors of two names have nothing to do with each other.
"""

import threading
import time
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from engine.cancellation import CancelToken
from engine.config import Config
from engine.embedding.embedder import Embedder, Passage, Vectors
from engine.embedding.load import open_embedder
from engine.errors import Cancelled, EmbedderUnavailableError
from engine.syntax.terms import words_of
from tests.support.patience import patience

_DIMENSION = 16
_AT_ONCE = 16  # passages in what stands for a request
_PAUSE_S = 0.02


class FakeEmbedder:
    """Sums of a vector a word; reads the text of passages, as models behind a server do.

    Args:
        name: Seeds the vectors; a part of the identity.
        dimension: Numbers in a vector.
        delay_s: How long each request takes.
        fail_after: Requests that are answered before the backend is away; None: it stays.
    """

    def __init__(
        self,
        name: str = "a",
        dimension: int = _DIMENSION,
        *,
        delay_s: float = 0.0,
        fail_after: int | None = None,
    ) -> None:
        self.name = f"fake:{name}"
        self.dimension = dimension
        self.identity = f"{self.name}/{dimension}"
        self.delay_s = delay_s
        self.fail_after = fail_after
        self.passages: list[str] = []  # the texts that were embedded, in order
        self.paths: list[str] = []
        self.requests = 0
        self.is_closed = False
        self._lock = threading.Lock()
        self._known: dict[str, Vectors] = {}

    def prepare(self, cancelled: CancelToken) -> None:
        """Nothing to learn, but it is noticed when the backend is away."""
        self._check_there(self.requests + 1)

    def embed_passages(self, passages: Sequence[Passage], cancelled: CancelToken) -> Vectors:
        """Embed the words of texts."""
        vectors: list[Vectors] = []
        for start in range(0, len(passages), _AT_ONCE):
            if cancelled():
                raise Cancelled("embedding was stopped")
            self._ask()
            texts = [passage.text for passage in passages[start : start + _AT_ONCE]]
            self.passages.extend(texts)
            vectors.extend(self.vector_of(text) for text in texts)
        return np.array(vectors, np.float32).reshape(-1, self.dimension)

    def embed_paths(self, paths: Sequence[str], cancelled: CancelToken) -> Vectors:
        """Embed the words of paths."""
        if cancelled():
            raise Cancelled("embedding was stopped")
        self._ask()
        self.paths.extend(paths)
        return np.array([self.vector_of(path) for path in paths], np.float32).reshape(
            -1, self.dimension
        )

    def embed_query(self, text: str) -> list[float]:
        """Embed the words of a question."""
        self._ask()
        vector: list[float] = self.vector_of(text).tolist()
        return vector

    def vector_of(self, text: str) -> Vectors:
        """Give the vector of a text without asking anybody."""
        total = np.zeros(self.dimension, np.float32)
        for word in words_of(text):
            total += self._vector_of_word(word)
        length = np.float32(np.sqrt((total * total).sum()))
        return total / length if length else total

    def close(self) -> None:
        """Take note of it."""
        self.is_closed = True

    def _ask(self) -> None:
        with self._lock:
            self.requests += 1
            requests = self.requests
        self._check_there(requests)
        if self.delay_s:
            time.sleep(self.delay_s)

    def _check_there(self, requests: int) -> None:
        if self.fail_after is not None and requests > self.fail_after:
            raise EmbedderUnavailableError(f"{self.name} is away", hint="start it again")

    def _vector_of_word(self, word: str) -> Vectors:
        vector = self._known.get(word)
        if vector is None:
            # Whole numbers: their sums do not depend on the machine.
            digest = blake2b(f"{self.name} {word}".encode(), digest_size=self.dimension).digest()
            vector = np.frombuffer(digest, np.int8).astype(np.float32)
            self._known[word] = vector
        return vector


class HeldEmbedder(FakeEmbedder):
    """Embeds texts with the words "held back" only once ``is_free`` is set, or stops."""

    def __init__(self) -> None:
        super().__init__()
        self.is_holding = threading.Event()
        self.is_free = threading.Event()

    def embed_passages(self, passages: Sequence[Passage], cancelled: CancelToken) -> Vectors:
        """Embed the words of texts."""
        if any("held back" in passage.text for passage in passages):
            self.is_holding.set()
            deadline_s = time.monotonic() + patience(60.0)
            while not (self.is_free.wait(_PAUSE_S) or cancelled()):
                assert time.monotonic() < deadline_s, "nobody lets it go on"
        return super().embed_passages(passages, cancelled)


class Fakes:
    """Opens embedders by their setting and keeps them, so that a test can look at them.

    Args:
        embedders: Those that are ready; other names are made when they are asked for.
    """

    def __init__(self, *embedders: FakeEmbedder) -> None:
        self._made = {embedder.name: embedder for embedder in embedders}

    def __call__(self, config: Config) -> Embedder | None:
        """Open what settings name; what is no ``fake:…`` is opened as outside of tests."""
        if not config.model.startswith("fake:"):
            return open_embedder(config)
        return self.named(config.model)

    def named(self, setting: str) -> FakeEmbedder:
        """Give the embedder of ``fake:NAME`` or ``fake:NAME/DIMENSION``."""
        name, _, dimension = setting.partition("/")
        if name not in self._made:
            self._made[name] = FakeEmbedder(
                name.removeprefix("fake:"), int(dimension or _DIMENSION)
            )
        return self._made[name]
