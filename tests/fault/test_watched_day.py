"""A server that watches ten projects for a day, in short: what it holds does not grow."""

import random
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import apsw
import httpx
import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.roots import project_id_of
from tests.support.churn import Churn
from tests.support.command import Command
from tests.support.footprint import Footprint, footprint_of, growth_an_hour
from tests.support.oracle import check_sound, contents
from tests.support.server import serving
from tests.support.watching import await_true

_CHANGES_AN_HOUR = 12  # in each project
_QUIET_HOURS = 4  # until what a server keeps is there
_MOST_MB_AN_HOUR = 0.5
_MOST_MORE = 12  # threads, and descriptors


def _watched(folder: Path, *, projects: int, hours: int, hour_s: float) -> list[Footprint]:
    """Change watched projects; what the server held after each hour.

    A project is compared with its index every five seconds, which is every ten minutes of hours of
    thirty seconds.
    """
    roots = [folder / f"project{number}" for number in range(projects)]
    variables = {"CAIRN_WORKERS": "1", "CAIRN_WATCH_RECONCILE": "5", "CAIRN_WATCH_DEBOUNCE": "50"}
    command = Command(home=folder / "home", folder=folder, variables=variables)
    churns = []
    for number, root in enumerate(roots):
        root.mkdir()
        churns.append(Churn(root, files=60, seed=number))
    draw = random.Random(1)
    found: list[Footprint] = []
    with ExitStack() as stack:
        server = stack.enter_context(serving(command, *map(str, roots)))
        client = stack.enter_context(server.client())
        await_true(lambda: _indexed(client) == projects, patience_s=120)
        for _ in range(hours):
            until_s = time.monotonic() + hour_s
            for churn in draw.sample(churns * _CHANGES_AN_HOUR, len(churns) * _CHANGES_AN_HOUR):
                churn.step()
                time.sleep(hour_s / projects / _CHANGES_AN_HOUR / 2)
            for word in ("token", "parse order", "store index"):
                assert client.get("/api/v1/search", params={"query": word}).status_code == 200
            time.sleep(max(0.0, until_s - time.monotonic()))
            found.append(footprint_of(server.process.pid))
        wanted = _fresh(folder / "fresh", roots)
        files = {root: command.home / f"{project_id_of(str(root))}.db" for root in roots}
        await_true(lambda: all(_holds(files[root], wanted[root]) for root in roots), patience_s=60)
    for file in files.values():
        check_sound(file)
    assert not (command.home / "logs" / "cairn.log").exists()
    return found


def _indexed(client: httpx.Client) -> int:
    listed = client.get("/api/v1/projects").json()["projects"]
    return sum(each["last_indexed_at"] is not None for each in listed)


def _holds(file: Path, wanted: dict[str, object]) -> bool:
    with suppress(apsw.BusyError):  # it is just being written
        return contents(file) == wanted
    return False


def _fresh(home: Path, roots: list[Path]) -> dict[Path, dict[str, object]]:
    with Catalog(load_config(home, workers=1)) as catalog:
        for root in roots:
            catalog.create(str(root)).index()
    return {root: contents(home / f"{project_id_of(str(root))}.db") for root in roots}


def test_two_hours_of_three_projects(tmp_path: Path) -> None:
    first, last = _watched(tmp_path, projects=3, hours=2, hour_s=6)
    print(f"{first} after the first hour, {last} after the second")
    assert last.threads - first.threads <= _MOST_MORE
    assert last.descriptors - first.descriptors <= _MOST_MORE


@pytest.mark.soak
def test_a_day_of_ten_projects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _watched(tmp_path, projects=10, hours=24, hour_s=20)
    warm = list(enumerate(found))[_QUIET_HOURS:]
    growth_mb = growth_an_hour([(hour, held.resident_mb) for hour, held in warm])
    first, last = warm[0][1], warm[-1][1]
    with capsys.disabled():
        print(
            f"\n24 hours of 10 projects, {10 * 24 * _CHANGES_AN_HOUR:,} changes: {first} after hour"
            f" {_QUIET_HOURS + 1}, {last} at the end, {growth_mb:+.2f} MB an hour:"
            f" {', '.join(f'{held.resident_mb:.0f}' for held in found)}"
        )
    assert growth_mb < _MOST_MB_AN_HOUR
    assert last.threads - first.threads <= _MOST_MORE
    assert last.descriptors - first.descriptors <= _MOST_MORE
