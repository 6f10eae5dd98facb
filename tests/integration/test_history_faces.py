"""Commits in searches (``type:commit``): in the engine, on the command line, by HTTP and agents."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.errors import InvalidInputError, InvalidQueryError
from engine.search_records import Mode, SearchRequest
from tests.support.command import Command
from tests.support.git_history import GitTree, index_with_history, sample_history
from tests.support.jobs import catalog_in
from tests.support.mcp_clients import ask, called, text_of
from tests.support.server import Server, serving

QUESTION = "type:commit when did retries become exponential"


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> GitTree:
    folder = tmp_path_factory.mktemp("faces")
    git = sample_history(folder / "tree", folder)
    other = sample_history(folder / "other", folder)
    other.commit("Make retries of uploads linear", {"up.py": "delay = 2 * attempt\n"})
    index_with_history(folder / "home", git, other)
    return git


@pytest.fixture
def catalog(git: GitTree) -> Iterator[Catalog]:
    with catalog_in(git.home / "home") as catalog:
        yield catalog


@pytest.fixture(scope="module")
def server(git: GitTree) -> Iterator[Server]:
    command = Command(home=git.home / "home", folder=git.root, reads_here=True)
    with serving(command, "--no-watch") as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def base(client: httpx.Client) -> str:
    """The address of the first project in the API."""
    projects = client.get("/api/v1/projects").json()["projects"]
    [found] = [each["project_id"] for each in projects if each["path"].endswith("/tree")]
    return f"/api/v1/projects/{found}"


def test_a_commit_is_a_hit(catalog: Catalog, git: GitTree) -> None:
    answer = catalog.open(str(git.root)).search(SearchRequest(query=QUESTION))
    hit = answer.hits[0]
    assert hit.path == f"commit:{git.listed()[3][:12]}"
    assert (hit.kind, hit.language, hit.fresh) == ("commit", "commit", None)
    assert hit.summary == "2020-09-15 Make retries exponential"
    assert hit.snippet.splitlines() == [
        "2020-09-15 Ada Example <ada@example.org>",
        "",
        "A server that is down got a request each second.",
        "",
        "M src/retry.py +1 -1",
    ]
    assert (hit.line_start, hit.line_end) == (1, 5)
    assert answer.coverage.files == 2


def test_fields_of_a_search_narrow_commits(catalog: Catalog, git: GitTree) -> None:
    project = catalog.open(str(git.root))
    request = SearchRequest(query="type:commit", path="src/net", context=False)
    [hit] = project.search(request).hits
    assert (hit.summary, hit.snippet) == ("2020-09-16 Move retries into a package", "")
    few = project.search(replace(request, path=None, limit=2))
    assert (len(few.hits), few.total, few.truncated) == (2, 5, True)
    by_words = project.search(SearchRequest(query=QUESTION, mode=Mode.KEYWORD))
    assert by_words.hits[0].why == ("subject", "paths")


@pytest.mark.parametrize(
    "options",
    [
        {"language": "go"},
        {"kind": "class"},
        {"mode": Mode.REGEX},
        {"mode": Mode.SYMBOL},
        {"tests": False},
        {"vendored": False},
        {"generated": False},
    ],
)
def test_what_is_about_code_is_refused(
    catalog: Catalog, git: GitTree, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInputError):
        catalog.open(str(git.root)).search(SearchRequest(query=QUESTION, **options))


def test_commits_of_several_projects_are_merged(catalog: Catalog, git: GitTree) -> None:
    answer = catalog.search(catalog.roots(), SearchRequest(query=f"{QUESTION} linear", limit=4))
    assert {Path(hit.project).name for hit in answer.hits} == {"tree", "other"}
    assert answer.truncated
    one = catalog.search(catalog.roots(), SearchRequest(query="type:commit project:other uploads"))
    assert one.hits[0].summary == "2020-09-19 Make retries of uploads linear"


def test_without_the_word_filters_of_commits_are_text(catalog: Catalog, git: GitTree) -> None:
    answer = catalog.open(str(git.root)).search(SearchRequest(query="after:2024 AnswerCache"))
    assert answer.hits[0].path == "src/cache.py"
    assert "'after:' filters commits (type:commit)" in answer.notes[0]
    with pytest.raises(InvalidQueryError):
        catalog.open(str(git.root)).search(SearchRequest(query="type:commit lang:go retries"))


def test_the_command_line_shows_commits(git: GitTree) -> None:
    cairn = Command(home=git.home / "home", folder=git.root, reads_here=True)
    name = git.listed()[3][:12]
    out = cairn("search", QUESTION, "--limit", "1").out
    assert out.startswith(f"commit:{name}:1-5 2020-09-15 Make retries exponential\n\n")
    out = cairn("search", QUESTION, "--limit", "1", "--format", "markdown").out
    assert "### 1. 2020-09-15 Make retries exponential\n" in out
    assert "M src/retry.py +1 -1" in out
    assert "coverage" not in out
    assert re.search(r"_1 commit of \d+, .* ms, truncated; .*_", out)
    nothing = cairn("search", "type:commit author:nobody").out
    assert nothing.startswith("nothing found for 'type:commit author:nobody' in mode hybrid\n")
    assert re.search(r"\n0 commits of 0, [\d.]+ ms\n", nothing)


def test_the_api_finds_and_shows_commits(client: httpx.Client, base: str, git: GitTree) -> None:
    found = client.get(f"{base}/commits", params={"query": "exponential retries", "limit": 1})
    [hit] = found.json()["commits"]
    assert hit["commit"] == git.listed()[3]
    assert found.json()["coverage"]["commits"] == 5
    shown = client.get(f"{base}/commits/{hit['commit'][:8]}").json()
    assert shown == {**hit, "score": 0, "why": []}
    listed = client.get(f"{base}/commits", params={"after": "2020-09-17", "limit": 9}).json()
    assert [each["subject"] for each in listed["commits"]] == [
        "Add a cache of answers",
        "Drop the readme",
    ]
    assert client.get(f"{base}/commits/ffffffff").status_code == 404
    wrong = client.get(f"{base}/commits", params={"after": "soon"})
    assert (wrong.status_code, wrong.json()["details"]["field"]) == (400, "after")
    hits = client.get("/api/v1/search", params={"query": QUESTION, "project": str(git.root)}).json()
    assert hits["hits"][0]["kind"] == "commit"


def test_agents_find_commits(catalog: Catalog, git: GitTree) -> None:
    async def body(client: Client) -> None:
        asked = {"query": QUESTION, "project_path": str(git.root), "limit": 2}
        first = await called(client, "search_code", **asked)
        assert first["hits"][0]["path"] == f"commit:{git.listed()[3][:12]}"
        more = await called(client, "search_code", **asked, cursor=first["next_cursor"])
        paths = {hit["path"] for hit in more["hits"]}
        assert paths
        assert paths.isdisjoint(hit["path"] for hit in first["hits"])
        shown = await text_of(client, "search_code", **asked, format="text")
        assert re.search(r"\n2 commits of \d+, more with cursor ", shown)

    ask(catalog, body)


def test_lines_are_asked_for_on_every_face(git: GitTree, client: httpx.Client, base: str) -> None:
    place = "src/net/retry.py:6"
    expected = ["Make retries exponential", "Begin"]
    found = client.get(f"{base}/commits", params={"lines": place}).json()
    assert [each["subject"] for each in found["commits"]] == expected
    refused = client.get(f"{base}/commits", params={"lines": "src/net/retry.py"})
    assert (refused.status_code, refused.json()["details"]["field"]) == (400, "lines")
    command = Command(home=git.home / "home", folder=git.root, reads_here=True)
    printed = command("log", "--lines", place).out
    assert [line for line in expected if line in printed] == expected
    asked = {"query": f"type:commit lines:{place}", "project": str(git.root)}
    hits = client.get("/api/v1/search", params=asked).json()["hits"]
    assert [hit["summary"].split(" ", 1)[1] for hit in hits] == expected


def test_hits_say_the_last_change_of_their_file(git: GitTree, client: httpx.Client) -> None:
    name = git.git("log", "-1", "--format=%H", "--", "src/net/retry.py")
    asked = {"query": "wait before an attempt", "project": str(git.root)}
    hits = client.get("/api/v1/search", params=asked).json()["hits"]
    [found] = {str(hit["last_change"]) for hit in hits if hit["path"] == "src/net/retry.py"}
    expected = {
        "commit": name,
        "date": "2020-09-16T12:26:40.000Z",
        "author": "A",
        "subject": "Move retries into a package",
    }
    assert found == str(expected)
    cairn = Command(home=git.home / "home", folder=git.root, reads_here=True)
    told = f"file last changed 2020-09-16 by A ({name[:10]}): Move retries into a package"
    assert told in cairn("search", "wait before an attempt", "--explain").out
    assert "file last changed" not in cairn("search", "wait before an attempt").out


def test_only_hits_in_detail_say_it(catalog: Catalog, git: GitTree) -> None:
    index = catalog.open(str(git.root))
    whole = index.search(SearchRequest(query="path:**")).hits
    assert len(whole) > 1
    assert all(hit.last_change for hit in whole)
    short = index.search(SearchRequest(query="path:**", detailed=1)).hits
    assert [hit.path for hit in short] == [hit.path for hit in whole]
    assert [hit.last_change for hit in short] == [whole[0].last_change, *[None] * (len(whole) - 1)]


def test_the_last_commit_of_each_line(git: GitTree, client: httpx.Client, base: str) -> None:
    address = f"{base}/blame"
    for path in ("src/net/retry.py", str(git.root / "src/net/retry.py")):
        found = client.get(address, params={"path": path}).json()
        assert (found["path"], found["lines"]) == ("src/net/retry.py", 12)
        assert "notes" not in found
        told = [
            (run["line_start"], run["line_end"], run["origin"], run["commit"]["subject"])
            for run in found["runs"]
        ]
        assert told == [
            (1, 5, "commit", "Begin"),
            (6, 6, "commit", "Make retries exponential"),
            (7, 12, "commit", "Begin"),
        ]
    assert client.get(address, params={"path": "none.py"}).status_code == 404
