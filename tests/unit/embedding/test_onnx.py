"""Real fastembed and onnxruntime on a small model from a folder, without any network."""

import json
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.config import Config, load_config
from engine.embedding.embedder import Embedder, Passage
from engine.embedding.load import open_embedder
from engine.errors import Cancelled, EmbedderUnavailableError, InvalidConfigError
from tests.support.onnx_models import WORDS, table_of, write_model, write_word_table
from tests.support.patience import patience
from tests.support.stopping import MOST_S

TABLE = table_of(16)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound model."""
    return write_model(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    """A folder of the test's own."""
    return Path(shutil.copytree(model, tmp_path / "copy"))


def opened(setting: str, config: Config, **settings: str) -> Embedder:
    embedder = open_embedder(load_config(config.data_dir, model=setting, **settings))
    assert embedder is not None
    return embedder


def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    return embedder.embed_passages([Passage(text, "", "", "") for text in texts], lambda: False)


def mean(text: str) -> NDArray[np.float32]:
    """Give the mean of the words' vectors, of length 1."""
    total = TABLE[[WORDS.index(word) for word in text.split()]].mean(axis=0)
    unit: NDArray[np.float32] = total / np.linalg.norm(total)
    return unit


def test_a_folder_is_a_model(model: Path, config: Config) -> None:
    embedder = opened(f"onnx:{model}", config)
    texts = ["parse config file", "load", "token cache " * 9, "write"] * 10
    vectors = embed(embedder, texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (40, 16)
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_allclose(vector, mean(text), atol=1e-5)
    np.testing.assert_allclose(embedder.embed_query("parse"), mean("parse"), atol=1e-5)
    assert embedder.embed_paths(["config", "file"], lambda: False).shape == (2, 16)
    assert embed(embedder, []).shape == (0, 16)
    assert (embedder.dimension, embedder.name) == (16, f"onnx:{model}")
    embedder.close()


def test_a_text_is_read_as_far_as_the_model_reads(model: Path, config: Config) -> None:
    [vector] = embed(opened(f"onnx:{model}", config), ["parse " * 32 + "config " * 50])
    np.testing.assert_allclose(vector, mean("parse"), atol=1e-5)


def test_blank_and_unknown_texts_have_vectors(model: Path, config: Config) -> None:
    embedder = opened(f"onnx:{model}", config)
    assert np.isfinite(embed(embedder, ["完全", "\0", "x" * 5000])).all()
    assert embedder.embed_paths(["caf\udce9.py", "\ud800"], lambda: False).shape == (2, 16)


def test_texts_without_a_word_are_rows_of_zeros(model: Path, config: Config) -> None:
    table = opened(f"onnx:{write_word_table(config.models_dir)}", config)
    for embedder in (opened(f"onnx:{model}", config), table):
        vectors = embed(embedder, ["\n", "parse config", " "])
        np.testing.assert_allclose(vectors[1], mean("parse config"), atol=1e-5)
        assert not np.any(vectors[[0, 2]])
        assert not np.any(embedder.embed_query("\n"))
    assert not np.any(embed(table, ["\n"]))
    assert not np.any(table.embed_query("🚀"))
    np.testing.assert_allclose(table.embed_query("parse 🚀"), mean("parse"), atol=1e-5)


@pytest.mark.parametrize(
    ("scale", "says"), [(0.0, "vectors of length 0"), (float("nan"), "not finite")]
)
def test_a_model_without_a_vector_for_any_text_is_refused(
    scale: float, says: str, tmp_path: Path, config: Config
) -> None:
    folder = write_model(tmp_path / "void", scale=scale)
    with pytest.raises(EmbedderUnavailableError, match=says):
        opened(f"onnx:{folder}", config)


def test_identity_follows_the_weights_and_what_shapes_vectors(
    model: Path, tmp_path: Path, config: Config
) -> None:
    identity = opened(f"onnx:{model}", config).identity
    assert opened(f"onnx:{model}", config).identity == identity
    other = write_model(tmp_path / "other", seed=1)
    again = opened(f"onnx:{other}", config).identity
    assert again.rpartition("/")[2] != identity.rpartition("/")[2]
    (other / "1_Pooling").mkdir()
    (other / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert opened(f"onnx:{other}", config).identity != again


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, [0]),
        ({"pooling_mode_mean_tokens": True}, [0, 1, 2]),
        ({"pooling_mode_lasttoken": True}, [2]),
        ({"pooling_mode": "cls"}, [0]),
        ({"word_embedding_dimension": 16}, [0, 1, 2]),
    ],
)
def test_the_folder_says_how_to_pool(
    said: dict[str, object], rows: list[int], copy: Path, config: Config
) -> None:
    (copy / "1_Pooling").mkdir()
    (copy / "1_Pooling" / "config.json").write_text(json.dumps(said))
    words = "parse config file".split()
    [vector] = embed(opened(f"onnx:{copy}", config), [" ".join(words)])
    total = TABLE[[WORDS.index(words[row]) for row in rows]].mean(axis=0)
    np.testing.assert_allclose(vector, total / np.linalg.norm(total), atol=1e-5)


def test_a_pooling_that_is_not_known_is_refused(copy: Path, config: Config) -> None:
    (copy / "1_Pooling").mkdir()
    (copy / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(EmbedderUnavailableError, match="pooling_mode_max_tokens"):
        opened(f"onnx:{copy}", config)


def test_a_model_that_pools_by_itself(tmp_path: Path, config: Config) -> None:
    folder = write_model(tmp_path / "pooled", pooled=True)
    [vector] = embed(opened(f"onnx:{folder}", config), ["parse config"])
    np.testing.assert_allclose(vector, mean("parse config"), atol=1e-5)


def test_the_folder_says_what_stands_before_texts(copy: Path, config: Config) -> None:
    prompts = {"prompts": {"query": "where ", "document": "file "}}
    (copy / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = opened(f"onnx:{copy}", config)
    np.testing.assert_allclose(embedder.embed_query("parse"), mean("where parse"), atol=1e-5)
    np.testing.assert_allclose(embed(embedder, ["load"])[0], mean("file load"), atol=1e-5)


@pytest.mark.parametrize("key", ["document", "passage"])
def test_a_prompt_of_a_folder_that_is_null_is_none(copy: Path, config: Config, key: str) -> None:
    prompts = {"prompts": {"query": None, "document": None, key: "file "}}
    (copy / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = opened(f"onnx:{copy}", config)
    np.testing.assert_allclose(embedder.embed_query("parse"), mean("parse"), atol=1e-5)
    np.testing.assert_allclose(embed(embedder, ["load"])[0], mean("file load"), atol=1e-5)


def test_a_dimension_that_is_no_multiple_of_8_is_padded(tmp_path: Path, config: Config) -> None:
    embedder = opened(f"onnx:{write_model(tmp_path / 'odd', dimension=13)}", config)
    [vector] = embed(embedder, ["parse config"])
    assert embedder.dimension == 16
    assert not vector[13:].any()


def test_a_model_in_a_folder_of_its_own(copy: Path, config: Config) -> None:
    (copy / "onnx").mkdir()
    (copy / "model.onnx").rename(copy / "onnx" / "model.onnx")
    np.testing.assert_allclose(
        opened(f"onnx:{copy}", config).embed_query("parse"), mean("parse"), atol=1e-5
    )


def test_runs_may_open_the_same_model_at_once(copy: Path, config: Config) -> None:
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for number in range(5):
            model = copy.with_name(f"copy{number}")  # a folder that fastembed does not know yet
            shutil.copytree(copy, model)
            with ThreadPoolExecutor(4) as threads:
                found = [threads.submit(opened, f"onnx:{model}", config) for _ in range(4)]
            assert len({each.result().name for each in found}) == 1
    finally:
        sys.setswitchinterval(interval_s)


def test_cancel_between_batches(model: Path, config: Config) -> None:
    asked = iter([False, True])
    with pytest.raises(Cancelled):
        opened(f"onnx:{model}", config).embed_passages(
            [Passage("parse", "", "", "")] * 100, lambda: next(asked)
        )


def test_cancel_in_the_middle_of_a_batch(tmp_path: Path, config: Config) -> None:
    slow = write_model(tmp_path / "slow", is_slow=True)
    embedder = opened(f"onnx:{slow}", config)
    started = time.monotonic()
    with pytest.raises(Cancelled):
        embedder.embed_passages(
            [Passage("parse config " * 16, "", "", "")] * 8,
            lambda: time.monotonic() - started > 0.3,
        )
    took_s = time.monotonic() - started - 0.3
    print(f"ended {took_s:.2f} s after the stop")
    assert took_s < patience(MOST_S)
    for thread in threading.enumerate():
        if thread.name == "embedding":
            thread.join()
    print(f"the model itself {time.monotonic() - started - 0.3:.2f} s after it")
    assert embed(embedder, ["parse"]).shape == (1, 16)


def test_a_question_is_answered_while_a_cancelled_batch_ends(
    tmp_path: Path, config: Config
) -> None:
    embedder = opened(f"onnx:{write_model(tmp_path / 'slow', is_slow=True)}", config)
    asked = iter([False, True])  # before the batch, and while it is embedded
    with pytest.raises(Cancelled):
        embedder.embed_passages(
            [Passage("parse config " * 16, "", "", "")] * 8, lambda: next(asked)
        )
    np.testing.assert_allclose(embedder.embed_query("load"), mean("load"), atol=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_model_is_said_to_be_damaged(
    share: float, copy: Path, config: Config, capfd: pytest.CaptureFixture[str]
) -> None:
    content = (copy / "model.onnx").read_bytes()
    (copy / "model.onnx").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(EmbedderUnavailableError, match="cannot be used") as raised:
        opened(f"onnx:{copy}", config)
    assert "damaged" in raised.value.hint
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer.json", "{"),
        ("tokenizer.json", "{}"),
        ("tokenizer_config.json", "{}"),
        ("tokenizer_config.json", "["),
        ("config_sentence_transformers.json", "{"),
        ("model.onnx", "hello"),
    ],
)
def test_a_broken_file_is_said(name: str, content: str, copy: Path, config: Config) -> None:
    (copy / name).write_text(content)
    with pytest.raises(EmbedderUnavailableError) as raised:
        opened(f"onnx:{copy}", config)
    assert raised.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_missing_file_is_named(name: str, copy: Path, config: Config) -> None:
    (copy / name).unlink()
    with pytest.raises(EmbedderUnavailableError, match=f"lacks {name}"):
        opened(f"onnx:{copy}", config)


@pytest.mark.parametrize("name", ["tokenizer.json", "special_tokens_map.json"])
def test_gigabytes_in_the_place_of_a_small_file_are_not_read(
    name: str, copy: Path, config: Config
) -> None:
    with (copy / name).open("ab") as file:
        file.truncate(4 << 30)
    with pytest.raises(EmbedderUnavailableError, match=f"{name} is larger than"):
        opened(f"onnx:{copy}", config)


def test_a_folder_that_is_not_there(tmp_path: Path, config: Config) -> None:
    with pytest.raises(EmbedderUnavailableError, match="there is no folder"):
        opened(f"onnx:{tmp_path}/none", config)


def test_the_folder_of_a_user_who_is_not_known(config: Config) -> None:
    with pytest.raises(EmbedderUnavailableError, match="there is no folder"):
        opened("onnx:~no-such-user/model", config)


def test_a_known_model_that_is_not_here_is_not_downloaded(config: Config) -> None:
    with pytest.raises(EmbedderUnavailableError, match="not on this machine") as raised:
        opened("onnx:baai/bge-small-en-v1.5", config)
    assert raised.value.hint == "cairn model pull BAAI/bge-small-en-v1.5"
    assert not config.data_dir.exists()


def test_an_unknown_model_is_refused_with_the_nearest(config: Config) -> None:
    with pytest.raises(InvalidConfigError, match=r"did you mean 'BAAI/bge-small-en-v1\.5'"):
        opened("onnx:BAAI/bge-smal-en-v1.5", config)


def test_a_graphics_card_that_is_not_there(model: Path, config: Config) -> None:
    np.testing.assert_allclose(
        opened(f"onnx:{model}", config, device="cpu").embed_query("parse"),
        mean("parse"),
        atol=1e-5,
    )
    with pytest.raises(EmbedderUnavailableError, match="cannot use a graphics card"):
        opened(f"onnx:{model}", config, device="cuda")
