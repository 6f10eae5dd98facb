"""Calls of agents and requests beside the jobs of a watcher: they wait for them."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.errors import JobConflictError
from engine.index_records import IndexOptions
from engine.locks import indexing_lock
from engine.roots import project_id_of
from engine.state_records import JobFilter, JobOrigin, JobState
from tests.support.command import Command, StartedProcess
from tests.support.freezing import freeze
from tests.support.jobs import catalog_in, until
from tests.support.mcp_clients import ask, called
from tests.support.pages import OWN_FORM, Page, site
from tests.support.patience import patience
from tests.support.trees import SMALL, write_tree
from web import operations


@pytest.fixture
def tree(tree: Path) -> Path:
    """A project with a file that hangs its parser, if that is so set."""
    return write_tree(tree, {**SMALL, "slow.py": "slow = 1\n"})


def watch_job(catalog: Catalog) -> str | None:
    """Give the job of the watcher that runs."""
    wanted = JobFilter(origin=JobOrigin.WATCH, status=JobState.RUNNING)
    jobs = catalog.jobs.list(wanted).jobs
    return jobs[0].job_id if jobs else None


@contextmanager
def frozen_watcher(home: Path, tree: Path) -> Iterator[tuple[StartedProcess, Catalog, str]]:
    """Stop a watcher of another process in the middle of its job."""
    fault = {"CAIRN_FAULT": "hang:parse:slow.py", "CAIRN_PARSE_TIMEOUT": "600000"}
    command = Command(home=home, folder=tree, variables={**fault, "CAIRN_WORKERS": "1"})
    with catalog_in(home) as catalog:
        catalog.create(str(tree))
        with command.start("watch", str(tree)) as process:
            try:
                until(lambda: watch_job(catalog) is not None)
                job_id = watch_job(catalog)
                assert job_id
                freeze(process, home)
                yield process, catalog, job_id
            finally:
                process.send_signal(signal.SIGCONT)
                process.kill()


def test_a_call_waits_for_the_job_of_a_watcher(tree: Path, tmp_path: Path) -> None:
    with frozen_watcher(tmp_path / "home", tree) as (process, catalog, job_id):

        def thaw() -> None:
            until(lambda: catalog.jobs.show(job_id).cancel_requested)
            time.sleep(6)  # longer than a request gives the watcher to make room
            process.kill()  # so that what hangs is no more, and this process runs jobs

        thawing = threading.Thread(target=thaw)
        thawing.start()

        async def body(client: Client) -> None:
            answer = await called(client, "index_repository", path=str(tree))
            assert answer["status"] == "completed"
            assert answer["files_indexed"] + answer["files_unchanged"] == len(SMALL) + 1

        ask(catalog, body)
        thawing.join()


def test_a_repair_waits_for_a_run(catalog: Catalog, tree: Path) -> None:
    catalog.create(str(tree)).index()
    is_held, is_called = threading.Event(), threading.Event()

    def hold() -> None:
        with indexing_lock(catalog.data_dir / f"{project_id_of(str(tree))}.db"):
            is_held.set()
            is_called.wait(patience(30))
            time.sleep(1)  # the call meets the lock

    holding = threading.Thread(target=hold)
    holding.start()
    assert is_held.wait(patience(30))

    async def body(client: Client) -> None:
        is_called.set()
        assert (await called(client, "verify_index", project_path=str(tree), repair=True))["ok"]

    ask(catalog, body)
    holding.join()


def test_a_wait_that_is_over_tells_the_job(tree: Path, tmp_path: Path) -> None:
    with frozen_watcher(tmp_path / "home", tree) as (_, catalog, job_id):
        with pytest.raises(JobConflictError, match="nothing was started") as told:
            operations.index(catalog, str(tree), IndexOptions(), operations.Wait(0.5))
        assert told.value.details["job_id"] == job_id

        async def body(client: Client) -> None:
            started = await called(client, "start_indexing_background", repo_path=str(tree))
            assert started["job_id"] == job_id
            assert "get_indexing_status" in started["notes"][0]
            found = await called(client, "search_code", query="parse", project_path=str(tree))
            assert found["coverage"]["complete"] is False

        ask(catalog, body)


def test_an_agent_whose_wait_is_over_is_told_that_nothing_was_started(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "Wait", partial(operations.Wait, 0.5))
    with frozen_watcher(tmp_path / "home", tree) as (_, catalog, job_id):

        async def body(client: Client) -> None:
            answer = await called(client, "index_repository", path=str(tree))
            assert (answer["job_id"], answer["status"]) == (job_id, "running")
            assert "nothing was started" in answer["notes"][0]

        ask(catalog, body)


def test_a_request_whose_wait_is_over_conflicts(tree: Path, tmp_path: Path) -> None:
    with (
        frozen_watcher(tmp_path / "data", tree) as (_, catalog, job_id),
        site(tmp_path) as server,
        server.client() as client,
    ):
        asked = {"path": str(tree), "timeout_s": 0.5}
        answer = client.post("/api/v1/projects", json=asked)
        told = answer.json()
        file = f"/p/{project_id_of(str(tree))}/f/slow.py"
        shown = client.post(file, headers={**OWN_FORM, "Accept": "text/html"})
        assert len(catalog.jobs.list().jobs) == 1
    assert (answer.status_code, told["error"]) == (409, "conflict")
    assert told["details"]["job_id"] == job_id
    assert "nothing was started" in told["message"]
    assert shown.status_code == 409
    assert "nothing was started" in Page.of(shown).text
