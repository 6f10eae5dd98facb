"""A background runner that outlives its server gives way to the next one, which has other settings.

Its jobs are suspended and resumed, by the runner of that server; or by the same one, if the server
ends before it has one.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from engine.locks import (
    hold_server_lock,
    holder_of,
    runner_lock_file,
    server_lock_file,
    server_process,
    take_lock,
)
from engine.roots import project_id_of
from engine.state_records import JobState
from tests.support.command import Command
from tests.support.holding import held
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.killing import end_all, processes_of, runner_of
from tests.support.pages import index_folder
from tests.support.server import ask_until, serving
from tests.support.trees import SAMPLE, write_tree

_URL = "http://127.0.0.1:1"
#: The job comes to its end only in a process without this.
_HANGS = {"CAIRN_FAULT": "hang:parse:z/hang.py", "CAIRN_PARSE_TIMEOUT": "600000"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    end_all(tmp_path / "home")


@contextmanager
def _served(home: Path) -> Iterator[None]:
    """Be a server, as far as other processes can see."""
    with hold_server_lock(home) as lock:
        lock.publish(_URL)
        yield


def _runner(home: Path) -> str | None:
    return holder_of(runner_lock_file(home))


def _found(client: httpx.Client, words: str) -> set[str]:
    asked = client.get("/api/v1/search", params={"query": words, "mode": "keyword"})
    return {hit["path"] for hit in asked.json()["hits"]}


def test_the_settings_of_a_restarted_server_hold_for_jobs_that_were_running(
    home: Path, tmp_path: Path, tree: Path
) -> None:
    """Also for those that are requested later, and the runner is not the old one any more."""
    write_tree(tree, {**SAMPLE, ".env.test": "NAME=value_of_the_test\n", "z/hang.py": "x = 1\n"})
    command = Command(home=home, folder=tmp_path, variables={"CAIRN_WORKERS": "1"})
    admits = {**command.variables, **_HANGS, "CAIRN_ALLOW_SECRET_FILES": ".env.test"}
    before = replace(command, variables=admits)
    with serving(before, "--no-watch") as server, server.client() as client:
        asked = client.post("/api/v1/projects", json={"path": str(tree), "wait": False})
        job_path = f"/api/v1/jobs/{asked.json()['job_id']}"
        ask_until(client, job_path, status="running")
    runner = _runner(home)
    assert runner  # it has outlived its server
    with serving(command, "--no-watch") as server, server.client() as client:
        job = ask_until(client, job_path, status="completed")
        assert (job["attempt"], job["result"]["files_failed"]) == (2, 0)
        assert _runner(home) not in (None, runner)
        write_tree(tree, {"z/new.py": "def freshly_saved_thing():\n    return 1\n"})
        index_folder(client, tree)
        assert "z/new.py" in _found(client, "freshly_saved_thing")
        assert ".env.test" not in _found(client, "value_of_the_test")
    until(lambda: not processes_of(home))


def test_a_runner_whose_server_restarts_goes_on_if_that_has_none_yet(
    home: Path, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    lock = home / "locks" / f"{project_id_of(str(tree))}.lock"
    with catalog_in(home, model="none") as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        with held("project", lock), runner_of(home) as runner:
            wait_for(catalog, job_id, JobState.BLOCKED)
            with _served(home):
                until(lambda: _runner(home) is None)
                assert runner.is_alive()
            until(lambda: _runner(home) == str(runner.pid))
            until(lambda: catalog.jobs.show(job_id).attempt == 2)
            with _served(home):
                until(lambda: _runner(home) is None)
                other = take_lock(runner_lock_file(home))  # the runner of that server
                assert other
                with other:
                    assert runner.wait() == 0
        assert catalog.jobs.show(job_id).status is JobState.BLOCKED
        catalog.jobs.run_here()
        assert wait_for(catalog, job_id, JobState.COMPLETED).attempt == 3


def test_the_runner_that_a_server_has_started_stays(home: Path, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with catalog_in(home, model="none") as catalog, _served(home):
        assert server_process(home) == os.getpid()
        job_id = catalog.jobs.submit(str(tree)).job_id
        catalog.jobs.start_detached()
        wait_for(catalog, job_id, JobState.COMPLETED)
        assert catalog.jobs.show(job_id).attempt == 1
        assert _runner(home)
    until(lambda: not processes_of(home))


@pytest.mark.parametrize("text", ["", "4711", "[]", '{"url": "http://a:1"}', '{"pid": "1"}'])
def test_a_server_that_has_not_told_its_process_moves_no_runner(home: Path, text: str) -> None:
    """As one that has only begun, and may end because its port is taken."""
    lock = take_lock(server_lock_file(home))
    assert lock
    with lock:
        lock.write(text)
        assert server_process(home) is None
    assert server_process(home) is None
