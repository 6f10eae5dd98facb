"""Builds small real models with their tokenizers: a table of random vectors, one a word."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

WORDS = ("[PAD]", "[UNK]", "[CLS]", *"parse config file load token cache write query where".split())
MOST_TOKENS = 32
_WIDE = 2048
_STEPS = 100


def table_of(dimension: int, seed: int = 0) -> np.ndarray:
    """Give the vectors of the words, (words × dimension)."""
    random = np.random.default_rng(seed)
    table: np.ndarray = random.standard_normal((len(WORDS), dimension)).astype(np.float32)
    return table


def write_model(
    folder: Path,
    *,
    dimension: int = 16,
    seed: int = 0,
    scale: float = 1.0,
    pooled: bool = False,
    is_slow: bool = False,
) -> Path:
    """Write an ONNX model into a folder, as exports lay it out; the folder.

    Args:
        folder: Made when it is not there.
        dimension: Numbers in a vector.
        seed: Of the vectors.
        scale: What they are multiplied by.
        pooled: The model gives one vector a text and not one a token.
        is_slow: It takes many seconds for eight long texts, in many steps.
    """
    folder.mkdir(parents=True, exist_ok=True)
    graph = _graph(table_of(dimension, seed) * np.float32(scale), pooled=pooled)
    if is_slow:
        _slow_down(graph.graph, dimension)
    onnx.save(graph, folder / "model.onnx")
    _tokenizer().save(str(folder / "tokenizer.json"))
    _write(folder / "config.json", {"hidden_size": dimension, "pad_token_id": 0})
    _write(
        folder / "tokenizer_config.json", {"model_max_length": MOST_TOKENS, "pad_token": "[PAD]"}
    )
    _write(folder / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})
    return folder


def write_word_table(cache: Path) -> str:
    """Put a model that only adds the vectors of words into the hub's cache; its name."""
    name, revision = "minishlab/potion-base-8M", "0" * 40
    home = cache / f"models--{name.replace('/', '--')}"
    folder = home / "snapshots" / revision
    folder.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(revision)
    _tokenizer().save(str(folder / "tokenizer.json"))
    table = table_of(16)
    about = {"dtype": "F32", "shape": table.shape, "data_offsets": [0, table.nbytes]}
    head = json.dumps({"embeddings": about}).encode()
    content = len(head).to_bytes(8, "little") + head + table.astype("<f4").tobytes()
    (folder / "model.safetensors").write_bytes(content)
    return name


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    return tokenizer


def _graph(table: np.ndarray, *, pooled: bool) -> onnx.ModelProto:
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
    shape: list[str | int] = ["batch", "sequence", table.shape[1]]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["tokens", "axis"], ["out"], keepdims=0))
        del shape[1]
    else:
        nodes.append(helper.make_node("Identity", ["tokens"], ["out"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)
    weights = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
    ]
    graph = helper.make_graph(nodes, "small", inputs, [output], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _slow_down(graph: onnx.GraphProto, dimension: int) -> None:
    """Let the tokens' vectors pass through many large products that add next to nothing."""
    shapes = {"up": (dimension, _WIDE), "across": (_WIDE, _WIDE), "down": (_WIDE, dimension)}
    for name, shape in shapes.items():
        weights = np.full(shape, 1e-6, np.float32)
        graph.initializer.append(numpy_helper.from_array(weights, name))
    names = ["tokens", "up", *["across"] * _STEPS, "down"]
    for number, weights_name in enumerate(names[1:]):
        given = "tokens" if number == 0 else f"wide{number - 1}"
        graph.node.append(helper.make_node("MatMul", [given, weights_name], [f"wide{number}"]))
    last = next(node for node in graph.node if "out" in node.output)
    last.output[0] = "quick"
    graph.node.append(helper.make_node("Add", ["quick", f"wide{_STEPS + 1}"], ["out"]))


def _write(path: Path, shape: object) -> None:
    path.write_text(json.dumps(shape))
