"""A process answers the same from what it keeps as from the database, and can explain it."""

import math
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import load_config
from engine.search_records import Hit, Mode, SearchAnswer, SearchRequest
from tests.support.budget import examples
from tests.support.catalogs import open_catalog
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.trees import write_tree
from tests.support.vectors import drop_vectors

MODEL = "fake:a/64"

_WORDS = ("open", "session", "store", "token", "path", "route", "request", "user", "close", "test")
_NAMES = ("open_session", "SessionStore", "close", "routeRequest", "Token", "user_path")
_PATHS = (
    "session.py",
    "app/session.py",
    "app/store.go",
    "app/copy.go",
    "tests/test_route.py",
    "vendor/token.py",
    "docs/guide.md",
    "web/request/__init__.py",
    "empty/open.py",
)

_line = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6).map(" ".join)
_definition = st.builds(
    "def {}({}):\n    '''{}'''\n    return {!r}\n".format,
    st.sampled_from(_NAMES),
    st.sampled_from(_WORDS),
    _line,
    _line,
)
_text = st.lists(_definition | _line.map("# {}\n".format), max_size=12).map("\n".join)
_trees = st.dictionaries(st.sampled_from(_PATHS), _text, min_size=1)
_questions = st.lists(
    st.sampled_from((*_WORDS, *_NAMES, "SessionStore.open", "how", "nowhere")),
    min_size=1,
    max_size=5,
).map(" ".join)


def same(answer: SearchAnswer) -> SearchAnswer:
    return replace(answer, took_ms=0.0)


def adds_up(hit: Hit) -> None:
    explanation = hit.explain
    assert explanation
    total = sum(explanation.shares.values()) * math.prod(explanation.factors.values())
    assert total == pytest.approx(explanation.score)
    assert hit.score == round(explanation.score, 4)
    assert (explanation.bm25 > 0) == ("words" in explanation.shares)
    assert ("meaning" in explanation.shares) <= (explanation.meaning is not None)
    assert (explanation.meaning is None) == (explanation.meaning_rank is None)
    has_words = any(match.columns for match in explanation.words)
    assert has_words or not explanation.bm25


@settings(max_examples=examples(25))
@given(tree=_trees, questions=st.lists(_questions, min_size=1, max_size=6))
def test_what_is_kept_changes_no_answer(tree: dict[str, str], questions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        write_tree(root, tree)
        config = load_config(Path(folder) / "home", workers=1)
        with open_catalog(config) as catalog:
            index = catalog.create(str(root))
            index.index()
            for number, question in enumerate(questions):
                request = SearchRequest(
                    query=question, mode=Mode.KEYWORD, limit=3 + number, explain=True
                )
                with open_catalog(config) as other:  # knows nothing yet, so it asks the database
                    wanted = same(other.open(str(root)).search(request))
                for _ in range(2):
                    assert same(index.search(request)) == wanted
                for hit in wanted.hits:
                    adds_up(hit)


@settings(max_examples=examples(25))
@given(tree=_trees, questions=st.lists(_questions, min_size=1, max_size=3))
def test_what_is_kept_of_vectors_changes_no_answer(
    tree: dict[str, str], questions: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        write_tree(root, tree)
        config = load_config(Path(folder) / "home", workers=1, model=MODEL)
        fake = FakeEmbedder("a", 64)
        fakes = Fakes(fake)
        with open_catalog(config, open_embedder=fakes) as catalog:
            index = catalog.create(str(root))
            index.index()
            drop_vectors(index, "app/copy.go")
            for question in questions:
                for mode in (Mode.HYBRID, Mode.MEANING):
                    request = SearchRequest(query=question, mode=mode, explain=True)
                    with open_catalog(config, open_embedder=fakes) as other:
                        wanted = same(other.open(str(root)).search(request))
                    for _ in range(2):
                        assert same(index.search(request)) == wanted
                    for hit in wanted.hits:
                        adds_up(hit)


@settings(max_examples=examples(15))
@given(tree=_trees, name=st.sampled_from(_NAMES), mode=st.sampled_from([Mode.SYMBOL, Mode.HYBRID]))
def test_every_mode_and_filter_is_explained(tree: dict[str, str], name: str, mode: Mode) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        write_tree(root, tree)
        with open_catalog(load_config(Path(folder) / "home", workers=1)) as catalog:
            index = catalog.create(str(root))
            index.index()
            for question in (name, f"{name} lang:python", f'"{name}"', f"{name} -token"):
                request = SearchRequest(query=question, mode=mode, explain=True)
                for hit in index.search(request).hits:
                    adds_up(hit)
