"""The API is what its description says: requests made of it, right ones and wrong ones.

Schemathesis asks in all its phases, the one that follows links from answer to request included, and
looks with all its checks but these:

* ``positive_data_acceptance``: a query, a cursor, a path or a kind is judged by its own grammar,
  which no JSON Schema tells. Instead a refusal of what the schema allows has to name its field.
* ``ignored_auth`` and ``object_level_authorization`` find nothing to do: there is one user, and the
  token is no part of the description.
* ``ensure_resource_availability`` for changes of a context: they answer 404 for a project in the
  body that is not known, too.

``/api/v1/events`` has no end and is left out.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from engine.locks import indexing_lock
from engine.roots import project_id_of
from tests.support.command import ROOT, Command
from tests.support.git_history import GitTree
from tests.support.jobs import until
from tests.support.pages import PATIENT, index_job
from tests.support.patience import patience
from tests.support.server import Server, serving
from tests.support.trees import SAMPLE, write_tree

_TREES = 4  # as many as the hooks tell apart
_OPERATIONS = 20
_STORIES = 20  # that follow links, at the least
_SEED = "20251122"
#: A body or a query that is too long is refused by another name than 400.
_SETTINGS = """
request-timeout = %(run_s)f
[generation]
max-examples = %(examples)d
[phases.stateful.generation]
max-examples = %(stories)d
[checks]
max_response_time = %(answer_s)f
[checks.positive_data_acceptance]
enabled = false
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 421, 431]
[[operations]]
include-operation-id = "indexProject"
checks.max_response_time = %(run_s)f
[[operations]]
include-operation-id = "changeContext"
checks.ensure_resource_availability.enabled = false
"""


def _ask_all(folder: Path, examples: int, limit_s: float) -> str:
    """Let Schemathesis ask a server; what it printed."""
    trees = [folder / "trees" / f"t{number}" for number in range(_TREES)]
    for tree in trees:
        write_tree(tree, SAMPLE)
    commit = GitTree(trees[0], folder).commit("Begin")
    settings = _SETTINGS % {
        "examples": examples,
        "stories": max(examples, _STORIES),
        "answer_s": patience(2),
        "run_s": patience(30),
    }
    (folder / "schemathesis.toml").write_text(settings)
    command = Command(
        home=folder / "home", folder=folder, variables={"CAIRN_WORKERS": "1", **PATIENT}
    )
    with serving(command, "--no-watch") as server, server.client() as client:
        jobs = " ".join(index_job(client, tree)["job_id"] for tree in trees)
        client.get("/api/v1/search", params={"query": "session"})  # what is kept is made
        known = {"CAIRN_TREES": str(folder / "trees"), "CAIRN_JOBS": jobs, "CAIRN_COMMIT": commit}
        with _waiting_jobs(client, folder / "others", command.home) as (waiting, cancelled):
            known |= {"CAIRN_WAITING": waiting, "CAIRN_CANCELLED": cancelled}
            told = _schemathesis(server, folder, known, limit_s)
        assert client.get("/health").status_code == 200
    assert not (command.home / "logs" / "cairn.log").exists()
    return told


@contextmanager
def _waiting_jobs(client: httpx.Client, folder: Path, data_dir: Path) -> Iterator[list[str]]:
    """Yield the ids of a job that waits for another process, and of one that was cancelled so."""
    with ExitStack() as held:
        ids = []
        for name in ("waiting", "cancelled"):
            tree = write_tree(folder / name, SAMPLE)
            index_job(client, tree)
            held.enter_context(indexing_lock(data_dir / f"{project_id_of(str(tree))}.db"))
            body = {"path": str(tree), "wait": False}
            ids.append(client.post("/api/v1/projects", json=body).json()["job_id"])
        job = f"/api/v1/jobs/{ids[1]}"
        until(lambda: client.get(job).json()["status"] == "blocked")
        client.post(f"{job}/cancel")
        until(lambda: client.get(job).json()["status"] == "cancelled")
        yield ids


def _schemathesis(server: Server, folder: Path, known: dict[str, str], limit_s: float) -> str:
    ended = subprocess.run(
        [
            str(Path(sys.executable).parent / "st"), "--no-color",
            "--config-file", str(folder / "schemathesis.toml"),
            "run", f"{server.url}/openapi.json", "--exclude-path", "/api/v1/events",
            "--seed", _SEED,
            "--generation-database", "none", "--continue-on-failure",
            "--suppress-health-check", "filter_too_much",  # an operation with few wrong requests
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.support.schema_hooks",
            **known,
        },
        capture_output=True,
        check=False,
        text=True,
        timeout=patience(limit_s),
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr
    return ended.stdout


def _check_counts(told: str, least: int) -> None:
    """Fail unless it asked as much as was wanted, also along links."""
    tested = re.search(r"Tested: (\d+)", told)
    generated = re.search(r"(\d+) generated", told)
    links = re.search(r"API Links: +(\d+) covered", told)
    assert tested, told
    assert generated, told
    assert links, told
    print(f"{tested[1]} operations, {generated[1]} requests, {links[1]} links followed: 0 failures")
    assert int(tested[1]) >= _OPERATIONS
    assert int(generated[1]) >= least
    assert int(links[1]) > 0


def test_each_operation_is_what_is_described(tmp_path: Path) -> None:
    _check_counts(_ask_all(tmp_path, examples=3, limit_s=120), least=200)


@pytest.mark.soak
@pytest.mark.parametrize("examples", [100, 1000])
def test_each_operation_is_what_is_described_many_times(tmp_path: Path, examples: int) -> None:
    _check_counts(_ask_all(tmp_path, examples=examples, limit_s=3600), least=10 * examples)
