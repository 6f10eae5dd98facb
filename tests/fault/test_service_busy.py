"""Whoever searches while a job fills another project, or the same one anew, is answered in full."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.command import Command
from tests.support.pages import index_folder
from tests.support.server import ask_until, serving
from tests.support.trees import SAMPLE, write_tree

_FILES = 400
_MODES = ("hybrid", "keyword", "symbol", "regex", "meaning")
_QUESTIONS = 12


def _module(number: int) -> str:
    return "".join(
        f"def step_{number}_{each}(value):\n    return value + {each}\n\n\n" for each in range(30)
    )


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """A folder that takes some seconds to index."""
    return write_tree(tmp_path / "busy", {f"p{n % 9}/m{n}.py": _module(n) for n in range(_FILES)})


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a server with one small project."""
    sample = write_tree(tmp_path / "sample", SAMPLE)
    command = Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, sample)
        yield client
    assert not (command.home / "logs" / "cairn.log").exists()


def test_searches_are_answered_while_a_job_runs(
    client: httpx.Client, tmp_path: Path, busy: Path
) -> None:
    sample = str(tmp_path / "sample")
    asked = {"query": "open_session", "projects": [sample]}
    before = {mode: _hits(client, {**asked, "mode": mode}) for mode in _MODES}
    assert all(before.values())
    seen: list[int] = []
    for force in (False, True):  # a new project, then one that is read again under its readers
        body = {"path": str(busy), "wait": False, "force": force}
        job_id = client.post("/api/v1/projects", json=body).json()["job_id"]
        job = ask_until(client, f"/api/v1/jobs/{job_id}", status="running")
        is_seen_going_on = False
        while job["status"] == "running" and not (
            is_seen_going_on and len(seen) >= _QUESTIONS * (1 + force)
        ):
            for mode in _MODES:
                assert _hits(client, {**asked, "mode": mode}) == before[mode]
            if force:
                assert _hits(client, {"query": "step_1_1", "projects": [str(busy)]})
            assert client.get("/health").status_code == 200
            job = client.get(f"/api/v1/jobs/{job_id}").json()
            seen.append(job["files_done"])
            is_seen_going_on = len(set(seen)) > 1
        assert ask_until(client, f"/api/v1/jobs/{job_id}", status="completed")["error"] is None
    print(f"{len(seen) * len(_MODES)} questions while {seen[0]} to {seen[-1]} files were done")
    assert len(seen) > 4
    assert len(set(seen)) > 1  # the job went on meanwhile


def _hits(client: httpx.Client, body: dict[str, object]) -> list[tuple[str, int]]:
    answer = client.post("/api/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert not told.get("errors"), told
    return [(hit["path"], hit["line_start"]) for hit in told["hits"]]
