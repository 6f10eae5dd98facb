"""Pipes in the place of files of a data directory: nobody waits for whoever would write them."""

import os
from pathlib import Path

import pytest

from tests.support.command import Command
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command line, with an index."""
    tree = write_tree(tmp_path / "tree", SAMPLE)
    command = Command(home=tmp_path / "home", folder=tree)
    assert command("index", "--quiet").code == 0
    return command


def ended(command: Command, *arguments: str) -> tuple[int, str]:
    """Run a command, which must end by itself."""
    done = command(*arguments)
    assert "Traceback" not in done.err
    return done.code, done.err


def test_settings_that_are_a_pipe_are_refused_in_words(command: Command) -> None:
    place = command.home / "config.toml"
    os.mkfifo(place)
    for arguments in (("search", "session"), ("index", "--quiet"), ("config",)):
        code, told = ended(command, *arguments)
        assert code == 2, arguments
        assert f"cannot read {place}: " in told
        assert "not a file" in told
    place.unlink()
    assert ended(command, "search", "session")[0] == 0


def test_contexts_that_are_a_pipe_are_refused_in_words(command: Command) -> None:
    place = command.home / "contexts.json"
    os.mkfifo(place)
    code, told = ended(command, "context", "list")
    assert code
    assert str(place) in told
    assert ended(command, "search", "session")[0] == 0


@pytest.mark.parametrize("name", ["runner.log", "runner-errors.log", "server.log", "rates.json"])
def test_logs_that_are_pipes_stop_no_work(command: Command, name: str) -> None:
    place = command.home / "logs" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    (command.folder / "later.py").write_text("def later_session():\n    return 1\n")
    assert ended(command, "index", "--quiet")[0] == 0
    code, told = ended(command, "index", "--background")
    assert code == 0 or str(place) in told
    assert ended(command, "search", "later_session")[0] == 0
