"""What the vector of a file is made of: the words of its path, so that it stays as it does."""

from collections.abc import Sequence

from engine.embedding.embedder import Embedder, Vectors


def file_vectors(embedder: Embedder, paths: Sequence[str]) -> Vectors:
    """Give the vectors of files, in order, as (paths × dimension).

    Raises:
        EmbedderUnavailableError: The backend is away or answers nonsense.
    """
    return embedder.embed_paths(paths)
