"""Several branches in one search: each place once, with the branches on which it stands."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import InvalidQueryError, NotFoundError
from engine.project import Project
from engine.roots import project_id_of
from engine.search_records import Hit, Mode, SearchAnswer, SearchRequest
from tests.integration.test_branches import commit_all, git
from tests.support.command import Command
from tests.support.jobs import until
from tests.support.mcp_clients import ask as run_conversation
from tests.support.mcp_clients import called
from tests.support.oracle import check_sound
from tests.support.pages import Page, site
from tests.support.trees import write_tree

SHARED = "def settle(account):\n    return account.balance\n"
PARSE = "def parse(text):\n    tokens = text.split()\n    return tokens\n\n\n"
RENDER = "def render(page):\n    body = page.body\n    return body\n\n\n"
RENDER_FAST = "def render(page):\n    return page.quick_body\n\n\n"
PADDING = "".join(
    f"def filler_{n}(value):\n    total = value + {n}\n    return total * {n}\n\n\n"
    for n in range(30)
)

MAIN = {"shared.py": SHARED, "view.py": PARSE + PADDING + RENDER, "old.py": "RETIRED = True\n"}
FEATURE = {
    "shared.py": SHARED,
    "view.py": PARSE + PADDING + RENDER_FAST,
    "new.py": "def launch(rocket):\n    return rocket.fly()\n",
}


@pytest.fixture
def index(catalog: Catalog, tree: Path) -> Project:
    """Index three branches; feature and stale begin at main, and main is checked out."""
    write_tree(tree, MAIN)
    git(tree, "init", "-q", "-b", "main")
    commit_all(tree, "first")
    index = catalog.create(str(tree))
    index.index()
    git(tree, "checkout", "-q", "-b", "stale")
    index.index()
    git(tree, "checkout", "-q", "-b", "feature")
    (tree / "old.py").unlink()
    write_tree(tree, FEATURE)
    commit_all(tree, "second")
    index.index()
    git(tree, "checkout", "-q", "main")
    index.index()
    return index


def ask(index: Project, query: str, **fields: object) -> SearchAnswer:
    return index.search(SearchRequest(query=query, **fields))  # type: ignore[arg-type]


def places(answer: SearchAnswer) -> list[tuple[str, frozenset[str]]]:
    return [(hit.path, frozenset(hit.branches)) for hit in answer.hits]


ALL = frozenset({"main", "stale", "feature"})
OLD = frozenset({"main", "stale"})
NEW = frozenset({"feature"})


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD, Mode.MEANING, Mode.REGEX, Mode.SYMBOL])
@pytest.mark.parametrize(
    ("word", "path", "branches"),
    [
        ("settle", "shared.py", ALL),
        ("parse", "view.py", ALL),  # unchanged in a file that changed
        ("launch", "new.py", NEW),
        ("RETIRED", "old.py", OLD),
    ],
)
def test_each_place_is_found_once_with_its_branches(
    index: Project, mode: Mode, word: str, path: str, branches: frozenset[str]
) -> None:
    for query in (f"{word} branch:*", f"{word} branch:main branch:stale branch:feature"):
        for _ in range(3):  # the first query of a process takes another way
            answer = ask(index, query, mode=mode, limit=100)
            found = [(hit.path, hit.line_start, hit.snippet) for hit in answer.hits]
            assert len(found) == len(set(found))
            assert (path, branches) in places(answer)
            assert sum(word in hit.snippet for hit in answer.hits if hit.path == path) == 1
            assert answer.total == len(answer.hits)


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD, Mode.REGEX, Mode.SYMBOL])
def test_a_place_that_differs_is_found_in_each_version(index: Project, mode: Mode) -> None:
    found = [
        (hit, frozenset(hit.branches))
        for hit in ask(index, "render branch:*", mode=mode, limit=100).hits
        if "def render" in hit.snippet
    ]
    assert {branches for _, branches in found} == {OLD, NEW}
    assert len(found) == 2
    by_branches = {branches: hit for hit, branches in found}
    assert by_branches[OLD].fresh is True
    assert by_branches[OLD].branches[0] == "main"
    assert by_branches[NEW].fresh is None


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD, Mode.MEANING, Mode.REGEX, Mode.SYMBOL])
def test_a_refused_branch_leaves_what_differs(index: Project, mode: Mode) -> None:
    def snippets(query: str) -> list[str]:
        return [hit.snippet for hit in ask(index, query, mode=mode, limit=100).hits]

    for word in ("settle", "parse", "filler_3", "launch"):
        query = f"{word} branch:main -branch:feature"
        assert not any(f"def {word}" in each for each in snippets(query))
    (of_main,) = (
        each for each in snippets("render branch:main -branch:feature") if "def render" in each
    )
    assert "page.body" in of_main
    (of_feature,) = (
        each for each in snippets("render branch:feature -branch:main") if "def render" in each
    )
    assert "quick_body" in of_feature
    assert snippets("settle -branch:stale") == []  # of the branch that is checked out


def test_filters_alone_list_what_differs(index: Project) -> None:
    def paths(query: str) -> list[str]:
        answer = ask(index, query)
        assert answer.total == len(answer.hits)
        return [hit.path for hit in answer.hits]

    assert paths("branch:main -branch:feature") == ["old.py", "view.py"]
    assert paths("branch:feature -branch:main") == ["new.py", "view.py"]
    assert paths("branch:* -branch:main") == ["new.py", "view.py"]
    assert paths("branch:stale -branch:main") == []
    assert paths("-branch:feature path:old.py") == ["old.py"]
    both = ["new.py", "old.py", "shared.py", "view.py", "view.py"]
    assert paths("branch:* path:*.py") == both
    listed = ask(index, "branch:main -branch:feature").hits
    assert [hit.branches for hit in listed] == [("main",), ("main",)]
    assert all(hit.fresh for hit in listed)


def test_one_branch_answers_as_it_did(index: Project) -> None:
    plain, named = ask(index, "render page"), ask(index, "render page branch:main")
    assert [replaced(hit) for hit in plain.hits] == [replaced(hit) for hit in named.hits]
    assert all(hit.branches == () for hit in plain.hits)
    same = ask(index, "render page branch:main branch:stale")  # which have equal contents
    assert [(hit.path, hit.line_start) for hit in same.hits] == [
        (hit.path, hit.line_start) for hit in plain.hits
    ]
    assert same.total == plain.total
    assert [hit.score for hit in same.hits] == pytest.approx([hit.score for hit in plain.hits])


def replaced(hit: Hit) -> tuple[object, ...]:
    return hit.path, hit.line_start, hit.score, hit.fresh


def test_branches_are_chosen_by_names_and_globs(index: Project) -> None:
    assert places(ask(index, "launch branch:f*"))[0] == ("new.py", frozenset())
    assert places(ask(index, "settle branch:[ms]*"))[0] == ("shared.py", OLD)
    assert places(ask(index, "launch", branch="*"))[0] == ("new.py", NEW)
    both = ask(index, "settle branch:main branch:feature", branch="[ms]*")
    assert both.hits[0].branches == ()  # only main is named by both
    with pytest.raises(InvalidQueryError, match="cannot both be searched"):
        ask(index, "settle branch:main", branch="feature")
    for query in ("settle branch:main branch:nowhere", "settle -branch:nowhere", "x branch:no*"):
        with pytest.raises(NotFoundError, match="is not indexed") as raised:
            ask(index, query)
        assert raised.value.details["position"] == query.rindex("branch:") + len("branch:")


def test_coverage_counts_the_files_of_all_searched_branches(index: Project) -> None:
    one, all_ = ask(index, "settle").coverage, ask(index, "settle branch:*").coverage
    assert (one.files, all_.files, all_.found) == (3, 9, 9)
    assert all_.complete


def test_moved_contents_stand_on_both_branches(index: Project, tree: Path) -> None:
    git(tree, "checkout", "-q", "-b", "moved")
    (tree / "lib").mkdir()
    git(tree, "mv", "shared.py", "lib/shared.py")
    commit_all(tree, "third")
    index.index()
    (hit,) = (each for each in ask(index, "settle branch:main branch:moved").hits if each.symbol)
    assert hit.path == "shared.py"
    assert set(hit.branches) == {"main", "moved"}
    assert hit.branches[0] == "main"
    assert hit.fresh is None  # it is another branch's path
    (hit,) = ask(index, "settle branch:main branch:moved path:lib", mode=Mode.KEYWORD).hits
    assert (hit.path, hit.branches[0], hit.fresh) == ("lib/shared.py", "moved", True)
    assert ask(index, "settle branch:moved -branch:main", mode=Mode.KEYWORD).hits == ()


def test_filters_by_use_see_all_searched_branches(index: Project, tree: Path) -> None:
    git(tree, "checkout", "-q", "feature")
    (tree / "caller.py").write_text("from new import launch\n\n\ndef go():\n    launch(1)\n")
    commit_all(tree, "caller")
    index.index()
    git(tree, "checkout", "-q", "main")
    (hit,) = ask(index, "calls:launch branch:*").hits
    assert (hit.path, hit.branches) == ("caller.py", ("feature",))
    assert ask(index, "calls:launch branch:main").hits == ()


def test_a_deleted_branch_is_searched_no_more(index: Project, tree: Path, config: Config) -> None:
    git(tree, "branch", "-q", "-D", "feature")
    index.index()
    assert places(ask(index, "settle branch:*", mode=Mode.KEYWORD)) == [("shared.py", OLD)]
    assert not any(hit.path == "new.py" for hit in ask(index, "launch branch:*").hits)
    check_sound(config.data_dir / f"{project_id_of(index.root)}.db")


def _two_branches(tree: Path) -> Path:
    """Write a repository with many places on main and one more on feature, checked out."""
    files = {f"part_{n}.py": f"def wanted_{n}(value):\n    return value + {n}\n" for n in range(8)}
    write_tree(tree, files)
    git(tree, "init", "-q", "-b", "main")
    commit_all(tree, "first")
    return tree


def _to_feature(tree: Path) -> None:
    git(tree, "checkout", "-q", "-b", "feature")
    (tree / "part_3.py").write_text("def wanted_3(value):\n    return value * 3\n")
    commit_all(tree, "second")


def test_the_command_line_tells_the_branches(tmp_path: Path) -> None:
    tree = _two_branches(tmp_path / "tree")
    cairn = Command(home=tmp_path / "home", folder=tree, reads_here=True)
    assert cairn("index", "--quiet").code == 0
    _to_feature(tree)
    assert cairn("index", "--quiet").code == 0
    shown = cairn("search", "wanted_3 branch:*", "--mode", "keyword").out
    assert "part_3.py:1-2" in shown
    assert "[feature]" in shown
    assert "[main]" in shown
    found = cairn("search", "wanted_1", "--branch", "*", "--json").json()
    assert found["hits"][0]["branches"] == ["feature", "main"]
    markdown = cairn("search", "branch:main -branch:feature", "--format", "markdown").out
    assert "**File**: `part_3.py` L1-2\n**On**: `main`" in markdown
    assert "branches" not in cairn("search", "wanted_1", "--json").json()["hits"][0]


def test_pages_of_an_answer_over_several_branches_follow_each_other(tmp_path: Path) -> None:
    tree = _two_branches(tmp_path / "tree")
    with site(tmp_path, tree) as server, server.client() as client:
        _to_feature(tree)
        until_indexed(client, tree)
        found: list[tuple[str, tuple[str, ...]]] = []
        params = {"query": "wanted branch:*", "mode": "keyword", "limit": "4"}
        while params.get("cursor") != "":
            answer = client.get("/api/v1/search", params=params).json()
            assert answer["total"] == 9
            found += [(hit["path"], tuple(hit["branches"])) for hit in answer["hits"]]
            params["cursor"] = answer.get("next_cursor") or ""
        assert len(found) == len(set(found)) == 9
        assert {branches for path, branches in found if path == "part_3.py"} == {
            ("main",),
            ("feature",),
        }
        page = client.get("/search", params={"q": "wanted branch:main branch:feature"})
        shown = Page.of(page)
        assert len(shown.all("article")) == 9
        links = [parse_qs(urlsplit(link).query).get("q", [""])[0] for link in shown.links]
        assert "wanted branch:feature" in links  # takes main away again
        assert page.text.count('title="On the branch main">main<') == 8
        assert page.text.count('title="On the branch feature">feature<') == 8
        both = Page.of(client.get("/search", params={"q": "wanted branch:main"}))
        links = [parse_qs(urlsplit(link).query).get("q", [""])[0] for link in both.links]
        assert {"wanted branch:main branch:feature", "wanted branch:*"} <= set(links)


def test_agents_search_several_branches(catalog: Catalog, tree: Path) -> None:
    index = catalog.create(str(_two_branches(tree)))
    index.index()
    _to_feature(tree)
    index.index()

    async def body(client: Client) -> None:
        first = await called(client, "search_code", query="wanted branch:*", limit=5)
        rest = await called(
            client, "search_code", query="wanted branch:*", limit=5, cursor=first["next_cursor"]
        )
        places = [(hit["path"], *hit["branches"]) for hit in first["hits"] + rest["hits"]]
        assert len(places) == len(set(places)) == 9
        differs = await called(client, "search_code", query="branch:feature -branch:main")
        assert [hit["path"] for hit in differs["hits"]] == ["part_3.py"]
        assert differs["hits"][0]["branches"] == ["feature"]

    run_conversation(catalog, body)


def until_indexed(client: httpx.Client, tree: Path) -> None:
    asked = client.post("/api/v1/projects", json={"path": str(tree)})
    assert asked.is_success or asked.status_code == 409  # the watcher has begun already

    def is_there() -> bool:
        answer = client.get("/api/v1/search", params={"query": "wanted branch:feature"}).json()
        return bool(answer.get("hits"))

    until(is_there)


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD, Mode.MEANING, Mode.REGEX, Mode.SYMBOL])
@pytest.mark.parametrize("rest", ["branch:*", "branch:stale branch:feature", "-branch:feature"])
@pytest.mark.parametrize("words", ["render page", "parse", "filler_3", "value total", "rocket"])
def test_cached_branches_answer_as_the_database_does(
    index: Project, catalog: Catalog, mode: Mode, rest: str, words: str
) -> None:
    first = ask(index, f"{words} {rest}", mode=mode, limit=20)
    ask(index, f"{words} {rest}", mode=mode)
    cached = ask(index, f"{words} {rest}", mode=mode, limit=20)
    assert [(*replaced(hit), hit.branches) for hit in first.hits] == [
        (*replaced(hit), hit.branches) for hit in cached.hits
    ]
    assert first.total == cached.total
    only_python = ask(index, f"{words} {rest} lang:python", mode=mode, limit=20)
    assert [(hit.path, hit.line_start, hit.branches) for hit in only_python.hits] == [
        (hit.path, hit.line_start, hit.branches) for hit in first.hits
    ]


def test_a_path_of_another_searched_branch_is_not_told_as_missing(index: Project) -> None:
    request = SearchRequest(query='"nowhere said" branch:*', path="new.py")
    assert index.search(request).notes == ()
    missing = index.search(SearchRequest(query='"nowhere said"', path="new.py"))
    assert missing.notes == ("no indexed file is below new.py",)
