"""The built-in static model. Placeholder of the groundwork: vectors by hashed words."""

import functools
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from engine.embedding.embedder import Vectors
from engine.syntax.terms import words_of


class StaticModel:
    """Words hashed to random vectors; to be replaced by the trained weights."""

    name = "hashed"
    dimension = 128
    identity = "hashed/128/0"

    def embed_chunks(self, rows: Sequence[tuple[str, str, str]]) -> Vectors:
        """Embed the words of chunks."""
        return np.stack([self._embed(" ".join(row)) for row in rows])

    def embed_path(self, folders: str, stem: str) -> Vectors:
        """Embed the words of a path."""
        return self._embed(f"{folders} {stem} {stem}")

    def embed_query(self, text: str) -> Vectors:
        """Embed a question."""
        return self._embed(" ".join(words_of(text)))

    def _embed(self, words: str) -> Vectors:
        total = np.zeros(self.dimension, np.float32)
        for word in words.split():
            total += _vector_of(word)
        length = float(np.linalg.norm(total))
        return total / length if length else total


@functools.lru_cache(maxsize=100_000)
def _vector_of(word: str) -> Vectors:
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
    vector = np.random.default_rng(seed).standard_normal(StaticModel.dimension)
    return vector.astype(np.float32)


@functools.cache
def load_static() -> StaticModel:
    """Load the model once a process."""
    return StaticModel()
