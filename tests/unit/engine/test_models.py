"""Models for faces: the chosen one tried out, listed, and what cannot be downloaded."""

from pathlib import Path

import pytest

from engine.config import Config, load_config
from engine.errors import InvalidConfigError, InvalidInputError
from engine.models import ModelState, list_models, pull_model, show_model
from tests.support.embedding_server import embedding_server, hang, status
from tests.support.onnx_models import write_model
from web.cli.model import models_text, state_text
from web.terminal import Style


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of whoever runs the tests stay out of them."""
    for name in ("CAIRN_EMBEDDING_KEY", "OPENAI_API_KEY", "VOYAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def shown(config: Config, model: str, **settings: int) -> ModelState:
    return show_model(load_config(config.data_dir, model=model, **settings))


def text_of(state: ModelState) -> str:
    return state_text(state, Style())


def test_the_built_in_model(config: Config) -> None:
    state = shown(config, "static")
    assert (state.source, state.answers, state.error) == ("built in", True, None)
    assert (state.query_ms or 0) > 0
    assert f"identity   {state.identity}" in text_of(state)


def test_no_model(config: Config) -> None:
    assert text_of(shown(config, "none")).endswith("no: search by word, name and pattern only\n")


def test_a_folder(config: Config, tmp_path: Path) -> None:
    state = shown(config, f"onnx:{write_model(tmp_path / 'small')}")
    assert (state.source, state.answers, state.dimension) == ("this machine", True, 16)


def test_what_is_not_here_says_how_to_get_it(config: Config) -> None:
    state = shown(config, "onnx:BAAI/bge-small-en-v1.5")
    assert not state.answers
    assert "try        cairn model pull BAAI/bge-small-en-v1.5" in text_of(state)
    with pytest.raises(InvalidConfigError):
        shown(config, "bert")


def test_a_server(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k-other")
    with embedding_server() as stub:
        model = f"openai:m@{stub.url}"
        state = shown(config, model)
        assert (state.answers, state.dimension) == (True, 16)
        assert "Authorization" not in stub.requests[0].headers
        assert "authorization" not in stub.requests[0].headers
        monkeypatch.setenv("CAIRN_EMBEDDING_KEY", "k-secret")
        stub.always = status(401, "wrong key k-secret")
        state = shown(config, model)
        assert stub.requests[-1].headers["authorization"] == "Bearer k-secret"
        assert "k-secret" not in str(state)
        stub.always = hang
        assert "no answer within 0.3 s" in text_of(shown(config, model, query_timeout=300))


def test_the_list_has_what_was_chosen_whatever_it_is(config: Config) -> None:
    entries = list_models(load_config(config.data_dir, model="ollama:bge-m3"))
    chosen = [entry.model for entry in entries if entry.chosen]
    assert chosen == ["ollama:bge-m3@http://127.0.0.1:11434"]
    assert f"\n* {chosen[0]}" in models_text(entries, ["static"], Style())


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("BAAI/bge-smal", "did you mean 'BAAI/bge-small"),
        ("qqq", "no model 'qqq' is known"),
        ("ollama:bge-m3", "not a model to download"),
        ("./folder", "not a model to download"),
        ("onnx:/folder", "not a model to download"),
        ("static", "not a model to download"),
    ],
)
def test_what_cannot_be_pulled(name: str, says: str, config: Config) -> None:
    with pytest.raises(InvalidInputError, match=says):
        pull_model(name, config, lambda _: None)


def test_a_folder_is_here_if_there_is_a_model_in_it(config: Config, tmp_path: Path) -> None:
    def is_here(folder: Path) -> bool:
        model = f"onnx:{folder}"
        entries = list_models(load_config(config.data_dir, model=model))
        [chosen] = [entry for entry in entries if entry.chosen]
        assert chosen.model == model
        return chosen.here

    assert is_here(write_model(tmp_path / "small"))
    assert not is_here(tmp_path / "nowhere")
    (tmp_path / "small" / "model.onnx").unlink()
    assert not is_here(tmp_path / "small")
