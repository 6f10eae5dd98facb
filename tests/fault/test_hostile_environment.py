"""Whatever the machine does to a run: it ends with a plain reason, and the index still answers."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.roots import project_id_of
from engine.search_records import SearchRequest
from tests.support.hostile.case import NotBuiltError
from tests.support.hostile.environment import ENVIRONMENT_CASES, EnvironmentCase, Surroundings
from tests.support.oracle import check_sound, contents
from tests.support.trees import SAMPLE, write_tree

_ODD_NAME = os.fsdecode(b"caf\xc3\xa9\xff.py")
_WORDS = 600


def write_once(root: Path) -> None:
    write_tree(root, SAMPLE)
    write_tree(root, {f"closing/f{number}.py": f"part = {number}\n" for number in range(6)})
    write_tree(root, {_ODD_NAME: "odd = 1\n"})


def change(root: Path) -> None:
    """Give the next run something to read and much to write."""
    for number in range(6):
        words = "".join(f"name_{number}_{word} = {word}\n" for word in range(_WORDS))
        (root / f"closing/f{number}.py").write_text(f"part = {number + 1}\n{words}")
    (root / "a_first.py").write_text("first = 1\n")


def answers(home: Path, root: Path) -> int:
    """Ask the index for something that every state of the tree holds; the number of hits."""
    with Catalog(load_config(home, workers=1)) as catalog:
        return len(catalog.open(str(root)).search(SearchRequest(query="SessionStore")).hits)


def index_of(home: Path, root: Path) -> dict[str, object]:
    with Catalog(load_config(home, workers=1)) as catalog:
        catalog.create(str(root)).index()
    file = home / f"{project_id_of(str(root))}.db"
    check_sound(file)
    return contents(file)


@pytest.mark.parametrize("case", ENVIRONMENT_CASES, ids=lambda case: case.name)
def test_a_disturbed_run(tmp_path: Path, case: EnvironmentCase) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    write_once(root)
    index_of(home, root)
    change(root)
    with ExitStack() as undo:
        try:
            case.before(Surroundings(home=home, root=root, undo=undo))
        except NotBuiltError as error:
            pytest.skip(f"not built: {error}")
        ended = case.run(home, root)
        assert ended["outcome"] in case.right, ended
        assert "Traceback" not in ended["stderr"]
        assert ended["outcome"] == "ok" or ended["message"]
        assert answers(home, root) > 0
    assert index_of(home, root) == index_of(tmp_path / "fresh", root)
    print(f"{case.name}: {ended['outcome']} {ended['message']}")
