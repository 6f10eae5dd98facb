"""``cairn model`` as a process: list, pull from a hub on loopback, show."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import ROOT, Command
from tests.support.embedding_server import free_port
from tests.support.model_hub import Hub, model_hub
from tests.support.onnx_models import write_model
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow

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


def test_list_names_what_is_here_and_writes_nothing(cairn: Command, home: Path) -> None:
    shape = cairn("model", "list", "--json").json()
    models = {each["model"]: each for each in shape["models"]}
    assert (models["static"]["chosen"], models["static"]["here"]) == (True, True)
    known = models[f"onnx:{NAME}"]
    assert (known["dimension"], known["licence"], known["here"]) == (384, "mit", False)
    assert "tei:@URL" in shape["forms"]
    assert not home.exists()


def test_the_runtime_of_a_model_reports_nothing_to_its_makers(
    cairn: Command, tmp_path: Path
) -> None:
    user = tmp_path / "user"  # where it would keep a device's identity and what it has to send
    user.mkdir()
    folder = write_model(tmp_path / "small")
    chosen = having(cairn, HOME=str(user), CAIRN_MODEL=f"onnx:{folder}")
    assert chosen("model", "show", "--json").json()["answers"]
    write_tree(tmp_path / "tree", SAMPLE)
    assert chosen("index", str(tmp_path / "tree")).code == 0
    assert list(user.iterdir()) == []


def test_without_a_subcommand_it_says_which_there_are(cairn: Command) -> None:
    ended = cairn("model")
    assert (ended.code, ended.err) == (0, "")
    assert all(each in ended.out for each in ("list", "pull", "show"))


def test_a_model_is_pulled_answers_offline_and_heals(cairn: Command, hub: Hub, home: Path) -> None:
    online = having(cairn, HF_ENDPOINT=hub.url)
    pulled = online("model", "pull", NAME.lower(), "--json")
    assert pulled.code == 0, pulled
    assert pulled.json()["model"] == f"onnx:{NAME}"
    assert Path(pulled.json()["path"]).is_relative_to(home / "models")
    chosen = having(cairn, CAIRN_MODEL=f"onnx:{NAME}")
    shown = chosen("model", "show", "--json").json()
    assert (shown["answers"], shown["dimension"]) == (True, 16)
    assert shown["identity"].startswith(f"onnx:{NAME}/16/")
    rows = chosen("model", "list", "--json").json()["models"]
    [row] = [each for each in rows if each["chosen"]]
    assert (row["model"], row["here"]) == (f"onnx:{NAME}", True)

    asked = len(hub.asked)
    assert "is downloaded (" in online("model", "pull", NAME).out
    assert len(hub.asked) == asked  # all of it was there

    [weights] = [path for path in home.rglob(FILE) if path.is_file()]
    whole = weights.resolve()
    whole.write_bytes(whole.read_bytes()[:100])
    ended = chosen("model", "show")
    assert ended.code == 5
    assert "damaged" in ended.out
    assert f"cairn model pull {NAME}" in ended.out
    assert "Traceback" not in ended.err
    assert online("model", "pull", NAME).code == 0
    assert chosen("model", "show").code == 0


@pytest.mark.parametrize("variables", [{}, {"HF_HUB_OFFLINE": "1"}])
def test_pull_without_a_network_says_so(cairn: Command, variables: dict[str, str]) -> None:
    ended = having(cairn, **variables)("model", "pull", NAME, "--json")
    assert ended.code == 5
    shape = ended.json()
    assert shape["error"] == "unavailable"
    assert f"cannot download {NAME}" in shape["message"]


def test_a_download_that_breaks_off(cairn: Command, hub: Hub) -> None:
    hub.cut = FILE
    ended = having(cairn, HF_ENDPOINT=hub.url)("model", "pull", NAME)
    assert ended.code == 5
    assert f"error: cannot download {NAME}" in ended.err
    assert "Traceback" not in ended.err


def test_nothing_is_indexed_for_a_model_that_is_away(
    cairn: Command, home: Path, tmp_path: Path
) -> None:
    tree = str(write_tree(tmp_path / "tree", SAMPLE))
    away = f"openai:m@http://127.0.0.1:{free_port()}"
    ended = having(cairn, CAIRN_MODEL=away)("index", tree)
    assert ended.code == 5
    assert "cannot be reached" in ended.err
    assert "CAIRN_MODEL=none" in ended.err
    assert cairn("search", "session", "--json").json()["hits"] == []
    assert having(cairn, CAIRN_MODEL="none")("index", tree).code == 0
    page = (ROOT / "docs/models.md").read_text("utf-8")
    [line] = [line for line in page.splitlines() if line.startswith("- **An unavailable model")]
    assert "the command fails" in line
    assert "`CAIRN_MODEL=none`" in line
