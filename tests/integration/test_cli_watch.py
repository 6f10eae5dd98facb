"""``cairn watch`` as a process: how it ends when nobody reads it, and when nothing is left."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Command
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow


@pytest.fixture
def cairn(tmp_path: Path) -> Command:
    folder = write_tree(tmp_path / "tree", SAMPLE)
    return Command(home=tmp_path / "home", folder=folder, variables={"CAIRN_WORKERS": "1"})


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_it_ends_without_a_word_when_its_reader_has_gone(
    cairn: Command, options: tuple[str, ...]
) -> None:
    with cairn.start("watch", *options) as process:
        assert process.stdout
        assert process.stderr
        assert b"watching" in process.stdout.readline()
        process.stdout.close()
        (cairn.folder / "later.py").write_text("def later():\n    return 1\n")
        assert process.wait(timeout=patience(60)) == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_lines_that_cannot_be_written_are_told(cairn: Command, options: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full, cairn.start("watch", *options, stdout=full) as process:
        _, err = process.communicate(timeout=patience(60))
    assert err == b"error: cannot write the answer: No space left on device\n"
    assert process.returncode == 5


def test_it_fails_when_all_it_watched_is_forgotten(cairn: Command) -> None:
    with cairn.start("watch", "--json") as process:
        assert process.stdout
        while json.loads(process.stdout.readline())["event"] != "indexed":
            pass
        assert cairn("forget", str(cairn.folder), "--yes").code == 0
        out, err = process.communicate(timeout=patience(60))
    last = json.loads(out.splitlines()[-1])
    assert (last["event"], last["state"]) == ("status", "stopped")
    assert last["reason"]
    assert (process.returncode, err) == (1, b"")


def test_its_events_name_the_same_folder_and_count_what_was_removed(cairn: Command) -> None:
    with cairn.start("watch", ".", "--json") as process:
        assert process.stdout
        events: list[dict[str, Any]] = []
        while not events or events[-1]["event"] != "indexed":
            events.append(json.loads(process.stdout.readline()))
        (cairn.folder / "app/session.py").unlink()
        while events[-1]["event"] != "indexed" or not events[-1]["only"]:
            events.append(json.loads(process.stdout.readline()))
        process.terminate()
        assert process.wait(timeout=patience(60)) == 0
    assert {each["path"] for each in events} == {str(cairn.folder)}
    assert (events[-1]["files_indexed"], events[-1]["files_removed"]) == (0, 1)
