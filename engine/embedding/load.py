"""The setting ``model`` → an embedder that is ready, made on first use."""

from collections.abc import Callable

from engine.embedding.choice import Backend, choice_of
from engine.embedding.embedder import Embedder
from engine.errors import EmbedderUnavailableError

#: How an embedder is opened by a setting; tests have one of their own.
OpenEmbedder = Callable[[str], Embedder | None]


def open_embedder(setting: str) -> Embedder | None:
    """Open the backend that a setting names; None for ``none``.

    Raises:
        InvalidConfigError: The setting cannot be read.
        EmbedderUnavailableError: The model is not on this machine.
    """
    choice = choice_of(setting)
    if choice.backend is Backend.NONE:
        return None
    if choice.backend is Backend.STATIC:
        from engine.embedding.builtin import BuiltIn  # numpy and 10 MB of weights

        return BuiltIn()
    raise EmbedderUnavailableError(
        f"the model {choice.name} cannot be used yet", hint="use the built-in one: static"
    )
