"""The built-in model: a weighted bag of words, semantic search without a neural network.

Every word has a vector; the vector of a text is their sum, scaled to length 1. Words are split by
``syntax.terms``, exactly as for the keyword index. A word without a row of its own is cut into the
rows of known words and pieces, the longest first. ``tools/training`` learned the weights;
``model/MODEL_CARD.md`` says from what. ``static_weights`` embeds queries, ``static_model`` chunks
and paths, with numpy.
"""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from engine.cancellation import CancelToken
from engine.embedding.static_weights import load_weights
from engine.errors import Cancelled, EmbedderUnavailableError
from engine.syntax.terms import terms_of

if TYPE_CHECKING:
    from engine.embedding.embedder import Passage, Vectors
    from engine.embedding.static_model import StaticModel

_AT_ONCE: Final = 512


@functools.cache
def load_static() -> "StaticModel":
    """Return the built-in model for chunks and paths; made once per process."""
    from engine.embedding.static_model import StaticModel  # numpy

    return StaticModel(load_weights())


class StaticEmbedder:
    """The static model; see ``embedder.Embedder``.

    Raises:
        EmbedderUnavailableError: Its weights are missing or damaged.
    """

    def __init__(self) -> None:
        try:
            self._weights = load_weights()
        except (OSError, ValueError) as error:
            raise EmbedderUnavailableError(
                f"the built-in model cannot be read: {error}", hint="install codecairn again"
            ) from error

    @property
    def name(self) -> str:
        """Its name, as in the setting ``model``."""
        return "static"

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return self._weights.header.dimension

    @property
    def identity(self) -> str:
        """Name, dimension and a hash of the weights."""
        return self._weights.identity

    def prepare(self, cancelled: CancelToken) -> None:
        """Check the weights before anything is stored that they made; a query takes no time for it.

        Raises:
            EmbedderUnavailableError: They are damaged.
        """
        if not self._weights.is_intact:
            raise EmbedderUnavailableError(
                "the weights of the built-in model are damaged", hint="install codecairn again"
            )

    def embed_words(self, rows: Sequence[tuple[str, str, str]]) -> "Vectors":
        """Embed chunks by their words: of names, of signatures, of the text."""
        return load_static().embed_chunks(rows)

    def embed_passages(self, passages: "Sequence[Passage]", cancelled: CancelToken) -> "Vectors":
        """Embed chunks by their words."""
        import numpy as np

        parts = [self.embed_words([])]
        for start in range(0, len(passages), _AT_ONCE):
            if cancelled():
                raise Cancelled("embedding was stopped")
            rows = [passage[1:] for passage in passages[start : start + _AT_ONCE]]
            parts.append(self.embed_words(rows))
        return np.concatenate(parts)

    def embed_paths(self, paths: Sequence[str], cancelled: CancelToken) -> "Vectors":
        """Embed paths by the words of their folders and of their names."""
        import numpy as np

        parts = [load_static().embed_paths([])]
        for start in range(0, len(paths), _AT_ONCE):
            if cancelled():
                raise Cancelled("embedding was stopped")
            words = [_words_of(path) for path in paths[start : start + _AT_ONCE]]
            parts.append(load_static().embed_paths(words))
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Sequence[float]:
        """Embed a query by its words."""
        return self._weights.embed_query(text)

    def close(self) -> None:
        """Do nothing: the weights are shared."""


def _words_of(path: str) -> tuple[str, str]:
    """Return the words of the folders of a path, and of its name up to the first dot."""
    folders, _, name = path.rpartition("/")
    return terms_of(folders), terms_of(name.partition(".")[0]) or terms_of(name)
