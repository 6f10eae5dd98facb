"""A server that is killed: who comes next goes on where it was, and waits for nothing."""

import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from engine.config import load_config
from engine.roots import project_id_of
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.killing import end_all, processes_of
from tests.support.oracle import check_sound, contents
from tests.support.server import Server, ask_until, serving
from tests.support.trees import write_tree

_RESUMED_WITHIN_S = 10.0


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})


def _write(tree: Path, files: int = 600) -> Path:
    text = "".join(f"def part_{each}(text):\n    return text\n" for each in range(12))
    return write_tree(tree, {f"d{n % 20}/f{n}.py": f"# {n}\n{text}" for n in range(files)})


def _begin(client: httpx.Client, tree: Path) -> str:
    asked = client.post("/api/v1/projects", json={"path": str(tree), "wait": False})
    assert asked.status_code == 202, asked.text
    job_id: str = asked.json()["job_id"]
    return job_id


def _kill(server: Server) -> None:
    """Kill a server and the runner beside it, and fail unless their parsing processes end too."""
    assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    end_all(server.home)
    until(lambda: not processes_of(server.home), within_s=_RESUMED_WITHIN_S)


def _is_watched(client: httpx.Client, tree: Path) -> bool:
    watch = client.get(f"/api/v1/projects/{project_id_of(str(tree))}").json()["watch"]
    return watch is not None and watch["state"] == "watching"


def test_the_next_server_goes_on_with_the_job_and_watches(command: Command, tree: Path) -> None:
    _write(tree)
    write_tree(tree, {"z/hang.py": "x = 1\n"})
    hangs = {"CAIRN_FAULT": "hang:parse:z/hang.py", "CAIRN_PARSE_TIMEOUT": "600000"}
    small = {"CAIRN_BATCH_BYTES": "65536"}
    stuck = replace(command, variables={**command.variables, **hangs, **small})
    with serving(stuck) as server, server.client() as client:
        job_id = _begin(client, tree)
        until(lambda: client.get(f"/api/v1/jobs/{job_id}").json()["files_done"] > 0)
        _kill(server)
    with serving(command) as server, server.client() as client:

        def goes_on() -> bool:
            job = client.get(f"/api/v1/jobs/{job_id}").json()
            return job["status"] in ("running", "completed") and job["attempt"] == 2

        until(goes_on, within_s=_RESUMED_WITHIN_S)
        job = ask_until(client, f"/api/v1/jobs/{job_id}", status="completed")
        assert (job["files_done"], job["result"]["files_failed"]) == (601, 0)
        until(lambda: _is_watched(client, tree))
        write_tree(tree, {"new.py": "def freshly_saved_thing():\n    return 1\n"})

        def is_found() -> bool:
            asked = {"query": "freshly_saved_thing", "mode": "symbol"}
            return bool(client.get("/api/v1/search", params=asked).json()["hits"])

        until(is_found, within_s=15)
        origins = [each["origin"] for each in client.get("/api/v1/jobs").json()["jobs"]]
        assert origins.count("request") == 1


def test_a_server_that_is_killed_takes_no_job_with_it(command: Command, tree: Path) -> None:
    _write(tree)
    with serving(command) as server, server.client() as client:
        job_id = _begin(client, tree)
        until(lambda: client.get(f"/api/v1/jobs/{job_id}").json()["files_done"] > 0)
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    until(lambda: not processes_of(command.home))  # the runner ends when nothing is left
    ended = command("jobs", "show", job_id, "--json").json()
    assert (ended["status"], ended["attempt"], ended["files_done"]) == ("completed", 1, 600)


@pytest.mark.soak
def test_the_command_goes_on_with_the_job_of_a_killed_server(command: Command, tree: Path) -> None:
    _write(tree)
    with serving(command) as server, server.client() as client:
        job_id = _begin(client, tree)
        until(lambda: client.get(f"/api/v1/jobs/{job_id}").json()["files_done"] > 0)
        _kill(server)
    assert command("index", str(tree), "--json").code == 0
    with open_catalog(load_config(command.home, workers=1)) as catalog:
        assert catalog.server_url() is None
        ended = catalog.jobs.show(job_id)
        assert (ended.status, ended.attempt) == ("completed", 2)
    check_sound(command.home / f"{project_id_of(str(tree))}.db")


@pytest.mark.soak
def test_thirty_kills_of_servers_lose_nothing(command: Command, tree: Path) -> None:
    """The job is asked for anew whenever it has ended before the server was killed."""
    _write(tree, files=3000)
    draw = random.Random(20_251_122)
    file = command.home / f"{project_id_of(str(tree))}.db"
    amid = 0
    for _ in range(30):
        with serving(command) as server, server.client() as client:
            if not client.get("/api/v1/jobs?status=running").json()["jobs"]:
                again = {"path": str(tree), "wait": False, "force": True}
                client.post("/api/v1/projects", json=again)
            time.sleep(draw.uniform(0.05, 3.0))
            amid += bool(client.get("/api/v1/jobs?status=running").json()["jobs"])
            _kill(server)
        check_sound(file)
    with serving(command, "--no-watch") as server, server.client() as client:
        client.post("/api/v1/projects", json={"path": str(tree)})
        until(lambda: client.get("/health").json()["active_jobs"] == 0, within_s=60)
    check_sound(file)
    other = Command(home=command.home.parent / "other", folder=command.folder)
    assert other("index", str(tree), "--quiet").code == 0
    assert contents(file) == contents(other.home / file.name)
    print(f"30 kills, {amid} of them amid a job: 0 lost, 0 doubled")
