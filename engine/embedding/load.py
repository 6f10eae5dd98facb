"""The setting ``model`` → an embedder that is ready, made on first use."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.config import Config, embedding_key
from engine.embedding.choice import Backend, choice_of

if TYPE_CHECKING:
    from engine.embedding.embedder import Embedder  # which imports numpy

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
        from engine.embedding.builtin import BuiltIn

        return BuiltIn()
    if choice.backend is Backend.ONNX:
        from engine.embedding.onnx import open_onnx

        return open_onnx(choice, config)
    from engine.embedding.remote import Remote

    return Remote(choice, embedding_key(choice.url), config)
