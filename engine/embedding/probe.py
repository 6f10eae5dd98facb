"""Is the model that the settings name there? Asked before work begins, and while it waits."""

from collections.abc import Callable
from contextlib import closing

from engine.config import Config
from engine.embedding.choice import Backend
from engine.embedding.load import OpenEmbedder
from engine.embedding.waiting import result_of


def check_embedder(config: Config, open_embedder: OpenEmbedder, stop: Callable[[], bool]) -> None:
    """Make sure that there are vectors to be had, by asking for one as a run does.

    The built-in model is taken for there: it is part of this program. A server may take its
    ``embedding_timeout``.

    Args:
        config: The settings in force.
        open_embedder: Opens the model that they name.
        stop: Asked several times a second; when true, ``Cancelled`` is raised.

    Raises:
        InvalidConfigError: The setting cannot be read.
        EmbedderUnavailableError: The model is not on this machine, or its server does not answer.
        Cancelled: ``stop`` said so.
    """
    if config.model in (Backend.STATIC, Backend.NONE):
        return
    embedder = result_of(lambda: open_embedder(config), stop)
    if embedder is not None:
        with closing(embedder):
            embedder.prepare(stop)
