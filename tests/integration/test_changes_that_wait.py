"""Changes that a watcher cannot index for now: every face says so, and what comes next."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client

from engine.cancellation import CancelToken
from engine.catalog import Catalog
from engine.config import Config
from engine.index_records import IndexOptions
from engine.roots import project_id_of
from engine.state_records import JobState, ProjectView, WatchState, WatchStatus
from engine.watch.watcher import Watcher
from tests.support.command import Command
from tests.support.damage import break_file
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.holding import held
from tests.support.job_records import job
from tests.support.jobs import catalog_in, until
from tests.support.mcp_clients import ask, called
from tests.support.pages import Page
from tests.support.server import serving
from tests.support.trees import SMALL, write_tree
from tests.support.watching import watching
from web.cli.watch import status_text
from web.pages.home import Card
from web.pages.rendering import PageRequest, Pages

_SAVED = 30
_REASONS = {
    "database": "the index is locked by another process; indexing continues by itself",
    "project": "project busy: the project is being indexed by process",
}


@contextmanager
def _waiting(kind: str, folder: Path) -> Iterator[tuple[Command, httpx.Client, str]]:
    """Serve and watch a project with changes that wait while the block runs; then let them go."""
    tree = write_tree(folder / "tree", SMALL)
    command = Command(
        home=folder / "data",
        folder=folder,
        variables={"CAIRN_BUSY_TIMEOUT": "200", "CAIRN_WORKERS": "1", "CAIRN_MODEL": "none"},
    )
    assert command("index", str(tree)).code == 0
    project_id = project_id_of(str(tree))
    file = command.home / f"{project_id}.db"
    lock = command.home / "locks" / f"{project_id}.lock"
    with serving(command) as server, server.client() as client:

        def watch() -> dict[str, object]:
            found = client.get(f"/api/v1/projects/{project_id}").json()["watch"] or {}
            return dict(found)

        until(lambda: watch().get("last_reconcile_at") is not None)
        with held(kind, file if kind == "database" else lock):
            (tree / "made").mkdir()
            for number in range(_SAVED):
                folder = tree / "made" if number % 2 else tree
                (folder / f"new_{number}.py").write_text(f"def new_{number}(): ...\n")
            until(lambda: (watch()["state"], watch()["pending"]) == ("blocked", _SAVED))
            yield command, client, project_id
        until(lambda: (watch()["state"], watch()["pending"]) == ("watching", 0), within_s=90)
        assert watch()["reason"] == ""
        assert client.get(f"/api/v1/projects/{project_id}").json()["files"] == len(SMALL) + _SAVED
        assert client.get("/health").json()["blocked_watchers"] == 0


@pytest.mark.parametrize("kind", _REASONS)
def test_every_face_says_that_changes_wait(kind: str, tmp_path: Path) -> None:
    reason = _REASONS[kind]
    with _waiting(kind, tmp_path) as (command, client, project_id):
        watch = client.get(f"/api/v1/projects/{project_id}").json()["watch"]
        assert reason in watch["reason"]
        assert watch["reason"].endswith("; indexing continues by itself")
        health = client.get("/health").json()
        assert (health["status"], health["blocked_watchers"]) == ("degraded", 1)
        assert 'cairn_watchers{state="blocked"} 1' in client.get("/metrics").text
        status = command("status", str(tmp_path / "tree")).out
        file = str(command.home / f"{project_id}.db") if kind == "database" else ""
        assert watch["file"] == file
        named = f", file {file}" if file else ""
        reason = f"({watch['reason']}){named}, since {watch['since']}"
        assert f"blocked, 30 changes pending {reason}" in status
        told = json.loads(command("status", str(tmp_path / "tree"), "--json").out)["watch"]
        assert (told["state"], told["since"]) == ("blocked", watch["since"])
        checked = command("doctor", str(tmp_path / "tree"))
        assert (checked.code, "suggested fixes" in checked.out) == (0, False)
        assert f"Found 30 changes pending since {watch['since']}: {watch['reason']}" in checked.out
        for address in ("/", "/status", f"/p/{project_id}"):
            page = Page.of(client.get(address))
            assert "blocked" in page.text.lower(), address
            assert "30 changes pending" in page.text, address
            assert "indexing continues by itself" in page.text, address
            assert "Up to date" not in page.text
            assert "healthy" not in page.text
            assert address.startswith("/p/") or f"{project_id}.db" not in page.text
            assert not page.all("span", class_="dot good")


def test_an_agent_that_checks_an_index_is_told_that_changes_wait(tmp_path: Path) -> None:
    with (
        _waiting("database", tmp_path) as (command, _, _),
        catalog_in(command.home, opens=Fakes(), model="none") as catalog,
    ):

        async def body(client: Client) -> None:
            found = await called(client, "verify_index", project_path=str(tmp_path / "tree"))
            assert found["ok"]
            assert found["suggested_fixes"] == []
            assert "Found 30 changes pending since " in found["warnings"][0]

        ask(catalog, body)


def test_an_index_that_does_not_mend_itself_tells_what_to_do(
    catalog: Catalog, tree: Path, config: Config
) -> None:
    index = catalog.create(str(write_tree(tree, SMALL)))
    with watching(index, config) as seen:
        file = config.data_dir / f"{index.project_id}.db"
        break_file(file)
        (tree / "new.py").write_text("def new(): ...\n")
        status = seen.await_state(WatchState.BLOCKED)
    assert status.reason.startswith("the index is damaged: ")
    assert "; cairn doctor PATH --repair, where PATH is" in status.reason
    assert status.reason.endswith("; retrying")
    assert "by itself" not in status.reason
    assert status_text(status).endswith(f"retrying), file {file}")
    assert not any("by itself" in each.reason for each in seen.told)


def test_who_waits_for_vectors_alone_is_not_blocked(tree: Path, tmp_path: Path) -> None:
    write_tree(tree, SMALL)
    model = FakeEmbedder("a")
    told: list[WatchStatus] = []
    with catalog_in(tmp_path / "data", opens=Fakes(model), model="fake:a") as catalog:
        index = catalog.create(str(tree))
        index.index()
        watcher = catalog.watch(str(tree), on_status=told.append)
        try:
            until(lambda: watcher.status.last_reconcile_at is not None)
            model.fail_after = model.requests
            for number in range(3):
                (tree / f"new_{number}.py").write_text(f"def new_{number}(): ...\n")
                until(lambda: index.status().files == len(SMALL) + number + 1)  # noqa: B023
                until(lambda: catalog.jobs.list().jobs[0].status is JobState.BLOCKED)
                until(lambda: watcher.status.pending == 0)
        finally:
            watcher.stop()
    assert [each for each in told if each.state is WatchState.BLOCKED] == []


def test_what_is_saved_while_the_watchers_job_is_blocked_is_pending(
    catalog: Catalog, tree: Path, config: Config
) -> None:
    index = catalog.create(str(write_tree(tree, SMALL)))
    goes_on = threading.Event()
    indexed: list[tuple[str, ...] | None] = []

    def run(only: tuple[str, ...] | None, cancelled: CancelToken) -> bool:
        """Stand for a job that waits for room on the disk, once there is a second file."""
        if only is not None and not goes_on.is_set():
            watcher.hear(job(JobState.BLOCKED, waiting="the disk is full"))
            until(lambda: cancelled() or goes_on.is_set())
            watcher.hear(job(JobState.RUNNING))
        indexed.append(only)
        index.index(IndexOptions(only=only or ()))
        return True

    watcher = Watcher(index.for_watcher(), run, config)
    watcher.start()
    try:
        until(lambda: watcher.status.last_reconcile_at is not None)
        (tree / "first.py").write_text("first = 1\n")
        until(lambda: watcher.status.state is WatchState.BLOCKED)
        assert watcher.status.pending == 1
        before = watcher.status.last_event_at
        for number in range(3):
            (tree / f"later_{number}.py").write_text("later = 1\n")
        until(lambda: watcher.status.pending == 4)
        assert watcher.status.state is WatchState.BLOCKED
        until(lambda: watcher.status.last_event_at != before)
        goes_on.set()
        until(lambda: watcher.status.pending == 0 and index.status().files == len(SMALL) + 4)
        assert indexed[:2] == [None, ("first.py",)]
    finally:
        goes_on.set()
        watcher.stop()


def test_a_watcher_that_ends_by_an_error_has_nothing_pending(
    catalog: Catalog, tree: Path, config: Config
) -> None:
    index = catalog.create(str(write_tree(tree, SMALL)))
    index.index()
    (tree / "new.py").write_text("def new(): ...\n")
    told: list[WatchStatus] = []

    def fail(_only: tuple[str, ...] | None, _cancelled: CancelToken) -> bool:
        raise RuntimeError("nobody foresaw this")

    watcher = Watcher(index.for_watcher(), fail, config, on_change=told.append)
    with pytest.raises(RuntimeError, match="nobody foresaw this"):
        watcher.run()
    assert told[-1].reason == "internal error: RuntimeError: nobody foresaw this"
    assert (told[-1].state, told[-1].pending) == (WatchState.STOPPED, 0)


@pytest.mark.parametrize(
    ("state", "said"),
    [(JobState.FAILED, ": it is locked"), (JobState.BLOCKED, "; indexing continues by itself")],
)
def test_a_card_says_why_unless_a_blocked_job_does(
    catalog: Catalog, tree: Path, state: JobState, said: str
) -> None:
    index = catalog.create(str(write_tree(tree, SMALL)))
    index.index()
    watch = WatchStatus(state=WatchState.BLOCKED, reason="it is locked", pending=30)
    latest = job(state, error={"message": "it failed"} if state is JobState.FAILED else None)
    status = replace(index.status(), jobs=(latest,), watch=watch)
    card = Card(view=ProjectView(summary=index.summary(), status=status), bars=())
    request = PageRequest(theme="", here="/", is_fragment=True)
    facts = {"card": card}
    html = Pages().html("parts/project_card.html", request, facts).decode()
    text = Page(html).text
    assert f"30 changes pending{said}" in text
