"""Measure a server: what HTTP and MCP add to a search, and searches while a job runs.

    python tests/benchmark/service.py ROOT BUSY [--seconds 60 --warm-up 20]

ROOT is asked, BUSY is indexed from the beginning again and again meanwhile. Requests are sent at
fixed times however long the others take (an open model: https://grafana.com/docs/k6 calls what
closed ones hide coordinated omission), and each is timed from when it was to be sent. ``/health``
is asked five times a second beside them. The generator runs on the same machine; its share of a
core is printed. Prints JSON, in milliseconds. Run it on an idle machine.
"""

import argparse
import asyncio
import http.client
import itertools
import json
import math
import os
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import load_config
from engine.roots import project_id_of
from engine.search_records import Mode, SearchRequest
from tests.benchmark.large import questions_of
from tests.support.command import Command
from tests.support.server import Server, serving

CONNECTIONS = 24
PROBES_A_SECOND = 5
TIMEOUT_S = 30
MODES = (Mode.HYBRID, Mode.KEYWORD)


@dataclass(slots=True)
class Load:
    """Requests at a fixed rate, and what became of them."""

    paths: list[str]
    a_second: float
    times_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("busy", type=Path, metavar="BUSY")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=20)
    parser.add_argument("--home", type=Path, help="keep the indexes in this folder")
    arguments = parser.parse_args()
    root, busy = str(arguments.root.resolve()), str(arguments.busy.resolve())
    with tempfile.TemporaryDirectory(prefix="cairn-service-") as folder:
        home = arguments.home or Path(folder) / "home"
        with Catalog(load_config(home)) as catalog:
            index = catalog.create(root)
            index.index()
            questions = questions_of(home / f"{index.project_id}.db")
            figures: dict[str, Any] = {"chunks": index.status().chunks}
            engine = {mode: in_process(catalog, root, questions, mode) for mode in MODES}
        # The job that reads the history would keep BUSY from being forgotten and indexed again.
        settings = {"CAIRN_HISTORY_COMMITS": "0"}
        command = Command(home=home, folder=Path(folder), variables=settings)
        with serving(command, root, "--no-watch") as server:
            figures |= added(server, root, questions, engine)
            figures |= loads(server, root, busy, questions, arguments.seconds, arguments.warm_up)
    print(json.dumps(figures, indent=1))


def in_process(catalog: Catalog, root: str, questions: list[str], mode: Mode) -> float:
    """Give the median of questions that were asked once before, in milliseconds."""
    index = catalog.open(root)
    wanted = [SearchRequest(query=question, mode=mode) for question in questions]
    for request in wanted:
        index.search(request)
    return statistics.median(timed(partial(index.search, each)) for each in wanted)


def added(
    server: Server, root: str, questions: list[str], engine: dict[Mode, float]
) -> dict[str, Any]:
    """Ask one after the other, warm, over HTTP and MCP; beside what the engine takes alone."""
    figures: dict[str, Any] = {}
    for mode, alone in engine.items():
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
        paths = [search_path(question, root, mode) for question in questions]
        for path in paths:
            fetched(connection, path)
        over_http = statistics.median(timed(partial(fetched, connection, path)) for path in paths)
        over_mcp = statistics.median(call_times(server, root, questions, mode))
        by_client = asyncio.run(by_agent(server, root, questions, mode))
        figures[f"{mode}, one after the other, p50"] = {
            "engine": round(alone, 2),
            "HTTP": round(over_http, 2),
            "HTTP adds": round(over_http - alone, 2),
            "MCP": round(over_mcp, 2),
            "MCP adds": round(over_mcp - alone, 2),
            "MCP adds, with the official client": round(by_client - alone, 2),
        }
    return figures


def call_times(server: Server, root: str, questions: list[str], mode: str) -> Iterator[float]:
    """Call the tool by plain requests, without a client's work; yield milliseconds."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def call(method: str, params: dict[str, Any], number: int | None) -> http.client.HTTPResponse:
        told = {"jsonrpc": "2.0", "method": method, "params": params}
        body = json.dumps(told if number is None else told | {"id": number})
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status in {200, 202}, text
        assert b'"isError":true' not in text, text
        return answer

    client = {"name": "benchmark", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    session = call("initialize", hello, 0).headers["Mcp-Session-Id"]
    headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18"}
    call("notifications/initialized", {}, None)
    for number, question in enumerate(questions, start=1):
        wanted = {"query": question, "project_path": root, "mode": mode}
        arguments = {"name": "search_code", "arguments": wanted}
        yield timed(partial(call, "tools/call", arguments, number))


async def by_agent(server: Server, root: str, questions: list[str], mode: str) -> float:
    """Give the median of calls of the official client, which includes its own work."""
    async with Client(f"{server.url}/mcp") as client:
        times = []
        for question in questions:
            started_s = time.perf_counter()
            result = await client.call_tool(
                "search_code", {"query": question, "project_path": root, "mode": mode}
            )
            times.append(1000 * (time.perf_counter() - started_s))
            assert not result.is_error, result.content
    return statistics.median(times)


def loads(
    server: Server, root: str, busy: str, questions: list[str], seconds: float, warm_up: float
) -> dict[str, Any]:
    """Search at the rates that are promised, without and with a job that runs."""
    hybrid = [search_path(question, root, "hybrid") for question in questions]
    keyword = [search_path(question, root, "keyword") for question in questions]
    wanted = {"20 hybrid/s": [(hybrid, 20.0)], "100 keyword/s": [(keyword, 100.0)]}
    wanted["both"] = [(hybrid, 20.0), (keyword, 100.0)]
    figures: dict[str, Any] = {}
    with indexing(server, busy) as work:
        alone = rate_of(work, seconds)
        figures["a job alone, files/s"] = round(alone)
        for name, parts in wanted.items():
            run(server, parts, warm_up)
            started = work.files()
            figures[f"{name}, a job runs"] = found = run(server, parts, seconds)
            rate = (work.files() - started) / seconds
            found["files/s of the job"] = round(rate)
            found["of the job's speed alone"] = round(rate / alone, 2)
            found["WAL, MiB, most"] = round(work.wal_bytes / 2**20, 1)
    for name, parts in wanted.items():
        figures[f"{name}, nothing runs"] = run(server, parts, seconds / 2)
    return figures


def run(server: Server, parts: list[tuple[list[str], float]], seconds: float) -> dict[str, Any]:
    """Send requests for so long; how long each took, and how much the generator itself worked."""
    some = [Load(paths, rate) for paths, rate in parts]
    probe = Load(["/health"], PROBES_A_SECOND)
    cpu_s, began_s = own_cpu_s(), time.monotonic()
    threads = [
        thread for load in (*some, probe) for thread in senders(server.port, load, began_s, seconds)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.monotonic() - began_s
    found: dict[str, Any] = {}
    for load in (*some, probe):
        label = load.paths[0].rpartition("mode=")[2]
        found[label] = summary(load.times_ms) | {"errors": len(load.errors)}
        if load.errors:
            found[label]["first error"] = load.errors[0]
    found["generator, of a core"] = round((own_cpu_s() - cpu_s) / took_s, 3)
    found["server, MiB"] = round(memory_bytes(server.process.pid) / 2**20)
    return found


def senders(port: int, load: Load, began_s: float, seconds: float) -> list[threading.Thread]:
    """Give threads that send the requests of a load, each when its time has come."""
    numbers = itertools.count()  # next() is one step for the interpreter
    count = int(load.a_second * seconds)

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        while (number := next(numbers)) < count:
            due_s = began_s + number / load.a_second
            time.sleep(max(0.0, due_s - time.monotonic()))
            try:
                fetched(connection, load.paths[number % len(load.paths)])
            except (OSError, AssertionError, http.client.HTTPException) as error:
                load.errors.append(repr(error)[:300])
                connection.close()
            load.times_ms.append(1000 * (time.monotonic() - due_s))

    return [threading.Thread(target=send) for _ in range(min(CONNECTIONS, count))]


class Work:
    """A folder that is indexed from the beginning again and again.

    Args:
        server: Asked to do so.
        root: The folder.
    """

    def __init__(self, server: Server, root: str) -> None:
        self._server = server
        self._root = root
        self._done = 0  # files of the jobs that have ended
        self._current = ""
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._repeat)
        self.wal_bytes = 0

    def files(self) -> int:
        """Give how many files were indexed so far."""
        while True:
            with self._lock, self._server.client() as client:
                job = client.get(f"/api/v1/jobs/{self._current}").json()
                if "files_done" in job:  # else its project is just being indexed anew
                    return self._done + int(job["files_done"])
            time.sleep(0.01)

    def start(self) -> None:
        self._submit()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        with self._server.client() as client:
            client.post(f"/api/v1/jobs/{self._current}/cancel")

    def _submit(self) -> None:
        with self._server.client() as client:
            client.delete(f"/api/v1/projects/{project_id_of(self._root)}")
            answer = client.post("/api/v1/projects", json={"path": self._root, "wait": False})
        assert answer.is_success, answer.text
        self._current = answer.json()["job_id"]

    def _repeat(self) -> None:
        while not self._stop.wait(0.2):
            with self._server.client() as client:
                job = client.get(f"/api/v1/jobs/{self._current}").json()
            wal = [file.stat().st_size for file in self._server.home.glob("*.db-wal")]
            self.wal_bytes = max(self.wal_bytes, *wal)
            if job["status"] in ("completed", "failed", "cancelled"):
                assert job["status"] == "completed", job
                with self._lock:
                    self._done += job["files_done"]
                    self._submit()


@contextmanager
def indexing(server: Server, root: str) -> Iterator[Work]:
    """Keep a job running while the block runs."""
    work = Work(server, root)
    work.start()
    try:
        yield work
    finally:
        work.stop()


def rate_of(work: Work, seconds: float) -> float:
    """Give files a second while nothing else is asked."""
    started, began_s = work.files(), time.monotonic()
    time.sleep(seconds)
    return (work.files() - started) / (time.monotonic() - began_s)


def search_path(question: str, root: str, mode: str) -> str:
    """Give the path of a search, its mode at the end."""
    return f"/api/v1/search?{urlencode({'query': question, 'project': root, 'mode': mode})}"


def fetched(connection: http.client.HTTPConnection, path: str) -> None:
    """Fetch a path that must be answered well."""
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, body


def timed(act: Callable[[], object]) -> float:
    """Give how long something takes, in milliseconds."""
    started_s = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - started_s)


def summary(times_ms: list[float]) -> dict[str, float]:
    """Give how many there are, percentiles and the largest."""
    ordered = sorted(times_ms)
    found: dict[str, float] = {"n": len(ordered)}
    for share in (50, 95, 99):
        found[f"p{share}"] = round(ordered[math.ceil(len(ordered) * share / 100) - 1], 1)
    return found | {"max": round(ordered[-1], 1)}


def own_cpu_s() -> float:
    """Give the processor time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory_bytes(process: int) -> int:
    """Give the resident memory of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
