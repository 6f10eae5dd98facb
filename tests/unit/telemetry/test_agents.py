"""Agents and their calls, as the log of all servers has them."""

import os
import subprocess
import sys
from pathlib import Path

from engine.clock import now_ms
from engine.telemetry.agents import activity_in, note_agent, note_call
from engine.telemetry.logs import JobLog

_DAY_MS = 86_400_000


def _log(folder: Path, ago_ms: int = 0) -> JobLog:
    return JobLog(folder, clock=lambda: now_ms() - ago_ms, name="agents.log")


def _call(log: JobLog, client: str = "a 1", transport: str = "http", tokens: int = 7) -> None:
    note_call(
        log.event,
        client=client,
        transport=transport,
        tool="search_code",
        project="/home/me/app",
        took_ms=1.5,
        tokens=tokens,
        outcome="ok",
    )


def test_without_a_log_there_are_none(tmp_path: Path) -> None:
    found = activity_in(_log(tmp_path))
    assert (found.agents, found.calls, found.tokens, found.since) == ((), (), 0, None)


def test_calls_and_tokens_are_those_of_their_agent(tmp_path: Path) -> None:
    log = _log(tmp_path)
    note_agent(log.event, client="a 1", transport="http")
    _call(log)
    _call(log, tokens=5)
    _call(log, client="b 2", tokens=100)
    log.event("request", method="GET")  # of a browser
    found = activity_in(log)
    assert [(each.client, each.calls, each.tokens) for each in found.agents] == [
        ("b 2", 1, 100),
        ("a 1", 2, 12),
    ]
    assert [each.client for each in found.calls] == ["b 2", "a 1", "a 1"]
    assert found.tokens == 112
    assert found.calls[0].project == "/home/me/app"


def test_over_http_an_agent_is_connected_for_five_minutes(tmp_path: Path) -> None:
    _call(_log(tmp_path, ago_ms=301_000), client="old 1")
    _call(_log(tmp_path, ago_ms=200_000), client="new 1")
    found = activity_in(_log(tmp_path))
    assert {each.client: each.connected for each in found.agents} == {"old 1": False, "new 1": True}


def test_over_stdio_it_is_connected_while_its_server_runs(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for pid in (os.getpid(), ended.pid):
        _log(tmp_path, ago_ms=1_000_000).event("agent", client="c", transport="stdio", pid=pid)
    found = activity_in(_log(tmp_path))
    assert [each.connected for each in found.agents] == [True, False]


def test_a_damaged_time_is_left_out(tmp_path: Path) -> None:
    _call(_log(tmp_path))
    with open(tmp_path / "agents.log", "a") as file:
        for time in ("9999-99-99T00:00:00.000Z", "9999-12-31", "zzz"):
            file.write(f'{{"timestamp": "{time}", "event": "agent", "client": "z 1"}}\n')
        file.write('{"event": "agent", "client": "z 1"}\n')
    _log(tmp_path).event("agent", client="y 1", transport="stdio", pid=1 << 80)
    found = activity_in(_log(tmp_path))
    assert [(each.client, each.connected) for each in found.agents] == [
        ("a 1", True),
        ("y 1", False),
    ]


def test_what_is_a_day_old_does_not_count_and_lists_are_bounded(tmp_path: Path) -> None:
    _call(_log(tmp_path, ago_ms=_DAY_MS + 60_000), client="yesterday")
    log = _log(tmp_path)
    for number in range(30):
        _call(log, client=f"agent {number}")
    found = activity_in(log)
    assert len(found.agents) == len(found.calls) == 20
    assert "yesterday" not in {each.client for each in found.agents}
    assert found.tokens == 30 * 7
