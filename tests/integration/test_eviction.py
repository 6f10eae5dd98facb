"""What a process keeps of all projects to answer sooner is bound, and nothing hangs on it."""

import math
from pathlib import Path

import pytest
from apsw import SQLITE_DBSTATUS_CACHE_USED
from mcp.client.client import Client

from engine.catalog import Catalog
from engine.errors import InvalidQueryError
from engine.index_records import IndexOptions
from engine.open_projects import _OVERHEAD
from engine.project import Project
from engine.search_records import Hit, Mode, RelatedRequest, SearchRequest
from tests.support.mcp_clients import ask, called
from tests.support.trees import write_tree
from web.app import BackgroundTasks
from web.security.server_settings import ServerSettings

_WORDS = ("cursor", "session", "socket", "bucket", "window")


@pytest.fixture
def projects(catalog: Catalog, tmp_path: Path) -> list[Project]:
    made = []
    for name in _WORDS[:3]:
        files = {f"{word}_{name}.py": f"def {word}_{name}():\n    return 1\n" for word in _WORDS}
        index = catalog.create(str(write_tree(tmp_path / name, files)))
        index.index(IndexOptions())
        made.append(index)
    return made


def _ask(catalog: Catalog, *projects: Project, query: str = "session") -> tuple[Hit, ...]:
    return catalog.search([each.root for each in projects], SearchRequest(query=query)).hits


def _let_go(catalog: Catalog, most: int) -> None:
    catalog._indexes.max_cached_bytes = math.ceil(most * _OVERHEAD)
    catalog._indexes.evict()


def test_the_project_asked_longest_ago_is_let_go_first(
    catalog: Catalog, projects: list[Project]
) -> None:
    first, second, third = projects
    for _ in range(2):  # the second question of a process has a branch read as a whole
        _ask(catalog, first, second, third)
    _ask(catalog, first)
    sizes = [each.cached_bytes for each in projects]
    assert all(sizes)
    _let_go(catalog, sum(sizes))
    assert [each.cached_bytes for each in projects] == sizes
    _let_go(catalog, sizes[0] + sizes[2])
    assert [bool(each.cached_bytes) for each in projects] == [True, False, True]
    _let_go(catalog, sizes[0])
    assert [bool(each.cached_bytes) for each in projects] == [True, False, False]


def test_the_project_asked_last_stays_although_it_alone_is_too_large(
    catalog: Catalog, projects: list[Project]
) -> None:
    for _ in range(2):
        _ask(catalog, *projects)
        _ask(catalog, projects[1])
    _let_go(catalog, 1)
    assert [bool(each.cached_bytes) for each in projects] == [False, True, False]


def test_idle_projects_are_let_go(
    catalog: Catalog, projects: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        _ask(catalog, *projects)
    catalog.update_ngram_filters(lambda: False)
    assert all(each.cached_bytes for each in projects)
    monkeypatch.setattr("engine.open_projects._IDLE_S", 0.0)
    catalog.update_ngram_filters(lambda: False)
    assert not any(each.cached_bytes for each in projects)


def test_what_a_server_reads_first_stays_if_not_all_fits(
    catalog: Catalog, projects: list[Project]
) -> None:
    roots = tuple(each.root for each in projects)
    where = ServerSettings(host="127.0.0.1", port=0, roots=roots, watches=False)
    upkeep = BackgroundTasks(catalog, where, lambda *_, **__: None)

    def expecting() -> list[bool]:
        """Prepare all; return for which an n-gram filter is built before a pattern."""
        for each in projects:
            each.evict()
        upkeep._warm()
        return [each._searcher._expects_patterns for each in projects]

    assert expecting() == [True, True, True]
    _let_go(catalog, projects[0].cached_bytes)
    assert expecting() == [False, False, False]
    catalog.update_ngram_filters(lambda: False)
    assert [bool(each.cached_bytes) for each in projects] == [True, False, False]
    _let_go(catalog, 0)
    assert expecting() == [False, False, False]


def test_answers_do_not_change(catalog: Catalog, projects: list[Project]) -> None:
    whole = [_ask(catalog, *projects, query=query) for query in _WORDS]
    assert sum(each.cached_bytes for each in projects)
    catalog._indexes.max_cached_bytes = 0
    for _ in range(2):
        assert [_ask(catalog, *projects, query=query) for query in _WORDS] == whole
        assert not any(each.cached_bytes for each in projects)


def test_what_patterns_taught_is_let_go_too(catalog: Catalog, projects: list[Project]) -> None:
    request = SearchRequest(query="def sess", mode=Mode.REGEX)
    asked = [projects[0].root]
    found = catalog.search(asked, request).hits
    catalog.update_ngram_filters(lambda: False)
    learned = projects[0]._searcher.size_bytes
    assert learned
    most = projects[0].cached_bytes
    _let_go(catalog, 0)
    assert not projects[0].cached_bytes
    catalog._indexes.max_cached_bytes = most
    assert catalog.search(asked, request).hits == found
    catalog.update_ngram_filters(lambda: False)
    assert projects[0]._searcher.size_bytes == learned


def test_questions_to_one_project_are_bound_when_a_server_learns(
    catalog: Catalog, projects: list[Project]
) -> None:
    catalog._indexes.max_cached_bytes = 0
    first, second, third = projects
    first.warm()
    for _ in range(2):
        second.search(SearchRequest(query="session"))
        third.related(RelatedRequest(path="session_socket.py", line_start=1))
    third.search(SearchRequest(query="def sess", mode=Mode.REGEX))
    assert all(each.cached_bytes for each in projects)
    catalog.update_ngram_filters(lambda: False)
    assert not any(each.cached_bytes for each in projects)


def test_blames_are_bound(catalog: Catalog, projects: list[Project]) -> None:
    def blame_some() -> None:
        for each in projects[:2]:
            path = f"session_{Path(each.root).name}.py"
            each.history.blame(path, each.browse.content(path))

    def have_blames() -> list[bool]:
        return [bool(each.history.size_bytes) for each in projects]

    blame_some()
    assert have_blames() == [True, True, False]
    catalog.update_ngram_filters(lambda: False)  # which drops what was idle
    assert have_blames() == [True, True, False]
    _let_go(catalog, projects[1].cached_bytes)
    assert have_blames() == [False, True, False]
    blame_some()
    _let_go(catalog, 0)
    assert not any(each.cached_bytes for each in projects)


def test_paths_of_the_file_finder_are_bound(catalog: Catalog, projects: list[Project]) -> None:
    def find() -> None:
        for each in projects:
            assert each.browse.folders.find("session")

    def have_paths() -> list[bool]:
        return [bool(each.browse.size_bytes) for each in projects]

    find()
    catalog.update_ngram_filters(lambda: False)  # which drops what was idle
    assert have_paths() == [True, True, True]
    most = sum(each.cached_bytes for each in projects[1:])
    _let_go(catalog, most)
    assert have_paths() == [False, True, True]
    assert sum(each.cached_bytes for each in projects) <= most
    find()
    _let_go(catalog, 0)
    assert not any(each.cached_bytes for each in projects)


def test_questions_of_agents_are_bound(catalog: Catalog, projects: list[Project]) -> None:
    catalog._indexes.max_cached_bytes = 0

    async def body(client: Client) -> None:
        for each in projects * 2:
            await called(client, "search_code", query="session", project_path=each.root)

    ask(catalog, body)
    assert not any(each.cached_bytes for each in projects)


def test_a_question_that_cannot_be_answered_is_bound(
    catalog: Catalog, projects: list[Project]
) -> None:
    _let_go(catalog, 0)
    projects[0].warm()
    with pytest.raises(InvalidQueryError):
        _ask(catalog, *projects, query='-"session"')
    assert not any(each.cached_bytes for each in projects)


def test_the_pages_of_a_writer_are_bound(catalog: Catalog, projects: list[Project]) -> None:
    _let_go(catalog, 0)
    for each in projects:
        write_tree(Path(each.root), {"added.py": "def added():\n    return 2\n"})
        each.index(IndexOptions())
        each._store.release_readers()
    assert all(each._store.cached_bytes for each in projects)
    pages = projects[0]._store._writer
    assert pages
    before = pages.status(SQLITE_DBSTATUS_CACHE_USED)[0]
    _let_go(catalog, 0)
    assert not any(each.cached_bytes for each in projects)
    assert pages.status(SQLITE_DBSTATUS_CACHE_USED)[0] < before // 4
    write_tree(Path(projects[0].root), {"later.py": "def later_one():\n    return 3\n"})
    projects[0].index(IndexOptions())
    assert _ask(catalog, projects[0], query="later_one")


def test_a_reader_that_is_lent_meanwhile_counts_as_nothing_freed(projects: list[Project]) -> None:
    index = projects[0]
    index.evict()
    with index._store.read():
        pass
    assert index.cached_bytes
    with index._store.read():
        assert index.evict() == 0
        assert index.evict_unused(0.0) == 0
    held = index.cached_bytes
    assert index.evict() == held
