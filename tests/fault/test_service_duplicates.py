"""One job for all who ask for the same at once, over HTTP and MCP, from several processes."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.agents import Question, Told, asking
from tests.support.command import Command
from tests.support.line_servers import LineServer
from tests.support.server import Server, ask_until, serving
from tests.support.trees import write_tree

_FAILURE = 500


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    command = Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})
    with serving(command, "--no-watch") as server:
        yield server


def _questions(tree: Path, number: int) -> list[Question]:
    """Give every way to ask for a folder to be indexed, in turn."""
    path = str(tree)
    ways: list[Question] = [
        ("POST", "/api/v1/projects", {"path": path, "wait": False}),
        ("mcp", "start_indexing_background", {"repo_path": path}),
        ("POST", "/api/v1/projects", {"path": f"{path}/"}),
        ("mcp", "index_repository", {"path": path}),
    ]
    return [ways[each % len(ways)] for each in range(number)]


def _ask_at_once(askers: list[LineServer], tree: Path, number: int) -> list[Told]:
    for asker in askers:
        asker.tell(_questions(tree, number // len(askers)), min(50, number // len(askers)))
    return [(status, body) for asker in askers for status, body in asker.told()]


def _check_one_job_at_a_time(server: Server, tree: Path, told: list[Told]) -> int:
    """Fail unless each got the job that was active, or the next after it; how many there were."""
    for status, answer in told:
        assert status < _FAILURE, answer
        assert status in (0, 200, 202), answer
        assert not answer.get("isError"), answer
    with server.client() as client:
        listed = client.get("/api/v1/jobs", params={"target": str(tree), "limit": 1000}).json()
        jobs = listed["jobs"][::-1]
        ask_until(client, f"/api/v1/jobs/{jobs[-1]['job_id']}", status="completed")
    assert {answer["job_id"] for _, answer in told} <= {job["job_id"] for job in jobs}
    assert all(job["status"] == "completed" for job in jobs[:-1])
    for before, after in pairwise(jobs):
        assert before["finished_at"] <= after["created_at"]
    return len(jobs)


def _ask_in_rounds(
    server: Server, tmp_path: Path, processes: int, number: int, rounds: int, files: int
) -> str:
    """Ask for a tree of so many files that its job outlasts the asking, then for a small one."""
    small = write_tree(tmp_path / "small", {"a.py": "def small_thing(): pass\n"})
    with asking(processes, server.url) as askers:
        for times in (1, 10, 50):  # on a busy machine a job may end before all have asked
            large = write_tree(
                tmp_path / f"large{times}",
                {f"a{n}.py": f"def f{n}(): return {n}\n" * 30 for n in range(files * times)},
            )
            told = _ask_at_once(askers, large, number)
            # Who joined a job that had begun, and waits for it, shares the next one.
            if _check_one_job_at_a_time(server, large, told) <= 2:
                break
        else:
            pytest.fail("no job was shared by all who asked")
        # A small folder is done while others ask: some find a job, others are the first anew.
        ended = [
            _check_one_job_at_a_time(server, small, _ask_at_once(askers, small, number))
            for _ in range(rounds)
        ]
    return f"{number} requests: 1 job, or 2; {rounds} times {number} as jobs end: {ended[-1]} jobs"


def test_all_who_ask_at_once_share_a_job(server: Server, tmp_path: Path) -> None:
    print(_ask_in_rounds(server, tmp_path, processes=2, number=24, rounds=1, files=200))


@pytest.mark.soak
def test_two_hundred_who_ask_at_once_share_a_job(server: Server, tmp_path: Path) -> None:
    print(_ask_in_rounds(server, tmp_path, processes=4, number=200, rounds=10, files=20_000))
