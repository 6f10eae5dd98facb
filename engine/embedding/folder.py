"""A folder with an ONNX model: which file it is, how its vectors are pooled, what it wants.

The layout is that of sentence-transformers and of Hugging Face's exports: ``model.onnx``, perhaps
in ``onnx/``, beside ``tokenizer.json`` and ``tokenizer_config.json``.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from engine.embedding.prompts import Prompts
from engine.errors import EmbedderUnavailableError

_MODEL_FILES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_optimized.onnx",
    "onnx/model_optimized.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
)
_NEEDED = ("tokenizer.json", "tokenizer_config.json")
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
_MOST_CONFIG_BYTES = 1 << 20
_WHOLE_BYTES = 64 << 20
_BLOCKS = 64


class ModelFolder(NamedTuple):
    """What a folder says of its model."""

    path: Path
    model_file: str  # relative to it
    pooling: str  # CLS, MEAN or LAST_TOKEN
    prompts: Prompts


def read_folder(text: str) -> ModelFolder:
    """Read what a folder says.

    Raises:
        EmbedderUnavailableError: It is not there, or lacks a file, or says what cannot be done.
    """
    path = Path(text).expanduser().absolute()
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
    return ModelFolder(path, found[0], _pooling_of(path), _prompts_of(path))


def weights_hash(folder: Path, model_file: str) -> str:
    """Hash a model's weights and its tokenizer, 16 hexadecimal digits.

    Of files above 64 MiB the size and 64 blocks of 1 MiB count, evenly spaced: weights that were
    trained anew differ nearly everywhere, and a model of 2 GB opens without being read twice.
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
    said = _read_json(path / _POOLING_FILE)
    chosen = [name for name, value in said.items() if name.startswith("pooling_mode_") and value]
    if isinstance(said.get("pooling_mode"), str):
        chosen = [str(said["pooling_mode"])]
    if not chosen:
        return "MEAN"
    if len(chosen) > 1 or chosen[0] not in _POOLINGS:
        raise EmbedderUnavailableError(
            f"{path / _POOLING_FILE} asks for {' and '.join(chosen)}, which is not supported",
            hint="supported are: " + ", ".join(sorted(_POOLINGS)),
        )
    return _POOLINGS[chosen[0]]


def _prompts_of(path: Path) -> Prompts:
    said = _read_json(path / _PROMPTS_FILE).get("prompts")
    prompts = said if isinstance(said, Mapping) else {}
    passage = prompts.get("document", prompts.get("passage", ""))
    return Prompts(str(prompts.get("query", "")), str(passage))


def _read_json(file: Path) -> Mapping[str, object]:
    """Read an optional file; empty when it is not there."""
    try:
        with file.open("rb") as opened:
            said = json.loads(opened.read(_MOST_CONFIG_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise EmbedderUnavailableError(
            f"cannot read {file}: {error}", hint="copy the model anew"
        ) from error
    return said if isinstance(said, dict) else {}
