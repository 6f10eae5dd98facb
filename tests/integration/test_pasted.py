"""What is pasted finds what is there: messages, titles, traces, and phrases that nothing has."""

from collections.abc import Iterator

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.project import Project
from engine.search_records import MAX_QUERY_CHARS, Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_FILES = {
    "app/routes.py": "def list_routes(closure):\n    return closure\n",
    "app/middleware.py": "class Middleware:\n    advanced = 'its page'\n",
    "app/retry.py": "def retry(connection):\n    raise ResetError('connection reset by peer')\n",
    "lib/retry.py": "def retry(other):\n    return other.connection\n",
    "tool/flags.go": "package tool\n\nfunc Handle(arguments []string) {}\n",
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    with open_catalog(load_config(tmp_path_factory.mktemp("home"), workers=1)) as catalog:
        yield catalog


@pytest.fixture(scope="module")
def index(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An index that only answers."""
    index = catalog.create(str(write_tree(tmp_path_factory.mktemp("tree"), _FILES)))
    index.index()
    return index


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("route:list closure routes", "app/routes.py"),
        ('Re-add old "Advanced > Middleware" page', "app/middleware.py"),
        ('Revert "Advanced Middleware"', "app/middleware.py"),
        ('We now handle arguments "--arg=VALUE"', "tool/flags.go"),
        ("`list_routes` -> [closure](https://example.org/x) \U0001f600", "app/routes.py"),
        ("* **routes**\n- closure\n```py\n@app.route\n```", "app/routes.py"),
        ("flags::Handle @Handle a->arguments --verbose -x", "tool/flags.go"),
        ("frobnicating: it's its", "app/middleware.py"),  # only words that say little
        ('retry "connection reset by peer"', "app/retry.py"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD])
def test_what_is_pasted_finds_its_words(index: Project, query: str, path: str, mode: Mode) -> None:
    index.evict()
    for _ in range(3):  # the first time the file is asked, later what is kept of it
        assert index.search(SearchRequest(query=query, mode=mode)).hits[0].path == path


def test_phrases_that_are_there_are_required(index: Project) -> None:
    request = SearchRequest(query='retry "connection reset by peer"', mode=Mode.KEYWORD)
    answer = index.search(request)
    assert [hit.path for hit in answer.hits] == ["app/retry.py"]
    assert answer.notes == ()


def test_a_note_says_that_a_phrase_is_nowhere(index: Project) -> None:
    answer = index.search(SearchRequest(query='retry "connection lost"', mode=Mode.KEYWORD))
    assert {hit.path for hit in answer.hits} == {"app/retry.py", "lib/retry.py"}
    assert answer.notes == ('nothing has "connection lost", so its words were searched for',)
    for alone in ('"connection lost"', '"connection lost" lang:python'):
        assert not index.search(SearchRequest(query=alone)).hits
    assert not index.search(SearchRequest(query='retry "connection lost" lang:go')).hits


def test_one_of_two_phrases(index: Project) -> None:
    request = SearchRequest(query='"reset by peer" OR "return closure"', mode=Mode.KEYWORD)
    assert {hit.path for hit in index.search(request).hits} == {"app/retry.py", "app/routes.py"}


def test_of_several_projects_one_that_has_the_phrase_answers(
    catalog: Catalog, index: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = write_tree(tmp_path_factory.mktemp("other"), {"x.py": "retry = 'connection lost'\n"})
    catalog.create(str(other)).index()
    request = SearchRequest(query='retry "connection lost"')
    answer = catalog.search([index.root, str(other)], request)
    assert [hit.path for hit in answer.hits] == ["x.py"]
    assert (answer.total, answer.notes) == (1, ())


@pytest.mark.parametrize("line", ["at app.Main (/x/y.js:3:5)\n", '{"a": [1, "b c"]}, ', "a:b -c "])
def test_long_texts_are_searched(index: Project, line: str) -> None:
    text = (line * MAX_QUERY_CHARS)[: MAX_QUERY_CHARS - 20] + "\nclosure routes"
    for mode in (Mode.HYBRID, Mode.KEYWORD):
        assert index.search(SearchRequest(query=text, mode=mode)).hits[0].path == "app/routes.py"


@pytest.mark.parametrize(
    "text",
    [
        'Traceback (most recent call last):\n  File "/srv/x/lib/retry.py", line 1, in retry\n'
        "OSError: connection lost",
        "connection reset by peer at lib/retry.py:2:5",
        "connection reset by peer: at run (..\\x\\lib\\retry.py:2) or so",
    ],
)
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.KEYWORD])
def test_a_file_that_a_message_names_comes_first(index: Project, text: str, mode: Mode) -> None:
    index.evict()
    for _ in range(3):
        answer = index.search(SearchRequest(query=text, mode=mode))
        assert answer.hits[0].path == "lib/retry.py"
        assert any("named by the query" in why for why in answer.hits[0].why)
