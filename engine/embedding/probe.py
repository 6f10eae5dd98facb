"""Is the model that the settings name there? Asked before work begins, and while it waits."""

from contextlib import closing

from engine.config import Config
from engine.embedding.choice import Backend
from engine.embedding.load import OpenEmbedder


def check_embedder(config: Config, open_embedder: OpenEmbedder) -> None:
    """Make sure that there are vectors to be had, by asking for one.

    The built-in model is taken for there: it is part of this program.

    Raises:
        InvalidConfigError: The setting cannot be read.
        EmbedderUnavailableError: The model is not on this machine, or its server does not answer.
    """
    if config.model in (Backend.STATIC, Backend.NONE):
        return
    embedder = open_embedder(config)
    if embedder is not None:
        with closing(embedder):
            embedder.embed_query("code")
