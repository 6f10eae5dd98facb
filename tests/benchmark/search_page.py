"""Measure the search page: what it takes of a server, and how long one waits who types.

    python tests/benchmark/search_page.py ROOT [--rounds 5] [--no-browser]

ROOT is indexed and served. First each question is asked by one client, one after the other, once
to warm up and then in turn: wall time at the client, and processor time of the server. Then the
system's Chromium types them; a wait counts from the last key to the frame in which the new results
are painted, with the pause for which the page waits: as long as the last search took, 60 to 200 ms.
Prints JSON, in milliseconds. Run it on an idle machine.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from playwright.sync_api import Page

from tests.benchmark.large import questions_of
from tests.support.browser import browsing, visiting
from tests.support.command import Command
from tests.support.pages import project_ids
from tests.support.server import Server, serving

QUESTIONS = 12
PATTERNS = (r"def \w+_id\b", r"class \w+Error", r"TODO|FIXME", r"return \w+\(")
_HTMX = {"HX-Request": "true"}
_TICKS_S = 1 / os.sysconf("SC_CLK_TCK")

# Notes when the last key was pressed, and when the results that it brought were painted.
_WATCH = """() => {
  window.waited = { key: 0, painted: 0 };
  document.querySelector("#q").addEventListener("input", () => {
    window.waited = { key: performance.now(), painted: 0 };
  });
  new MutationObserver((changes) => {
    const added = changes.flatMap((change) => [...change.addedNodes]);
    if (!added.some((node) => node.id === "results")) return;
    requestAnimationFrame(() => setTimeout(() => { window.waited.painted = performance.now(); }));
  }).observe(document.querySelector(".search-body"), { childList: true });
}"""


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-browser", action="store_true")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    with tempfile.TemporaryDirectory(prefix="cairn-page-") as folder:
        command = Command(home=Path(folder) / "data", folder=Path(folder))
        with serving(command, str(root), "--no-watch") as server, server.client() as client:
            client.post("/api/v1/projects", json={"path": str(root)}).raise_for_status()
            [project_id] = project_ids(client).values()
            words = questions_of(Path(folder) / "data" / f"{project_id}.db")[:QUESTIONS]
            [project] = client.get("/api/v1/projects").json()["projects"]
            figures: dict[str, Any] = {"files": project["files"]}
            figures["server"] = of_server(server, client, words, arguments.rounds)
            if not arguments.no_browser:
                figures["typing"] = of_typing(server, words, arguments.rounds)
    print(json.dumps(figures, indent=1))


def of_server(
    server: Server, client: httpx.Client, words: Sequence[str], rounds: int
) -> dict[str, object]:
    """Ask for pages and parts of them, one after the other."""
    kinds: dict[str, list[tuple[str, dict[str, str]]]] = {
        "hybrid": [("/search", {"q": each}) for each in words],
        "keyword": [("/search", {"q": each, "mode": "keyword"}) for each in words],
        "regex": [("/search", {"q": each, "mode": "regex"}) for each in PATTERNS],
        "suggestions": [
            ("/search/suggest", {"q": each[:size]}) for each in words for size in (2, 4, len(each))
        ],
    }
    found = client.get("/search", params={"q": words[0]}).text
    previews = [part.partition('"')[0] for part in found.split('data-preview="')[1:]]
    kinds["preview"] = [(each.replace("&amp;", "&"), {}) for each in previews]
    return {kind: _asked(server, client, asked, rounds) for kind, asked in kinds.items()}


def of_typing(server: Server, words: Sequence[str], rounds: int) -> dict[str, float]:
    """Type questions in a browser; the first round warms up."""
    waits: list[float] = []
    viewport = {"width": 1440, "height": 900}
    with browsing() as browser, visiting(browser, server.url, viewport=viewport) as page:
        page.goto("/search")
        page.evaluate(_WATCH)
        for number in range(rounds + 1):
            for each in words:
                wait = _typed(page, each)
                if number:
                    waits.append(wait)
    return _summed(waits)


def _typed(page: Page, text: str) -> float:
    box = page.locator("#q")
    if box.input_value():
        box.fill("")
        _until_painted(page)
    box.press_sequentially(text, delay=30)
    return _until_painted(page)


def _until_painted(page: Page) -> float:
    """Wait for the results of the last key, and give how long they took."""
    while True:
        waited = page.evaluate("window.waited")
        if waited["painted"]:
            return float(waited["painted"] - waited["key"])
        page.wait_for_timeout(50)


def _asked(
    server: Server, client: httpx.Client, asked: Sequence[tuple[str, dict[str, str]]], rounds: int
) -> dict[str, object]:
    def ask(address: str, parameters: dict[str, str]) -> float:
        start = time.perf_counter()
        client.get(address, params=parameters or None, headers=_HTMX).raise_for_status()
        return (time.perf_counter() - start) * 1000

    for each in asked:
        ask(*each)
    before = _processor_s(server.process.pid)
    walls = [ask(*each) for _ in range(rounds) for each in asked]
    used_ms = (_processor_s(server.process.pid) - before) * 1000
    return {**_summed(walls), "processor, mean": round(used_ms / len(walls), 1)}


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICKS_S


def _summed(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "asked": len(times),
        "p50": round(statistics.median(times), 1),
        "p95": round(ordered[min(len(times) - 1, int(len(times) * 0.95))], 1),
        "max": round(max(times), 1),
    }


if __name__ == "__main__":
    main()
