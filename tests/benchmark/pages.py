"""Measure how long a server takes for each of its pages.

    python tests/benchmark/pages.py ROOT [--rounds 30]

ROOT is indexed and served; each page is asked for one after the other over one connection, once
before it counts. A pattern is asked three times, then ten seconds later again, when the server has
got to know the texts. Pages that keep what they made of an index are asked for again, each time
after the index has changed. Prints JSON: median, 95th percentile and largest in milliseconds, and
the size of the page in kB. Run it on an idle machine.
"""

import argparse
import http.client
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.catalog import Catalog
from engine.config import load_config
from engine.history_records import HistoryRequest
from engine.project import Project
from engine.search_records import Hit, SearchRequest
from tests.benchmark.service import summary
from tests.support.command import Command
from tests.support.server import serving

QUERY = "open connection"
PATTERN = r"/open_?connection/"
REGEX = "search, regex"
#: How long a server may take to know the texts of a project.
LEARNING_S = 10.0
#: Pages that keep what they made of an index.
KEPT = ("project", "map of meaning", "symbols", "folder", "finder")

#: What only scripts ask for.
FRAGMENTS = ("/palette", "/search/suggest")


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--home", type=Path, help="keep the index in this folder")
    arguments = parser.parse_args()
    root = str(arguments.root.resolve())
    with tempfile.TemporaryDirectory(prefix="cairn-pages-") as folder:
        home = arguments.home or Path(folder) / "home"
        with Catalog(load_config(home)) as catalog:
            index = catalog.create(root)
            index.index()
            files = index.status().files
            if index.is_history_due():
                index.read_history()
            hit = index.search(SearchRequest(query=QUERY)).hits[0]
            commits = index.history.search(HistoryRequest(limit=1)).commits
        pages = pages_of(f"/p/{index.project_id}", hit, [each.commit for each in commits])
        with serving(Command(home=home, folder=Path(folder)), root, "--no-watch") as server:
            pattern = pages.pop(REGEX)
            first = measured(server.port, pattern, 3)
            figures = {
                name: measured(server.port, page, arguments.rounds) for name, page in pages.items()
            }
            time.sleep(LEARNING_S)
            figures[f"{REGEX}, the first"] = first
            figures[REGEX] = measured(server.port, pattern, arguments.rounds)
            with Catalog(load_config(home)) as catalog:
                changed = partial(change, catalog.open(root))
                for name in KEPT:
                    first = measured(server.port, pages[name], arguments.rounds, changed)
                    figures[f"{name}, after a change"] = first
    print(json.dumps({"files": files} | figures, indent=1))


def pages_of(project: str, hit: Hit, commits: list[str]) -> dict[str, str]:
    """Give the addresses of pages by what they are.

    Args:
        project: Where the pages of the project begin.
        hit: A place in its code.
        commits: Of its history, if it has one.
    """
    path, folder = hit.path, hit.path.rpartition("/")[0]
    symbol = urlencode({"name": hit.symbol or "", "line": hit.line_start})
    found = {
        "home": "/",
        "project": project,
        "map of meaning": f"{project}/map",
        "symbols": f"{project}/symbols",
        "symbols, one kind": f"{project}/symbols?{urlencode({'kind': 'class'})}",
        "memories": f"{project}/memories",
        "file": f"{project}/f/{quote(path)}",
        "related code": f"{project}/related/{quote(path)}",
        "symbol": f"{project}/symbol/{quote(path)}?{symbol}",
        "why not indexed": f"{project}/f/{quote(folder)}/nothing.here",
        "doctor": f"{project}/doctor",
        "folder": f"{project}/tree/{quote(folder)}",
        "finder": f"/find?{urlencode({'q': 'conntest'})}",
        "jobs": "/jobs",
        "status": "/status",
        "settings": "/settings",
        "connect": "/connect",
        "folder picker": "/folders",
        "palette": f"/palette?{urlencode({'q': 'open'})}",
        "suggestions": f"/search/suggest?{urlencode({'q': 'open'})}",
        "research": f"/research?{urlencode({'q': QUERY})}",
        "commits": f"/search?{urlencode({'q': f'{QUERY} type:commit'})}",
    }
    if commits:
        found["commit"] = f"{project}/commit/{commits[0]}"
    for mode in ("hybrid", "meaning", "keyword", "symbol", "regex"):
        query = PATTERN if mode == "regex" else QUERY
        found[f"search, {mode}"] = f"/search?{urlencode({'q': query, 'mode': mode})}"
    return found


def change(index: Project) -> None:
    """Make a new state of an index with the contents of the old one."""
    with index._store.write():
        pass


def measured(
    port: int, page: str, rounds: int, before: Callable[[], None] = lambda: None
) -> dict[str, float]:
    """Ask for a page so many times, after once that does not count.

    Args:
        port: Of the server.
        page: Its address.
        rounds: How many times.
        before: Done before each of them.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Accept": "text/html"}
    if page.startswith(FRAGMENTS):
        headers["HX-Request"] = "true"
    times_ms = []
    size = 0
    for number in range(rounds + 1):
        before()
        started_s = time.perf_counter()
        connection.request("GET", page, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if number:
            times_ms.append(1000 * (time.perf_counter() - started_s))
        wanted = 404 if "nothing.here" in page else 200
        assert answer.status == wanted, (page, answer.status, body[:300])
        size = len(body)
    return summary(times_ms) | {"kB": round(size / 1000, 1)}


if __name__ == "__main__":
    main()
