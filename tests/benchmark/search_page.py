"""Measure the search page: what it takes of a server, and how long one waits who types.

    python tests/benchmark/search_page.py ROOT [--home FOLDER] [--rounds 5] [--no-browser]

ROOT is indexed and served. First each question is asked by one client, one after the other, once
to warm up and then in turn: wall time at the client, and processor time of the server. Then the
system's Chromium types them, with a key every 30 and every 150 ms; a wait counts from the last key
to the frame in which the results of the whole text are painted, and is told by its parts: until the
search for the whole text begins, since the one before is under way; until its answer is read; until
it is on the page; until it is painted. Prints JSON, in milliseconds. Run it on an idle machine.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
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

# Notes when the last key was pressed, and when the search for the text with it began, was answered,
# was put on the page, and was painted. Answers of older texts are not noted.
_WATCH = """() => {
  const box = document.querySelector("#q");
  box.addEventListener("input", () => { window.waited = { key: performance.now() }; }, true);
  const note = (step) => ({ detail: { ctx } }) => {
    if (ctx.sourceElement.id !== "search") return;
    const asked = new URL(ctx.request.action, location.href).searchParams.get("q");
    if (asked !== box.value) return;
    window.waited[step] ??= performance.now();
    if (step !== "swapped") return;
    const { waited } = window;
    requestAnimationFrame(() => setTimeout(() => { waited.painted ??= performance.now(); }));
  };
  document.addEventListener("htmx:before:request", note("begun"));
  document.addEventListener("htmx:after:request", note("answered"));
  document.addEventListener("htmx:after:swap", note("swapped"));
}"""
_STEPS = ("key", "begun", "answered", "swapped", "painted")
_KEYS_MS = (30, 150)
#: How long a server may take to load a project, and the page to settle between two questions.
_LOADING_S = 10.0
_SETTLED_MS = 1000


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("--home", type=Path, help="keep the index in this folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-browser", action="store_true")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    with tempfile.TemporaryDirectory(prefix="cairn-page-") as folder:
        home = arguments.home or Path(folder) / "data"
        command = Command(home=home, folder=Path(folder))
        with serving(command, str(root), "--no-watch") as server, server.client() as client:
            client.post("/api/v1/projects", json={"path": str(root)}).raise_for_status()
            [project_id] = project_ids(client).values()
            words = questions_of(home / f"{project_id}.db")[:QUESTIONS]
            [project] = client.get("/api/v1/projects").json()["projects"]
            time.sleep(_LOADING_S)
            figures: dict[str, Any] = {"files": project["files"]}
            figures["server"] = of_server(server, client, words, arguments.rounds)
            if not arguments.no_browser:
                for pace_ms in _KEYS_MS:
                    waits = of_typing(server, words, arguments.rounds, pace_ms)
                    figures[f"typing, a key every {pace_ms} ms"] = waits
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


def of_typing(server: Server, words: Sequence[str], rounds: int, pace_ms: int) -> dict[str, object]:
    """Type questions in a browser; the first round warms up."""
    waits: list[dict[str, float]] = []
    viewport = {"width": 1440, "height": 900}
    with browsing() as browser, visiting(browser, server.url, viewport=viewport) as page:
        page.goto("/search")
        page.evaluate(_WATCH)
        for number in range(rounds + 1):
            for each in words:
                wait = _typed(page, each, pace_ms)
                if number:
                    waits.append(wait)
    parts = {
        f"{earlier} to {later}": _summed([each[later] - each[earlier] for each in waits])
        for earlier, later in pairwise(_STEPS)
    }
    return {"all": _summed([each["painted"] - each["key"] for each in waits]), **parts}


def _typed(page: Page, text: str, pace_ms: int) -> dict[str, float]:
    box = page.locator("#q")
    if box.input_value():
        box.fill("")
        _until_painted(page)
    page.wait_for_timeout(_SETTLED_MS)
    box.press_sequentially(text, delay=pace_ms)
    return _until_painted(page)


def _until_painted(page: Page) -> dict[str, float]:
    """Wait for the results of the whole text, and give when each step of them was done."""
    while True:
        waited: dict[str, float] = page.evaluate("window.waited")
        if "painted" in waited:
            return waited
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
