"""The order in which files came into an index does not change what a search finds."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import load_config
from engine.search_records import Mode, SearchRequest
from engine.store import symbols
from tests.support.catalogs import open_catalog
from tests.support.trees import write_tree

_FILES = {
    f"render/kind_{n:03}.py": f"def shape_{n:03}(value):\n    return {n:03}\n" for n in range(450)
}
_ALIKE = {name: text.replace(f"shape_{name[-6:-3]}", "shape_of") for name, text in _FILES.items()}
_NAMES = sorted(_FILES)
_PARTS = [_NAMES[20:], _NAMES[10:20], _NAMES[:10]]


def found(
    data_dir: Path,
    tree: Path,
    order: Sequence[list[str]],
    questions: Sequence[SearchRequest],
    texts: Mapping[str, str] = _FILES,
    model: str = "none",
) -> list[tuple[int, list[str]]]:
    """Give what is found at first, from the database, and then, from the memory of the process."""
    with closing(open_catalog(load_config(data_dir, workers=1, model=model))) as catalog:
        for names in order:
            write_tree(tree, {name: texts[name] for name in names})
            catalog.create(str(tree)).index()
    with closing(open_catalog(load_config(data_dir, workers=1, model=model))) as catalog:
        project = catalog.open(str(tree))
        answers = [project.search(question) for question in questions for _ in range(4)]
    return [(answer.total, [hit.path for hit in answer.hits]) for answer in answers]


@pytest.mark.parametrize("query", ["render template", "value"])
def test_of_files_that_match_equally_the_same_are_found(tmp_path: Path, query: str) -> None:
    """By their paths, and by their texts: more of them than are ranked."""
    question = SearchRequest(query=query, mode=Mode.KEYWORD, limit=20)
    at_once = found(tmp_path / "one", tmp_path / "tree", [_NAMES], [question])
    for path in (tmp_path / "tree/render").iterdir():
        path.unlink()
    one_by_one = found(tmp_path / "two", tmp_path / "tree", _PARTS, [question])
    total, paths = at_once[0]
    assert 0 < total < len(_FILES)
    assert paths == _NAMES[: len(paths)]
    assert one_by_one == at_once
    assert len({str(each) for each in at_once}) == 1


def test_of_more_files_than_a_pattern_ranks_the_first_are_found(tmp_path: Path) -> None:
    """With words beside the pattern, which match all of them equally."""
    question = SearchRequest(query="value /shape_/", mode=Mode.KEYWORD, limit=100)
    for _, paths in found(tmp_path / "data", tmp_path / "tree", _PARTS, [question]):
        assert sorted(paths) == _NAMES[: len(paths)]
        assert paths


@pytest.mark.parametrize(
    ("query", "mode"),
    [("shape_of", Mode.KEYWORD), ("shape_of", Mode.SYMBOL), ("shape_o", Mode.SYMBOL)],
)
def test_of_many_definitions_of_a_name_the_first_are_found(
    tmp_path: Path, query: str, mode: Mode
) -> None:
    question = SearchRequest(query=query, mode=mode, limit=20)
    for _, paths in found(tmp_path / "data", tmp_path / "tree", _PARTS, [question], _ALIKE):
        assert paths == _NAMES[:20]


def test_of_many_files_that_mean_the_same_the_first_are_found(tmp_path: Path) -> None:
    """Their texts differ in line breaks, and their paths in underscores, which mean nothing."""
    places = [f"render/{'_' * before}kind{'_' * n}.py" for before in range(20) for n in range(30)]
    names = sorted(places)
    texts = {
        name: f"def shape(value):\n    return value\n{chr(10) * n}" for n, name in enumerate(places)
    }
    order = [names[300:], names[100:300], names[:100]]
    by_meaning = SearchRequest(query="shape of a value", mode=Mode.MEANING, limit=20)
    narrowed = replace(by_meaning, query="shape of a value lang:python")
    by_all = replace(by_meaning, mode=Mode.HYBRID)
    answers = found(
        tmp_path / "data", tmp_path / "tree", order, (by_meaning, narrowed, by_all), texts, "static"
    )
    for total, paths in answers:
        assert 0 < total < len(names)
        assert paths == names[:20]


def test_while_one_types_the_first_of_many_are_offered(tmp_path: Path) -> None:
    found(tmp_path / "data", tmp_path / "tree", _PARTS, [], _ALIKE)
    with closing(open_catalog(load_config(tmp_path / "data", workers=1, model="none"))) as catalog:
        project = catalog.open(str(tmp_path / "tree"))
        with project._store.read() as handle:
            named = symbols.find_named(handle, 1, "shape_of")
            files = symbols.files_with_words(handle, 1, '"render"', 200)
    assert [row.path for row in named] == _NAMES[: len(named)]
    assert [row.path for row in files] == _NAMES[:200]
