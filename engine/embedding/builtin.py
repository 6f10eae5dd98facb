"""The built-in model as an embedder: it reads the words that the keyword index has."""

from collections.abc import Callable, Sequence

import numpy as np

from engine.embedding.embedder import Passage, Vectors
from engine.embedding.static import load_static
from engine.errors import Cancelled, EmbedderUnavailableError
from engine.syntax.terms import terms_of

_AT_ONCE = 512


class BuiltIn:
    """The static model; see ``embedder.Embedder``.

    Raises:
        EmbedderUnavailableError: Its weights are not there, or damaged.
    """

    def __init__(self) -> None:
        try:
            self._model = load_static()
        except (OSError, ValueError) as error:
            raise EmbedderUnavailableError(
                f"the built-in model cannot be read: {error}", hint="install codecairn again"
            ) from error

    @property
    def name(self) -> str:
        """What people call it."""
        return "static"

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return self._model.dimension

    @property
    def identity(self) -> str:
        """Name, dimension and the weights' hash."""
        return self._model.identity

    def prepare(self, stop: Callable[[], bool]) -> None:
        """Nothing to learn: the weights say it all."""

    def embed_words(self, rows: Sequence[tuple[str, str, str]]) -> Vectors:
        """Embed chunks by their words: of names, of signatures, of the text."""
        if not rows:
            return np.zeros((0, self.dimension), np.float32)
        return self._model.embed_chunks(rows)

    def embed_passages(self, passages: Sequence[Passage], stop: Callable[[], bool]) -> Vectors:
        """Embed chunks by their words."""
        parts = []
        for start in range(0, len(passages), _AT_ONCE):
            if stop():
                raise Cancelled("embedding was stopped")
            rows = [passage[1:] for passage in passages[start : start + _AT_ONCE]]
            parts.append(self.embed_words(rows))
        return np.concatenate(parts) if parts else np.zeros((0, self.dimension), np.float32)

    def embed_paths(self, paths: Sequence[str], stop: Callable[[], bool]) -> Vectors:
        """Embed paths by the words of their folders and of their names."""
        vectors = np.zeros((len(paths), self.dimension), np.float32)
        for number, path in enumerate(paths):
            if number % _AT_ONCE == 0 and stop():
                raise Cancelled("embedding was stopped")
            folders, _, name = path.rpartition("/")
            stem = terms_of(name.partition(".")[0]) or terms_of(name)
            vectors[number] = self._model.embed_path(terms_of(folders), stem)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Embed a question by its words."""
        return self._model.embed_query(text)

    def close(self) -> None:
        """Nothing to free: the weights are shared."""
