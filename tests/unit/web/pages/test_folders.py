"""The folder picker lists folders in the home directory only, without hidden ones and links."""

from pathlib import Path

import pytest

from engine.errors import InvalidPathError
from web.pages.home import list_folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in ("src/app/.git", "src/lib", "Documents", ".ssh/keys", "beside"):
        (home / name).mkdir(parents=True)
    (home / "file.txt").write_text("x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "home-too").mkdir()
    (home / "link").symlink_to(tmp_path / "outside")
    (home / "a\nb").mkdir()
    return home


def test_folders_are_listed_without_files_links_and_hidden_ones(home: Path) -> None:
    top = list_folder(str(home), "")
    assert [name for name, _ in top.children] == ["beside", "Documents", "src"]
    assert (top.name, top.parents) == ("~", ())
    inner = list_folder(str(home), str(home / "src"))
    assert inner.children == (("app", f"{home}/src/app"), ("lib", f"{home}/src/lib"))
    app = list_folder(str(home), str(home / "src/app"))
    assert app.is_repository
    assert app.parents == (("~", str(home)), ("src", f"{home}/src"))


@pytest.mark.parametrize(
    "path",
    [
        "{home}/.ssh",
        "{home}/.ssh/keys",
        "{home}/..",
        "{home}/../outside",
        "{home}/src/../../outside",
        "{home}/link",
        "{home}-too",
        "{home}/nothing",
        "{home}/file.txt",
        "{home}/src/",
        "/",
        "/etc",
        "src",
        "~",
        "{home}/\0",
    ],
)
def test_nothing_else_is_shown(home: Path, path: str) -> None:
    with pytest.raises(InvalidPathError):
        list_folder(str(home), path.replace("{home}", str(home)))
