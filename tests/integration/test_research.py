"""A question's best passages: by role, joined, without copies, within a budget, on every face."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import ContextNotFoundError, InvalidInputError, InvalidQueryError
from engine.index_records import IndexOptions
from engine.project import Project
from engine.records import tokens_of
from engine.research import _Found, _joined, research
from engine.research_records import (
    MAX_QUESTION_CHARS,
    Passage,
    ResearchAnswer,
    ResearchRequest,
    Role,
)
from engine.search_records import SearchAnswer, SearchRequest
from tests.integration.test_branches import commit_all, git
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.pages import Page, site
from tests.support.server import Server
from tests.support.trees import write_tree
from web.project_selection import as_members
from web.research import research_markdown

SESSION = '''"""Sessions of users."""

from app.tokens import new_token


class SessionStore:
    """Keeps the sessions of users in memory."""

    def refresh_session(self, token: str) -> str:
        """Refresh a session: it gets a new token, and expires an hour later."""
        self.close_session(token)
        return new_token()

    def close_session(self, token: str) -> None:
        """Close a session."""
        del token


def refresh_all(store: SessionStore, tokens: list[str]) -> list[str]:
    """Refresh each session that is about to expire."""
    return [store.refresh_session(token) for token in tokens]
'''
TREE = {
    "app/session.py": SESSION,
    "app/tokens.py": 'def new_token() -> str:\n    """Make a random token."""\n    return "t"\n',
    "app/server.py": """from app.session import SessionStore


def answer(request: dict) -> dict:
    store = SessionStore()
    token = store.refresh_session(request["cookie"])
    return {"cookie": token}


def ping() -> str:
    return "pong"
""",
    "legacy/session.py": SESSION.replace("\n\n\n", "\n\n\n\n"),  # but for blanks the same
    "examples/refresh.py": "from app.session import SessionStore\n\nstore = SessionStore()\n"
    'print("refreshed session", store.refresh_session("t"))\n',
    "tests/test_session.py": "from app.session import SessionStore\n\n\n"
    "def test_a_session_is_refreshed():\n"
    '    assert SessionStore().refresh_session("t") != "t"\n',
    "docs/sessions.md": "# Sessions\n\n## Refresh\n\nA session is refreshed with each request, and"
    " expires an hour later.\n",
    "CHANGELOG.md": "# Changes\n\n## 1.2\n\nA session is refreshed once.\n",
    "data/commands.def": "refresh session refreshed sessions\n" * 40,
}
QUESTION = "how is a session refreshed"


@pytest.fixture
def catalog(catalog: Catalog, tmp_path: Path) -> Catalog:
    """A catalog with the tree as its project ``app``."""
    catalog.create(str(write_tree(tmp_path / "app", TREE))).index()
    return catalog


def _ask(catalog: Catalog, query: str = QUESTION) -> ResearchAnswer:
    return catalog.research(catalog.roots(), ResearchRequest(query=query))


def _of(answer: ResearchAnswer, role: Role) -> list[Passage]:
    return [each for each in answer.passages if each.role is role]


def _paths(answer: ResearchAnswer, role: Role) -> list[str]:
    return [each.hit.path for each in _of(answer, role)]


def test_each_passage_has_its_role_and_its_reason(catalog: Catalog) -> None:
    answer = _ask(catalog)
    roles = [each.role for each in answer.passages]
    assert roles == sorted(roles, key=list(Role).index)
    symbols = [each.hit.symbol for each in _of(answer, Role.DEFINITION)]
    assert "SessionStore" in symbols
    assert "app/server.py" in _paths(answer, Role.USE)
    [use] = [each for each in _of(answer, Role.USE) if each.hit.path == "app/server.py"]
    assert use.hit.symbol == "answer"
    assert any(each.startswith("calls SessionStore") for each in use.reasons)
    assert _paths(answer, Role.TEST) == ["tests/test_session.py"]
    assert _paths(answer, Role.DOCUMENTATION)[0] == "docs/sessions.md"
    assert _paths(answer, Role.DOCUMENTATION)[-1] == "CHANGELOG.md"  # what changed once comes last
    assert "data/commands.def" not in [each.hit.path for each in answer.passages]
    assert all(each.reasons and each.hit.snippet for each in answer.passages)
    assert "session" in answer.words


def test_no_line_is_shown_twice_and_copies_are_named_once(catalog: Catalog) -> None:
    answer = _ask(catalog)
    lines = [
        (each.hit.path, line)
        for each in answer.passages
        for line in range(each.hit.line_start, each.hit.line_end + 1)
    ]
    assert len(lines) == len(set(lines))
    [one] = [each for each in answer.passages if each.hit.symbol == "SessionStore"]
    other = "legacy" if one.hit.path.startswith("app") else "app"
    [copy] = one.also
    assert copy.startswith(f"{other}/session.py:1-")
    texts = ["".join(each.hit.snippet.split()) for each in answer.passages]
    assert len(texts) == len(set(texts))


def test_the_lines_of_a_passage_are_those_of_its_code(catalog: Catalog) -> None:
    for each in _ask(catalog).passages:
        hit = each.hit
        lines = TREE[hit.path].split("\n")[(hit.snippet_line or hit.line_start) - 1 :]
        shown = hit.snippet.rstrip("\n").split("\n")
        assert lines[: len(shown)] == shown


def test_unit_tests_of_rust_are_tests(catalog: Catalog, tmp_path: Path) -> None:
    body = "".join(f"    let part{n} = text.len() + {n};\n" for n in range(30))
    code = (
        f"/// Parses a frame of the wire.\npub fn parse_frame(text: &str) {{\n{body}}}\n\n"
        "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n"
        f'    fn parses_a_frame() {{\n        parse_frame("a");\n{body}    }}\n}}\n'
    )
    catalog.create(str(write_tree(tmp_path / "wire", {"src/frame.rs": code}))).index()
    answer = _ask(catalog, "parse a frame project:wire")
    assert "parse_frame" in [each.hit.symbol for each in _of(answer, Role.DEFINITION)]
    assert not [
        each.hit.symbol
        for each in answer.passages
        if each.role is not Role.TEST and (each.hit.symbol or "").startswith("tests.")
    ]


def test_filters_of_the_question_hold_for_every_role(catalog: Catalog) -> None:
    answer = _ask(catalog, f"{QUESTION} -path:legacy path:app")
    assert {each.hit.path.partition("/")[0] for each in answer.passages} == {"app"}
    assert _of(_ask(catalog, f"{QUESTION} lang:python"), Role.DOCUMENTATION) == []
    prose = _ask(catalog, f"{QUESTION} lang:markdown")
    assert {each.role for each in prose.passages} == {Role.DOCUMENTATION}
    tests = _ask(catalog, f"{QUESTION} is:test")
    assert {each.role for each in tests.passages} == {Role.TEST}


def test_contexts_and_projects_choose_where_to_look(catalog: Catalog, tmp_path: Path) -> None:
    other = catalog.create(str(write_tree(tmp_path / "other", {"session.py": SESSION})))
    other.index()
    catalog.contexts.create("rest", as_members([other]))
    inside = _ask(catalog, f"{QUESTION} context:rest")
    assert {Path(each.hit.project).name for each in inside.passages} == {"other"}
    both = _ask(catalog)
    [one] = [each for each in both.passages if each.hit.symbol == "SessionStore"]
    assert len(one.also) == 2  # of another project too
    with pytest.raises(ContextNotFoundError, match="did you mean 'rest'"):
        _ask(catalog, f"{QUESTION} context:rst")


@pytest.mark.parametrize("query", ["", "lang:python", "path:app -is:test"])
def test_filters_alone_are_no_question(catalog: Catalog, query: str) -> None:
    with pytest.raises(InvalidQueryError, match="needs words") as raised:
        _ask(catalog, query)
    assert raised.value.position == len(query)


@pytest.mark.parametrize("query", ["type:commit sessions", "sessions type:commits"])
def test_a_question_about_commits_is_no_research(catalog: Catalog, query: str) -> None:
    with pytest.raises(InvalidQueryError, match="about files, not about commits") as raised:
        _ask(catalog, query)
    assert raised.value.position == query.index("type:")
    assert raised.value.hint
    assert _ask(catalog, 'refresh_session "type:commit"').query  # that is text


def test_a_question_may_be_as_long_as_is_said(catalog: Catalog) -> None:
    text = ("session " * MAX_QUESTION_CHARS)[:MAX_QUESTION_CHARS]
    assert _ask(catalog, text).passages
    with pytest.raises(InvalidInputError, match=f"{MAX_QUESTION_CHARS:,}|{MAX_QUESTION_CHARS}"):
        _ask(catalog, f"{text}s")


def test_a_long_question_without_an_answer_is_not_repeated_beyond_a_budget(
    catalog: Catalog,
) -> None:
    answer = _ask(catalog, f'"{"zebra quantum flux " * 30}"')
    assert answer.passages == ()
    text = research_markdown(answer, 100)
    assert text.startswith("Nothing found.\n")
    assert tokens_of(len(text.encode())) <= 100


def test_nothing_is_found_for_what_is_nowhere(catalog: Catalog) -> None:
    answer = _ask(catalog, '"zebra quantum flux"')
    assert answer.passages == ()
    text = research_markdown(answer)
    assert 'Nothing found for `"zebra quantum flux"`.' in text


@pytest.mark.parametrize("max_tokens", [100, 150, 300, 600, 1000, 4000, 16_000])
def test_the_text_never_exceeds_its_budget_and_holds_code(
    catalog: Catalog, max_tokens: int
) -> None:
    text = research_markdown(_ask(catalog), max_tokens)
    assert tokens_of(len(text.encode())) <= max_tokens
    if max_tokens >= 600:
        assert "## Definitions" in text
        assert "def refresh_session" in text
    if max_tokens >= 4000:
        assert text.count("\n### ") == len(_ask(catalog).passages)
        assert "## Tests" in text
        assert "Also in `legacy/session.py:" in text or "Also in `app/session.py:" in text


def test_passages_that_a_third_one_joins_are_one(catalog: Catalog) -> None:
    def found(start: int, end: int) -> _Found:
        hit = replace(
            _ask(catalog).passages[0].hit, path="app/session.py", line_start=start, line_end=end
        )
        return _Found(Role.DEFINITION, hit, [], [], [])

    joined = _joined([found(1, 5), found(10, 15), found(4, 11)], catalog.open, None)
    assert [(each.hit.line_start, each.hit.line_end) for each in joined] == [(1, 15)]
    assert joined[0].hit.snippet == "\n".join(SESSION.split("\n")[:15])


def test_words_are_those_of_the_passages(catalog: Catalog) -> None:
    answer = _ask(catalog, "refresh_session commands.def sessions refreshed pong")
    text = " ".join(each.hit.snippet for each in answer.passages).lower()
    assert answer.words
    assert all(word.lower()[:6] in text for word in answer.words)


def test_passages_that_were_not_expected_have_their_details_too(catalog: Catalog) -> None:
    """Beside hits of other projects, others are sure enough than a project alone tells."""

    def search(asked: SearchRequest) -> SearchAnswer:
        expects_none = replace(asked, choose=lambda hits: []) if asked.choose else asked
        return catalog.search(catalog.roots(), expects_none)

    answer = research(ResearchRequest(query=QUESTION), search, catalog.open)
    told = catalog.research(catalog.roots(), ResearchRequest(query=QUESTION))
    assert answer.passages == told.passages
    assert all(passage.hit.snippet for passage in answer.passages)


class _Counted:
    """A project that counts the searches that test one file."""

    def __init__(self, project: Project, searches: list[str]) -> None:
        self._project = project
        self._searches = searches

    def __getattr__(self, name: str) -> object:
        return getattr(self._project, name)

    def search(self, request: SearchRequest) -> SearchAnswer:
        self._searches.append(request.file or "")
        return self._project.search(request)


def test_filters_are_asked_for_few_files(catalog: Catalog, tmp_path: Path) -> None:
    users = {
        f"app/user{n}.py": "from app.tokens import new_token\n\n\n"
        f"def use{n}():\n    return new_token()\n"
        for n in range(40)
    }
    root = write_tree(tmp_path / "many", {**users, "app/tokens.py": TREE["app/tokens.py"]})
    project = catalog.create(str(root))
    project.index()
    searches: list[str] = []

    request = ResearchRequest(query="new_token lang:python project:many")
    counted: Any = _Counted(project, searches)
    answer = research(
        request,
        lambda asked: catalog.search([str(root)], asked),
        lambda _root: counted,
    )
    assert _of(answer, Role.USE)
    assert len([each for each in searches if "user" in each]) <= 4


def test_a_folder_that_is_not_indexed_is_reported_beside_another(
    catalog: Catalog, tmp_path: Path
) -> None:
    (tmp_path / "bare").mkdir()
    cairn = Command(home=catalog.data_dir, folder=tmp_path, reads_here=True)
    chosen = ("--project", str(tmp_path / "app"), "--project", str(tmp_path / "bare"))
    found = cairn("research", QUESTION, *chosen, "--json").json()
    assert found["passages"]
    assert [Path(each["project"]).name for each in found["errors"]] == ["bare"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server of the tree."""
    with site(tmp_path, write_tree(tmp_path / "app", TREE)) as server:
        yield server


def _without_time(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("_"))


def test_every_face_gives_the_same_text(server: Server, tmp_path: Path) -> None:
    cairn = Command(home=server.home, folder=tmp_path, reads_here=True)
    printed = cairn("research", QUESTION, "--max-tokens", "2000")
    assert printed.code == 0
    asked = {"query": QUESTION, "max_tokens": "2000"}
    with server.client() as client:
        answer = client.get("/api/v1/research/markdown", params=asked)
        assert answer.headers["content-type"].startswith("text/markdown")
        copied = client.get("/research/markdown", params={"q": QUESTION, "max_tokens": "2000"})
        assert answer.text == copied.text == printed.out
        told = client.get("/api/v1/research", params={"query": QUESTION}).json()
        shown = cairn("research", QUESTION, "--json").json()
        assert told["passages"] == shown["passages"]
        bad = client.get("/api/v1/research", params={"query": "lang:go"})
        assert (bad.status_code, bad.json()["error"]) == (400, "validation_error")
    assert cairn("research", "lang:go").code == 2
    assert cairn("research", QUESTION, "--json", "--max-tokens", "500").code == 2
    assert cairn("research", QUESTION, "--max-tokens", "5").code == 2


def test_the_page_shows_all_passages_with_their_lines(server: Server) -> None:
    with server.client() as client:
        told = client.get("/api/v1/research", params={"query": QUESTION}).json()["passages"]
        page = Page.of(client.get("/research", params={"q": QUESTION}))
        places = [each["data-place"] for each in page.all("article")]
        assert places == [f"{each['hit']['path']}:{each['hit']['line_start']}" for each in told]
        assert {each["id"] for each in page.all("section", class_="role")} == {
            each["role"] for each in told
        }
        for each in told:
            lines = f"lines={each['hit']['line_start']}-{each['hit']['line_end']}"
            assert any(each["hit"]["path"] in link and lines in link for link in page.links)
            assert all(reason in page.text for reason in each["reasons"])
        assert any(link.startswith("/research/markdown?") for link in page.links)
        assert any(
            "/research?q=" in link
            for link in Page.of(client.get("/search", params={"q": QUESTION})).links
        )


def test_the_page_says_what_is_wrong(server: Server) -> None:
    with server.client() as client:
        assert "Ask how something works" in Page.of(client.get("/research")).text
        nothing = Page.of(client.get("/research", params={"q": '"zebra quantum flux"'}))
        assert "Nothing found" in nothing.text
        for query, status in (("lang:go", 400), ("x case:bar", 400), ("x context:nowhere", 404)):
            answer = client.get("/research", params={"q": query})
            assert answer.status_code == status
            page = Page.of(answer)
            assert page.all("div", id="problem", role="alert")
            assert page.all("input", id="q")[0]["value"] == query
        browser = {"Accept": "text/html"}
        for asked in ({"q": "x", "max_tokens": "1"}, {"q": "x", "project": "0" * 64}):
            answer = client.get("/research", params=asked, headers=browser)
            assert answer.status_code in (400, 404)
            Page.of(answer)


def test_a_branch_in_the_question_holds_for_all_passages(catalog: Catalog, tmp_path: Path) -> None:
    root = tmp_path / "app"
    git(root, "init", "-q", "-b", "main")
    commit_all(root, "first")
    git(root, "checkout", "-q", "-b", "old")
    (root / "app/server.py").unlink()
    (root / "app/session.py").write_text("# Of the old branch.\n" * 30 + SESSION)
    commit_all(root, "second")
    git(root, "checkout", "-q", "main")
    project = catalog.open(str(root))
    project.index()
    project.index(IndexOptions(branch="old"))
    assert "app/server.py" in {each.hit.path for each in _ask(catalog).passages}
    in_query = _ask(catalog, f"{QUESTION} branch:old")
    request = ResearchRequest(query=QUESTION, branch="old")
    in_request = catalog.research(catalog.roots(), request)
    assert [each.hit for each in in_query.passages] == [each.hit for each in in_request.passages]
    assert "app/server.py" not in {each.hit.path for each in in_query.passages}


def test_the_branch_that_is_checked_out_has_its_uses(catalog: Catalog, tmp_path: Path) -> None:
    root = tmp_path / "app"
    git(root, "init", "-q", "-b", "main")
    commit_all(root, "first")
    catalog.open(str(root)).index()
    wanted = [each.hit.path for each in _ask(catalog).passages if "calls" in str(each.reasons)]
    assert wanted
    for asked in (
        ResearchRequest(query=f"{QUESTION} branch:main"),
        ResearchRequest(query=QUESTION, branch="main"),
    ):
        answer = catalog.research(catalog.roots(), asked)
        found = [each.hit.path for each in answer.passages if "calls" in str(each.reasons)]
        assert found == wanted


@pytest.mark.parametrize("lines", [(16, 19), (19, 16)])
def test_uses_that_overlap_take_no_definition_in(catalog: Catalog, lines: tuple[int, int]) -> None:
    """The lines around them reach into it, but neither use is in it."""
    hit = replace(_ask(catalog).passages[0].hit, path="app/session.py")

    def use(line: int) -> _Found:
        around = replace(hit, line_start=line - 4, line_end=line + 4)
        return _Found(Role.USE, around, [f"calls it in {line}"], [], [], use_line=line)

    definition = _Found(
        Role.DEFINITION, replace(hit, line_start=6, line_end=13), ["defines it"], [], []
    )
    joined = _joined([definition, *map(use, lines)], catalog.open, None)
    assert [(each.role, each.hit.line_start, each.hit.line_end) for each in joined] == [
        (Role.DEFINITION, 6, 13),
        (Role.USE, 12, 23),
    ]
    assert joined[0].reasons == ["defines it"]


def test_research_opens_the_projects_that_it_asks(catalog: Catalog, tmp_path: Path) -> None:
    other = write_tree(tmp_path / "other", {"a.py": "other = 1\n"})
    catalog.create(str(other)).index()
    root = str(tmp_path / "app")
    with open_catalog(load_config(tmp_path / "home")) as fresh:
        assert fresh.research([root], ResearchRequest(query=QUESTION)).passages
        assert [index.root for index in fresh._indexes.opened()] == [root]


@pytest.mark.parametrize("query", ["new_token -path:app/user*.py", "new_token -path:app/user"])
def test_what_a_path_tells_takes_no_search(catalog: Catalog, tmp_path: Path, query: str) -> None:
    users = {
        f"app/user{n}.py": "from app.tokens import new_token\n\n\n"
        f"def use{n}():\n    return new_token()\n"
        for n in range(120)
    }
    more = {"app/tokens.py": TREE["app/tokens.py"], "lib/b.py": users["app/user1.py"]}
    root = write_tree(tmp_path / "many", users | more)
    project = catalog.create(str(root))
    project.index()
    searches: list[str] = []
    counted: Any = _Counted(project, searches)
    answer = research(
        ResearchRequest(query=query),
        lambda asked: catalog.search([str(root)], asked),
        lambda _root: counted,
    )
    paths = {each.hit.path for each in answer.passages if "calls" in str(each.reasons)}
    assert paths == {"lib/b.py"}
    assert not [each for each in searches if "user" in each]
