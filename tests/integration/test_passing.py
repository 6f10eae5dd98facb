"""Filters alone list what passes them: files, or definitions."""

from collections.abc import Iterator

import pytest

from engine.config import load_config
from engine.errors import InvalidQueryError
from engine.index_records import IndexOptions
from engine.project import Project
from engine.search_records import Hit, Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_FILES = {
    "tests/test_store.py": "class TestStore:\n    def test_it(self):\n        assert 1\n",
    "store/disk.py": "class Disk:\n    def read(self):\n        return 1\n",
    "store/copy_of_disk.py": "class Disk:\n    def read(self):\n        return 1\n",
    "app.py": "LIMIT = 3\n\n\ndef main():\n    return LIMIT\n",
    "web/ui.ts": "export enum Mode { On, Off }\n",
    "readme.md": "# Words\n\nNothing else.\n",
    "empty.py": "",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    tree = write_tree(tmp_path_factory.mktemp("tree"), _FILES)
    with open_catalog(load_config(tmp_path_factory.mktemp("home"), workers=1)) as catalog:
        index = catalog.create(str(tree))
        index.index(IndexOptions())
        yield index


def _hits(index: Project, query: str, **fields: object) -> tuple[Hit, ...]:
    return index.search(SearchRequest(query=query, **fields)).hits  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.MEANING, Mode.KEYWORD, Mode.REGEX])
def test_files_are_listed_plain_code_first_and_copies_once(index: Project, mode: Mode) -> None:
    answer = index.search(SearchRequest(query="lang:python", mode=mode))
    paths = [hit.path for hit in answer.hits]
    assert paths == ["app.py", "store/disk.py", "tests/test_store.py"]
    assert (answer.total, answer.truncated) == (3, False)
    assert [hit.line_start for hit in answer.hits] == [1, 1, 1]
    assert answer.hits[0].snippet.startswith("LIMIT = 3")
    assert answer.hits[2].why == ("passes the filters", "test ×0.3")


def test_a_page_is_a_part_of_the_list(index: Project) -> None:
    answer = index.search(SearchRequest(query="lang:python", limit=2))
    assert [hit.path for hit in answer.hits] == ["app.py", "store/disk.py"]
    assert (answer.total, answer.truncated) == (3, True)


def test_a_kind_lists_definitions(index: Project) -> None:
    found = [(hit.symbol, hit.kind, hit.path) for hit in _hits(index, "kind:class")]
    assert found == [
        ("Disk", "class", "store/disk.py"),
        ("TestStore", "class", "tests/test_store.py"),
    ]
    assert [hit.symbol for hit in _hits(index, "kind:enum")] == ["Mode"]
    assert [hit.symbol for hit in _hits(index, "kind:method path:tests")] == ["TestStore.test_it"]
    answer = index.search(SearchRequest(query="kind:class", limit=1))
    assert (answer.total, answer.truncated) == (2, True)


def test_a_refused_kind_or_name_refuses_definitions_and_not_their_neighbours(
    index: Project,
) -> None:
    answer = index.search(SearchRequest(query="kind:method -kind:class", limit=1))
    assert [hit.symbol for hit in answer.hits] == ["Disk.read"]
    assert (answer.total, answer.truncated) == (2, True)
    whole = index.search(SearchRequest(query="kind:method -kind:class -sym:read"))
    assert [hit.symbol for hit in whole.hits] == ["TestStore.test_it"]
    assert (whole.total, whole.truncated) == (1, False)


def test_symbol_mode_lists_definitions(index: Project) -> None:
    found = _hits(index, "path:app.py", mode=Mode.SYMBOL)
    assert [hit.symbol for hit in found] == ["LIMIT", "main"]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("path:store", ["store/disk.py"]),
        ("path:*.md", ["readme.md"]),
        ("tag:markdown", ["readme.md"]),
        ("lang:python -path:store -path:tests", ["app.py"]),
        ("lang:python -kind:class", ["app.py"]),
        ("lang:go", []),
    ],
)
def test_all_filters_hold(index: Project, query: str, paths: list[str]) -> None:
    assert [hit.path for hit in _hits(index, query)] == paths


def test_fields_of_a_request_are_filters_too(index: Project) -> None:
    assert [hit.path for hit in _hits(index, "", language="markdown")] == ["readme.md"]
    assert [hit.symbol for hit in _hits(index, "", kind="constant")] == ["LIMIT"]
    assert [hit.path for hit in _hits(index, "", file="app.py")] == ["app.py"]


def test_words_that_are_refused_do_not_list(index: Project) -> None:
    with pytest.raises(InvalidQueryError, match="nothing to search for"):
        _hits(index, '-"store"')


def test_the_score_explains_itself(index: Project) -> None:
    first = index.search(SearchRequest(query="lang:python", explain=True)).hits[-1]
    assert first.explain is not None
    assert first.explain.shares == {"listed": 1.0}
    assert first.explain.factors == {"test": 0.3}
    assert first.score == 0.3


def test_filters_choose_the_same_whether_their_files_are_cached_or_not(index: Project) -> None:
    filters = [
        *(
            "is:test",
            "-is:test",
            "path:store",
            "-path:store",
            "lang:python",
            "lang:python -is:test",
        ),
        *("path:store -path:copy*", "tag:.py", "-tag:.py", "is:generated", "-is:generated", ""),
    ]

    def ask(filters: str) -> list[tuple[str, int, float]]:
        hits = _hits(index, f"read the disk {filters}", mode=Mode.MEANING)
        return [(hit.path, hit.line_start, hit.score) for hit in hits]

    index.warm()
    first = {each: ask(each) for each in filters}
    assert {each: ask(each) for each in reversed(filters)} == first
    for each in filters:
        index.evict()
        index.warm()
        assert ask(each) == first[each]
    assert {path for path, *_ in first["is:test"]} == {"tests/test_store.py"}
    assert "tests/test_store.py" not in {path for path, *_ in first["-is:test"]}
