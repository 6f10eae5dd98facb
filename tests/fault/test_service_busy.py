"""Whoever searches while a job fills another project, or the same one anew, is answered in full."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.command import Command
from tests.support.pages import UNHURRIED, index_folder
from tests.support.server import ask_until, serving
from tests.support.trees import SAMPLE, write_tree

_MODES = ("hybrid", "keyword", "symbol", "regex", "meaning")
_QUESTIONS = 12
_TRIES = 20  # a machine that stands still may miss all of a job


def _module(number: int) -> str:
    return "".join(
        f"def step_{number}_{each}(value):\n    return value + {each}\n\n\n" for each in range(30)
    )


#: They take some seconds to index.
_FILES: dict[str, str | bytes] = {f"p{n % 9}/m{n}.py": _module(n) for n in range(400)}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a server with one small project."""
    sample = write_tree(tmp_path / "sample", SAMPLE)
    settings = {"CAIRN_WORKERS": "1", **UNHURRIED}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=settings)
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, sample)
        yield client
    assert not (command.home / "logs" / "cairn.log").exists()


def test_searches_are_answered_while_a_job_runs(client: httpx.Client, tmp_path: Path) -> None:
    asked = {"query": "open_session", "projects": [str(tmp_path / "sample")]}
    before = {mode: _hits(client, {**asked, "mode": mode}) for mode in _MODES}
    assert all(before.values())

    def ask() -> None:
        for mode in _MODES:
            assert _hits(client, {**asked, "mode": mode}) == before[mode]
        assert client.get("/health").status_code == 200

    for number in range(_TRIES):
        busy = write_tree(tmp_path / f"busy{number}", _FILES)
        seen = _ask_while_indexing(client, busy, ask)
        if len(set(seen)) > 1:  # the job went on meanwhile
            break
    else:
        pytest.fail("no job was seen to go on")

    def ask_its_readers() -> None:
        ask()
        assert _hits(client, {"query": "step_1_1", "projects": [str(busy)]})

    for _ in range(_TRIES):
        again = _ask_while_indexing(client, busy, ask_its_readers, force=True)
        if len(set(again)) > 1:
            break
    else:
        pytest.fail("no job that reads a project again was seen to go on")
    print(f"{len(seen + again) * len(_MODES)} questions while {seen[0]} to {again[-1]} were done")


def _ask_while_indexing(
    client: httpx.Client, tree: Path, ask: Callable[[], None], *, force: bool = False
) -> list[int]:
    """Index a folder and ask meanwhile; how many files were done after each time."""
    body = {"path": str(tree), "wait": False, "force": force}
    job_id = client.post("/api/v1/projects", json=body).json()["job_id"]
    seen: list[int] = []
    while len(seen) < _QUESTIONS or len(set(seen)) == 1:
        ask()
        job = client.get(f"/api/v1/jobs/{job_id}").json()
        if job["status"] not in ("pending", "running"):
            break
        seen.append(job["files_done"])
    assert ask_until(client, f"/api/v1/jobs/{job_id}", status="completed")["error"] is None
    return seen


def _hits(client: httpx.Client, body: dict[str, object]) -> list[tuple[str, int]]:
    answer = client.post("/api/v1/search", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert not told.get("errors"), told
    return [(hit["path"], hit["line_start"]) for hit in told["hits"]]
