"""Code like that of a place: from Python and from the command line."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from engine.config import Config
from engine.errors import (
    FileNotIndexedError,
    InvalidInputError,
    InvalidPathError,
    UnavailableError,
)
from engine.project import Project
from engine.search_records import Mode, RelatedRequest, SearchRequest
from engine.store import vector_rows
from tests.support.catalogs import open_catalog
from tests.support.command import Command
from tests.support.embedders import FakeEmbedder, Fakes
from tests.support.trees import write_tree
from tests.support.vectors import drop_vectors


def function(name: str, *words: str) -> str:
    """Write a definition that is long enough to be a place of its own."""
    lines = [
        f"    {word}_{number} = {word}.take({number})" for number in range(12) for word in words
    ]
    return "\n".join([f"def {name}({', '.join(words)}):", *lines, "    return None", "", ""])


READ = function("read_settings", "file", "setting")
DRAW = function("draw", "canvas", "circle")
PARSE = function("parse", "grammar", "token")
TREE = {
    "app/settings.py": DRAW + READ,
    "app/options.py": function("read_options", "file", "setting"),
    "copy/settings.py": PARSE + READ,
    "tests/test_settings.py": function("test_settings", "file", "setting"),
    "web/paint.py": function("paint", "canvas", "circle"),
    "empty.py": "",
}
LINE = DRAW.count("\n") + 1  # where READ begins


@pytest.fixture
def index(config: Config, tree: Path) -> Iterator[Project]:
    write_tree(tree, TREE)
    fakes = Fakes(FakeEmbedder("a", 64))
    with open_catalog(replace(config, model="fake:a/64"), open_embedder=fakes) as catalog:
        index = catalog.create(str(tree))
        index.index()
        yield index


def test_what_is_alike_comes_first_and_the_place_itself_not_at_all(index: Project) -> None:
    answer = index.related(RelatedRequest(path="app/settings.py", line_start=LINE, limit=10))
    assert answer.query == f"app/settings.py:{LINE}"
    places = [(hit.path, hit.line_start) for hit in answer.hits]
    assert places[0][0] == "app/options.py"
    assert ("app/settings.py", LINE) not in places
    assert len(places) == len(set(places))
    painted = index.related(RelatedRequest(path="web/paint.py", line_start=1)).hits[0]
    assert (painted.path, painted.line_start) == ("app/settings.py", 1)


def test_a_copy_does_not_come_first_and_is_told(index: Project) -> None:
    hits = index.related(RelatedRequest(path="copy/settings.py", line_start=LINE)).hits
    assert hits[0].path == "app/options.py"
    [copy] = [hit for hit in hits if "the same text" in hit.why]
    assert (copy.path, copy.line_start) == ("app/settings.py", LINE)
    assert "meaning 1.00" in copy.why


def test_tests_are_lowered_unless_a_test_is_the_place(index: Project) -> None:
    wanted = RelatedRequest(path="app/settings.py", line_start=LINE, limit=10)
    [test] = [hit for hit in index.related(wanted).hits if hit.path.startswith("tests/")]
    assert "test ×0.3" in test.why
    hits = index.related(replace(wanted, path="tests/test_settings.py", line_start=1)).hits
    assert all("test" not in reason for hit in hits for reason in hit.why)


def test_several_lines_are_one_place(index: Project) -> None:
    wanted = RelatedRequest(path="app/settings.py", line_start=1, line_end=LINE)
    answer = index.related(wanted)
    assert answer.query == f"app/settings.py:1-{LINE}"
    assert "app/settings.py" not in [hit.path for hit in answer.hits]


def test_no_model_is_needed(index: Project, config: Config, tree: Path) -> None:
    wanted = RelatedRequest(path=str(tree / "app/settings.py"), line_start=1)
    with open_catalog(replace(config, model="none")) as other:
        found = other.open(str(tree)).related(wanted)
    assert found.hits == index.related(wanted).hits
    assert found.hits[0].snippet


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (RelatedRequest(path="app/gone.py", line_start=1), FileNotIndexedError),
        (RelatedRequest(path="../x.py", line_start=1), InvalidPathError),
        (RelatedRequest(path="app/options.py", line_start=5000), InvalidInputError),
        (RelatedRequest(path="app/options.py", line_start=0), InvalidInputError),
        (RelatedRequest(path="app/options.py", line_start=3, line_end=2), InvalidInputError),
        (RelatedRequest(path="app/options.py", line_start=1, limit=0), InvalidInputError),
        (RelatedRequest(path="empty.py", line_start=1), InvalidInputError),
    ],
)
def test_what_is_no_place_is_refused(
    index: Project, wanted: RelatedRequest, error: type[Exception]
) -> None:
    with pytest.raises(error):
        index.related(wanted)


def test_without_vectors_it_says_what_to_do(index: Project) -> None:
    wanted = RelatedRequest(path="app/options.py", line_start=1)
    drop_vectors(index, "app/options.py")
    with pytest.raises(UnavailableError, match="this place has no vectors yet"):
        index.related(wanted)
    drop_vectors(index)
    with pytest.raises(UnavailableError, match="this index has no vectors") as raised:
        index.related(wanted)
    assert "cairn index" in raised.value.hint


def test_the_command(config: Config, tree: Path) -> None:
    write_tree(tree, TREE)
    cairn = Command(home=config.data_dir, folder=tree, reads_here=True)
    assert cairn("index", "--quiet").code == 0
    text = cairn("related", f"app/settings.py:{LINE}", "--limit", "2")
    assert text.code == 0
    assert "app/options.py:1-" in text.out
    assert "meaning 0." in text.out
    answer = json.loads(cairn("related", f"app/settings.py:{LINE}-{LINE + 3}", "--json").out)
    assert answer["mode"] == "meaning"
    assert answer["hits"][0]["path"] == "app/options.py"
    for place, code in (("app/settings.py", 2), ("app/settings.py:999", 2), ("gone.py:1", 3)):
        ended = cairn("related", place, "--json")
        assert ended.code == code
        assert "error" in json.loads(ended.out)


def test_it_does_not_depend_on_what_was_asked_before(
    config: Config, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sign bits preselect so few that they miss some of the nearest.
    monkeypatch.setattr(vector_rows, "_LOOKED_AT", 1)
    monkeypatch.setattr(vector_rows, "_LEAST_LOOKED_AT", 1)
    random = Random(1)
    words = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("ado", "emi", "uro")]
    text = {f"part{number}.txt": " ".join(random.choices(words, k=6)) for number in range(700)}
    write_tree(tree, text)
    with open_catalog(replace(config, model="fake:a/16"), open_embedder=Fakes()) as catalog:
        index = catalog.create(str(tree))
        index.index()
        index.search(SearchRequest(query="bado", mode=Mode.KEYWORD))
        wanted = [RelatedRequest(path=path, line_start=1, limit=50) for path in list(text)[:10]]
        before = [index.related(each).hits for each in wanted]
        index.search(SearchRequest(query="bado", mode=Mode.MEANING))
        assert [index.related(each).hits for each in wanted] == before
