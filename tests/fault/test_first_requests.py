"""A server that has just begun gets all kinds of requests at once, each the first of its kind."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx

from tests.support.command import Command
from tests.support.server import serving
from tests.support.trees import SAMPLE, write_tree

_STARTS = 3
_EACH = 4  # times
_PATHS = (
    "/api/v1/search?query=session",
    "/api/v1/search?query=SessionStore&mode=symbol",
    "/api/v1/search?query=def&mode=regex",
    "/api/v1/symbols?name=open",
    "/api/v1/projects",
    "/api/v1/projects/{id}",
    "/api/v1/projects/{id}/files",
    "/api/v1/projects/{id}/memories",
    "/api/v1/jobs",
    "/health",
    "/search?q=session",
    "/p/{id}",
)


def test_no_first_request_ends_the_server(tmp_path: Path) -> None:
    command = Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})
    tree = write_tree(tmp_path / "tree", SAMPLE)
    project_id = command("index", str(tree), "--json").json()["project_id"]
    asked = [path.format(id=project_id) for path in _PATHS] * _EACH
    for _ in range(_STARTS):
        begin = threading.Barrier(len(asked))
        with serving(command, "--no-watch") as server, server.client() as client:
            with ThreadPoolExecutor(len(asked)) as threads:
                answers = threads.map(partial(_ask, client, begin), asked)
                assert {answer.status_code for answer in answers} == {200}
            assert server.process.poll() is None


def _ask(client: httpx.Client, begin: threading.Barrier, path: str) -> httpx.Response:
    begin.wait()
    return client.get(path)
