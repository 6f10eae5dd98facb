"""Projects of one server do not see each other, and what befalls one befalls no other."""

import json
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.roots import project_id_of
from tests.support import damage
from tests.support.agents import AgentSession
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.killing import processes_of
from tests.support.pages import PATIENT, UNHURRIED, index_folder
from tests.support.server import Server, serving
from tests.support.trees import write_tree

_PROJECTS = 20
_COMING_AND_GOING = 4  # of them, while others are asked
_MODES = ("hybrid", "meaning", "keyword", "symbol", "regex")
_NOT_FOUND = 404
_DAMAGED = 500


def _canary(number: int) -> str:
    draw = random.Random(number)
    return "canary" + "".join(draw.choices("bcdfghjklmnpqrstvwxz", k=12))


@dataclass(slots=True)
class Site:
    """A server with its projects; project ``n`` holds the word ``words[n]`` and no other's."""

    server: Server
    command: Command
    trees: list[Path]
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.words = [_canary(number) for number in range(len(self.trees))]

    def write(self, number: int, version: int = 0) -> None:
        """Write a project's files, all of the same names everywhere."""
        text = f"def {self.words[number]}(text):\n    return text + {version}\n"
        write_tree(self.trees[number], {"same.py": text, "lib/same.py": f"# {version}\n{text}"})

    def index(self, client: httpx.Client, number: int) -> None:
        """Bring a project up to date."""
        answer = client.post("/api/v1/projects", json={"path": str(self.trees[number])})
        assert answer.status_code in (200, 202, 409), answer.text

    def id_of(self, number: int) -> str:
        """Give a project's id."""
        return project_id_of(str(self.trees[number]))

    def check(self, number: int, answer: dict[str, Any]) -> None:
        """Fail when an answer about a project holds anything of another."""
        shown = json.dumps({**answer, "query": "", "missing": []})  # these echo the question
        for other, word in enumerate(self.words):
            assert other == number or word not in shown, (number, other, shown)
        hits = answer.get("hits", ())
        projects = {hit.get("project") or answer["project"] for hit in hits}
        assert projects <= {str(self.trees[number])}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    settings = {"CAIRN_WORKERS": "1", **UNHURRIED, **PATIENT}
    command = Command(home=tmp_path / "home", folder=tmp_path, variables=settings)
    with serving(command, "--no-watch") as server, server.client() as client:
        site = Site(server, command, [tmp_path / f"p{number}" for number in range(_PROJECTS)])
        for number in range(_PROJECTS):
            site.write(number)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda tree: index_folder(client, tree), site.trees))
        yield site


def _ask_over_http(site: Site, number: int, seed: int) -> None:
    """Ask steady projects for their own words and for those of others, by path and by id."""
    draw = random.Random(seed)
    steady = range(_COMING_AND_GOING, _PROJECTS)
    with site.server.client() as client:
        for _ in range(number):
            asked, wanted = draw.choice(steady), draw.choice([draw.choice(steady), -1])
            wanted = asked if wanted < 0 else wanted
            mode = draw.choice(_MODES)
            project = draw.choice([str(site.trees[asked]), site.id_of(asked)])
            body = {"query": site.words[wanted], "mode": mode, "projects": [project]}
            answer = client.post("/api/v1/search", json=body)
            assert answer.status_code == 200, answer.text
            site.check(asked, answer.json())
            # By meaning there is always something near: of its own.
            hits = answer.json()["hits"]
            if asked == wanted:
                assert hits, (mode, answer.text)
            elif mode not in ("hybrid", "meaning"):
                assert not hits, (mode, answer.text)
            _guess(client, site, asked, wanted, draw)


def _guess(client: httpx.Client, site: Site, asked: int, wanted: int, draw: random.Random) -> None:
    """Ask for what is of another project, or of none, by names that lead to it."""
    base = f"/api/v1/projects/{site.id_of(asked)}"
    foreign = str(site.trees[wanted] / "same.py")
    for path in (foreign, f"../{site.trees[wanted].name}/same.py"):
        answer = client.get(f"{base}/content", params={"path": path})
        assert answer.status_code in (200, 400, _NOT_FOUND)
        if answer.status_code == 200:
            assert asked == wanted
    guess = "".join(draw.choices("0123456789abcdef", k=64))
    for project in (guess, site.id_of(asked).upper(), site.id_of(asked)[:-1]):
        assert client.get(f"/api/v1/projects/{project}").status_code == _NOT_FOUND


def _ask_as_agents(site: Site, number: int, seed: int) -> None:
    draw = random.Random(seed)
    agent = AgentSession(site.server.url)
    for _ in range(number):
        asked, wanted = (draw.randrange(_COMING_AND_GOING, _PROJECTS) for _ in range(2))
        given = {"query": site.words[wanted], "project_path": str(site.trees[asked])}
        told = agent.call("search_code", mode=draw.choice(_MODES), **given)
        site.check(asked, told["structuredContent"])
        uri = f"symbols://search?name={site.words[wanted]}&project={site.trees[asked]}"
        read = agent.ask("resources/read", uri=uri)["result"]["contents"][0]["text"]
        assert (site.words[wanted] in read) == (asked == wanted)
    agent.end()


def _come_and_go(site: Site, is_over: threading.Event, seed: int) -> int:
    """Index, edit and forget some projects, and ask them meanwhile; how often."""
    draw = random.Random(seed)
    times = 0
    with site.server.client() as client:
        while not is_over.is_set():
            number = draw.randrange(_PROJECTS)
            if number < _COMING_AND_GOING and draw.random() < 0.5:
                gone = client.delete(f"/api/v1/projects/{site.id_of(number)}")
                assert gone.status_code in (200, _NOT_FOUND, 409, 503), gone.text
            else:
                site.write(number, times)
                site.index(client, number)
            body = {"query": site.words[number], "projects": [str(site.trees[number])]}
            answer = client.post("/api/v1/search", json=body)
            assert answer.status_code in (200, _NOT_FOUND), answer.text
            if answer.status_code == 200:
                site.check(number, answer.json())
            times += 1
    return times


def _cross_hits(site: Site, queries: int) -> str:
    is_over = threading.Event()
    with ThreadPoolExecutor(5) as pool:
        changes = pool.submit(_come_and_go, site, is_over, 1)
        asking = [pool.submit(_ask_over_http, site, queries * 4 // 15, seed) for seed in range(3)]
        asking.append(pool.submit(_ask_as_agents, site, queries // 5, 9))
        try:
            for each in asking:
                each.result()
        finally:
            is_over.set()
        times = changes.result()
    assert times
    return f"{queries} queries over {_PROJECTS} projects, {times} changes meanwhile: 0 cross hits"


def test_projects_do_not_see_each_other(site: Site) -> None:
    print(_cross_hits(site, 200))
    _break_and_mend_one(site)


@pytest.mark.soak
def test_projects_do_not_see_each_other_in_ten_thousand_queries(site: Site) -> None:
    print(_cross_hits(site, 10_000))


def _break_and_mend_one(site: Site) -> None:
    """Damage a project's file, see who is told of it, and mend it under the server."""
    broken, sound = _PROJECTS - 1, _PROJECTS - 2
    path = str(site.trees[broken])
    assert site.server.stop() == 0
    until(lambda: not processes_of(site.command.home))  # the runner outlives its server
    damage.checkpointed(site.command.home / f"{site.id_of(broken)}.db")
    damage.break_file(site.command.home / f"{site.id_of(broken)}.db")
    with serving(site.command, "--no-watch") as server, server.client() as client:
        answer = client.post("/api/v1/search", json=_wanted(site, broken))
        assert (answer.status_code, answer.json()["error"]) == (_DAMAGED, "damaged_index")
        assert "doctor/repair" in answer.json()["details"]["hint"]
        assert client.post("/api/v1/search", json=_wanted(site, sound)).json()["hits"]
        every = client.post("/api/v1/search", json={"query": site.words[sound]}).json()
        assert every["hits"]
        [error] = every["errors"]
        assert (error["project"], error["error"]) == (site.id_of(broken), "damaged_index")
        two = [site.id_of(broken), site.id_of(sound)]
        both = {"query": site.words[sound], "projects": two}
        assert client.post("/api/v1/search", json=both).json()["errors"] == every["errors"]
        named = client.get("/api/v1/symbols", params={"name": site.words[sound]}).json()
        assert len(named["symbols"]) == 2
        assert [error["error"] for error in named["errors"]] == ["damaged_index"]
        assert client.get("/health").status_code == 200
        agent = AgentSession(server.url)
        told = agent.call("search_code", query=site.words[broken], project_path=path)
        assert told["isError"]
        assert told["structuredContent"]["error"] == "damaged_index"
        agent.end()
        mended = site.command("doctor", path, "--repair")
        assert mended.code == 0, mended
        for number in (broken, sound):  # the server notices without a word
            assert client.post("/api/v1/search", json=_wanted(site, number)).json()["hits"]


def _wanted(site: Site, number: int) -> dict[str, object]:
    query = site.words[number]
    return {"query": query, "mode": "keyword", "projects": [site.id_of(number)]}
