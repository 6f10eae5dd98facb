"""A SQLite that corrupts databases is refused, before any file is touched."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import Command

_OLD = """
import apsw
apsw.SQLITE_VERSION_NUMBER = {number}
apsw.sqlite_lib_version = lambda: {name!r}
from web.cli.main import main
main()
"""


def run_with(number: int, name: str, command: Command) -> "subprocess.CompletedProcess[str]":
    """Run ``cairn index`` over a SQLite that says it has another version."""
    return subprocess.run(
        [sys.executable, "-c", _OLD.format(number=number, name=name), "index", "--quiet"],
        cwd=command.folder,
        env=command.environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command in a folder with one file."""
    command = Command(home=tmp_path / "home", folder=tmp_path / "repository")
    command.folder.mkdir()
    (command.folder / "app.py").write_text("def refresh_session(token):\n    return token\n")
    return command


def test_an_old_sqlite_is_refused(command: Command) -> None:
    ended = run_with(3_051_002, "3.51.2", command)
    assert (ended.returncode, ended.stdout) == (5, "")
    assert ended.stderr == (
        "error: SQLite 3.51.2 has a bug that corrupts databases\n"
        "hint: install apsw 3.51.3 or newer\n"
    )
    assert not list(command.home.glob("*"))


def test_the_oldest_good_one_is_taken(command: Command) -> None:
    assert run_with(3_051_003, "3.51.3", command).returncode == 0
