"""An index that nobody may write, in a folder that nobody may: all that only reads works."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.support.command import Command
from tests.support.faults.disk import small_disk
from tests.support.restricted import close_folder, run_as_nobody
from tests.support.trees import SAMPLE, write_tree
from web.cli.main import run

_READING: tuple[tuple[str, ...], ...] = (
    ("search", "open session"),
    ("search", "session", "--mode", "regex"),
    ("symbols", "SessionStore"),
    ("status",),
    ("why", "app/session.py"),
    ("projects",),
)
_WRITING: tuple[tuple[str, ...], ...] = (
    ("index", "--quiet"),
    ("clear", "--yes"),
    ("forget", ".", "--yes"),
)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A command in a folder that is not indexed yet."""
    command = Command(home=tmp_path / "home", folder=tmp_path / "repository")
    write_tree(command.folder, SAMPLE)
    monkeypatch.setenv("CAIRN_HOME", str(command.home))
    monkeypatch.chdir(command.folder)
    return command


@pytest.fixture
def closed(command: Command) -> Iterator[Command]:
    """The command, its project indexed, its data directory and all in it for reading only."""
    # In this process: a user without privileges may not be able to read the program itself.
    assert run(("index", "--quiet")) == 0
    close_folder(command.home)
    yield command
    command.home.chmod(0o755)


@pytest.mark.parametrize("arguments", _READING, ids=" ".join)
def test_reading_works(closed: Command, arguments: tuple[str, ...]) -> None:
    before = sorted(closed.home.iterdir())
    assert not [file for file in before if file.name.endswith(("-wal", "-shm"))]
    code, out, err = run_as_nobody(*arguments)
    assert (code, err) == (0, "")
    assert out
    assert sorted(closed.home.iterdir()) == before


@pytest.mark.parametrize("arguments", _WRITING, ids=" ".join)
def test_writing_is_refused_in_words(closed: Command, arguments: tuple[str, ...]) -> None:
    code, out, err = run_as_nobody(*arguments)
    assert (code, out) == (5, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert "make " in err
    assert "writable" in err


def test_reading_works_beside_a_writer(closed: Command) -> None:
    """What readers share is there then, and holds the changes that the file has not yet."""
    [database] = closed.home.glob("*.db")
    writer = apsw.Connection(str(database))
    writer.execute("UPDATE project SET indexed_at_ms = indexed_at_ms + 1")
    for suffix in ("-wal", "-shm"):
        Path(f"{database}{suffix}").chmod(0o444)
    for arguments in _READING:
        code, out, err = run_as_nobody(*arguments)
        assert (code, err) == (0, ""), (arguments, err)
        assert out
    writer.close()


def test_changes_that_only_a_writer_can_read_are_told(closed: Command) -> None:
    [database] = closed.home.glob("*.db")
    writer = apsw.Connection(str(database))
    writer.execute("UPDATE project SET indexed_at_ms = indexed_at_ms + 1")
    changes = Path(f"{database}-wal").read_bytes()
    writer.close()
    Path(f"{database}-wal").write_bytes(changes)  # as a killed run leaves it
    Path(f"{database}-wal").chmod(0o444)
    code, out, err = run_as_nobody("search", "session")
    assert (code, out) == (5, "")
    assert "the last changes of the index" in err
    assert "hint: make the folder writable, or run cairn index as the user who owns it" in err


def test_a_file_system_for_reading_only(command: Command) -> None:
    """Here not even root can write; what it needs is mounted, or the test is skipped."""
    with small_disk(command.home, 200_000):  # the least that a first run asks for is free
        assert run(("index", "--quiet")) == 0
        remount = ("mount", "-o", "remount,ro", str(command.home))
        assert subprocess.run(remount, check=False).returncode == 0
        for arguments in _READING:
            ended = command(*arguments)
            assert (ended.code, ended.err) == (0, ""), arguments
        for arguments in _WRITING:
            ended = command(*arguments)
            assert (ended.code, ended.out) == (5, ""), arguments
            assert ended.err.startswith("error: ")


def test_a_data_directory_that_cannot_be_looked_at(
    closed: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(0o700)
    monkeypatch.setenv("CAIRN_HOME", str(shut / "home"))
    for arguments in _READING:
        code, out, err = run_as_nobody(*arguments)
        assert (code, out) == (2, ""), (arguments, err)
        assert err.startswith(f"error: cannot read {shut}")
