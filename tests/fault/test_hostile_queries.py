"""No question breaks the search: it is answered, or refused with a reason, in every mode."""

import time
from collections.abc import Callable, Iterator

import pytest

from engine.catalog import Catalog
from engine.config import load_config
from engine.errors import EngineError, InvalidInputError
from engine.project import Project
from engine.search_records import Mode, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.hostile import QUERY_CASES, QueryCase
from tests.support.patience import patience
from tests.support.trees import SAMPLE, write_tree


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Give the index of a small project; asking changes nothing in it."""
    folder = tmp_path_factory.mktemp("queries")
    tree = folder / "tree"
    write_tree(tree, {**SAMPLE, "odd.py": "# 100 % (a+)+$ <img src=x> '; DROP TABLE files; --\n"})
    with open_catalog(load_config(folder / "home", workers=1)) as catalog:
        index = catalog.create(str(tree))
        index.index()
        yield index


def test_there_are_forty_of_them_and_more() -> None:
    assert len({case.name for case in QUERY_CASES}) == len(QUERY_CASES) >= 40


@pytest.mark.parametrize("case", QUERY_CASES, ids=lambda case: case.name)
def test_a_question_has_an_answer_or_a_reason(index: Project, case: QueryCase) -> None:
    for mode in case.modes:
        request = SearchRequest(query=case.query, mode=mode)
        if case.refused:
            with pytest.raises(InvalidInputError) as refusal:
                index.search(request)
            assert refusal.value.as_json()["error"] == "validation_error"
            assert len(refusal.value.message) < 500
        else:
            answer = index.search(request)
            assert len(answer.hits) <= request.limit


@pytest.mark.parametrize("case", QUERY_CASES, ids=lambda case: case.name)
def test_every_field_of_a_question_takes_it(index: Project, case: QueryCase) -> None:
    text = case.query
    for request in (
        SearchRequest(query="session", path=text),
        SearchRequest(query="session", branch=text),
        SearchRequest(query="session", language=text),
        SearchRequest(query="session", kind=text),
    ):
        _ask(lambda request=request: index.search(request))  # type: ignore[misc]
    for match in ("exact", "prefix", "fuzzy"):
        _ask(lambda match=match: index.symbols(text, match=match))  # type: ignore[misc]
    _ask(lambda: index.symbols("session", kind=text))
    _ask(lambda: index.outline(text))
    _ask(lambda: index.why(text))


@pytest.mark.parametrize("case", QUERY_CASES, ids=lambda case: case.name)
def test_no_text_is_too_odd_for_a_path(catalog: Catalog, case: QueryCase) -> None:
    for act in (catalog.open, catalog.create, catalog.forget):
        with pytest.raises(EngineError) as refusal:
            act(f"nowhere/{case.query}")
        assert refusal.value.as_json()["error"] in ("validation_error", "not_found")


def test_the_index_is_what_it_was(index: Project) -> None:
    answer = index.search(SearchRequest(query="session"))
    assert answer.total >= 3
    assert answer.coverage.complete


def test_words_that_look_like_operators_are_words(index: Project) -> None:
    assert index.search(SearchRequest(query='"DROP TABLE files"')).hits[0].path == "odd.py"
    assert index.search(SearchRequest(query='"img src=x"')).hits[0].path == "odd.py"
    told = index.search(SearchRequest(query="session AND token NEAR", mode=Mode.KEYWORD)).hits
    assert "tests/test_session.py" in {hit.path for hit in told}
    told = index.search(SearchRequest(query="session NOT token", mode=Mode.KEYWORD)).hits
    assert told
    assert "tests/test_session.py" not in {hit.path for hit in told}
    for text in ("sess*", "%ession"):  # by meaning, pieces of words are near to words
        assert index.search(SearchRequest(query=text, mode=Mode.KEYWORD)).total == 0


@pytest.mark.soak
def test_how_long_each_takes(index: Project) -> None:
    longest = {}
    for case in QUERY_CASES:
        for mode in case.modes:
            started = time.perf_counter()
            _ask(
                lambda case=case, mode=mode: index.search(  # type: ignore[misc]
                    SearchRequest(query=case.query, mode=mode)
                )
            )
            longest[case.name, mode.value] = time.perf_counter() - started
    slowest = max(longest, key=lambda key: longest[key])
    print(f"{len(longest)} questions, the slowest {longest[slowest] * 1e3:.0f} ms: {slowest}")
    assert longest[slowest] < patience(2)


def _ask(question: Callable[[], object]) -> None:
    """Ask; an error that says what is wrong is an answer too."""
    codes = []
    try:
        question()
    except EngineError as error:
        codes.append(error.code)
    assert codes in ([], ["validation_error"], ["not_found"])
