"""A model on this machine, run by fastembed and onnxruntime. Never downloads anything."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from fastembed import TextEmbedding
from fastembed.common import onnx_model
from fastembed.common.model_description import ModelSource, PoolingType

from engine.config import Config
from engine.embedding.batches import BatchSize, batches_of, readable
from engine.embedding.choice import Choice
from engine.embedding.embedder import Passage, Vectors
from engine.embedding.folder import ModelFolder, read_folder, weights_hash
from engine.embedding.known import folder_of, known_model, quiet
from engine.embedding.prompts import Prompts, prompts_of
from engine.embedding.unit import padded, unit_rows
from engine.embedding.waiting import result_of
from engine.errors import Cancelled, EmbedderUnavailableError, InvalidConfigError, InvalidInputError

#: What a batch holds: memory grows with it and with the square of the longest text.
_MOST_ITEMS = 64
_MOST_TOKENS = 16_384
_CUDA = "CUDAExecutionProvider"
_CPU = "CPUExecutionProvider"
#: What onnxruntime runs on, by the setting ``device``; None takes the card when there is one.
_PROVIDERS = {"auto": None, "cpu": [_CPU], "cuda": [_CUDA, _CPU]}
_PROBE = "parse the configuration file"
#: fastembed's list of models is one for the process, and several runs may add the same to it.
_registering = threading.Lock()


class Onnx:
    """A model in memory; see ``embedder.Embedder``.

    Args:
        name: As the setting writes it.
        model: fastembed's, loaded.
        weights: Hash of the weights and of what else shapes the vectors.
        prompts: What it wants before texts.
    """

    def __init__(self, name: str, model: Any, weights: str, prompts: Prompts) -> None:
        self._name = name
        self._model = model
        self._weights = weights
        self._prompts = prompts
        self._session = _Session(model.model)
        self._size = BatchSize(_MOST_ITEMS, _MOST_TOKENS)
        with _explained(name):
            [row] = model.query_embed(prompts.query + _PROBE)
        self._numbers = len(row)

    @property
    def name(self) -> str:
        """What people call it."""
        return self._name

    @property
    def dimension(self) -> int:
        """Numbers in a vector, padded to what the store keeps."""
        return padded(self._numbers)

    @property
    def identity(self) -> str:
        """Name, dimension, and the hash of the weights and of what else shapes the vectors."""
        return f"{self._name}/{self.dimension}/{self._weights}"

    def prepare(self, stop: Callable[[], bool]) -> None:
        """Nothing to learn: it was asked when it was opened."""

    def embed_passages(self, passages: Sequence[Passage], stop: Callable[[], bool]) -> Vectors:
        """Embed chunks by their text, as much of it as the model reads."""
        return self._embed([passage.text for passage in passages], stop)

    def embed_paths(self, paths: Sequence[str], stop: Callable[[], bool]) -> Vectors:
        """Embed paths as they are."""
        return self._embed(paths, stop)

    def embed_query(self, text: str) -> Vectors:
        """Embed a question."""
        with _explained(self._name):
            given = list(self._model.query_embed(self._prompts.query + readable(text)))
            row: Vectors = unit_rows(given, count=1, dimension=self._numbers)[0]
        return row

    def close(self) -> None:
        """Free the model."""
        self._model = None

    def _embed(self, texts: Sequence[str], stop: Callable[[], bool]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        asked = [self._prompts.passage + readable(text) for text in texts]
        for batch in batches_of(asked, self._size):
            if stop():
                raise Cancelled("embedding was stopped")
            started_s = time.monotonic()
            vectors[batch] = self._embed_batch([asked[index] for index in batch], stop)
            self._size.answered(len(batch), time.monotonic() - started_s)
        return vectors

    def _embed_batch(self, texts: list[str], stop: Callable[[], bool]) -> Vectors:
        """Embed texts in one go, which can take many seconds; a stop ends it early."""
        model = self._model
        end = self._session.begin()
        with _explained(self._name):
            given = result_of(lambda: list(model.passage_embed(texts)), stop, hurry=end)
            return unit_rows(given, count=len(texts), dimension=self._numbers)


class _Session:
    """onnxruntime's session, in the place where fastembed has it: one that can be ended.

    Args:
        holder: fastembed's; one that runs by other means is left as it is.
    """

    def __init__(self, holder: Any) -> None:
        self._session = getattr(holder, "model", None)
        self.begin()
        if self._session is not None:
            holder.model = self

    def begin(self) -> Callable[[], None]:
        """Give what ends a run that is begun after this, between two nodes of its graph."""
        options = self._options = onnx_model.ort.RunOptions()  # type: ignore[attr-defined]
        return lambda: setattr(options, "terminate", True)

    def run(self, names: Sequence[str] | None, inputs: Any) -> Any:
        return self._session.run(names, inputs, self._options)  # type: ignore[union-attr]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def open_onnx(choice: Choice, config: Config) -> Onnx:
    """Load the model of a choice into memory.

    Raises:
        InvalidConfigError: fastembed knows no model of that name.
        EmbedderUnavailableError: It is not on this machine, is damaged, or has no such device.
    """
    if choice.is_folder:
        folder = read_folder(choice.model)
        weights = _weights_of(folder.path, folder.model_file, folder.prompts, folder.pooling)
        model = _loaded_folder(folder, weights, choice.name, config)
        return Onnx(choice.name, model, weights, folder.prompts)
    try:
        known = known_model(choice.model)
    except InvalidInputError as error:
        raise InvalidConfigError(error.message, hint=error.hint, field="model") from error
    path = folder_of(known, config.models_dir)
    if path is None:
        raise EmbedderUnavailableError(
            f"the model {known.name} is not on this machine", hint=f"cairn model pull {known.name}"
        )
    prompts = prompts_of(known.name)
    weights = _weights_of(path, known.model_file, prompts, "")
    model = _loaded(known.name, path, f"onnx:{known.name}", config)
    return Onnx(f"onnx:{known.name}", model, weights, prompts)


def _weights_of(path: Path, model_file: str, prompts: Prompts, pooling: str) -> str:
    with _explained(str(path)):
        weights = weights_hash(path, model_file)
    shape = json.dumps([weights, prompts.passage, pooling])
    return sha256(shape.encode()).hexdigest()[:16]


def _loaded_folder(folder: ModelFolder, weights: str, name: str, config: Config) -> Any:
    """Load a model that fastembed does not know; one whose vectors are pooled already as well."""
    model = _loaded(_registered(folder, weights, folder.pooling), folder.path, name, config)
    outputs = model.model.model.get_outputs()
    if len(outputs[0].shape) != 2:
        return model
    return _loaded(_registered(folder, weights, "DISABLED"), folder.path, name, config)


def _registered(folder: ModelFolder, weights: str, pooling: str) -> str:
    """Make fastembed know a folder; the name it has there."""
    name = f"folder/{weights}/{pooling}/{sha256(str(folder.path).encode()).hexdigest()[:16]}"
    with _registering:
        if all(each["model"] != name for each in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType(pooling),
                normalization=False,  # unit_rows does
                sources=ModelSource(hf="none/none"),  # never asked: the folder is given
                dim=1,  # never asked: the first vector tells
                model_file=folder.model_file,
            )
    return name


def _loaded(known_as: str, path: Path, name: str, config: Config) -> Any:
    with _explained(name), quiet():
        model = TextEmbedding(
            known_as,
            cache_dir=str(path),
            threads=config.thread_count,
            providers=_PROVIDERS[config.device],
            specific_model_path=str(path),
            local_files_only=True,
        )
    session = getattr(model.model, "model", None)
    if config.device == "cuda" and (session is None or _CUDA not in session.get_providers()):
        raise EmbedderUnavailableError(
            f"{name} cannot run on the graphics card: its libraries cannot be loaded",
            hint="device = auto or cpu uses the processor",
        )
    return model


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn whatever the native libraries raise into the one error that says what to do."""
    try:
        yield
    except (EmbedderUnavailableError, Cancelled):
        raise
    except Exception as error:  # onnxruntime and tokenizers raise bare ones
        text = " ".join(str(error).split())
        if _CUDA in text:
            raise EmbedderUnavailableError(
                "this onnxruntime cannot use a graphics card",
                hint="install onnxruntime-gpu in its place, or set device = auto",
            ) from error
        raise EmbedderUnavailableError(
            f"the model {name} cannot be used: {text[:200] or type(error).__name__}",
            hint="its files may be damaged: cairn model pull NAME, or copy the folder anew",
        ) from error
