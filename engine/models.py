"""Embedding models for users: list them, try out the chosen one, and download one.

The backends are in ``embedding``; nothing here is needed to index or to search.
"""

import time
from collections.abc import Callable

from engine.config import Config
from engine.embedding.load import open_embedder
from engine.embedding.model_setting import FORMS, Backend, ModelChoice, parse_model_setting
from engine.errors import EmbedderUnavailableError, InvalidInputError
from engine.record_class import record

_QUESTION = "where is the configuration read"


@record
class ModelEntry:
    """A model that the setting ``model`` can name; one row of ``cairn model list``."""

    model: str  # the value of the setting
    dimension: int | None  # numbers in a vector; None: only its server knows
    size_bytes: int | None  # of the download, about
    licence: str
    here: bool  # ready on this machine
    chosen: bool


@record
class ModelState:
    """The model that the settings choose, tried out; ``cairn model show``."""

    model: str
    source: str  # "built in", a folder, or the URL of a server
    answers: bool
    dimension: int | None
    identity: str | None  # vectors of different ones are never compared
    open_ms: float | None  # to load it
    query_ms: float | None  # for one question, the first one excepted
    error: str | None = None  # why it does not answer
    hint: str | None = None  # and what to do


@record
class PulledModel:
    """A model that is on this machine now; ``cairn model pull``."""

    model: str  # what the setting has to say to choose it
    path: str
    size_bytes: int  # that came over the network, 0 when it was there already
    duration_ms: int


def list_models(config: Config) -> list[ModelEntry]:
    """List the built-in model, those that fastembed knows, and the chosen one if it is neither.

    Raises:
        InvalidConfigError: The setting ``model`` cannot be read.
    """
    from engine.embedding.fastembed_models import folder_of, known_models  # a second of imports
    from engine.embedding.static import StaticEmbedder

    chosen = parse_model_setting(config.model)
    built_in = StaticEmbedder()
    entries = [_entry("static", chosen, dimension=built_in.dimension, licence="MIT", here=True)]
    for known in known_models():
        try:
            is_here = folder_of(known, config.models_dir) is not None
        except EmbedderUnavailableError:  # there, and damaged
            is_here = False
        entries.append(
            _entry(
                f"onnx:{known.name}",
                chosen,
                dimension=known.dimension,
                size_bytes=known.size_bytes,
                licence=known.licence,
                here=is_here,
            )
        )
    entries.append(_entry("none", chosen, here=True))
    if not any(entry.chosen for entry in entries):
        entries.append(_entry(chosen.name, chosen, here=_is_in_folder(chosen)))
    return entries


def _is_in_folder(choice: ModelChoice) -> bool:
    """Return whether the model is one in a folder, and the folder has it."""
    if not choice.is_folder:
        return False
    from engine.embedding.onnx import read_folder

    try:
        read_folder(choice.model)
    except EmbedderUnavailableError:
        return False
    return True


def model_forms() -> list[str]:
    """Return how the setting ``model`` can be written."""
    return list(FORMS.values())


def show_model(config: Config) -> ModelState:
    """Open the chosen model and ask it one question; an error becomes a part of the answer.

    Raises:
        InvalidConfigError: The setting ``model`` cannot be read.
    """
    choice = parse_model_setting(config.model)
    source = choice.url or ("built in" if choice.backend is Backend.STATIC else "this machine")
    unknown: dict[str, None] = dict.fromkeys(("dimension", "identity", "open_ms", "query_ms"))
    if choice.backend is Backend.NONE:
        return ModelState(model=choice.name, source="", answers=False, **unknown)
    try:
        return _tried(choice, source, config)
    except EmbedderUnavailableError as error:
        return ModelState(
            model=choice.name,
            source=source,
            answers=False,
            **unknown,
            error=error.message,
            hint=error.hint,
        )


def pull_model(name: str, config: Config, on_bytes: Callable[[int], None]) -> PulledModel:
    """Download a model that fastembed knows; nothing else ever downloads.

    Args:
        name: As in the list, with or without ``onnx:``.
        config: Says where the data directory is.
        on_bytes: Told twice a second how many bytes have come.

    Raises:
        InvalidInputError: There is no such model, or it is not one to download.
        EmbedderUnavailableError: No network, no room, or not what was promised.
    """
    from engine.embedding.fastembed_models import fetch, known_model

    bare = name.strip().removeprefix("onnx:")
    if bare.partition(":")[0] in set(Backend) or bare.startswith(("/", "./", "../", "~")):
        raise InvalidInputError(
            f"{name} is not a model to download",
            hint="cairn model list names those that are; a server has its models itself",
            field="name",
        )
    known = known_model(bare)
    started_s = time.monotonic()
    came = 0

    def note(total: int) -> None:
        nonlocal came
        came = total
        on_bytes(total)

    path = fetch(known, config.models_dir, note)
    return PulledModel(
        model=f"onnx:{known.name}",
        path=str(path),
        size_bytes=came,
        duration_ms=round((time.monotonic() - started_s) * 1000),
    )


def _tried(choice: ModelChoice, source: str, config: Config) -> ModelState:
    started_s = time.perf_counter()
    embedder = open_embedder(config)
    assert embedder is not None
    opened_s = time.perf_counter()
    try:
        embedder.embed_query(_QUESTION)  # the first question also warms up
        warm_s = time.perf_counter()
        embedder.embed_query(_QUESTION)
        return ModelState(
            model=choice.name,
            source=source,
            answers=True,
            dimension=embedder.dimension,
            identity=embedder.identity,
            open_ms=(opened_s - started_s) * 1000,
            query_ms=(time.perf_counter() - warm_s) * 1000,
        )
    finally:
        embedder.close()


def _entry(
    model: str,
    chosen: ModelChoice,
    *,
    dimension: int | None = None,
    size_bytes: int | None = None,
    licence: str = "",
    here: bool = False,
) -> ModelEntry:
    return ModelEntry(
        model=model,
        dimension=dimension,
        size_bytes=size_bytes,
        licence=licence,
        here=here,
        chosen=model.lower() == chosen.name.lower(),
    )
