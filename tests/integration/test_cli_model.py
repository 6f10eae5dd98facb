"""``cairn model`` as a process: list, pull from a hub on loopback, show, and what goes wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.embedding_server import embedding_server, free_port, hang, status
from tests.support.model_hub import Hub, model_hub
from tests.support.onnx_models import write_model

NAME = "BAAI/bge-small-en-v1.5"
REPOSITORY = "Qdrant/bge-small-en-v1.5-onnx-Q"
FILE = "model_optimized.onnx"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a small model under the names of the one that is pulled."""
    folder = write_model(tmp_path_factory.mktemp("model") / "small")
    (folder / "model.onnx").rename(folder / FILE)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[Hub]:
    """A hub that has it."""
    with model_hub(REPOSITORY, dict(files)) as hub:
        yield hub


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cairn(home: Path, tmp_path: Path) -> Command:
    """The command; its model hub is a port where nobody is."""
    nowhere = f"http://127.0.0.1:{free_port()}"
    user = {"HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": nowhere}
    return Command(home=home, folder=tmp_path, variables=user)


def having(command: Command, **variables: str) -> Command:
    return Command(
        home=command.home, folder=command.folder, variables={**command.variables, **variables}
    )


def test_list_marks_what_is_chosen_and_what_is_here(cairn: Command, home: Path) -> None:
    shape = cairn("model", "list", "--json").json()
    models = {each["model"]: each for each in shape["models"]}
    assert models["static"]["chosen"]
    assert models["static"]["here"]
    known = models[f"onnx:{NAME}"]
    assert (known["dimension"], known["licence"], known["here"]) == (384, "mit", False)
    assert "tei:@URL" in shape["forms"]
    assert not home.exists()
    text = having(cairn, CAIRN_MODEL="ollama:bge-m3")("model", "list").out
    assert "* ollama:bge-m3@http://127.0.0.1:11434" in text


def test_without_a_subcommand_it_says_which_there_are(cairn: Command) -> None:
    ended = cairn("model")
    assert (ended.code, ended.err) == (0, "")
    assert all(each in ended.out for each in ("list", "pull", "show"))


def test_show_of_the_built_in_model(cairn: Command) -> None:
    shape = cairn("model", "show", "--json").json()
    assert (shape["model"], shape["source"], shape["answers"]) == ("static", "built in", True)
    assert shape["dimension"] > 0
    assert shape["query_ms"] > 0
    ended = having(cairn, CAIRN_MODEL="none")("model", "show")
    assert (ended.code, "words, names and patterns only" in ended.out) == (0, True)


def test_pull_then_show_without_a_network(cairn: Command, hub: Hub, home: Path) -> None:
    online = having(cairn, HF_ENDPOINT=hub.url)
    pulled = online("model", "pull", NAME.lower(), "--json")
    assert pulled.code == 0, pulled
    assert pulled.err == ""
    assert pulled.json()["model"] == f"onnx:{NAME}"
    assert Path(pulled.json()["path"]).is_relative_to(home / "models")
    chosen = having(cairn, CAIRN_MODEL=f"onnx:{NAME}")
    shown = chosen("model", "show", "--json").json()
    assert (shown["answers"], shown["dimension"]) == (True, 16)
    assert shown["identity"].startswith(f"onnx:{NAME}/16/")
    row = next(
        each for each in chosen("model", "list", "--json").json()["models"] if each["chosen"]
    )
    assert (row["model"], row["here"]) == (f"onnx:{NAME}", True)
    asked = len(hub.asked)
    again = having(online, CAIRN_MODEL=f"onnx:{NAME}")("model", "pull", NAME)
    assert again.code == 0
    assert "is here (" in again.out
    assert len(hub.asked) == asked


def test_a_download_that_was_truncated_heals(cairn: Command, hub: Hub, home: Path) -> None:
    online = having(cairn, HF_ENDPOINT=hub.url)
    assert online("model", "pull", NAME).code == 0
    [weights] = [path for path in home.rglob(FILE) if path.is_file()]
    whole = weights.resolve()
    whole.write_bytes(whole.read_bytes()[:100])
    chosen = having(online, CAIRN_MODEL=f"onnx:{NAME}")
    ended = chosen("model", "show")
    assert ended.code == 5
    assert "damaged" in ended.out
    assert f"cairn model pull {NAME}" in ended.out
    assert "Traceback" not in ended.err
    assert chosen("model", "pull", NAME).code == 0
    assert chosen("model", "show").code == 0


@pytest.mark.parametrize("variables", [{}, {"HF_HUB_OFFLINE": "1"}])
def test_pull_without_a_network_says_so(cairn: Command, variables: dict[str, str]) -> None:
    ended = having(cairn, **variables)("model", "pull", NAME, "--json")
    assert ended.code == 5
    shape = ended.json()
    assert shape["error"] == "unavailable"
    assert f"cannot download {NAME}" in shape["message"]
    assert ended.err == ""


def test_a_download_that_breaks_off(cairn: Command, hub: Hub) -> None:
    hub.cut = FILE
    ended = having(cairn, HF_ENDPOINT=hub.url)("model", "pull", NAME)
    assert ended.code == 5
    assert ended.err.startswith(f"error: cannot download {NAME}")
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("BAAI/bge-smal", "did you mean BAAI/bge-small"),
        ("ollama:bge-m3", "not a model to download"),
        ("./folder", "not a model to download"),
        ("static", "not a model to download"),
    ],
)
def test_pull_of_what_cannot_be_pulled(name: str, says: str, cairn: Command) -> None:
    ended = cairn("model", "pull", name)
    assert ended.code == 2
    assert says in ended.err


def test_show_of_what_does_not_answer(cairn: Command) -> None:
    ended = having(cairn, CAIRN_MODEL=f"onnx:{NAME}")("model", "show")
    assert ended.code == 5
    assert f"cairn model pull {NAME}" in ended.out
    bad = having(cairn, CAIRN_MODEL="bert")("model", "show", "--json")
    assert (bad.code, bad.json()["error"]) == (2, "validation_error")


def test_show_of_a_server(cairn: Command) -> None:
    with embedding_server() as stub:
        there = having(
            cairn,
            CAIRN_MODEL=f"openai:m@{stub.url}",
            CAIRN_EMBEDDING_KEY="k-secret",
            OPENAI_API_KEY="k-other",
            CAIRN_QUERY_TIMEOUT="300",
        )
        shown = there("model", "show", "--json")
        assert (shown.json()["answers"], shown.json()["dimension"]) == (True, 16)
        assert stub.requests[0].headers["authorization"] == "Bearer k-secret"
        stub.always = status(401, "wrong key k-secret")
        ended = there("model", "show")
        assert (ended.code, "k-secret" in ended.out + ended.err) == (5, False)
        stub.always = hang
        ended = there("model", "show")
        assert (ended.code, "no answer within 0.3 s" in ended.out) == (5, True)


def test_the_key_of_a_service_goes_to_no_other_server(cairn: Command) -> None:
    with embedding_server() as stub:
        there = having(
            cairn, CAIRN_MODEL=f"openai:m@{stub.url}", OPENAI_API_KEY="k-1", VOYAGE_API_KEY="k-2"
        )
        assert there("model", "show").code == 0
        assert all("authorization" not in each.headers for each in stub.requests)
