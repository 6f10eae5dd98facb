"""``cairn why``: outcome, reason and exit code of every kind of path."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.trees import write_tree

pytestmark = pytest.mark.slow

_YEAR_2400_S = 13_569_465_600

_FILES = {
    "src/session.py": "def refresh_session(token):\n    return token\n",
    "gone.py": "gone = True\n",
    "debug.log": "refresh session\n",
    ".gitignore": "build/\n*.log\n",
    "build/out.py": "def built(): pass\n",
    ".env": "PASSWORD=hunter2\n",
}


@pytest.fixture(scope="module")
def cairn(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Give a command in an indexed repository; the tests that share it only read."""
    folder = tmp_path_factory.mktemp("why")
    command = Command(home=folder / "home", folder=folder / "repository", reads_here=True)
    write_tree(command.folder, _FILES)
    assert command("index", "--quiet").code == 0
    (command.folder / "gone.py").unlink()
    (command.folder / "late.py").touch()
    return command


def test_what_has_changed_since_is_said_once(cairn: Command) -> None:
    gone = cairn("why", "gone.py").out
    assert gone.startswith(
        "gone.py is indexed, but gone from the disk since: cairn index removes it\n"
    )
    assert gone.count("since") == 1
    assert "up to date" in cairn("why", "src/session.py").out


def test_the_setting_that_admits_a_secret_file_is_named(tmp_path: Path) -> None:
    command = Command(home=tmp_path / "home", folder=tmp_path / "repository")
    write_tree(command.folder, _FILES)
    command("index", "--quiet")
    assert "name it in the setting allow_secret_files" in command("why", ".env").out
    admitting = replace(command, variables={"CAIRN_ALLOW_SECRET_FILES": "*.pem,/.env"})
    assert "next run    indexes it" in admitting("why", ".env").out
    admitting("index", "--quiet")
    assert "admitted    by /.env in the setting allow_secret_files" in admitting("why", ".env").out


@pytest.mark.parametrize(
    ("path", "outcome", "reason", "code"),
    [
        ("src/session.py", "indexed", None, 0),
        ("gone.py", "indexed", None, 0),
        ("late.py", "not_seen", None, 0),
        ("debug.log", "skipped", "ignored", 0),
        ("build", "skipped", "ignored", 0),
        ("build/out.py", "skipped", "ignored", 0),
        (".env", "skipped", "secret_file", 0),
        ("src", "folder", None, 0),
        ("nowhere.py", "missing", None, 3),
        ("src/nowhere.py", "missing", None, 3),
    ],
)
def test_why(cairn: Command, path: str, outcome: str, reason: str | None, code: int) -> None:
    ended = cairn("why", path, "--json")
    explanation = ended.json()
    assert (ended.code, ended.err) == (code, "")
    assert list(explanation) == [
        "path",
        "outcome",
        "reason",
        "detail",
        "rule_path",
        "fresh",
        "facts",
    ]
    assert (explanation["path"], explanation["outcome"]) == (path, outcome)
    assert explanation["reason"] == reason
    text = cairn("why", path)
    assert (text.code, text.err) == (code, "")
    assert text.out.startswith(f"{path} ")


def test_a_relative_path_may_lead_into_another_project(tmp_path: Path) -> None:
    command = Command(home=tmp_path / "home", folder=tmp_path / "here", reads_here=True)
    write_tree(tmp_path, {"here/a.py": "a = 1\n", "there/src/b.py": "b = 1\n", "no/c.py": "\n"})
    command("index", ".")
    command("index", "../there")
    for folder in ("here", "there", "no"):
        beside = replace(command, folder=tmp_path / folder)
        ended = beside("why", "../there/src/b.py", "--json")
        assert ended.code == 0, ended.err
        assert (ended.json()["path"], ended.json()["outcome"]) == ("src/b.py", "indexed")
        assert beside("status", "../there").code == 0
    assert replace(command, folder=tmp_path)("why", "there/src/b.py").code == 0


def test_folders_are_called_so(cairn: Command) -> None:
    inside = replace(cairn, folder=cairn.folder / "src")
    for command, typed, named in ((cairn, "src", "src"), (inside, ".", "src"), (cairn, ".", ".")):
        lines = command("why", typed).out.splitlines()
        assert lines[0] == f"{named} is a folder"
        assert "a file in it" in lines[1]
    assert cairn("why", ".", "--json").json()["path"] == ""


def test_a_file_from_the_far_future_is_indexed_like_any_other(tmp_path: Path) -> None:
    command = Command(home=tmp_path / "home", folder=tmp_path / "repository", reads_here=True)
    write_tree(command.folder, {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    os.utime(command.folder / "b.py", (_YEAR_2400_S, _YEAR_2400_S))
    first = command("index", "--json").json()
    assert (first["files_indexed"], first["files_failed"]) == (2, 0)
    assert command("index", "--json").json()["files_unchanged"] == 2
    explanation = command("why", "b.py", "--json").json()
    assert (explanation["outcome"], explanation["fresh"]) == ("indexed", True)
