"""Changes that a watcher cannot index for now: every face says so, and they go on by themselves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from mcp.client.client import Client

from engine.roots import project_id_of
from tests.support.command import Command
from tests.support.embedders import Fakes
from tests.support.holding import held
from tests.support.jobs import catalog_in, until
from tests.support.mcp_clients import ask, called
from tests.support.pages import Page
from tests.support.server import serving
from tests.support.trees import SMALL, write_tree

_SAVED = 30
_REASONS = {
    "database": "the index is locked by another process; indexing goes on by itself",
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
            for number in range(_SAVED):
                (tree / f"new_{number}.py").write_text(f"def new_{number}(): ...\n")
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
        assert watch["reason"].endswith("; indexing goes on by itself")
        health = client.get("/health").json()
        assert (health["status"], health["blocked_watchers"]) == ("degraded", 1)
        assert 'cairn_watchers{state="blocked"} 1' in client.get("/metrics").text
        status = command("status", str(tmp_path / "tree")).out
        assert f"blocked, 30 changes pending ({watch['reason']}), since {watch['since']}" in status
        told = json.loads(command("status", str(tmp_path / "tree"), "--json").out)["watch"]
        assert (told["state"], told["since"]) == ("blocked", watch["since"])
        checked = command("doctor", str(tmp_path / "tree"))
        assert (checked.code, "suggested fixes" in checked.out) == (0, False)
        assert f"Found 30 changes waiting since {watch['since']}: {watch['reason']}" in checked.out
        for address in ("/", "/status", f"/p/{project_id}"):
            page = Page.of(client.get(address))
            assert "blocked" in page.text.lower(), address
            assert "30 changes pending" in page.text, address
            assert "indexing goes on by itself" in page.text, address
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
            assert "Found 30 changes waiting since " in found["warnings"][0]

        ask(catalog, body)
