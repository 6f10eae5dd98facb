"""What lies in a data directory when no process is at work: an index a project, and three names."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import load_config
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.killing import DIED, end_all, processes_of
from tests.support.server import ask_until, serving
from tests.support.trees import SAMPLE, write_tree

NO_PROCESS = 4_194_305  # Linux has none above 4,194,304


@pytest.fixture
def cairn(tmp_path: Path) -> Iterator[Command]:
    folder = write_tree(tmp_path / "tree", SAMPLE)
    home = tmp_path / "home"
    yield Command(home=home, folder=folder, variables={"CAIRN_WORKERS": "1"})
    end_all(home)


def entries(cairn: Command) -> set[str]:
    """Name what lies in the data directory, once no process of it is left."""
    until(lambda: not processes_of(cairn.home))
    return {each.name for each in cairn.home.iterdir()}


def locks(cairn: Command) -> list[str]:
    """Name the lock files and notes that are left."""
    return sorted(each.name for each in (cairn.home / "locks").iterdir())


def named(*folders: Path) -> set[str]:
    """Name what a data directory of these projects holds."""
    return {"locks", "logs", *(f"{project_id_of(str(each))}.db" for each in folders)}


def test_commands_leave_an_index_and_nothing_beside_it(cairn: Command, tmp_path: Path) -> None:
    other = write_tree(tmp_path / "other", {"b.py": "def other(): pass\n"})
    assert cairn("index", "--quiet").code == 0
    assert (entries(cairn), locks(cairn)) == (named(cairn.folder), [])
    assert cairn("index", "--quiet", str(other)).code == 0
    expected = named(cairn.folder, other)
    for arguments in (
        ("search", "session"),
        ("search", "other", "--project", str(other), "--project", str(cairn.folder)),
        ("symbols", "SessionStore"),
        ("status",),
        ("projects",),
        ("jobs", "list"),
        ("jobs", "run"),
        ("why", "app/session.py"),
        ("doctor",),
        ("doctor", "--backup", str(tmp_path / "copy.db")),
        ("doctor", "--compact"),
        ("doctor", "--rebuild"),
    ):
        assert cairn(*arguments).code == 0, arguments
        assert (entries(cairn), locks(cairn)) == (expected, []), arguments
    assert cairn("forget", str(other), "--yes").code == 0
    assert (entries(cairn), locks(cairn)) == (named(cairn.folder), [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_stopped_leaves_none_either(cairn: Command, number: int) -> None:
    with serving(cairn, str(cairn.folder)) as server, server.client() as client:
        ask_until(client, "/api/v1/search?query=SessionStore&mode=symbol&limit=1", truncated=False)
        assert client.get("/metrics").status_code == 200
        assert client.get("/status").status_code == 200
        assert client.get("/api/v1/projects").status_code == 200
        until(lambda: "server.lock" in locks(cairn))
        assert cairn("search", "session").code == 0
        assert server.stop(number) == 0
    assert (entries(cairn), locks(cairn)) == (named(cairn.folder), [])


@pytest.mark.parametrize(
    "fault",
    ["migrated", "transaction filled@3", "job claimed", "branch finished", "job batch filled"],
)
def test_what_a_killed_run_leaves_goes_with_the_next(cairn: Command, fault: str) -> None:
    dies = Command(
        home=cairn.home,
        folder=cairn.folder,
        variables={**cairn.variables, "CAIRN_FAULT": f"die:{fault}"},
    )
    process = dies.start("index", "--quiet")
    process.communicate()
    assert process.returncode == DIED
    assert entries(cairn) - named(cairn.folder)
    assert cairn("index", "--quiet").code == 0
    assert (entries(cairn), locks(cairn)) == (named(cairn.folder), [])


def test_a_question_takes_away_the_log_that_a_killed_server_left(cairn: Command) -> None:
    with serving(cairn, str(cairn.folder)) as server, server.client() as client:
        ask_until(client, "/api/v1/search?query=SessionStore&mode=symbol&limit=1", truncated=False)
        end_all(cairn.home)  # with the process that runs its jobs
        server.process.wait()
    assert {name[-4:] for name in entries(cairn) - named(cairn.folder)} == {"-shm", "-wal"}
    assert cairn("search", "session").code == 0
    assert entries(cairn) == named(cairn.folder)
    assert "server.lock" in locks(cairn)
    assert cairn("jobs", "run").code == 0
    assert locks(cairn) == []


def test_a_runner_cleans_up_after_all_projects(cairn: Command, tmp_path: Path) -> None:
    """Also what earlier versions have left, of which no process runs."""
    other = write_tree(tmp_path / "other", {"b.py": "def other(): pass\n"})
    assert cairn("index", "--quiet", str(other)).code == 0
    project = project_id_of(str(other))
    gone = "0" * 64
    left = {
        *(f"{project}.{kind}" for kind in ("hand", "lock", "wait", "watch")),
        *("runner.lock", "server.lock", "server.json", "server.json.new", "rates.json"),
        *(f"{gone}.{kind}-{NO_PROCESS}" for kind in ("seed", "rebuilt")),
        *(f"{gone}.rebuilt-{NO_PROCESS}{suffix}" for suffix in ("-wal", "-shm")),
    }
    kept = {f"{gone}.seed-{os.getpid()}", f"{gone}.damaged-2026-01-01-00-00-00", "notes.lock"}
    for name in left | kept:
        (cairn.home / name).touch()
    assert cairn("jobs", "run").code == 0
    assert entries(cairn) == named(other) | kept


def test_what_a_reader_holds_open_stays_and_goes_with_the_last_one(cairn: Command) -> None:
    assert cairn("index", "--quiet").code == 0
    with open_catalog(load_config(cairn.home)) as catalog:
        catalog.open(str(cairn.folder)).status()
        assert cairn("search", "session").code == 0
        held = {each.name for each in cairn.home.iterdir()} - named(cairn.folder)
        assert {name[-4:] for name in held} == {"-shm", "-wal"}
    assert entries(cairn) == named(cairn.folder)
