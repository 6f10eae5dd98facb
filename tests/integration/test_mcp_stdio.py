"""``cairn mcp`` as a process: what it says and when, how it ends, and what outlives it."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp.client.client import Client

from engine.state_records import TERMINAL, JobState
from tests.support.command import ROOT
from tests.support.jobs import catalog_in, until
from tests.support.mcp_calls import HANGS, projects_in, use_everything
from tests.support.mcp_clients import (
    RawStdio,
    called,
    environment,
    raw_stdio,
    refused,
    stdio_parameters,
)
from tests.support.trees import write_tree


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data directory."""
    return tmp_path / "home"


@pytest.fixture
def tree(tree: Path) -> Path:
    """A small project."""
    (tree / "app.py").write_text("def parse_config(text):\n    return text\n")
    return tree


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_uses_everything(home: Path, tmp_path: Path, mode: str) -> None:
    project, slow = projects_in(tmp_path)

    async def conversation() -> None:
        server = stdio_parameters(home, Path(project), **HANGS)
        async with Client(server, mode=mode) as client:
            await use_everything(client, project, slow)
            report = await called(client, "index_repository", path=".")
            assert (report["path"], report["status"]) == (project, "completed")

    asyncio.run(conversation())


def test_a_relative_path_makes_no_second_index_of_a_folder(home: Path, tree: Path) -> None:
    inside = tree / "lib"
    inside.mkdir()
    (inside / "fetch.py").write_text("def get():\n    pass\n")
    write_tree(tree, {".gitignore": "ignored/\n", "ignored/a.py": "a = 1\n"})

    async def at_root() -> None:
        async with Client(stdio_parameters(home, tree)) as client:
            await called(client, "index_repository", path=".")
            around = await called(client, "index_repository", path="lib")
            assert around["path"] == str(tree)
            assert f"lib lies in {tree}, whose index was updated" in str(around)
            error = await refused(client, "index_repository", path="lib", include_patterns=["*"])
            assert error["message"] == f"lib lies in {tree}, which is indexed already"
            for tool, field in (
                ("index_symbol_graph", "repository_path"),
                ("start_indexing_background", "repo_path"),
            ):
                error = await refused(client, tool, **{field: "lib"})
                assert error["message"] == f"lib lies in {tree}, which is indexed already"
                assert f'{field} "{tree}"' in error["details"]["hint"]
                assert f'with "{inside}"' in error["details"]["hint"]
            listed = await called(client, "list_projects")
            assert [each["path"] for each in listed["projects"]] == [str(tree)]
            ignored = await called(client, "index_repository", path="ignored")
            assert ignored["path"] == str(tree / "ignored")
            apart = await called(client, "index_repository", path=str(inside))
            assert apart["path"] == str(inside)

    async def within() -> None:
        async with Client(stdio_parameters(home, inside)) as client:
            again = await called(client, "index_repository", path=".")
            assert again["path"] == str(inside)

    asyncio.run(at_root())
    asyncio.run(within())


def test_the_handshake_waits_for_nothing_heavy(home: Path, tree: Path) -> None:
    code = (
        "import sys, web.mcp.stdio;"
        "print(*[m for m in ('numpy', 'fastembed', 'onnxruntime', 'litestar')"
        " if m in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment(home),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "\n"
    with raw_stdio(home, tree) as server:
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert len(server.receive()["result"]["tools"]) >= 9
        assert not home.exists() or not list(home.glob("*.db"))


def test_it_ends_with_its_input_and_says_nothing_else(home: Path, tree: Path) -> None:
    server = RawStdio(home, tree)
    answer = server.shake_hands()
    assert answer["result"]["serverInfo"]["name"] == "codecairn"
    assert len(answer["result"]["instructions"]) < 500
    assert server.close() == (0, b"")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)], ids=["interrupt", "terminate"]
)
def test_a_signal_ends_it_without_a_traceback(
    home: Path, tree: Path, number: int, code: int
) -> None:
    server = RawStdio(home, tree)
    server.shake_hands()
    os.kill(server.process.pid, number)
    assert server.ended() == (code, b"")


def test_large_messages_pass(home: Path, tree: Path) -> None:
    with raw_stdio(home, tree) as server:
        arguments = {"query": "x" * 6_000_000}
        params = {"name": "search_code", "arguments": arguments}
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        assert server.receive()["result"]["isError"] is True
        server.send(b"x" * 40_000_000)
        assert server.receive()["error"]["code"] == -32600
        server.send({"jsonrpc": "2.0", "id": 3, "method": "ping"})
        assert server.receive() == {"jsonrpc": "2.0", "id": 3, "result": {}}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None], ids=str)
def test_a_job_outlives_the_client_and_the_server(
    home: Path, tree: Path, number: int | None
) -> None:
    for part in range(1500):
        (tree / f"part{part}.py").write_text(f"def part_{part}(text):\n    return text\n" * 8)
    server = RawStdio(home, tree)
    server.shake_hands()
    params = {"name": "index_repository", "arguments": {"path": str(tree)}}
    server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    with catalog_in(home) as catalog:

        def has_begun() -> bool:
            jobs = catalog.jobs.list().jobs if home.exists() else ()
            return any(job.started_at for job in jobs)

        until(has_begun)
        if number is None:
            server.close()
        else:
            os.kill(server.process.pid, number)
            server.ended()
        [job] = catalog.jobs.list().jobs
        until(lambda: catalog.jobs.show(job.job_id).status in TERMINAL, within_s=60)
        ended = catalog.jobs.show(job.job_id)
        assert (ended.status, ended.files_done) == (JobState.COMPLETED, 1501)
        assert ended.attempt == 1


@pytest.mark.slow
def test_a_cancelled_request_lets_the_job_go_on(home: Path, tree: Path) -> None:
    for part in range(1500):
        (tree / f"part{part}.py").write_text(f"def part_{part}(text):\n    return text\n" * 8)
    with raw_stdio(home, tree) as server, catalog_in(home) as catalog:
        params = {"name": "index_repository", "arguments": {"path": str(tree)}}
        server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        until(lambda: home.exists() and bool(catalog.jobs.list().jobs))
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        server.send(cancel)
        server.send({"jsonrpc": "2.0", "id": 3, "method": "ping"})
        while server.receive()["id"] != 3:
            pass
        [job] = catalog.jobs.list().jobs
        until(lambda: catalog.jobs.show(job.job_id).status in TERMINAL, within_s=60)
        assert catalog.jobs.show(job.job_id).status is JobState.COMPLETED


@pytest.mark.slow
def test_what_was_left_goes_on_when_an_agent_starts(home: Path, tree: Path) -> None:
    with catalog_in(home) as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id  # and nobody runs it
    with raw_stdio(home, tree), catalog_in(home) as catalog:
        until(lambda: catalog.jobs.show(job_id).status is JobState.COMPLETED, within_s=20)
