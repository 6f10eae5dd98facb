"""``cairn serve`` from its start to its end: where it is, who may ask, and what it leaves."""

import os
import signal
import socket
import stat
import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from engine.config import load_config
from engine.errors import InvalidConfigError, UnavailableError
from engine.index_records import IndexOptions
from engine.indexing.scope import parameters_of
from engine.state_records import JobState
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.logs import logged
from tests.support.mcp_calls import HANGS
from tests.support.pages import index_folder
from tests.support.patience import ANSWER_S, patience
from tests.support.server import ask_until, serving
from tests.support.trees import SAMPLE, write_tree
from web.security.server_settings import is_loopback, token_for

pytestmark = pytest.mark.slow

TOKEN = "a-token-of-some-length"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(home=tmp_path / "home", folder=tmp_path, variables={"CAIRN_WORKERS": "1"})


def test_folders_that_are_named_are_indexed_watched_and_searched(
    command: Command, tree: Path
) -> None:
    write_tree(tree, SAMPLE)
    with serving(command, str(tree)) as server, server.client() as client:
        ask_until(client, "/api/v1/search?query=SessionStore&mode=symbol&limit=1", truncated=False)
        [project] = client.get("/api/v1/projects").json()["projects"]
        place = f"/api/v1/projects/{project['project_id']}"
        until(lambda: _is_watching(client, place))
        write_tree(tree, {"new.py": "def freshly_saved_thing():\n    return 1\n"})
        until(lambda: _hits(client, "freshly_saved_thing") == ["new.py"], within_s=15)


def test_one_server_a_data_directory(command: Command) -> None:
    with serving(command) as server:
        second = command("serve", "--port", "0")
        assert second.code == 4
        assert server.url in second.err
        with open_catalog(load_config(command.home)) as catalog:
            assert catalog.server_url() == server.url
    with open_catalog(load_config(command.home)) as catalog:
        assert catalog.server_url() is None


def test_a_server_that_cannot_start_says_so(command: Command) -> None:
    # The library of traces refuses a batch that is larger than its queue.
    variables = {"OTEL_TRACES_EXPORTER": "console", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "5000"}
    ended = replace(command, variables={**command.variables, **variables})("serve", "--port", "0")
    assert (ended.code, ended.out) == (5, "")
    log = command.home / "logs/cairn.log"
    assert ended.err.startswith("error: the server could not start\nhint: ")
    assert str(log) in ended.err
    assert "max_export_batch_size" in log.read_text()
    [event] = logged(command.home, "server.log")
    assert (event["event"], event["level"]) == ("failure", "error")


def test_a_port_that_is_taken_is_named(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = command("serve", "--port", str(port))
    assert ended.code == 4
    assert str(port) in ended.err
    assert command("serve", "--host", "203.0.113.9", "--token").code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_and_leaves_nothing(
    command: Command, number: signal.Signals
) -> None:
    with serving(command) as server, server.client() as client:
        with client.stream("GET", "/api/v1/events") as events:
            lines = events.iter_lines()
            assert next(lines).startswith("retry")
            started = time.monotonic()
            assert server.stop(number) == 0
            assert time.monotonic() - started < patience(5)
        lock = command.home / "locks/server.lock"
        until(lambda: not lock.exists())  # a runner that cleans up takes it for a moment
        with pytest.raises(httpx.HTTPError):
            client.get("/health")
    with serving(command) as again, again.client() as client:
        assert client.get("/health").status_code == 200


def test_a_crash_tells_where_each_thread_was(command: Command) -> None:
    with serving(command) as server:
        server.process.send_signal(signal.SIGSEGV)
        _, told = server.process.communicate(timeout=patience(20))
    assert server.process.returncode == -signal.SIGSEGV
    assert b"Segmentation fault" in told
    assert b"most recent call first" in told
    with serving(command) as again, again.client() as client:
        assert client.get("/health").status_code == 200


def test_a_job_outlives_the_server(command: Command, tree: Path) -> None:
    write_tree(tree, {f"a{n}.py": f"def f{n}():\n    return {n}\n" * 20 for n in range(1500)})
    with serving(command, "--no-watch") as server, server.client() as client:
        asked = {"path": str(tree), "wait": False}
        job_id = client.post("/api/v1/projects", json=asked).json()["job_id"]
        until(lambda: client.get(f"/api/v1/jobs/{job_id}").json()["files_done"] > 0)
        assert server.stop() == 0
    with open_catalog(load_config(command.home, workers=1)) as catalog:
        until(lambda: catalog.jobs.show(job_id).status is JobState.COMPLETED, within_s=60)


def test_elsewhere_needs_a_token(command: Command) -> None:
    for host in ("0.0.0.0", "::"):
        ended = command("serve", "--host", host, "--port", "0")
        assert ended.code == 2
        assert "token" in ended.err
        assert not (command.home / "token").exists()


def test_a_token_is_made_kept_and_never_logged(command: Command) -> None:
    with serving(command, "--host", "0.0.0.0", "--token") as server:
        file = command.home / "token"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text().strip() == server.token
        assert httpx.get(f"{server.url}/health", timeout=ANSWER_S).status_code == 401
        with server.client() as client:
            assert client.get("/health").status_code == 200
        with httpx.Client(base_url=server.url, follow_redirects=True, timeout=ANSWER_S) as browser:
            assert browser.get(f"/?token={server.token}").status_code == 200
            assert browser.get("/health").status_code == 200
        assert server.token not in (command.home / "locks/server.lock").read_text()
        first = server.token
    assert all(first not in log.read_text() for log in (command.home / "logs").rglob("*.log"))
    with serving(command, "--token") as server:
        assert server.token == first


def test_where_a_token_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAIRN_TOKEN", raising=False)
    assert not token_for("127.0.0.1", tmp_path, is_requested=False)
    made = token_for("127.0.0.1", tmp_path, is_requested=True)
    assert token_for("0.0.0.0", tmp_path, is_requested=True).is_equal(made.reveal())
    os.chmod(tmp_path / "token", 0o644)
    with pytest.raises(UnavailableError):
        token_for("0.0.0.0", tmp_path, is_requested=True)
    monkeypatch.setenv("CAIRN_TOKEN", TOKEN)
    assert token_for("0.0.0.0", tmp_path, is_requested=False).is_equal(TOKEN)
    monkeypatch.setenv("CAIRN_TOKEN", "short")
    with pytest.raises(InvalidConfigError):
        token_for("0.0.0.0", tmp_path, is_requested=False)
    assert is_loopback("127.8.8.8")
    assert is_loopback("LOCALHOST.")
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.0.1", "localhost.example")))


def test_too_little_time_is_said(command: Command, tree: Path) -> None:
    write_tree(tree, {"slow.py": "x = 1\n"})
    endless = replace(command, variables={**command.variables, **HANGS})
    with serving(endless, "--no-watch") as server, server.client() as client:
        answer = client.post("/api/v1/projects", json={"path": str(tree), "timeout_s": 0.2})
        told = answer.json()
        assert (answer.status_code, told["error"]) == (504, "timeout_error")
        job_id = told["details"]["job_id"]
        stopped = client.post(f"/api/v1/jobs/{job_id}/cancel").json()
        assert stopped["cancel_requested"] or stopped["status"] == "cancelled"
        ask_until(client, f"/api/v1/jobs/{job_id}", status="cancelled")
        again = client.post(f"/api/v1/jobs/{job_id}/retry").json()
        assert again["job_id"] != job_id
        client.post(f"/api/v1/jobs/{again['job_id']}/cancel")


def test_a_long_run_is_waited_for_if_that_is_asked(command: Command, tree: Path) -> None:
    write_tree(tree, {f"a{n}.py": f"def f{n}():\n    return {n}\n" * 20 for n in range(200)})
    with open_catalog(load_config(command.home), runs_jobs=False) as catalog:
        ledger = catalog.create(str(tree)).for_jobs().ledger
        ledger.enqueue(parameters_of(IndexOptions()), estimated_ms=3_600_000)
    with serving(command, "--no-watch") as server, server.client() as client:
        asked = {"path": str(tree), "timeout_s": 300}
        answer = client.post("/api/v1/projects", json=asked, timeout=patience(300))
        assert answer.status_code == 200, answer.text


def test_a_request_is_a_line_without_what_was_asked(command: Command, tree: Path) -> None:
    write_tree(tree, SAMPLE)
    with serving(command, "--no-watch") as server, server.client() as client:
        index_folder(client, tree)
        answer = client.get("/api/v1/search", params={"query": "zanzibar", "project": str(tree)})
        request_id = answer.headers["x-request-id"]
    lines = {line["request_id"]: line for line in logged(command.home, "server.log")}
    assert lines[request_id]["route"] == "/api/v1/search"
    assert lines[request_id]["status"] == 200
    log = (command.home / "logs" / "server.log").read_text()
    assert "zanzibar" not in log
    assert str(tree) not in log


def _is_watching(client: httpx.Client, place: str) -> bool:
    watch = client.get(place).json()["watch"]
    return watch is not None and watch["state"] == "watching" and watch["last_reconcile_at"]


def _hits(client: httpx.Client, query: str) -> list[str]:
    asked = {"query": query, "mode": "symbol"}
    return [hit["path"] for hit in client.get("/api/v1/search", params=asked).json()["hits"]]
