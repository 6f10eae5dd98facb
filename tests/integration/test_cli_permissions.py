"""What the file system forbids is said in one line, with what to do, and ends with exit code 5."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.restricted import close_folder, run_as_nobody
from web.cli.main import run

pytestmark = pytest.mark.slow


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Give a command in an indexed repository; its data directory cannot be written by others."""
    command = Command(home=tmp_path / "home", folder=tmp_path / "repository")
    command.folder.mkdir()
    (command.folder / "app.py").write_text("def refresh_session(token):\n    return token\n")
    monkeypatch.setenv("CAIRN_HOME", str(command.home))
    monkeypatch.chdir(command.folder)
    # In this process: a user without privileges may not be able to read the program itself.
    assert run(("index", "--quiet")) == 0
    close_folder(command.home)
    yield command
    command.home.chmod(0o755)


@pytest.mark.parametrize(
    "arguments", [("forget", ".", "--yes"), ("clear", "--yes"), ("index", "--quiet")]
)
def test_a_data_directory_that_cannot_be_written(
    indexed: Command, arguments: tuple[str, ...]
) -> None:
    before = sorted(indexed.home.iterdir())
    code, out, err = run_as_nobody(*arguments)
    assert (code, out) == (5, ""), err
    assert err.startswith("error: ")
    assert str(indexed.home) in err
    assert "\nhint: " in err
    code, out, err = run_as_nobody(*arguments, "--json")
    assert (code, err) == (5, ""), out
    assert '"error": "unavailable"' in out
    assert sorted(indexed.home.iterdir()) == before
    indexed.home.chmod(0o755)
    [database] = indexed.home.glob("*.db")
    database.chmod(0o600)
    assert indexed("search", "token").code == 0


def test_a_project_whose_file_cannot_be_read(indexed: Command) -> None:
    [database] = indexed.home.glob("*.db")
    database.chmod(0)
    for arguments in (("search", "token"), ("status",), ("why", "app.py")):
        code, out, err = run_as_nobody(*arguments)
        assert (code, out) == (5, ""), err
        assert str(database) in err


def test_a_data_directory_that_cannot_be_made(
    indexed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_HOME", str(indexed.home / "below"))
    code, out, err = run_as_nobody("index", "--quiet")
    assert (code, out) == (5, ""), err
    assert str(indexed.home / "below") in err
    assert "\nhint: " in err
