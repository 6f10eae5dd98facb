from pathlib import Path

import pytest

from engine.source.git_files import config_values, git_settings
from tests.support.git_trees import run_git


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("[core]\n\texcludesFile = ~/x\n", "core.excludesfile", "~/x"),
        ("[CORE] ExcludesFile=a b  \n", "core.excludesfile", "a b"),
        ('[core]\nexcludesfile = "a # b" # note\n', "core.excludesfile", "a # b"),
        ('[core]\nexcludesfile = a\\tb"c\\"d"\n', "core.excludesfile", 'a\tbc"d'),
        ("[core]\nexcludesfile = a\\\nb\n", "core.excludesfile", "ab"),
        ("[core]\nignorecase\n", "core.ignorecase", "true"),
        ("[core]\nignorecase =\n", "core.ignorecase", ""),
        ("[core]\na = 1\na = 2\n", "core.a", "2"),
        ('[remote "x"]\nexcludesfile = 1\n', "remote.x.excludesfile", "1"),
        ("; c\n# d\n[core]\r\nb = 3\r\n", "core.b", "3"),
    ],
)
def test_a_setting_is_read(text: str, key: str, value: str) -> None:
    assert config_values(text)[key] == value


@pytest.mark.parametrize(
    "text", ["", "x = 1", "[", "[core", "[core]\n= 1", '[a "b]\nc', "\0[core]x"]
)
def test_what_is_no_setting_is_passed_over(text: str) -> None:
    assert "core.excludesfile" not in config_values(text)


@pytest.fixture(autouse=True)
def git_folder(home: Path) -> Path:
    folder = home / ".config" / "git"
    folder.mkdir(parents=True)
    return folder


def test_the_usual_place_counts_without_settings(home: Path) -> None:
    settings = git_settings("/top", None)
    assert settings.excludes_path == str(home / ".config/git/ignore")
    assert (settings.ignores_case, settings.hash_bytes) == (False, 20)


def test_later_files_win(home: Path, tmp_path: Path) -> None:
    (home / ".config/git/config").write_text("[core]\nexcludesFile = /one\nignoreCase = yes\n")
    assert git_settings("/top", None).excludes_path == "/one"
    (home / ".gitconfig").write_text("[core]\nexcludesFile = ~/two\n")
    settings = git_settings("/top", None)
    assert settings.excludes_path == str(home / "two")
    assert settings.ignores_case
    assert settings.excludes_is_users
    (tmp_path / "config").write_text(
        "[core]\nexcludesFile = three\n[extensions]\nobjectFormat = sha256\n"
    )
    settings = git_settings("/top", str(tmp_path))
    assert settings.excludes_path == "/top/three"
    assert settings.hash_bytes == 32
    assert not settings.excludes_is_users


def test_what_git_writes_is_read(home: Path, tmp_path: Path) -> None:
    value = 'a "b" \\c #d\ttab; '
    run_git(tmp_path, home, "init", "-q")
    run_git(tmp_path, home, "config", "core.excludesFile", value)
    assert git_settings("/top", str(tmp_path / ".git")).excludes_path == f"/top/{value}"
