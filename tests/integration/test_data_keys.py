"""Keys of configuration files, found through the command line."""

import pytest

from engine.roots import project_id_of
from tests.support.command import Command
from tests.support.oracle import check_sound
from tests.support.trees import write_tree

_FILES = {
    "package.json": '{\n  "name": "shop",\n  "scripts": {\n    "lint:all": "eslint ."\n  }\n}\n',
    ".github/workflows/ci.yml": "on: push\njobs:\n  integration:\n    runs-on: linux\n",
    "docker-compose.yml": "services:\n  queue:\n    image: a\n    environment:\n      A: b\n",
    "k8s/shop.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: storefront\n",
    "pyproject.toml": '[project]\nname = "shop"\n\n[tool.checker]\nstrict = true\n',
    "data/big.json": "{\n" + '  "row": {\n    "cell": 1\n  },\n' * 9000 + '  "end": 1\n}\n',
    "src/queue.py": "def queue():\n    return 1\n",
}


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Give a command in an indexed project; the tests that share it only read."""
    folder = tmp_path_factory.mktemp("keys")
    command = Command(home=folder / "home", folder=folder / "project", reads_here=True)
    write_tree(command.folder, _FILES)
    assert command("index", "--quiet").code == 0
    return command


@pytest.mark.parametrize(
    ("name", "kind", "qualified_name", "path", "line"),
    [
        ("lint:all", "property", "scripts.lint:all", "package.json", 4),
        ("integration", "section", "jobs.integration", ".github/workflows/ci.yml", 3),
        ("storefront", "section", "Service.storefront", "k8s/shop.yaml", 1),
        ("checker", "section", "tool.checker", "pyproject.toml", 4),
    ],
)
def test_keys_are_found_by_name(
    cairn: Command, name: str, kind: str, qualified_name: str, path: str, line: int
) -> None:
    found = cairn("symbols", name, "--json").json()["symbols"]
    told = [(hit["kind"], hit["qualified_name"], hit["path"], hit["line_start"]) for hit in found]
    assert told == [(kind, qualified_name, path, line)]


def test_a_definition_in_code_comes_before_a_key_of_the_same_name(cairn: Command) -> None:
    found = cairn("symbols", "queue", "--json").json()["symbols"]
    assert [hit["path"] for hit in found] == ["src/queue.py", "docker-compose.yml"]


def test_a_hit_in_a_data_file_names_its_key(cairn: Command) -> None:
    hits = cairn("search", "integration runs-on lang:yaml", "--json").json()["hits"]
    assert (hits[0]["symbol"], hits[0]["kind"]) == ("jobs", "section")


def test_a_large_data_file_has_no_keys(cairn: Command) -> None:
    facts = cairn("why", "data/big.json", "--json").json()["facts"]
    assert (facts["symbols"], facts["parse"]) == (0, "no_grammar")
    assert cairn("symbols", "cell", "--json").json()["symbols"] == []
    check_sound(cairn.home / f"{project_id_of(str(cairn.folder))}.db")
