"""The protocol of all embedding backends: passages in, unit vectors out."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.cancellation import CancelToken

#: One row a passage, each of length 1 (or 0 for a passage without meaning).
Vectors = NDArray[np.float32]


class Passage(NamedTuple):
    """A chunk as backends read it: the built-in model its words, the others its text."""

    text: str
    name_terms: str  # words of the names defined in it, as the keyword index stores them
    signature_terms: str
    body_terms: str


class Embedder(Protocol):
    """A loaded model. For one thread at a time."""

    @property
    def name(self) -> str:
        """Its name, as in the setting ``model``."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def identity(self) -> str:
        """Name, dimension and whatever else makes vectors comparable, for example a weights hash.

        Vectors of different identities are never compared.
        """

    def prepare(self, cancelled: CancelToken) -> None:
        """Fetch what only the backend knows, so that identity and dimension do not block.

        Args:
            cancelled: Polled several times a second.

        Raises:
            EmbedderUnavailableError: The backend is unreachable or answers nonsense.
            Cancelled: ``cancelled`` returned true.
        """

    def embed_passages(self, passages: Sequence[Passage], cancelled: CancelToken) -> Vectors:
        """Embed chunks, in order, as (passages × dimension).

        Args:
            passages: Any number, of any length; the backend batches and truncates them.
            cancelled: Polled several times a second, also during a request.

        Raises:
            EmbedderUnavailableError: The backend is unreachable or answers nonsense.
            Cancelled: ``cancelled`` returned true.
        """

    def embed_paths(self, paths: Sequence[str], cancelled: CancelToken) -> Vectors:
        """Embed the words of paths, in order, as (paths × dimension): the vectors of files.

        Args:
            paths: Any number.
            cancelled: Polled several times a second.

        Raises:
            EmbedderUnavailableError: The backend is unreachable or answers nonsense.
            Cancelled: ``cancelled`` returned true.
        """

    def embed_query(self, text: str) -> Sequence[float]:
        """Embed a query, as (dimension,); without numpy, whose import takes longer than a search.

        Raises:
            EmbedderUnavailableError: The backend is unreachable or answers nonsense.
        """

    def close(self) -> None:
        """Free its resources."""
