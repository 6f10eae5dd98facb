"""Links to editors: any file name stays a path."""

import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

import pytest

from engine.catalog import Catalog
from engine.config import SETTINGS
from tests.support.pages import Page
from tests.support.trees import write_tree
from web.pages.file import editor_link, link_to
from web.security.server_settings import ServerSettings

EDITORS = ("vscode", "vscodium", "cursor", "zed", "idea", "sublime")
NAMES = (
    "plain.py",
    "a b.py",
    "line\nbreak.py",
    "tab\t.py",
    'quote".py',
    "quote'.py",
    "hash#L1.py",
    "what?x=1&y=2.py",
    "100%41.py",
    "colon:5:6.py",
    "<script>.py",
    "back\\slash.py",
    "ünï©ode.py",
    "new\u2028line.py",
    "bytes\udcff.py",
    "javascript:alert(1)",
    "@host;&+=$,!()*[]{}|^`.py",
)


def test_every_editor_of_the_setting_has_an_address() -> None:
    [setting] = [setting for setting in SETTINGS if setting.name == "editor"]
    assert setting.values == (*EDITORS, "none")


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_one_path_and_nothing_else(editor: str, name: str) -> None:
    place = f"/srv/code/{name}"
    link = link_to(editor, place, 12)
    Page(f'<a href="{link.address}" data-editor>x</a>').check()
    assert link.address.isascii()
    assert link.address.endswith((":12", "=12"))
    parts = urlsplit(link.address)
    given = parts.query.partition("=")[2].rpartition("&line=")[0].removeprefix("file://")
    path = given or parts.path.rpartition(":")[0]
    assert unquote_to_bytes(path) == os.fsencode(place)
    assert not parts.fragment
    assert parts.netloc in ("file", "open")


def test_it_is_offered_only_where_the_file_is(catalog: Catalog, tree: Path) -> None:
    write_tree(tree, {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    index = catalog.create(str(tree))
    index.index()
    here = ServerSettings(host="127.0.0.1", port=1, editor="idea")
    link = editor_link(here, index, "a.py", 3)
    assert link == ("IDEA", f"idea://open?file={tree.resolve()}/a.py&line=3")
    assert editor_link(replace(here, editor="none"), index, "a.py", 3) is None
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        assert editor_link(replace(here, host=host), index, "a.py", 3) is None
    (tree / "b.py").unlink()
    for path in ("b.py", "nothing.py", "../a.py", "a.py/..", "a\0"):
        assert editor_link(here, index, path, 3) is None, path


@pytest.mark.parametrize("editor", EDITORS)
def test_a_path_names_no_other_machine(editor: str) -> None:
    assert "////" not in link_to(editor, "//server/share/x.py", 1).address.replace("file://", "", 1)
    assert "file//" not in link_to(editor, "//server/share/x.py", 1).address


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "vscode://file/x:1#y",
        "vscode://file//server/x:1",
        "vscode://file/x y:1",
        "vscode://other/x:1",
        "https://evil.example/x:1",
        "idea://open?file=/x&line=1&more=2",
        "vscode://file/x",
        "/p/x",
    ],
)
def test_what_is_no_such_address_is_not_let_through(address: str) -> None:
    with pytest.raises(AssertionError):
        Page(f'<a href="{address}" data-editor>x</a>').check()
