"""Answers without snippets say that a file has changed, or is gone, since it was indexed."""

import os
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from tests.support.command import Command
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called, text_of
from tests.support.trees import write_tree

_TREE = {
    "shop/stock.py": "def take_item(item):\n    return item\n",
    "shop/user.py": "from shop.stock import take_item\n\n\ndef use(item):\n"
    "    return take_item(item)\n",
    "shop/other.py": "def rest():\n    return 1\n",
}
_CHANGED = "shop/stock.py has changed since it was indexed: lines may differ"
_GONE = "shop/user.py is gone since it was indexed: lines may differ"
_COMMANDS = [
    ("refs", "take_item"),
    ("callers", "take_item"),
    ("symbols", "take_item"),
    ("symbols", "--file", "shop/stock.py"),
    ("outline", "shop/stock.py"),
    ("map",),
]
_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("find_references", {"name": "take_item"}),
    ("find_symbol", {"name": "take_item"}),
    ("outline", {"path": "shop/stock.py"}),
    ("code_map", {}),
]


@pytest.fixture
def cairn(tmp_path: Path) -> Command:
    tree = write_tree(tmp_path / "tree", _TREE)
    command = Command(home=tmp_path / "home", folder=tree, reads_here=True)
    assert command("index", "--quiet").code == 0
    return command


def _change(cairn: Command) -> None:
    file = cairn.folder / "shop/stock.py"
    file.write_text("\n\n\n" + file.read_text())


@pytest.mark.parametrize("asked", _COMMANDS, ids=" ".join)
def test_commands_say_so(cairn: Command, asked: tuple[str, ...]) -> None:
    assert "since it was indexed" not in cairn(*asked).out
    assert "notes" not in cairn(*asked, "--json").json()
    _change(cairn)
    assert _CHANGED in cairn(*asked).out
    assert [note[: len(_CHANGED)] for note in cairn(*asked, "--json").json()["notes"]] == [_CHANGED]


def test_tools_say_so(cairn: Command, tmp_path: Path) -> None:
    _change(cairn)

    async def body(client: Client) -> None:
        for tool, asked in _TOOLS:
            place = {**asked, "project_path": str(cairn.folder)}
            answer = await called(client, tool, **place)
            [note] = answer["notes"]
            assert note.startswith(_CHANGED), tool
            assert "cairn index" not in note
            assert _CHANGED in await text_of(client, tool, **place)

    with catalog_in(tmp_path / "home") as catalog:
        ask(catalog, body)


def test_a_file_that_is_gone_is_told(cairn: Command) -> None:
    (cairn.folder / "shop/user.py").unlink()
    for command in ("refs", "callers"):
        assert _GONE in cairn(command, "take_item").out
    assert "indexed:" not in cairn("symbols", "rest").out
    _change(cairn)
    told = cairn("refs", "take_item").out
    assert "and 1 other file have changed or are gone since they were indexed: lines" in told


def test_a_file_with_another_time_and_the_same_text_is_not_told(cairn: Command) -> None:
    os.utime(cairn.folder / "shop/stock.py", ns=(1, 1))
    assert "since" not in cairn("refs", "take_item").out
