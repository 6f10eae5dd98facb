"""What every embedding backend offers: passages in, unit vectors out.

What families of models want in front of a text: they were trained with it.

Without it most of them still answer, only worse, so an unknown model gets none.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

#: One row a passage, each of length 1 (or 0 for a passage without meaning).
Vectors = NDArray[np.float32]


class Passage(NamedTuple):
    """A chunk as backends see it: the built-in model reads its words, the others its text."""

    text: str
    name_terms: str  # words of the names defined in it, as the keyword index stores them
    signature_terms: str
    body_terms: str


class Embedder(Protocol):
    """A model that is ready. For one thread at a time."""

    @property
    def name(self) -> str:
        """What people call it, as the setting ``model`` does."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def identity(self) -> str:
        """Name, dimension and what else makes vectors comparable, such as the weights' hash.

        Vectors of different identities are never compared.
        """

    def prepare(self, stop: Callable[[], bool]) -> None:
        """Learn what only the backend knows, so that nobody waits for identity and dimension.

        Args:
            stop: Asked several times a second; when true, ``Cancelled`` is raised.

        Raises:
            EmbedderUnavailableError: The backend is away or answers nonsense.
            Cancelled: ``stop`` said so.
        """

    def embed_passages(self, passages: Sequence[Passage], stop: Callable[[], bool]) -> Vectors:
        """Embed chunks, in order, as (passages × dimension).

        Args:
            passages: Any number of any length; the backend batches and cuts.
            stop: Asked several times a second, also while a request is under way; when true,
                ``Cancelled`` is raised.

        Raises:
            EmbedderUnavailableError: The backend is away or answers nonsense.
            Cancelled: ``stop`` said so.
        """

    def embed_paths(self, paths: Sequence[str], stop: Callable[[], bool]) -> Vectors:
        """Embed the words of paths, in order, as (paths × dimension): the vectors of files.

        Args:
            paths: As ``embed_passages`` takes passages.
            stop: As there.

        Raises:
            EmbedderUnavailableError: The backend is away or answers nonsense.
            Cancelled: ``stop`` said so.
        """

    def embed_query(self, text: str) -> Vectors:
        """Embed a question, as (dimension,).

        Raises:
            EmbedderUnavailableError: The backend is away or answers nonsense.
        """

    def close(self) -> None:
        """Free what it holds."""


class Prompts(NamedTuple):
    """What stands in front of questions and of passages."""

    query: str = ""
    passage: str = ""


_FOR_PASSAGES = "Represent this sentence for searching relevant passages: "
_FOR_CODE = "Instruct: Given a question, retrieve the source code that answers it\nQuery: "

#: A part of a model's name in lower case, and its prompts; the first that fits counts.
_FAMILIES: tuple[tuple[str, Prompts], ...] = (
    ("bge-small-en", Prompts(_FOR_PASSAGES)),
    ("bge-base-en", Prompts(_FOR_PASSAGES)),
    ("bge-large-en", Prompts(_FOR_PASSAGES)),
    ("bge-small-zh", Prompts("为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001
    ("arctic-embed", Prompts(_FOR_PASSAGES)),
    ("mxbai-embed", Prompts(_FOR_PASSAGES)),
    ("e5-", Prompts("query: ", "passage: ")),
    ("nomic-embed-text", Prompts("search_query: ", "search_document: ")),
    ("embeddinggemma", Prompts("task: search result | query: ", "title: none | text: ")),
    ("qwen3-embedding", Prompts(_FOR_CODE)),
)
_NONE = Prompts()


def prompts_of(model: str) -> Prompts:
    """Give the prompts of a model by its name, empty when none are known."""
    name = model.lower()
    return next((prompts for part, prompts in _FAMILIES if part in name), _NONE)
