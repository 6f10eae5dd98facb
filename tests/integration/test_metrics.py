"""``/metrics`` of a real server: exact numbers, few labels, and nothing that was asked or found."""

import asyncio
import re
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from httpx2 import AsyncClient
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from engine.state_records import JobState
from tests.support.canaries import TOKENS, drawing
from tests.support.command import Command
from tests.support.jobs import catalog_in, until, wait_for
from tests.support.killing import runner_of
from tests.support.logs import logged
from tests.support.mcp_clients import called
from tests.support.metrics import Numbers
from tests.support.pages import index_folder, index_job
from tests.support.patience import ANSWER_S
from tests.support.server import Server, ask_until, serving
from tests.support.trees import SAMPLE, write_tree

pytestmark = pytest.mark.slow

Said = TypeVar("Said")

TOKEN = "a-token-of-some-length"
REQUESTS = "cairn_http_request_duration_seconds_count"
TOOLS = "cairn_mcp_tool_duration_seconds_count"
SEARCHES = "cairn_search_duration_seconds_count"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that wants its token, and traces."""
    folder = tmp_path_factory.mktemp("guarded")
    variables = {"CAIRN_WORKERS": "1", "CAIRN_TOKEN": TOKEN, "OTEL_TRACES_EXPORTER": "console"}
    with serving(Command(home=folder / "home", folder=folder, variables=variables)) as server:
        yield server


def numbers_of(client: httpx.Client) -> Numbers:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Numbers(answer.text)


def test_the_numbers_are_those_of_what_was_asked(command: Command, tree: Path) -> None:
    write_tree(tree, {**SAMPLE, ".env": "A=b\n"})
    with serving(command, "--no-watch") as server, server.client() as client:
        report = index_job(client, tree)["result"]
        for query in ("session", "open", "case:maybe"):
            client.get("/api/v1/search", params={"query": query})
        client.get("/api/v1/search", params={"query": "session", "mode": "keyword"})
        client.get("/api/v1/symbols", params={"name": "SessionStore"})
        asyncio.run(_as_an_agent(server, tree))
        first = numbers_of(client)
        assert first.of(SEARCHES, mode="hybrid", face="http") == 2
        assert first.of(SEARCHES, mode="keyword", face="http") == 1
        assert first.of(SEARCHES, mode="symbols", face="http") == 1
        assert first.of(SEARCHES, mode="hybrid", face="mcp") == 1
        assert first.of(SEARCHES) == 5
        assert first.of("cairn_search_errors_total", code="validation_error", face="http") == 1
        assert first.of("cairn_search_errors_total", code="validation_error", face="mcp") == 1
        assert first.of("cairn_search_errors_total", code="not_found", face="mcp") == 1
        assert first.of(TOOLS, tool="search_code", outcome="ok") == 1
        assert first.of(TOOLS, tool="search_code", outcome="validation_error") == 1
        assert first.of(TOOLS, tool="find_symbol", outcome="not_found") == 1
        assert first.of(TOOLS, tool="none", outcome="unknown_tool") == 1
        assert first.of(REQUESTS, route="/api/v1/search", method="GET", status="200") == 3
        assert first.of(REQUESTS, route="/api/v1/search", method="GET", status="400") == 1
        assert first.of(REQUESTS, route="/mcp", method="POST") >= 5
        assert first.of(REQUESTS, route="/metrics") == 0  # this one is not answered yet
        assert first.of("cairn_files_total", outcome="indexed") == report["files_indexed"] == 5
        assert first.of("cairn_files_total", outcome="skipped") == report["files_skipped"] == 1
        assert first.of("cairn_skipped_files", reason="secret_file") == 1
        assert first.of("cairn_chunks_total") == report["chunks"]
        assert first.of("cairn_embeddings_total") == report["embeddings_generated"]
        assert first.of("cairn_job_duration_seconds_count", state="completed") == 1
        assert first.of("cairn_jobs", state="completed") == first.of("cairn_jobs") == 1
        assert first.of("process_resident_memory_bytes") > 1 << 20

        before = first.growing()
        client.get("/nowhere")
        client.get("/api/v1/search", params={"query": "session"})
        after = numbers_of(client)
        assert all(after.growing()[each] >= value for each, value in before.items())
        assert after.of(REQUESTS, route="none", status="404") == 1
        assert after.of(REQUESTS, route="/metrics", status="200") == 1
        assert after.of(SEARCHES) == 6


async def _as_an_agent(server: Server, tree: Path) -> None:
    async with Client(f"{server.url}/mcp") as client:
        await called(client, "search_code", query="session", project_path=str(tree))
        for name, arguments in (
            ("search_code", {"query": "case:maybe", "project_path": str(tree)}),
            ("find_symbol", {"name": "x", "project_path": "/nowhere"}),
        ):
            assert (await client.call_tool(name, arguments)).is_error
        with pytest.raises(Exception, match="Unknown tool"):
            await client.call_tool("x" * 100, {})


def test_a_watcher_is_seen(command: Command, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with serving(command, str(tree)) as server, server.client() as client:
        until(lambda: numbers_of(client).of("cairn_watchers", state="watching") == 1)
        until(lambda: numbers_of(client).of("cairn_watch_reconciles_total", outcome="done") > 0)
        before = numbers_of(client)
        write_tree(tree, {"new.py": "def freshly_saved():\n    return 1\n"})
        until(lambda: numbers_of(client).of("cairn_indexed_files") == len(SAMPLE) + 1)
        after = numbers_of(client)
        events = "cairn_watch_events_total"
        assert after.of(events) > before.of(events)
        assert after.of("cairn_watched_folders") >= 2
        ended = {"origin": "watch", "state": "completed"}
        until(lambda: numbers_of(client).of("cairn_job_duration_seconds_count", **ended) >= 1)


def test_a_job_of_another_process_is_seen_there_and_in_health(command: Command, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with catalog_in(command.home) as catalog:
        job_id = catalog.jobs.submit(str(tree)).job_id
        with runner_of(command.home, CAIRN_FAULT="hang:job list stored") as runner:
            wait_for(catalog, job_id, JobState.RUNNING)
            with serving(command, "--no-watch") as server, server.client() as client:
                told, health = numbers_of(client), client.get("/health").json()
                age_s = told.of("cairn_oldest_running_job_age_seconds")
                assert told.of("cairn_jobs", state="running") == 1
                assert 0 < age_s <= health["oldest_running_age_seconds"]
                assert (health["status"], health["active_jobs"]) == ("ok", 1)
                assert (health["running_jobs"], health["blocked_jobs"]) == (1, 0)
                runner.send(signal.SIGKILL)
                ask_until(client, "/health", active_jobs=0, oldest_running_age_seconds=None)
                ended = "cairn_job_duration_seconds_count"
                until(lambda: numbers_of(client).of(ended) == 1)  # a locked project is left out
                told = numbers_of(client)
            runner.wait()
    assert told.of("cairn_oldest_running_job_age_seconds") == 0
    assert told.of("cairn_job_duration_seconds_count", state="completed") == 1
    assert told.of("cairn_files_total", outcome="indexed") == len(SAMPLE)


def test_they_are_for_those_who_may_ask(guarded: Server) -> None:
    assert httpx.get(f"{guarded.url}/metrics", timeout=ANSWER_S).status_code == 401
    wrong = {"Authorization": "Bearer another-token"}
    assert httpx.get(f"{guarded.url}/metrics", headers=wrong, timeout=ANSWER_S).status_code == 401
    with guarded.client() as client:
        assert client.get("/metrics", headers={"Host": "evil.example"}).status_code == 421
        assert client.get("/metrics", headers={"Origin": "http://evil.example"}).status_code == 403
        assert client.post("/metrics").status_code == 405
        assert numbers_of(client).of(REQUESTS, route="none", status="401") >= 2
        assert "/metrics" in client.get("/openapi.json").json()["paths"]


def _flood(server: Server, paths: int) -> None:
    """Ask for many paths, by methods that nobody knows too."""
    head = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port)) as wire, wire.makefile("rb") as told:
        for number in range(paths):
            method = f"M{number}" if number % 3 == 0 else "GET"
            place = ("x", "api/v1/projects", "mcp", "api/v1/jobs", "metrics")[number % 5]
            wire.sendall(f"{method} /{place}/{number}?q={number} HTTP/1.1\r\n".encode() + head)
            size = 0
            while line := told.readline().strip().lower():
                size = int(line.split(b":")[1]) if line.startswith(b"content-length") else size
            assert len(told.read(size)) == size


def _check_flood(server: Server, paths: int) -> None:
    with server.client() as client:
        _flood(server, 30)
        before = numbers_of(client)
        _flood(server, paths)
        after = numbers_of(client)
        assert after.of(REQUESTS) >= before.of(REQUESTS) + paths
        new = after.series(REQUESTS) - before.series(REQUESTS)
        assert new <= {(("method", "GET"), ("route", "/metrics"), ("status", "200"))}
        assert len(after.samples) < len(before.samples) + 20
        methods = {dict(each)["method"] for each in after.series(REQUESTS)}
        assert methods <= {"GET", "POST", "other"}


def test_whatever_is_asked_for_the_labels_are_few(guarded: Server) -> None:
    _check_flood(guarded, 1000)


@pytest.mark.soak
def test_whatever_is_asked_for_the_labels_are_few_for_long(guarded: Server) -> None:
    _check_flood(guarded, 10_000)


def test_a_request_is_followed_into_its_job(guarded: Server) -> None:
    tree = write_tree(guarded.home.parent / "followed", SAMPLE)
    with guarded.client() as client:
        asked = {"path": str(tree)}
        given = client.post("/api/v1/projects", json=asked, headers={"X-Request-ID": "deploy-7.a"})
        assert given.headers["x-request-id"] == "deploy-7.a"
        job_id = given.json()["job_id"]
        made = client.get("/health").headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{32}", made)
        for odd in ("", "a b", "x" * 65, "é", "../x", '"'):
            headers = [(b"X-Request-ID", odd.encode())]
            assert re.fullmatch(
                "[0-9a-f]{32}", client.get("/health", headers=headers).headers["x-request-id"]
            )
        twice = [("X-Request-ID", "one"), ("X-Request-ID", "two")]
        assert client.get("/health", headers=twice).headers["x-request-id"] not in ("one", "two")
        events = client.get(f"/api/v1/jobs/{job_id}/events").json()["events"]
        assert events[0]["context"]["request_id"] == "deploy-7.a"
        ask_until(client, f"/api/v1/jobs/{job_id}", status="completed")
        until(lambda: "completed" in {line["event"] for line in _lines(guarded, job_id)})
    lines = _lines(guarded, job_id)
    assert {line["event"] for line in lines} >= {"created", "started", "completed"}
    assert {line["request_id"] for line in lines} == {"deploy-7.a"}
    assert _routes(guarded, "deploy-7.a", made) == ["/api/v1/projects", "/health"]


def test_a_call_of_an_agent_is_followed_into_its_job(guarded: Server) -> None:
    tree = write_tree(guarded.home.parent / "called", SAMPLE)

    async def conversation(client: Client) -> list[str]:
        job_ids = []
        for _ in range(2):
            asked = {"repo_path": str(tree), "force": True}
            job_ids.append((await called(client, "start_indexing_background", **asked))["job_id"])
            with guarded.client() as watching:
                ask_until(watching, f"/api/v1/jobs/{job_ids[-1]}", status="completed")
        return job_ids

    job_ids = asyncio.run(_as_agent_with_token(guarded, conversation))
    with guarded.client() as client:
        made = [
            client.get(f"/api/v1/jobs/{each}/events").json()["events"][0]["context"]["request_id"]
            for each in job_ids
        ]
    assert made[0] != made[1]  # one session, and yet each call is a request
    assert _routes(guarded, *made) == ["/mcp", "/mcp"]


def test_secrets_are_neither_in_numbers_nor_in_logs_nor_in_spans(guarded: Server) -> None:
    draw = drawing(26)
    secrets = [make(draw) for make in TOKENS.values()]
    planted, asked = secrets[::2], secrets[1::2]
    files = {f"f{n}.py": f"KEY_{n} = '{secret}'\n" for n, secret in enumerate(planted)}
    tree = write_tree(guarded.home.parent / "secrets", files)
    with guarded.client() as client:
        index_folder(client, tree)
        for secret in asked:
            for query in (secret, f"case:{secret}", f"/{secret}(/"):
                client.get("/api/v1/search", params={"query": query, "project": str(tree)})
            client.get(f"/{secret}")
            client.get("/api/v1/search", params={"query": "x", "project": f"/{secret}"})
            client.get("/api/v1/symbols", params={"name": secret})
        asyncio.run(_as_agent_with_token(guarded, lambda agent: _ask(agent, asked, tree)))
        told = client.get("/metrics").text
        until(lambda: "tools/call search_code" in str(logged(guarded.home, "spans.log")))
    logs = (file for file in guarded.home.rglob("*.log*") if not file.name.startswith("."))
    written = [told, *(file.read_text() for file in logs)]
    assert len(written) >= 4
    for text in written:
        assert [secret for secret in [*secrets, TOKEN] if secret in text] == []


async def _ask(client: Client, secrets: list[str], tree: Path) -> None:
    for secret in secrets:
        arguments = {"query": f"case:{secret}", "project_path": str(tree)}
        assert (await client.call_tool("search_code", arguments)).is_error
        arguments = {"query": secret, "project_path": str(tree)}
        assert not (await client.call_tool("search_code", arguments)).is_error


async def _as_agent_with_token(
    server: Server, conversation: Callable[[Client], Awaitable[Said]]
) -> Said:
    login = {"Authorization": f"Bearer {TOKEN}"}
    async with AsyncClient(headers=login, timeout=ANSWER_S) as wire:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=wire)
        async with Client(transport) as client:
            return await conversation(client)


def _routes(server: Server, *request_ids: str) -> list[str | None]:
    """Return the routes of requests, which are logged after they have been answered."""

    def known() -> dict[str, str | None]:
        lines = logged(server.home, "server.log")
        return {line["request_id"]: line["route"] for line in lines if line["event"] == "request"}

    until(lambda: known().keys() >= set(request_ids))
    return [known()[each] for each in request_ids]


def _lines(server: Server, job_id: str) -> list[dict[str, object]]:
    return [line for line in logged(server.home, "runner.log") if line.get("job_id") == job_id]
