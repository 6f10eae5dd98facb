"""Search by meaning, end to end: what is near is found, filters hold first, words step in."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalog import Catalog
from engine.config import Config
from engine.errors import UnavailableError
from engine.index_records import IndexOptions
from engine.project import Project
from engine.search import branch_vectors
from engine.search_records import Mode, SearchAnswer, SearchRequest
from tests.support.catalogs import open_catalog
from tests.support.command import ROOT
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.trees import write_tree
from tests.support.vectors import drop_vectors

MODEL = "fake:a/64"
MANY = 600


@pytest.fixture
def fake() -> FakeEmbedder:
    return FakeEmbedder("a", 64)


@pytest.fixture
def settings(config: Config) -> Config:
    return replace(config, model=MODEL)


@pytest.fixture
def catalog(settings: Config, fake: FakeEmbedder) -> Iterator[Catalog]:
    with open_catalog(settings, open_embedder=Fakes(fake)) as catalog:
        yield catalog


def answers(index: Project, request: SearchRequest) -> SearchAnswer:
    """Ask for what the database says and for what is kept; both are the same."""
    cold, *warm = [replace(index.search(request), took_ms=0.0) for _ in range(3)]
    assert warm == [cold, cold]
    return cold


def test_meaning_finds_without_a_common_word(index: Project, fake: FakeEmbedder) -> None:
    """The fake is told that two words mean the same."""
    fake._known["conversation"] = fake.vector_of("session") * 100
    request = SearchRequest(query="conversation", mode=Mode.MEANING, explain=True)
    answer = answers(index, request)
    assert "session" in answer.hits[0].path
    explanation = answer.hits[0].explain
    assert explanation
    assert explanation.meaning
    assert explanation.meaning_rank
    assert explanation.bm25 == 0
    assert f"meaning {explanation.meaning:.2f}" in answer.hits[0].why
    assert answers(index, replace(request, mode=Mode.KEYWORD)).hits == ()
    both = answers(index, replace(request, mode=Mode.HYBRID))
    assert "session" in both.hits[0].path
    assert both.coverage.embedded == 1
    assert both.notes == ()


def test_hybrid_adds_meaning_to_words(index: Project) -> None:
    answer = answers(index, SearchRequest(query="open a session for a user", explain=True))
    explanation = answer.hits[0].explain
    assert explanation
    assert {"words", "meaning"} <= explanation.shares.keys()
    assert explanation.keyword_rank


@pytest.mark.parametrize(
    ("question", "passes"),
    [
        ("session server lang:go", ".go"),
        ("session handler path:app/http", "app/http/router.py"),
        ("session tag:.md", ".md"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.MEANING])
def test_filters_hold_for_what_meaning_finds(
    index: Project, question: str, passes: str, mode: Mode
) -> None:
    hits = answers(index, SearchRequest(query=question, mode=mode)).hits
    assert hits
    assert all(hit.path.endswith(passes) for hit in hits)


def test_vectors_that_are_too_many_to_be_kept_are_asked_of_the_database(
    index: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [
        SearchRequest(query="open a session for a user", mode=mode, explain=True)
        for mode in (Mode.HYBRID, Mode.MEANING)
    ]
    wanted = [answers(index, request) for request in requests]
    index.index(IndexOptions(force=True))
    monkeypatch.setattr(branch_vectors, "MAX_BYTES", 0)
    for request, kept in zip(requests, wanted, strict=True):
        assert answers(index, request).hits == kept.hits


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.MEANING])
def test_phrases_and_refused_words_hold_for_what_meaning_finds(index: Project, mode: Mode) -> None:
    request = SearchRequest(query='sessions "Open a session"', mode=mode)
    hits = answers(index, request).hits
    assert hits
    assert all("open a session" in hit.snippet.lower() for hit in hits)
    refused = answers(index, replace(request, query="sessions -token -users"))
    assert all("token" not in hit.snippet.lower() for hit in refused.hits)


def test_a_filter_that_keeps_little_still_gives_ten(catalog: Catalog, tree: Path) -> None:
    """The nearest hundreds do not pass; the filter has to come before the nearest are taken."""
    near = {f"near/{number}.py": "def session(): open(session)\n" for number in range(MANY)}
    far = {f"far/{number}.go": f"package far{number} // session\n" for number in range(10)}
    write_tree(tree, near | far)
    index = catalog.create(str(tree))
    index.index()
    for question in ("session open lang:go", "session open path:far", "session open -path:near"):
        answer = answers(index, SearchRequest(query=question, mode=Mode.MEANING))
        assert len(answer.hits) == 10
        assert {hit.language for hit in answer.hits} == {"go"}


def test_a_place_without_vectors_is_found_by_words(index: Project) -> None:
    drop_vectors(index, "app/session.py")
    answer = answers(index, SearchRequest(query="keeps the sessions in memory"))
    assert answer.hits[0].path == "app/session.py"
    assert 0 < answer.coverage.embedded < 1
    assert "no vectors yet" in answer.notes[0]


def check_words_alone(index: Project, reason: str) -> None:
    """Hybrid answers as keyword does and says why; meaning fails with the same reason."""
    request = SearchRequest(query="open session")
    answer = answers(index, request)
    assert answer.hits == answers(index, replace(request, mode=Mode.KEYWORD)).hits
    assert reason in answer.notes[0]
    with pytest.raises(UnavailableError) as raised:
        index.search(replace(request, mode=Mode.MEANING))
    assert reason in raised.value.message
    assert raised.value.hint


def test_an_index_without_vectors_answers_by_words(index: Project) -> None:
    drop_vectors(index)
    check_words_alone(index, "no vectors")
    assert index.search(SearchRequest(query="open")).coverage.embedded == 0


def test_a_model_that_is_away_leaves_words(index: Project, fake: FakeEmbedder) -> None:
    fake.fail_after = 0
    requests = fake.requests
    check_words_alone(index, "is away")
    assert fake.requests == requests + 1  # then it is left alone for a while


@pytest.mark.parametrize(
    ("model", "reason"), [("none", "model is none"), ("fake:other/64", "not of the model")]
)
def test_another_setting_leaves_words(
    index: Project, settings: Config, tree: Path, model: str, reason: str
) -> None:
    with open_catalog(replace(settings, model=model), open_embedder=Fakes()) as other:
        check_words_alone(other.open(str(tree)), reason)


def test_nothing_indexed_is_told_once(catalog: Catalog, tree: Path) -> None:
    index = catalog.create(str(tree))
    answer = index.search(SearchRequest(query="anything"))
    assert len(answer.notes) == 1
    assert "nothing is indexed yet" in answer.notes[0]


def test_a_pattern_is_ranked_by_words(index: Project) -> None:
    answer = index.search(SearchRequest(query="session /def \\w+/", mode=Mode.MEANING))
    assert answer.hits
    assert "pattern" in answer.notes[0]


def test_the_first_search_of_a_process_imports_no_more_than_it_needs(
    tree: Path, config: Config
) -> None:
    (tree / "session.py").write_text("def open_session(user):\n    return user.login()\n")
    with open_catalog(config) as catalog:  # with the built-in model
        catalog.create(str(tree)).index()
    code = f"""
import sys
from web.cli.main import run
assert run(["search", "open a session", "--explain", "--project", {str(tree)!r}]) == 0
heavy = {{"numpy", "logging", "tomllib", "rich", "litestar", "engine.state_records"}}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""
    env = {**os.environ, "CAIRN_HOME": str(config.data_dir)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    assert "meaning" in done.stdout


def test_only_further_searches_by_words_load_numpy(index: Project, settings: Config) -> None:
    code = f"""
import sys
from pathlib import Path
from engine import Catalog, Mode, SearchRequest, load_config
with Catalog(load_config(Path({str(settings.data_dir)!r}))) as catalog:
    index = catalog.open({index.root!r})
    for mode, times in ((Mode.KEYWORD, 1), (Mode.SYMBOL, 3), (Mode.REGEX, 3)):
        for _ in range(times):
            assert index.search(SearchRequest(query="session", mode=mode)).hits
assert "numpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
