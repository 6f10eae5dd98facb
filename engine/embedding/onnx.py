"""An ONNX model on this machine, run by fastembed and onnxruntime. Never downloads anything.

The model comes from fastembed's cache, or from a folder with the layout of sentence-transformers
and Hugging Face exports: ``model.onnx``, possibly in ``onnx/``, beside ``tokenizer.json`` and
``tokenizer_config.json``.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from fastembed import TextEmbedding
from fastembed.common import onnx_model
from fastembed.common.model_description import ModelSource, PoolingType

from engine.cancellation import CancelToken, run_cancellable
from engine.config import Config
from engine.embedding.batches import BatchSize, batches_of, padded, unit_rows, valid_utf8
from engine.embedding.embedder import Passage, Vectors
from engine.embedding.fastembed_models import folder_of, known_model, silenced
from engine.embedding.model_setting import ModelChoice, Prompts, prompts_of
from engine.errors import (
    Cancelled,
    EmbedderUnavailableError,
    InvalidConfigError,
    InvalidInputError,
)

_MODEL_FILES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_optimized.onnx",
    "onnx/model_optimized.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
)
_NEEDED = ("tokenizer.json", "tokenizer_config.json")
#: What fastembed reads whole beside the weights; the largest tokenizers have some 35 MB.
_READ_WHOLE = (*_NEEDED, "config.json", "special_tokens_map.json")
_MAX_READ_WHOLE_BYTES = 256 << 20
_POOLING_FILE = "1_Pooling/config.json"
_PROMPTS_FILE = "config_sentence_transformers.json"
#: Flags of the pooling file and the names that fastembed has for them.
_POOLINGS = {
    "pooling_mode_cls_token": "CLS",
    "pooling_mode_mean_tokens": "MEAN",
    "pooling_mode_lasttoken": "LAST_TOKEN",
    "cls": "CLS",
    "mean": "MEAN",
    "lasttoken": "LAST_TOKEN",
}
_MAX_CONFIG_BYTES = 1 << 20
_WHOLE_BYTES = 64 << 20
_BLOCKS = 64

#: Limits of a batch: memory grows with it, and with the square of the longest text.
_MAX_ITEMS = 64
_MAX_TOKENS = 16_384
_CUDA = "CUDAExecutionProvider"
_CPU = "CPUExecutionProvider"
#: What onnxruntime runs on, by the setting ``device``; None uses the GPU if there is one.
_PROVIDERS = {"auto": None, "cpu": [_CPU], "cuda": [_CUDA, _CPU]}
_PROBE = "parse the configuration file"

T = TypeVar("T")


class ModelFolder(NamedTuple):
    """The description of a model in its folder."""

    path: Path
    model_file: str  # relative to it
    pooling: str  # CLS, MEAN or LAST_TOKEN
    prompts: Prompts


def read_folder(text: str) -> ModelFolder:
    """Read the description of the model in a folder.

    Raises:
        EmbedderUnavailableError: The folder or a file is missing, a file is far too large, or the
            pooling is not supported.
    """
    path = Path(os.path.expanduser(text)).absolute()
    if not path.is_dir():
        raise EmbedderUnavailableError(
            f"there is no folder {path}", hint="model = onnx:FOLDER wants a folder with model.onnx"
        )
    found = [name for name in _MODEL_FILES if (path / name).is_file()]
    missing = [name for name in _NEEDED if not (path / name).is_file()]
    if not found or missing:
        what = ", ".join(missing if found else ["model.onnx", *missing])
        raise EmbedderUnavailableError(
            f"the folder {path} lacks {what}",
            hint="export the model to ONNX, with its tokenizer beside it",
        )
    for name in _READ_WHOLE:
        if (path / name).is_file() and (path / name).stat().st_size > _MAX_READ_WHOLE_BYTES:
            raise EmbedderUnavailableError(
                f"{path / name} is larger than {_MAX_READ_WHOLE_BYTES:,} bytes",
                hint="copy the model anew",
            )
    return ModelFolder(path, found[0], _pooling_of(path), _prompts_of(path))


def weights_hash(folder: Path, model_file: str) -> str:
    """Return the hash of a model's weights and tokenizer, 16 hexadecimal digits.

    Of files above 64 MiB only the size and 64 evenly spaced blocks of 1 MiB are hashed: retrained
    weights differ nearly everywhere, and a model of 2 GB opens without being read twice.
    """
    digest = sha256()
    model = folder / model_file
    for file in [*sorted(model.parent.glob(f"{model.name}*")), folder / "tokenizer.json"]:
        if file.is_file():
            for block in _blocks_of(file):
                digest.update(block)
    return digest.hexdigest()[:16]


def _blocks_of(file: Path) -> Iterator[bytes]:
    size = file.stat().st_size
    yield f"\0{file.name}\0{size}\0".encode()
    block_bytes = _WHOLE_BYTES // _BLOCKS
    step_bytes = max(block_bytes, size // _BLOCKS)
    with file.open("rb") as opened:
        for start in range(0, size, step_bytes):
            opened.seek(start)
            yield opened.read(block_bytes)


def _pooling_of(path: Path) -> str:
    config = _read_json(path / _POOLING_FILE)
    chosen = [name for name, value in config.items() if name.startswith("pooling_mode_") and value]
    if isinstance(config.get("pooling_mode"), str):
        chosen = [str(config["pooling_mode"])]
    if not chosen:
        return "MEAN"
    if len(chosen) > 1 or chosen[0] not in _POOLINGS:
        raise EmbedderUnavailableError(
            f"{path / _POOLING_FILE} asks for {' and '.join(chosen)}, which is not supported",
            hint="supported are: " + ", ".join(sorted(_POOLINGS)),
        )
    return _POOLINGS[chosen[0]]


def _prompts_of(path: Path) -> Prompts:
    config = _read_json(path / _PROMPTS_FILE).get("prompts")
    prompts = config if isinstance(config, Mapping) else {}
    passage = prompts.get("document")
    if passage is None:
        passage = prompts.get("passage")
    return Prompts(str(prompts.get("query") or ""), str(passage or ""))


def _read_json(file: Path) -> Mapping[str, object]:
    """Return the content of an optional file, empty if it is missing."""
    try:
        with file.open("rb") as opened:
            config = json.loads(opened.read(_MAX_CONFIG_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise EmbedderUnavailableError(
            f"cannot read {file}: {error}", hint="copy the model anew"
        ) from error
    return config if isinstance(config, dict) else {}


#: fastembed's list of models is global, and several runs may add the same model.
_registering = threading.Lock()


class OnnxEmbedder:
    """A model in memory; see ``embedder.Embedder``.

    Args:
        name: The name, as in the setting.
        model: The loaded model of fastembed.
        weights: The hash of the weights and of whatever else determines the vectors.
        prompts: The prefixes of texts.
    """

    def __init__(self, name: str, model: Any, weights: str, prompts: Prompts) -> None:
        self._name = name
        self._model = model
        self._weights = weights
        self._prompts = prompts
        self._session = _Session(model.model)
        self._size = BatchSize(_MAX_ITEMS, _MAX_TOKENS)
        with _translating_errors(name):
            [row] = model.query_embed(prompts.query + _PROBE)
            unit_rows([row], count=1)
        self._numbers = len(row)

    @property
    def name(self) -> str:
        """Its name, as in the setting ``model``."""
        return self._name

    @property
    def dimension(self) -> int:
        """Numbers in a vector, padded as the store requires."""
        return padded(self._numbers)

    @property
    def identity(self) -> str:
        """Name, dimension, and the hash of whatever determines the vectors."""
        return f"{self._name}/{self.dimension}/{self._weights}"

    def prepare(self, cancelled: CancelToken) -> None:
        """Do nothing: opening the model has learned all."""

    def embed_passages(self, passages: Sequence[Passage], cancelled: CancelToken) -> Vectors:
        """Embed chunks by their text, truncated to what the model reads.

        Texts in which the model knows no word, such as blank ones, can become rows of zeros.
        """
        return self._embed([passage.text for passage in passages], cancelled)

    def embed_paths(self, paths: Sequence[str], cancelled: CancelToken) -> Vectors:
        """Embed paths as they are."""
        return self._embed(paths, cancelled)

    def embed_query(self, text: str) -> Sequence[float]:
        """Embed a query."""
        with _translating_errors(self._name):
            given = list(self._model.query_embed(self._prompts.query + valid_utf8(text)))
            row: list[float] = self._unit_rows(given, 1)[0].tolist()
        return row

    def close(self) -> None:
        """Free the model."""
        self._model = None

    def _embed(self, texts: Sequence[str], cancelled: CancelToken) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        asked = [self._prompts.passage + valid_utf8(text) for text in texts]
        for batch in batches_of(asked, self._size):
            if cancelled():
                raise Cancelled("embedding was stopped")
            started_s = time.monotonic()
            vectors[batch] = self._embed_batch([asked[index] for index in batch], cancelled)
            self._size.record_success(len(batch), time.monotonic() - started_s)
        return vectors

    def _embed_batch(self, texts: list[str], cancelled: CancelToken) -> Vectors:
        """Embed texts in one call, which can take many seconds; cancelling ends it early."""
        model = self._model
        embed, end = self._session.interruptible(lambda: list(model.passage_embed(texts)))
        with _translating_errors(self._name):
            given = run_cancellable(embed, cancelled, on_cancel=end)
            return self._unit_rows(given, len(texts))

    def _unit_rows(self, given: list[Any], count: int) -> Vectors:
        return unit_rows(given, count=count, dimension=self._numbers, may_be_zero=True)


class _Session:
    """Replaces fastembed's onnxruntime session with one whose runs can be interrupted.

    Each thread has its own options of a run: a call that was interrupted can still be under way
    while another thread asks the model.

    Args:
        holder: The object of fastembed that has the session; one without is left as it is.
    """

    def __init__(self, holder: Any) -> None:
        self._session = getattr(holder, "model", None)
        self._of_thread = threading.local()
        if self._session is not None:
            holder.model = self

    def interruptible(self, work: Callable[[], T]) -> tuple[Callable[[], T], Callable[[], None]]:
        """Return work for a thread of its own, and what ends its runs between two nodes."""
        options = onnx_model.ort.RunOptions()  # type: ignore[attr-defined]

        def act() -> T:
            self._of_thread.options = options
            return work()

        return act, lambda: setattr(options, "terminate", True)

    def run(self, names: Sequence[str] | None, inputs: Any) -> Any:
        options = getattr(self._of_thread, "options", None)
        return self._session.run(names, inputs, options)  # type: ignore[union-attr]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def open_onnx(choice: ModelChoice, config: Config) -> OnnxEmbedder:
    """Load the model that the setting names.

    Raises:
        InvalidConfigError: fastembed knows no model of that name.
        EmbedderUnavailableError: It is not on this machine, is damaged, or the device is missing.
    """
    if choice.is_folder:
        folder = read_folder(choice.model)
        weights = _weights_of(folder.path, folder.model_file, folder.prompts, folder.pooling)
        model = _load_folder(folder, weights, choice.name, config)
        return OnnxEmbedder(choice.name, model, weights, folder.prompts)
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
    model = _load(known.name, path, f"onnx:{known.name}", config)
    return OnnxEmbedder(f"onnx:{known.name}", model, weights, prompts)


def _weights_of(path: Path, model_file: str, prompts: Prompts, pooling: str) -> str:
    with _translating_errors(str(path)):
        weights = weights_hash(path, model_file)
    shape = json.dumps([weights, prompts.passage, pooling])
    return sha256(shape.encode()).hexdigest()[:16]


def _load_folder(folder: ModelFolder, weights: str, name: str, config: Config) -> Any:
    """Load a model from a folder, without pooling if its vectors are already pooled."""
    model = _load(_register(folder, weights, folder.pooling), folder.path, name, config)
    outputs = model.model.model.get_outputs()
    if len(outputs[0].shape) != 2:
        return model
    return _load(_register(folder, weights, "DISABLED"), folder.path, name, config)


def _register(folder: ModelFolder, weights: str, pooling: str) -> str:
    """Register a folder with fastembed, and return its name there."""
    name = f"folder/{weights}/{pooling}/{sha256(str(folder.path).encode()).hexdigest()[:16]}"
    with _registering:
        if all(each["model"] != name for each in TextEmbedding.list_supported_models()):
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType(pooling),
                normalization=False,  # unit_rows does
                sources=ModelSource(hf="none/none"),  # unused: the folder is given
                dim=1,  # unused: the first vector shows it
                model_file=folder.model_file,
            )
    return name


def _load(known_as: str, path: Path, name: str, config: Config) -> Any:
    with _translating_errors(name), silenced():
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
def _translating_errors(name: str) -> Iterator[None]:
    """Turn whatever the native libraries raise into an error with a hint."""
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
