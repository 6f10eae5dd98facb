"""The outline of a file or folder on the command line."""

from pathlib import Path

import pytest

from engine.records import bytes_within
from tests.support.command import Command
from tests.support.trees import SHOP, write_tree

_MANY = "".join(
    f"class Class{number}:\n    def method_{number}(self, value: int) -> str: ...\n\n\n"
    for number in range(100)
)


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    folder = tmp_path_factory.mktemp("outline")
    tree = write_tree(folder / "shop", {**SHOP, "many.py": _MANY, "empty.py": "x\n"})
    command = Command(home=folder / "home", folder=tree, reads_here=True)
    assert command("index", "--quiet").code == 0
    return command


def test_symbols_stand_as_a_tree_with_their_signatures(cairn: Command) -> None:
    ended = cairn("outline", "shop/cart.py")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "     4-16     class Cart",
        "     7-8        def __init__(self) -> None",
        "    10-12       def total(self) -> int",
        "    14-16       def receipt(self) -> str",
        "    19-21     def discounted(price: int) -> int",
        "",
        "5 symbols",
    ]


def test_neighbours_on_one_line_stand_beside_each_other(tmp_path: Path) -> None:
    code = {
        "user.rb": "class User\n  attr_accessor :name, :mail\nend\n",
        "shape.hs": "module Shape where\n\ndata Shape = Circle | Square\n",
    }
    tree = write_tree(tmp_path / "lines", code)
    command = Command(home=tmp_path / "home", folder=tree, reads_here=True)
    assert command("index", "--quiet").code == 0
    lines = [line[14:] for line in command("outline", "user.rb").out.splitlines()[:-2]]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 2]
    found = command("outline", "shape.hs", "--format", "markdown").out
    bullets = [line for line in found.splitlines() if line.lstrip().startswith("- ")]
    depths = {line.split("`")[1].split()[-1]: line.index("-") for line in bullets}
    assert depths["Circle"] == depths["Square"]


def test_a_large_folder_has_all_of_its_entries(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "flat", {f"notes/{n}.txt": "x\n" for n in range(1100)})
    command = Command(home=tmp_path / "home", folder=tree, reads_here=True)
    assert command("index", "--quiet").code == 0
    found = command("outline", "notes", "--json").json()
    assert (len(found["entries"]), found["total"], found["truncated"]) == (1100, 1100, False)


def test_a_folder_has_its_entries(cairn: Command) -> None:
    assert cairn("outline", "shop/").out == "cart.py\nreport.py\n\n2 entries\n"
    assert "shop/\n" in cairn("outline").out
    assert cairn("outline", "shop", "--json").json() == {
        "path": "shop",
        "entries": ["cart.py", "report.py"],
        "total": 2,
        "truncated": False,
    }


def test_json_and_markdown(cairn: Command) -> None:
    found = cairn("outline", "shop/cart.py", "--json").json()
    assert (found["total"], found["truncated"]) == (5, False)
    assert found["symbols"][1] == {
        "line_start": 7,
        "line_end": 8,
        "kind": "constructor",
        "qualified_name": "Cart.__init__",
        "signature": "def __init__(self) -> None",
    }
    text = cairn("outline", "shop/cart.py", "--format", "markdown").out
    assert text.startswith(
        "# `shop/cart.py`\n\n- `class Cart` 4-16\n  - `def __init__(self) -> None` 7-8\n"
    )
    assert cairn("outline", "empty.py").out == "0 symbols\n"


@pytest.mark.parametrize("max_tokens", [100, 1000, 1500])
def test_a_budget_holds(cairn: Command, max_tokens: int) -> None:
    budget = ("--max-tokens", str(max_tokens))
    for options in ((), ("--format", "markdown"), ("--json",)):
        ended = cairn("outline", "many.py", *budget, *options)
        assert 0 < len(ended.out.encode()) <= bytes_within(max_tokens)
        assert "truncated" in ended.out
        assert "Class0" in ended.out
        assert "-> str" not in ended.out  # signatures go first


def test_a_budget_holds_for_long_paths_and_notes(tmp_path: Path) -> None:
    path = "/".join(f"a_folder_with_a_long_name_{n}" for n in range(15))
    tree = write_tree(tmp_path / "deep", {f"{path}/cart.py": SHOP["shop/cart.py"]})
    command = Command(home=tmp_path / "home", folder=tree, reads_here=True)
    assert command("index", "--quiet").code == 0
    write_tree(tree, {f"{path}/cart.py": "changed = True\n"})  # so that a note says it
    whole = command("outline", f"{path}/cart.py", "--json").json()
    assert (whole["path"], len(whole["notes"])) == (f"{path}/cart.py", 1)
    for place in (f"{path}/cart.py", path):
        for options in ((), ("--format", "markdown"), ("--json",)):
            ended = command("outline", place, "--max-tokens", "100", *options)
            assert (ended.code, ended.err) == (0, "")
            assert 0 < len(ended.out.encode()) <= bytes_within(100)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nowhere.py",), 3),
        (("../outside.py",), 2),
        (("many.py", "--max-tokens", "99"), 2),
        (("many.py", "--json", "--format", "text"), 2),
    ],
)
def test_what_cannot_be_is_refused(cairn: Command, arguments: tuple[str, ...], code: int) -> None:
    assert cairn("outline", *arguments).code == code
