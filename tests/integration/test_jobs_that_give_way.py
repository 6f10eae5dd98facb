"""A job that another one replaces is nowhere called cancelled: its work goes on by itself."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.errors import JobConflictError
from engine.index_records import IndexOptions
from engine.jobs.ledger import Enqueued, Ledger
from engine.locks import runner_lock_file, take_lock
from engine.state_records import Job, JobKind, JobOrigin, JobState, MakesWay
from engine.watch.live import _JobSubmitter
from tests.support.command import Command
from tests.support.embedders import Fakes
from tests.support.git_history import GitTree, sample_history
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.mcp_clients import ask, called, text_of
from tests.support.pages import Page, site
from tests.support.trees import SAMPLE, write_tree

_TO_INDEXING = "gave way to indexing; continues by itself after the next run"


@pytest.fixture
def git(tmp_path: Path) -> GitTree:
    return sample_history(tmp_path / "tree", tmp_path)


def _give_way(catalog: Catalog, root: Path) -> str:
    """Submit a job that reads the history, and one that goes first; return the id of the former."""
    catalog.create(str(root)).index()
    job_id = catalog.jobs.submit_history(str(root)).job_id
    catalog.jobs.submit(str(root))
    return job_id


def test_a_history_that_gives_way_goes_on_by_itself_on_every_face(
    git: GitTree, tmp_path: Path
) -> None:
    with catalog_in(tmp_path / "data", opens=Fakes()) as catalog:
        job_id = _give_way(catalog, git.root)
    command = Command(home=tmp_path / "data", folder=tmp_path)
    listed, shown = command("jobs", "list").out, command("jobs", "show", job_id).out
    told = json.loads(command("jobs", "show", job_id, "--json").out)
    assert (told["status"], told["waiting"]) == ("cancelled", _TO_INDEXING)
    for text in (listed, shown):
        assert "gave way" in text
        assert "continues by itself after the next run" in text
        assert "retry" not in text
    assert "cancelled" not in listed
    with site(tmp_path) as server, server.client() as client:
        assert client.get(f"/api/v1/jobs/{job_id}").json()["waiting"] == _TO_INDEXING
        one, every = (Page.of(client.get(each)) for each in (f"/jobs/{job_id}", "/jobs"))
        for page in (one, every):
            assert "gave way" in page.text
            assert "continues by itself after the next run" in page.text
            assert not page.all("form", action=f"/jobs/{job_id}/retry")
        until(
            lambda: (
                [
                    each["status"]
                    for each in client.get("/api/v1/jobs").json()["jobs"]
                    if each["kind"] == JobKind.HISTORY
                ]
                == ["completed", "cancelled"]
            )
        )


def test_an_agent_is_told_that_a_history_goes_on_by_itself(catalog: Catalog, git: GitTree) -> None:
    job_id = _give_way(catalog, git.root)

    async def body(client: Client) -> None:
        assert (await called(client, "get_indexing_status", job_id=job_id))["waiting"]
        text = await text_of(client, "get_indexing_status", job_id=job_id)
        assert text == f"job {job_id} {_TO_INDEXING}"
        listed = await text_of(client, "list_indexing_jobs")
        assert f"{job_id} gave way " in listed

    ask(catalog, body)


def test_what_somebody_cancels_is_cancelled(catalog: Catalog, git: GitTree) -> None:
    catalog.create(str(git.root)).index()
    job_id = catalog.jobs.submit_history(str(git.root)).job_id
    job = catalog.jobs.cancel(job_id, reason="requested on the web page")
    assert (job.status, job.waiting) == (JobState.CANCELLED, None)


@pytest.fixture
def without_runner(catalog: Catalog) -> Iterator[None]:
    """Jobs stay pending."""
    lock = take_lock(runner_lock_file(catalog.data_dir))
    assert lock
    with lock:
        yield


@pytest.mark.usefixtures("without_runner")
def test_every_job_in_the_way_of_a_request_gives_way(
    catalog: Catalog, git: GitTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of a watcher that ends just then, after which the history is read."""
    root = catalog.create(str(git.root)).root
    ids = [catalog.jobs.submit(root, origin=JobOrigin.WATCH).job_id]
    cancel = catalog.jobs.cancel

    def cancel_late(job_id: str, **why: Any) -> Job:
        job = cancel(job_id, **why)
        if job_id == ids[0]:
            ids.append(catalog.jobs.submit_history(root, origin=JobOrigin.WATCH).job_id)
        return job

    monkeypatch.setattr(catalog.jobs, "cancel", cancel_late)
    submitted = catalog.jobs.submit(root)
    assert submitted.status is JobState.PENDING
    assert len(ids) == 2
    for job_id in ids:
        assert str(catalog.jobs.show(job_id).waiting).startswith("gave way to")


@pytest.mark.usefixtures("without_runner")
def test_a_job_of_another_user_that_comes_first_is_not_waited_for(
    catalog: Catalog, git: GitTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = catalog.create(str(git.root)).root
    catalog.jobs.submit_history(root)
    cancel, enqueue = catalog.jobs.cancel, Ledger.enqueue
    others: list[str] = []
    tries: list[object] = []

    def cancel_late(job_id: str, **why: Any) -> Job:
        job = cancel(job_id, **why)
        others.append(catalog.jobs.submit(root, IndexOptions(force=True)).job_id)
        tries.clear()
        return job

    def enqueue_counted(ledger: Ledger, *what: Any, **more: Any) -> Enqueued:
        tries.append(what)
        return enqueue(ledger, *what, **more)

    monkeypatch.setattr(catalog.jobs, "cancel", cancel_late)
    monkeypatch.setattr(Ledger, "enqueue", enqueue_counted)
    with pytest.raises(JobConflictError) as told:
        catalog.jobs.submit(root)
    assert [told.value.details["job_id"]] == others
    assert len(tries) == 1


@pytest.mark.parametrize("makes_way", [MakesWay.REQUEST, MakesWay.CHANGES])
def test_a_watcher_whose_run_gave_way_goes_on(
    catalog: Catalog, tree: Path, makes_way: MakesWay
) -> None:
    write_tree(tree, SAMPLE)
    root = catalog.create(str(tree)).root
    runs = _JobSubmitter(catalog.jobs, root, lambda _job: None, is_asked=True)
    whole = catalog.jobs.submit(root, origin=JobOrigin.WATCH).job_id
    job = catalog.jobs.cancel(whole, makes_way=makes_way)
    assert job.waiting
    assert "gave way to " in job.waiting
    one = catalog.jobs.submit(root, IndexOptions(only=("app/session.py",)))
    catalog.jobs.run_here()
    wait_for(catalog, one.job_id, JobState.COMPLETED)
    assert runs(None, lambda: False)
    assert catalog.open(root).status().coverage.complete
